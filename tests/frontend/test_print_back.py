"""What is printed reads back with the same values: forms by hand, programs at random."""

import itertools
import math
import operator
import random
from collections.abc import Mapping

import pytest

import tadc
from tadc.frontend.checker import check
from tadc.frontend.functions import REDUCTIONS
from tadc.frontend.parser import parse
from tadc.frontend.print_index import condition_text, form_text
from tadc.frontend.printer import print_program
from tadc.frontend.program import Argument, Definition, Program
from tadc.frontend.source import Source
from tadc.frontend.terms import Apply, Const, Guard, IndexValue, Read, Reduce, Select, Term, Terms
from tadc.lattice.affine import Affine, Constraint, box
from tests.dialect.evaluation import reduced

Tensors = Mapping[str, Mapping[tuple[int, ...], float]]
_RELATIONS = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_OPERATORS = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "neg": operator.neg,
    "max": max,
    "sin": lambda x: math.sin(x) if math.isfinite(x) else math.nan,
    "div": lambda x, y: x / y if y else math.inf * x,
}


def value(term: Term, point: Mapping[str, int], tensors: Tensors) -> float:
    """The value of a term, sums by trying every point of a large box."""
    match term:
        case Const():
            return float(term.value)
        case IndexValue():
            return float(term.form.evaluate(point))
        case Read():
            return tensors[term.tensor][tuple([form.evaluate(point) for form in term.indices])]
        case Apply():
            return _OPERATORS[term.function](*[value(t, point, tensors) for t in term.operands])
        case Reduce():
            found: list[float] = []
            for numbers in itertools.product(range(-9, 10), repeat=len(term.binders)):
                inner = {**point, **dict(zip(term.binders, numbers, strict=True))}
                if all(row.holds(inner) for row in term.domain):
                    found.append(value(term.body, inner, tensors))
            return reduced(term.kind, found)
        case Guard():
            holds = all(row.holds(point) for row in term.conditions)
            return value(term.then if holds else term.otherwise, point, tensors)
        case Select():
            lhs, rhs = value(term.lhs, point, tensors), value(term.rhs, point, tensors)
            return value(term.then if _RELATIONS[term.relation](lhs, rhs) else term.otherwise, point, tensors)
        case _:
            raise TypeError(term)


def read(source: str) -> Program:
    return check(parse(Source(source)), Source(source))


class RandomTerms:
    """Terms over `x: f64[5]` under given indices, with domains of any shape inside a box."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.terms = Terms()

    def form(self, names: list[str]) -> Affine:
        form = Affine.const(self.random.randint(-3, 5))
        for name in self.random.sample(names, min(len(names), self.random.randint(1, 3))):
            part = Affine.var(name) * self.random.choice([-2, -1, 1, 1, 2, 3])
            divide = self.random.random()
            if divide < 0.15:
                part = (part + self.random.randint(0, 3)).floordiv(self.random.randint(2, 3))
            elif divide < 0.3:
                part = (part + self.random.randint(0, 3)).mod(self.random.randint(2, 4))
            form += part
        return form

    def row(self, names: list[str]) -> Constraint:
        return Constraint(self.form(names), equality=self.random.random() < 0.25)

    def term(self, names: list[str], depth: int) -> Term:
        terms, choice = self.terms, self.random.randrange(8) if depth else self.random.randrange(3)
        if choice == 0:
            return terms.const(self.random.choice([2, -3, 0.5, -1.25]))
        if choice == 1:
            return terms.index(self.form(names))
        if choice == 2:
            return terms.read("x", [self.form(names).mod(5)], "f64")
        below = [self.term(names, depth - 1) for _ in range(4)] if choice < 6 else []
        if choice == 3:
            return terms.apply(self.random.choice(["add", "sub", "mul", "max"]), below[:2])
        if choice == 4:
            return terms.apply(self.random.choice(["neg", "sin"]), below[:1])
        if choice == 5:
            lhs, rhs, then, otherwise = below
            return terms.select(self.random.choice(list(_RELATIONS)), lhs, rhs, then, otherwise)
        if choice == 6:
            rows = [self.row(names) for _ in range(self.random.randint(1, 2))]
            return terms.guard(rows, self.term(names, depth - 1), self.term(names, depth - 1))
        new = [terms.fresh() for _ in range(self.random.randint(1, 2))]
        inside = names + new
        rows = [*box(new, [self.random.randint(1, 4) for _ in new])]
        rows += [self.row(self.random.choice([inside, new])) for _ in range(self.random.randint(0, 2))]
        self.random.shuffle(rows)
        kind = self.random.choice(["sum", *REDUCTIONS])
        return terms.reduce(new, rows, self.term(inside, depth - 1), kind=kind)


@pytest.mark.parametrize("seed", range(80))
def test_random_programs_read_back_with_the_same_values(seed: int) -> None:
    make = RandomTerms(seed)
    definitions = tuple(
        Definition(name, "f64", (3, 4), ("i", "j"), make.term(["i", "j"], 3)) for name in ("f", "g", "h")
    )
    program = Program((Argument("x", "f64", (5,)),), definitions, make.terms)
    again = read(print_program(program))
    assert print_program(again) == print_program(program)
    elements = {(n,): make.random.uniform(-1, 1) for n in range(5)}
    for old, new in zip(definitions, again.definitions, strict=True):
        for p, q in itertools.product(range(3), range(4)):
            point = {"i": p, "j": q}
            expected = value(old.body, point, {"x": elements})
            assert value(new.body, point, {"x": elements}) == pytest.approx(
                expected, rel=1e-12, abs=1e-12, nan_ok=True
            )


@pytest.mark.parametrize("seed", range(40))
def test_random_forms_and_conditions_read_back_with_the_same_values(seed: int) -> None:
    make = RandomTerms(seed)
    form, row = make.form(["i", "j"]), make.row(["i", "j"])
    source = f"f[i: 5, j: 4] = if {{{condition_text(row)}}} then ({form_text(form)}) else (100)"
    (definition,) = read(source).definitions
    for p, q in itertools.product(range(5), range(4)):
        point = {"i": p, "j": q}
        expected = form.evaluate(point) if row.holds(point) else 100
        assert value(definition.body, point, {}) == expected


def test_a_place_that_no_range_shows_to_be_there_is_a_condition() -> None:
    """That `(u_0 + 1) % 2` is below K bounds no index."""
    text = (
        "j: index[E] in N\nq: index[K] in M\nu: f64[2*N + K]\ng: f64[M]\n"
        "y[e: E] = prod{k: K} (g[q[(k + 1) % 2]] * u[2*j[e] + k])"
    )
    gradient = str(tadc.vjp(tadc.vjp(tadc.function(text), wrt="u"), wrt="g"))
    assert "K > (u_0 + 1) % 2" in gradient
    assert str(tadc.function(gradient)) == gradient


def test_bounds_that_conditions_further_out_imply_are_left_out() -> None:
    """A sum over several indices is printed as its loops are, which are read one by one."""
    text = (
        "j: index[4] in 4\nr: index[4, 2] in 4\nm: index[4, 2] in 4\ns: index in 4\nx: f64[2, 8]\n"
        "h[n: 4] = sum{e: 4, k: 2: r[e, k] > s} (x[k, j[e] % 2 + m[n, k]])"
    )
    gradient = str(tadc.vjp(tadc.function(text), wrt="x"))
    assert str(tadc.function(gradient)) == gradient


#: Channels that are put out in groups: how many groups, of how many channels in and out, also of any number.
GROUPS = [
    *(
        (str(groups), inside, outside)
        for groups in (1, 2, 8)
        for inside in (1, 3, 8)
        for outside in (1, 4, 8)
    ),
    *(("G", inside, outside) for inside in (1, 3, 8) for outside in (1, 3, 8)),
]


@pytest.mark.parametrize(("groups", "inside", "outside"), GROUPS)
def test_gradients_of_grouped_convolutions_read_back(groups: str, inside: int, outside: int) -> None:
    """To second order: channel o sees those of group o // outside."""
    f = tadc.function(
        f"a: f64[N, {inside}*{groups}, X]; w: f64[{outside}*{groups}, {inside}, K]\n"
        f"y[n, o: {outside}*{groups}, x: X - K + 1] ="
        f" sum{{c: {inside}, k}} (a[n, {inside}*(o // {outside}) + c, x + k] * w[o, c, k])"
    )
    for _ in range(2):
        f = tadc.vjp(f)
        assert str(tadc.function(str(f))) == str(f)
