"""Whether a value of an element of an index array is wanted for all elements that the array has.

A tensor with a value for each number that an element may be computes it for numbers that no element is, too.
Over these its fibre is empty. Where a condition leaves out some elements it is not, and a derivative would
multiply a cotangent of 0 with what may be infinite there.
"""

from __future__ import annotations

from collections.abc import Sequence

from tadc.frontend.extents import Shape, as_form
from tadc.frontend.terms import Domain, Reduce, Term
from tadc.lattice.affine import ZERO, Affine, Lookup
from tadc.lattice.polyhedron import hold
from tadc.passes.rewrites.places import RowsHold, TermPlace
from tadc.passes.terms.element_terms import OfElement
from tadc.passes.terms.index_ranges import Range


def is_everywhere(found: OfElement, place: TermPlace, shape: Shape, size_facts: Domain) -> bool:
    """Whether a term at a place is of all elements of an array of this shape, and nothing for others."""
    lookup = found.element
    names = [name for form in lookup.at if (name := form.variable) is not None]
    if len(set(names)) < len(shape) or not _is_of(found.term, lookup):
        return False
    told = [name for name, known in place.told.items() if known.form == Affine.atom(lookup)]
    sizes = (*shape, *(lookup.below for _ in told))
    for name, size in zip((*names, *told), sizes, strict=True):
        if place.ranges.get(name) != Range(ZERO, as_form(size) - 1):
            return False
    facts = (*size_facts, *place.in_ranges)
    return all(isinstance(choice, RowsHold) and _holds(choice, told, facts) for choice in place.around)


def _holds(choice: RowsHold, told: Sequence[str], facts: Domain) -> bool:
    """Whether rows say no more than which index is an element, or what holds anyway."""
    rest = [row for row in choice.rows if not (row.equality and any(row.form.coefficient(i) for i in told))]
    return choice.holds and hold(rest, facts)


def _is_of(term: Term, lookup: Lookup) -> bool:
    """Whether a term is nothing for what no element of an array is: it is over the places of these."""
    rows = term.domain if isinstance(term, Reduce) else ()
    own = frozenset(term.binders) if isinstance(term, Reduce) else frozenset[str]()
    return any(
        row.equality and len(row.form.terms) == 2 and not row.form.constant
        and any(inner.array == lookup.array and inner.variables & own for inner in row.form.lookups())
        for row in rows
    )  # fmt: skip
