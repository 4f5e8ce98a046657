"""What text says of the domain of a reduction: sizes or bounds of its indices, and conditions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from tadc.frontend.extents import Shape, as_form
from tadc.frontend.terms import Domain, Read, Reduce, index_forms, reachable
from tadc.lattice.affine import Affine, Constraint, at_least_zero


def over_box(binders: Sequence[str], domain: Iterable[Constraint]) -> tuple[list[Affine], Domain] | None:
    """The sizes of indices over a box that starts at 0, and what text says of them as conditions beside it,
    which is nothing but elements of index arrays for one index; None if they are over another set."""
    ranging, held = told_apart(binders, domain)
    own, sizes = frozenset(binders), list[Affine]()
    for name in binders:
        least = at_least_zero(Affine.var(name))
        above = [row for row in ranging if row.form.coefficient(name) == -1]
        above = [row for row in above if row.form.variables & own <= {name}]
        above = above if len(above) < 2 else [row for row in above if is_limit(row, name)]
        # A size is no element of an index array: that is stated as a bound.
        if least not in ranging or len(above) != 1 or above[0].form.has_lookups:
            return None
        sizes.append(above[0].form + least.form + 1)
        ranging = [row for row in ranging if row not in (least, *above)]
    beside = all(row.form.variables & own and not any(is_limit(row, name) for name in own) for row in ranging)
    return (sizes, (*ranging, *held)) if beside and (not ranging or (held and len(binders) > 1)) else None


def is_told(name: str, size: Affine, term: Reduce, shapes: Mapping[str, Shape]) -> bool:
    """Whether the reads in a reduction tell the size of its index, as the reader infers it."""
    alone = Affine.var(name)
    found: set[Affine] = set()
    for node in (term, *reachable([term.body])):
        reads = [(node.tensor, node.indices)] if isinstance(node, Read) else []
        reads += [(atom.array, atom.at) for form in index_forms(node) for atom in form.lookups()]
        for tensor, at in reads:
            shape = shapes.get(tensor, ())
            found |= {as_form(n) for n, form in zip(shape, at, strict=False) if form == alone}
    return found == {size}


def told_apart(
    binders: Sequence[str], domain: Iterable[Constraint]
) -> tuple[list[Constraint], list[Constraint]]:
    """The rows of a domain that say ranges of its indices, and those that text says as conditions.

    Those hold an element of an index array at one of the indices, or state that an index is such an element;
    beside such, others that bound no index.
    """
    own, rows = set(binders), list(domain)
    at = {row: looked_up(row) for row in rows}
    held = [r for r in rows if at[r] & own or (r.equality and at[r] and own & r.form.variables)]
    if held:
        held += [
            row for row in rows if not row.equality and row.form.variables & own and not bounded(row, own)
        ]
    return [row for row in rows if row not in held], list(dict.fromkeys(held))


def bounded(row: Constraint, names: Iterable[str]) -> list[str]:
    """The indices that an inequality bounds by what does not depend on them."""
    factors = {name: row.form.coefficient(name) for name in names}
    rests = {name: row.form - Affine.var(name) * k for name, k in factors.items() if k}
    return [name for name, rest in rests.items() if name not in rest.variables]


def looked_up(row: Constraint) -> set[str]:
    """The variables that elements of index arrays in a row depend on; their sizes too."""
    return set[str]().union(*(atom.variables for atom in row.form.lookups()))


def is_limit(row: Constraint, name: str) -> bool:
    """Whether the row bounds the index by a number."""
    return len(row.form.terms) == 1 and bool(row.form.coefficient(name))
