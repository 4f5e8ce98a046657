from __future__ import annotations

import islpy as isl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tadc.lattice.affine import Affine, Constraint, Floor, at_least_zero, box
from tadc.lattice.residues import residue_of, with_residues
from tests.lattice.support import forms, isl_form, linear_forms

NAMES = ["i", "j"]
i, j = map(Affine.var, NAMES)
POINTS = [{"i": i, "j": j} for i in range(-7, 8) for j in (-5, -1, 0, 2, 3)]


@given(linear_forms(NAMES, 20), st.integers(1, 7), st.integers(1, 4))
@settings(max_examples=100, deadline=None)
def test_floor_division_is_that_of_integers(form: Affine, divisor: int, second: int) -> None:
    twice = form.floordiv(divisor).floordiv(second)
    for point in POINTS:
        value = form.evaluate(point)
        assert form.floordiv(divisor).evaluate(point) == value // divisor
        assert form.mod(divisor).evaluate(point) == value % divisor
        assert twice.evaluate(point) == value // divisor // second


@given(forms(NAMES), forms(NAMES))
@settings(max_examples=100, deadline=None)
def test_arithmetic_agrees_with_islpy(first: Affine, second: Affine) -> None:
    def isl_equal(form: Affine, text: str) -> bool:
        ours, theirs = (isl.Map(f"{{ [i, j] -> [{t}] }}") for t in (isl_form(form), text))
        return ours.is_equal(theirs)

    a, b = f"({isl_form(first)})", f"({isl_form(second)})"
    assert isl_equal(first + second, f"{a} + {b}")
    assert isl_equal(first - 3 * second + 2, f"{a} - 3*{b} + 2")
    assert isl_equal(first.floordiv(4), f"floor({a}/4)")
    assert isl_equal(first.substitute({"i": j * 2 - 1}), isl_form(first).replace("i", "(2*j - 1)"))


def test_floors_are_normalised() -> None:
    assert (6 * i + 4 * j + 3).floordiv(4) == j + (3 * i + 1).floordiv(2)
    assert (i.floordiv(2) + 1).floordiv(3) == (i + 2).floordiv(6)
    assert (4 * i + 6).floordiv(8) == (2 * i + 3).floordiv(4)
    assert str((2 * i + 3).floordiv(4)) == "((i + 1) // 2)"
    with pytest.raises(ValueError, match="division by 0"):
        i.floordiv(0)


def test_text_reads_positive_terms_first() -> None:
    assert str(3 - i) == "3 - i"
    assert str(-i - 2 * j) == "-i - 2*j"
    assert str(j - i) == "j - i"
    assert str(Affine.const(0)) == "0"
    assert str(at_least_zero(i.floordiv(2) - j)) == "(i // 2) - j >= 0"


def test_variables_and_floors_are_found_at_any_depth() -> None:
    inner = Affine.atom(Floor(i, 2))
    form = (inner + j).floordiv(3) + 1
    assert form.variables == {"i", "j"}
    assert [str(atom) for atom in form.floors()] == ["(j + (i // 2)) // 3", "i // 2"]
    assert form.substitute({"i": Affine.const(4)}) == (j + 2).floordiv(3) + 1


def test_box() -> None:
    rows = box(NAMES, [4, j + 2])
    assert [str(row) for row in rows] == ["i >= 0", "3 - i >= 0", "j >= 0", "1 >= 0"]
    assert rows[1].holds({"i": 3})
    assert not rows[1].holds({"i": 4})


def test_residues():
    """A divisibility guard and the floors over it, at every point where it holds."""
    b = Affine.var("b")
    for divisor in (2, 3, 5):
        for shift in range(-4, 5):
            residue = residue_of(Constraint((b + shift).mod(divisor), equality=True))
            assert residue is not None
            form = (b + shift).floordiv(divisor) * 3 - b
            rewritten = with_residues(form, [residue])
            for value in range(-10, 11):
                assert residue.row.holds({"b": value}) == ((value + shift) % divisor == 0)
                if residue.row.holds({"b": value}):
                    assert rewritten.evaluate({"b": value}) == form.evaluate({"b": value})
