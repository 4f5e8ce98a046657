"""Choices that are decided by what holds where they stand."""

from __future__ import annotations

from tadc.lattice.affine import Affine, Constraint
from tadc.lattice.polyhedron import implied
from tadc.passes.linalg.elements import (
    NEVER,
    AllOf,
    Called,
    Chosen,
    Compared,
    Condition,
    Integer,
    Reduced,
    TensorElement,
    Value,
    both,
    chosen,
    gap_of,
    negated,
)
from tadc.passes.linalg.index_forms import Atom, Counter, IndexForm, atoms_of, of_atom


def decided(value: Value, known: Condition) -> Value:
    """A value where a condition holds: each choice in it that has one value there is that value.

    So is one whose sides are the same element wherever the other would be taken, as in a read at
    `max(i - 2, 0)` where `i >= 2` holds.
    """
    if isinstance(value, Called):
        return Called(value.function, tuple(decided(operand, known) for operand in value.operands))
    if isinstance(value, Reduced):
        body = decided(value.body, both(known, value.where))
        return Reduced(value.kind, value.counters, value.where, body)
    if not isinstance(value, Chosen):
        return value
    taken, not_taken = both(known, value.condition), both(known, negated(value.condition))
    then, other = decided(value.then, taken), decided(value.other, not_taken)
    if _is_same(then, other, not_taken):
        return then
    return other if _is_same(other, then, taken) else chosen(value.condition, then, other)


def _is_same(value: Value, other: Value, known: Condition) -> bool:
    """Whether two values are the same where a condition holds, which may be nowhere."""
    if known == NEVER or value == other:
        return True
    if isinstance(other, Chosen):
        sides = (other.then, other.condition), (other.other, negated(other.condition))
        return all(_is_same(value, side, both(known, test)) for side, test in sides)
    if isinstance(value, Integer) and isinstance(other, Integer):
        return _is_equal(value.form, other.form, known)
    if isinstance(value, TensorElement) and isinstance(other, TensorElement):
        pairs = zip(value.at, other.at, strict=False)
        return value.tensor is other.tensor and all(_is_equal(*pair, known) for pair in pairs)
    return False


def _is_equal(form: IndexForm, other: IndexForm, known: Condition) -> bool:
    """Whether two forms are equal where a condition holds, and indices are in their ranges."""
    gap = form - other
    if gap.number is not None:
        return gap.number == 0
    parts = known.parts if isinstance(known, AllOf) else (known,)
    gaps = [gap_of(part) for part in parts]
    equal = [p for p in parts if isinstance(p, Compared) and p.relation == "=" and p.is_of_indices]
    gaps += [each for part in equal for each in _both_ways(part)]
    rows = [row for row in gaps if row is not None]
    counters = [a for a in dict.fromkeys(atoms_of([gap, *rows])) if isinstance(a, Counter)]
    rows += [each for a in counters for each in (of_atom(a), a.size.plus(-1) - of_atom(a))]
    names: dict[Atom, Affine] = {}
    facts = tuple(Constraint(_affine(row, names)) for row in rows)
    return all(implied(_affine(each, names), facts) for each in (gap, gap.scaled(-1)))


def _both_ways(equality: Compared) -> tuple[IndexForm, IndexForm]:
    assert isinstance(equality.left, Integer)
    assert isinstance(equality.right, Integer)
    gap = equality.left.form - equality.right.form
    return gap, gap.scaled(-1)


def _affine(form: IndexForm, names: dict[Atom, Affine]) -> Affine:
    """A form over a name for each atom."""
    total = Affine.const(form.constant)
    for atom, times in form.terms:
        total += times * names.setdefault(atom, Affine.var(f"a{len(names)}"))
    return total
