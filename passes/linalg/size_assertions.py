"""What a function of `linalg` asserts of its sizes: which are equal, and which it does not take."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from tadc.passes.linalg.elements import AllOf, Compared, Condition, Integer, Negated, Truth, compared, negated
from tadc.passes.linalg.index_forms import Atom, IndexForm, SizeSymbol, atoms_of, of_atom, replaced

#: A set of sizes: all of these hold.
Together = tuple[Compared, ...]
Sizes = dict[SizeSymbol, IndexForm]


def solved(equal: Iterable[tuple[IndexForm, IndexForm]], asserted: Iterable[Condition]) -> Sizes:
    """Sizes by others, as equations say: those between shapes, and those that are asserted."""
    equations = list(equal)
    for part in (part for condition in asserted for part in _parts(condition)):
        if isinstance(part, Compared) and part.relation == "=" and part.is_of_indices:
            equations.append(_forms(part))
    found: Sizes = {}
    for left, right in equations:
        gap = replaced(left - right, by(found))
        # The last one is put in terms of the others; a size that is an argument stays.
        symbols = [a for a, n in gap.terms if isinstance(a, SizeSymbol) and not a.is_given and abs(n) == 1]
        if not symbols or sum(atom == symbols[-1] for atom in atoms_of([gap])) > 1:
            continue
        symbol = symbols[-1]
        times = dict(gap.terms)[symbol]
        value = (of_atom(symbol).scaled(times) - gap).scaled(times)
        found = {s: replaced(form, by({symbol: value})) for s, form in found.items()}
        found[symbol] = value
    return found


def by(sizes: Mapping[SizeSymbol, IndexForm]) -> Callable[[Atom], IndexForm | None]:
    """What puts forms in the place of sizes, for `replaced`."""
    return lambda atom: sizes.get(atom) if isinstance(atom, SizeSymbol) else None


def excluded(equal: Iterable[tuple[IndexForm, IndexForm]], asserted: Iterable[Condition]) -> list[Together]:
    """The sets of sizes that a function does not take, where not all is equal or holds that it says.

    Raises ValueError where what it asserts is about more than sizes.
    """
    conditions = [compared("=", Integer(left), Integer(right)) for left, right in equal]
    return list(dict.fromkeys(s for condition in (*conditions, *asserted) for s in _sets(negated(condition))))


def _sets(condition: Condition) -> list[Together]:
    """The sets of which one holds where a condition does."""
    if isinstance(condition, Truth):
        return [()] if condition.value else []
    if isinstance(condition, AllOf):
        found: list[Together] = [()]
        for part in condition.parts:
            found = [(*one, *other) for one in found for other in _sets(part)]
        return found
    if isinstance(condition, Negated):
        if isinstance(condition.of, AllOf):
            return [s for part in condition.of.parts for s in _sets(negated(part))]
        if isinstance(condition.of, Compared) and condition.of.relation == "=":
            left, right = condition.of.left, condition.of.right
            return [*_sets(compared("<", left, right)), *_sets(compared("<", right, left))]
        raise ValueError
    if not condition.is_of_indices or not all(isinstance(a, SizeSymbol) for a in atoms_of(_forms(condition))):
        raise ValueError
    return [(condition,)]


def _parts(condition: Condition) -> tuple[Condition, ...]:
    return condition.parts if isinstance(condition, AllOf) else (condition,)


def _forms(condition: Compared) -> tuple[IndexForm, IndexForm]:
    assert isinstance(condition.left, Integer)
    assert isinstance(condition.right, Integer)
    return condition.left.form, condition.right.form
