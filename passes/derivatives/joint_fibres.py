"""Elements of several index arrays at one place that have to be equal to others: their joint fibres.

    sum{f: r[f] = u and c[f] = v} g(f)

- Where u and v are elements at one place e, `row[e]` and `col[e]`, the inspector merges both sorted lists
  once: the loop over q from `r.c.row.col.before[e]` up to `r.c.row.col.until[e]`, in the places of (r, c) in
  their order.
- Where they depend on two loops, each pair of values has a key, a number that few other pairs have: the loop
  over the fibre of that key, in which r and c are tested. The key of (u, v) is `r.ptr[u] + c.r.spread0[v]`,
  of numbers that look random, from 0 up to the length of the longest fibre of r. So pairs of one u are near
  each other, and about one other pair is expected to have the same key.

Both take time and memory in proportion to the elements and to the numbers of values, never to their product,
and nothing runs over all elements of r that are u.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tadc.frontend.extents import Shape, as_form, extent
from tadc.frontend.terms import Domain
from tadc.lattice.affine import ZERO, Affine, Constraint, Lookup, box
from tadc.lattice.late_dataclasses import dataclass
from tadc.lattice.polyhedron import implied
from tadc.passes.terms.inspected_arrays import Arrays


@dataclass(frozen=True)
class Equation:
    """A row that says what an element of an index array is: `value // divisor`, and that nothing is left."""

    row: Constraint
    lookup: Lookup
    value: Affine
    divisor: int

    @property
    def known(self) -> Affine:
        """What the element is."""
        return self.value.floordiv(self.divisor)


def groups_of(equations: Iterable[Equation], arrays: Arrays) -> list[tuple[Equation, ...]]:
    """The equations of elements at one place of several arrays of one shape, one for each array."""
    found: dict[tuple[tuple[Affine, ...], Shape], dict[str, Equation]] = {}
    for equation in equations:
        lookup = equation.lookup
        found.setdefault((lookup.at, arrays[lookup.array].shape), {}).setdefault(lookup.array, equation)
    return [tuple(group.values()) for group in found.values() if len(group) > 1]


@dataclass(frozen=True)
class Asked:
    """Index arrays that have the values of some equations at a place, `at` in their shape."""

    names: tuple[str, ...]
    at: tuple[Affine, ...]


def asked_at_a_place(group: Sequence[Equation], arrays: Arrays, facts: Domain) -> Asked | None:
    """Index arrays with the values of equations, where elements at one place say these, or one index does.

    They have no more elements than an index array of the program, or than there are values of that index.
    """
    sizes = frozenset(arrays.program.sizes)
    told = _told(facts, sizes)
    values = [
        equation.value.replace(lambda atom: told.get(atom) if isinstance(atom, str) else None)
        for equation in group
    ]
    found = _place(values, arrays, facts, sizes)
    if found is None or any(equation.divisor > 1 for equation in group):
        return None
    names, shape = found
    inside = box(names, shape)
    # The inspector compares at all places, also where the facts do not hold.
    everywhere = (*arrays.program.size_facts(), *inside)
    bounds = (
        form
        for value, equation in zip(values, group, strict=True)
        for form in (value, equation.lookup.below - 1 - value)
    )
    if not all(implied(row.form, facts) for row in inside) or not all(
        implied(form, everywhere) for form in bounds
    ):
        return None
    made = [
        _array_of(value, names, shape, equation.lookup.array, arrays)
        for value, equation in zip(values, group, strict=True)
    ]
    return Asked(tuple(made), tuple(map(Affine.var, names)))


def _told(facts: Domain, sizes: frozenset[str]) -> dict[str, Affine]:
    """The indices that facts say to be elements of index arrays."""
    told: dict[str, Affine] = {}
    for row in facts:
        for name in row.form.variables - sizes if row.equality else ():
            form = row.form.solved(name)
            if form is not None and form.lookup is not None:
                told.setdefault(name, form)
    return told


def _place(
    values: Sequence[Affine], arrays: Arrays, facts: Domain, sizes: frozenset[str]
) -> tuple[tuple[str, ...], Shape] | None:
    """The indices that values depend on and how many there are of each, if they are those of one element."""
    names = frozenset[str]().union(*(value.variables for value in values)) - sizes
    for lookup in (lookup for value in values for lookup in value.lookups()):
        at = [name for form in lookup.at if (name := form.variable) is not None]
        if len(at) == len(lookup.at) == len(names) and names == frozenset(at):
            return tuple(at), arrays[lookup.array].shape
    if len(names) != 1:
        return None
    (name,) = names
    for row in facts:
        above = row.form + Affine.var(name) + 1
        if (
            not row.equality
            and row.form.coefficient(name) == -1
            and above.variables <= sizes
            and not above.has_lookups
        ):
            return (name,), (extent(above),)
    return None


def _array_of(value: Affine, names: Sequence[str], shape: Shape, compared: str, arrays: Arrays) -> str:
    """The index array of a shape whose elements are values of a form."""
    lookup = value.lookup
    if (
        lookup is not None
        and lookup.at == tuple(map(Affine.var, names))
        and arrays[lookup.array].shape == shape
    ):
        return lookup.array
    of = tuple(dict.fromkeys(lookup.array for lookup in value.lookups())) or (compared,)
    form = value.substitute({name: Affine.var(f"#{n}") for n, name in enumerate(names)})
    below = as_form(arrays.below(compared))
    return arrays.values(of, form, tuple(map(as_form, shape)), below).name


def same_key(group: Sequence[Equation], arrays: Arrays) -> Equation:
    """The equation of the keys of equations whose values are in range."""
    key, parts = arrays.key([equation.lookup.array for equation in group])
    asked = sum((part.lookup([equation.known]) for part, equation in zip(parts, group, strict=True)), ZERO)
    found = key.element(group[0].lookup.at)
    return Equation(Constraint(Affine.atom(found) - asked, equality=True), found, asked, 1)
