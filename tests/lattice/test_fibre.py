"""Fibres of index arrays: what rows say of a place, against all points, and that one module alone asks."""

from __future__ import annotations

import ast
from itertools import product

import pytest

from tadc.lattice.affine import Affine, Constraint, Lookup, box
from tadc.lattice.fibre import Fibre, fibre_of, fibres_in, over, ranges_in, rises
from tests.test_project import LAYERS, ROOT

q, b, e = (Affine.var(name) for name in "qbe")
E = Affine.var("E")


def ptr(at: Affine, array: str = "ptr") -> Affine:
    """Where a fibre begins."""
    return Affine.atom(Lookup(array, (at,), E + 1))


STARTS = (0, 2, 2, 5, 9)

#: Rows, the place that they put in a fibre of `ptr`, as text, and whether they say no more than that.
ROWS = {
    "all of it": ([q - ptr(b), ptr(b + 1) - 1 - q], "q", True),
    "rows beside": ([q - 1, q - ptr(b), E - q, ptr(b + 1) - 1 - q], "q", True),
    "all but the first": ([q - ptr(b) - 1, ptr(b + 1) - 1 - q], "q", False),
    "all but the last": ([q - ptr(b), ptr(b + 1) - 2 - q], "q", False),
    "pairs": ([q - ptr(b) * 2, ptr(b + 1) * 2 - 1 - q], "(q // 2)", True),
    "two": ([q + e - ptr(b), ptr(b + 1) - 1 - q - e], "e + q", True),
    "a place behind": ([q + 1 - ptr(b), ptr(b + 1) - 2 - q], "q + 1", True),
}


@pytest.mark.parametrize("name", ROWS)
def test_the_place_is_in_the_fibre_wherever_the_rows_hold(name: str) -> None:
    forms, place, exactly = ROWS[name]
    rows = [Constraint(form) for form in forms]
    (found,) = fibres_in(rows)
    assert (str(found.place), found.exactly, found.array, found.values) == (place, exactly, "ptr", (b,))
    left = [row for row in rows if row not in found.rows]

    def at(form: Affine, point: dict[str, int]) -> int:
        known = {name: Affine.const(value) for name, value in point.items()}
        made = form.substitute(known).replace(
            lambda atom: Affine.const(STARTS[atom.at[0].constant]) if isinstance(atom, Lookup) else None
        )
        assert made.is_constant
        return made.constant

    for values in product(range(-2, 20), range(-2, 4), range(len(STARTS) - 1)):
        point = {"E": 9, **dict(zip(("q", "e", "b"), values, strict=True))}
        fibre = range(STARTS[point["b"]], STARTS[point["b"] + 1])
        inside = at(found.place, point) in fibre
        holds = all(at(row.form, point) >= 0 for row in rows)
        assert inside or not holds
        if exactly and all(at(row.form, point) >= 0 for row in left):
            assert holds == inside


@pytest.mark.parametrize(
    "forms",
    [
        [q - ptr(b), ptr(b + 2) - 1 - q],
        [q - ptr(b), ptr(b + 1) - q],
        [q - ptr(b), ptr(b + 1, "other") - 1 - q],
        [q - ptr(b), ptr(b + 1) * 2 - 1 - q],
        [q - ptr(b), ptr(b + 1) - 1 - e],
        [q - ptr(b)],
        [q, E - 1 - q],
    ],
)
def test_no_other_rows_say_it(forms: list[Affine]) -> None:
    assert list(fibres_in(map(Constraint, forms))) == []


def test_an_equality_bounds_nothing_from_two_sides() -> None:
    assert list(ranges_in([Constraint(q - ptr(b), equality=True), Constraint(ptr(b + 1) - 1 - q)])) == []


def test_what_an_index_runs_over() -> None:
    made = Fibre.at(q, Lookup("ptr", (b,), E + 1))
    assert made.is_all(reversed(made.rows))
    assert not made.is_all((*made.rows, *box(["q"], [E])))
    assert fibre_of("q", (*box(["q"], [E]), *made.rows)) == made
    assert fibre_of("e", made.rows) is None
    (rest,) = over("q", [Constraint(q - ptr(b, "rest")), made.rows[1]])
    assert rest.ends_one_behind
    assert not rest.is_one
    assert rises(made.some) == made.start
    assert rises(Constraint(made.some.form - 1)) is None


def _names_the_next(call: ast.Call) -> bool:
    """Whether a call makes an element of an index array at a place and one more."""
    function = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    given = [*call.args, *(word.value for word in call.keywords)]
    if function not in ("Lookup", "lookup", "element"):
        given = [word.value for word in call.keywords if function == "replace" and word.arg == "at"]
    at = [part for each in given if isinstance(each, ast.List | ast.Tuple) for part in each.elts]
    return any(
        isinstance(form, ast.BinOp) and isinstance(form.op, ast.Add) and ast.unparse(form.right) == "1"
        for form in at
    )


def test_one_module_alone_compares_elements_with_those_behind_them() -> None:
    """The two rows of a fibre are matched and made in `lattice/fibre.py`; others ask it."""
    found = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for layer in LAYERS
        for path in sorted((ROOT / layer).rglob("*.py"))
        if "+ 1" in (text := path.read_text(encoding="utf-8")) and "ookup" in text
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Call) and _names_the_next(node)
    ]
    assert [place for place in found if not place.startswith("lattice/fibre.py")] == []
    assert found
