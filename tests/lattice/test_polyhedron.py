from __future__ import annotations

import islpy as isl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tadc.lattice.affine import Affine, Constraint, at_least_zero, box, equals_zero
from tadc.lattice.polyhedron import (
    NEVER,
    atom_facts,
    follows,
    implied,
    irredundant,
    is_empty,
    normalised,
    quotient,
    tightened,
    without_floor,
)
from tadc.lattice.system import System
from tests.lattice.support import constraints, forms, isl_form, isl_set, linear_forms

NAMES = ["i", "j", "k"]
i, j, k, n = map(Affine.var, ["i", "j", "k", "n"])


def isl_implied(form: Affine, facts: list[Constraint], names: list[str] = NAMES) -> bool:
    return isl_set(names, facts).is_subset(isl.Set(f"{{ [{', '.join(names)}] : {isl_form(form)} >= 0 }}"))


systems = st.tuples(
    st.lists(st.integers(1, 9), min_size=3, max_size=3), st.lists(constraints(NAMES), max_size=4)
).map(lambda drawn: [*box(NAMES, drawn[0]), *drawn[1]])


@st.composite
def differences(draw: st.DrawFn) -> Affine:
    """x - y + c, x + c or c - x: sets of these have integral vertices, so rational proofs are complete."""
    first, second = draw(st.permutations([*NAMES, None]))[:2]
    terms: dict[str, int] = {}
    if first:
        terms[first] = 1
    if second:
        terms[second] = -1
    return Affine.of({**terms}, draw(st.integers(-4, 8)))


@given(forms(NAMES), systems)
@settings(max_examples=250, deadline=None)
def test_implied_is_true(form: Affine, facts: list[Constraint]) -> None:
    for constant in (0, 4, 12):
        if implied(form + constant, facts):
            assert isl_implied(form + constant, facts)


@given(forms(NAMES), systems)
@settings(max_examples=250, deadline=None)
def test_what_follows_is_true(form: Affine, facts: list[Constraint]) -> None:
    for constant in (0, 2, 6):
        if follows(form + constant, facts):
            assert isl_implied(form + constant, facts)


@pytest.mark.parametrize("group", [2, 3, 8, 64])
@pytest.mark.parametrize("other", [1, 3, 8])
def test_places_in_groups_follow(group: int, other: int) -> None:
    """Of j in a group of i: its place from the beginning of the group."""
    p = i.floordiv(group)
    rows = [
        at_least_zero(j - other * p),
        at_least_zero(other * p + other - 1 - j),
        at_least_zero(n * other - 1 - j),
    ]
    place = i - group * j.floordiv(other)
    assert follows(place, rows)
    assert follows(group - 1 - place, rows)
    assert follows(n - 1 - j.floordiv(other), rows)
    assert not follows(place - 1, rows)
    assert not follows(group - 2 - place, rows)


@given(differences(), st.lists(differences().map(Constraint), max_size=6))
@settings(max_examples=250, deadline=None)
def test_implied_is_complete_where_vertices_are_integral(form: Affine, facts: list[Constraint]) -> None:
    assert implied(form, facts) == isl_implied(form, facts)


@given(systems)
@settings(max_examples=150, deadline=None)
def test_empty_is_true(rows: list[Constraint]) -> None:
    if is_empty(rows):
        assert isl_set(NAMES, rows).is_empty()


@given(st.lists(differences().map(Constraint), max_size=7))
@settings(max_examples=150, deadline=None)
def test_empty_is_complete_where_vertices_are_integral(rows: list[Constraint]) -> None:
    assert is_empty(rows) == isl_set(NAMES, rows).is_empty()


@given(systems, st.lists(constraints(NAMES), max_size=5))
@settings(max_examples=200, deadline=None)
def test_irredundant_keeps_the_set(facts: list[Constraint], rows: list[Constraint]) -> None:
    kept = irredundant(rows, facts)
    assert isl_set(NAMES, [*facts, *kept]).is_equal(isl_set(NAMES, [*facts, *rows]))
    assert kept == [NEVER] or all(row in map(normalised, rows) for row in kept)


@given(
    st.lists(differences().map(Constraint), max_size=4), st.lists(differences().map(Constraint), max_size=6)
)
@settings(max_examples=200, deadline=None)
def test_irredundant_leaves_no_row_that_follows(facts: list[Constraint], rows: list[Constraint]) -> None:
    kept = irredundant(rows, facts)
    whole = isl_set(NAMES, [*facts, *rows])
    assert isl_set(NAMES, [*facts, *kept]).is_equal(whole)
    for row in kept if kept != [NEVER] else []:
        others = [other for other in kept if other is not row]
        assert not isl_set(NAMES, [*facts, *others]).is_equal(whole)


def test_facts_that_only_integers_know() -> None:
    assert implied(i - 1, [at_least_zero(3 * i - 1)])
    assert is_empty([at_least_zero(3 * i - 1), at_least_zero(2 - 3 * i)])
    assert is_empty([equals_zero(2 * i - 2 * j - 1)])
    assert is_empty([equals_zero(2 * i - j), equals_zero(2 * k - j - 1)])
    assert not implied(i - 2, [at_least_zero(3 * i - 1)])


def test_floors_bring_their_definitions() -> None:
    facts = box(["i"], [10])
    assert implied(4 - i.floordiv(2), facts)
    assert not implied(3 - i.floordiv(2), facts)
    assert implied(2 - i.mod(3), [])
    assert not implied(1 - i.mod(3), [])
    assert implied(i.floordiv(2) - 3, [equals_zero(i - 7)])
    assert implied(3 - i.floordiv(2).floordiv(2), [at_least_zero(15 - i)])
    assert atom_facts([i.floordiv(3)]) == [
        at_least_zero(i - 3 * i.floordiv(3)),
        at_least_zero(3 * i.floordiv(3) - i + 2),
    ]


def test_divisibility_of_four_gives_that_of_two() -> None:
    facts = [equals_zero(i.mod(4))]
    assert implied(-i.mod(2), facts)
    assert is_empty([*facts, equals_zero((i + 1).mod(2))])


def test_symbolic_sizes() -> None:
    facts = [*box(["i", "j"], [n, n]), at_least_zero(i - j)]
    assert implied(n - 1, facts)
    assert implied(2 * n - 2 - i - j, facts)
    assert not implied(i - j - 1, facts)
    assert not implied(9 - i, facts)
    assert implied(3 * n - 3 - 2 * i - j, facts)


def test_contradictions_imply_everything() -> None:
    nothing = [at_least_zero(i - 3), at_least_zero(2 - i)]
    assert implied(j, nothing)
    assert implied(Affine.const(-1), nothing)
    assert not implied(Affine.const(-1), [])
    assert irredundant([at_least_zero(j)], nothing) == [NEVER]
    assert irredundant([at_least_zero(i - 3), at_least_zero(2 - i)], []) == [NEVER]
    assert irredundant([equals_zero(2 * i - 1)], []) == [NEVER]


def test_the_row_that_is_easier_to_read_stays() -> None:
    rows = [equals_zero(i - j), at_least_zero(2 * i + j - 3), at_least_zero(j - 1)]
    assert list(map(str, irredundant(rows, []))) == ["i - j = 0", "j - 1 >= 0"]
    twice = [at_least_zero(4 * i - 7), at_least_zero(i - 2)]
    assert list(map(str, irredundant(twice, []))) == ["i - 2 >= 0"]


@given(linear_forms(NAMES, 6), st.integers(2, 5), systems)
@settings(max_examples=100, deadline=None)
def test_constant_quotients(form: Affine, divisor: int, facts: list[Constraint]) -> None:
    value = quotient(form, divisor, facts)
    if value is not None:
        assert isl_implied(form - divisor * value, facts)
        assert isl_implied(divisor * value + divisor - 1 - form, facts)


@given(linear_forms(NAMES, 12).map(Constraint), systems)
@settings(max_examples=150, deadline=None)
def test_tightened_rows_say_the_same(row: Constraint, facts: list[Constraint]) -> None:
    short = tightened(row, facts)
    assert len(short.form.terms) <= len(row.form.terms)
    assert isl_set(NAMES, [*facts, short]).is_equal(isl_set(NAMES, [*facts, row]))


def test_tightening() -> None:
    facts = box(["i"], [3])
    assert quotient(i + 3, 3, facts) == 1
    assert quotient(i + 1, 3, facts) is None
    assert quotient(j, 3, facts) is None
    assert str(tightened(at_least_zero(3 * j + i - 6), facts)) == "j - 2 >= 0"
    assert str(tightened(at_least_zero(3 * j - i - 6), facts)) == "3*j - i - 6 >= 0"
    assert str(tightened(at_least_zero(6 * k + 3 * j + i), facts)) == "j + 2*k >= 0"


@given(linear_forms(NAMES, 6), st.integers(2, 4), st.sampled_from([1, -1, 2, -3]), linear_forms(NAMES, 6))
@settings(max_examples=100, deadline=None)
def test_rows_solved_for_a_floor_say_the_same(numerator: Affine, c: int, k: int, rest: Affine) -> None:
    floors = list(numerator.floordiv(c).floors())
    row = at_least_zero(k * numerator.floordiv(c) + rest)
    solved = without_floor(row, floors[0]) if floors else None
    if solved is not None:
        assert isl_set(NAMES, [solved]).is_equal(isl_set(NAMES, [row]))


def test_answers_do_not_depend_on_earlier_questions() -> None:
    facts = [*box(["i", "j", "k"], [9, 9, 9]), at_least_zero(i + j - 2 * k - 1)]
    questions = [i + 8 - j, j - k, 16 - i - j, 7 - k, 8 - k, i + j - 1, i + j - 2, i - k + 4]
    fresh = [isl_implied(question, facts) for question in questions]
    assert [implied(question, facts) for question in reversed(questions)] == fresh[::-1]


def test_bounds_of_other_variables_are_no_part_of_a_question() -> None:
    """Sizes that a question does not mention neither change the answer nor enlarge its program."""
    i, n = Affine.var("i"), Affine.var("n")
    facts = [Constraint(i), Constraint(n - 1 - i), Constraint(n)]
    sizes = [Constraint(Affine.var(f"s{k}") - k) for k in range(40)]
    third = Affine.var("s3")
    for form in (i, n - 1, n - i, i - 1, n - i - 2, third, third - 4, n + third):
        known = [*facts, sizes[3]]
        assert implied(form, [*facts, *sizes]) == implied(form, known), str(form)
        rows = [Constraint(form), Constraint(n - 2)]
        assert irredundant(rows, [*facts, *sizes]) == irredundant(rows, known)
        assert is_empty([*rows, Constraint(-n), *sizes]) == is_empty([*rows, Constraint(-n), sizes[3]])
    # Nor do rows of others that are bound to each other; but where they have no point, all follows.
    apart = [Constraint(n - k) for n, k in zip(map(Affine.var, "abcd"), map(Affine.var, "bcde"), strict=True)]
    for form in (i, n - 1, n - i, i - 1, n - i - 2):
        assert implied(form, [*apart, *facts]) == implied(form, facts), str(form)
        assert implied(form, [*apart, *facts, Constraint(Affine.var("e") - Affine.var("a") - 1)])
    assert irredundant([Constraint(n)], [*apart, Constraint(Affine.var("e") - Affine.var("a") - 1)]) == [
        NEVER
    ]
    system = System([*facts, *sizes])
    _, place = system.tableau([({system.atoms["i"]: 1}, -1)])
    assert len(place) == 2
