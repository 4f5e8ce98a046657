"""Elements of index arrays that a loop over a fibre knows.

    sum{q}_(src.ptr[b])^(src.ptr[b + 1] - 1) (w[src.perm[q]] * cos(x[src[src.perm[q]]]))
    is  sum{q}_(src.ptr[b])^(src.ptr[b + 1] - 1) (w[src.perm[q]] * cos(x[b]))

for `src.perm[q]` with q between these bounds are the places where `src` is b. What is b does not depend on q,
and is computed outside of the sum.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tadc.frontend.program import Argument, Program
from tadc.frontend.terms import Reduce, Term, bottom_up
from tadc.lattice.affine import Affine, Floor, Lookup
from tadc.lattice.fibre import over


def with_fibre_values(program: Program) -> Program:
    """The program that looks up nothing that a loop over a fibre knows; it itself where none knows any."""
    arrays, terms, known = program.index_arrays(), program.terms, dict[int, Term]()

    def node(term: Term, below: Sequence[Term]) -> Term:
        same = all(new is old for new, old in zip(below, term.below, strict=True))
        made = term if same else terms.rebuild(term, below)
        if not isinstance(made, Reduce):
            return made
        values = {lookup: value for name in made.binders for lookup, value in _values(made, name, arrays)}

        def value(atom: str | Floor | Lookup) -> Affine | None:
            return values.get(atom) if isinstance(atom, Lookup) else None

        body = terms.rewrite_forms(made.body, frozenset(made.binders), lambda form: form.replace(value))
        return made if body is made.body else terms.rebuild(made, [body])

    return program.with_bodies(bottom_up(d.body, known, node) for d in program.definitions)


def _values(node: Reduce, name: str, arrays: dict[str, Argument]) -> Iterator[tuple[Lookup, Affine]]:
    """The elements of index arrays that are known where an index runs over a fibre, with their values."""
    place = Affine.var(name)
    for fibre in over(name, node.domain):
        made = arrays[fibre.array].inspected
        if made is None or made.kind != "ptr" or name in fibre.start.variables or not fibre.is_one:
            continue
        for of, value in zip(made.of, fibre.values, strict=True):
            at = _places(of, made.of, place, arrays)
            if at is not None:
                found = arrays[of].lookup(at).terms[0][0]
                assert isinstance(found, Lookup)
                yield found, value


def _places(
    of: str, together: tuple[str, ...], place: Affine, arrays: dict[str, Argument]
) -> tuple[Affine, ...] | None:
    """The subscripts of the element of an array at a place of a fibre; None where they have no name."""
    if arrays[of].increasing and len(together) == 1:
        return (place,)
    perms = {
        made.axis: array
        for array in arrays.values()
        if (made := array.inspected) is not None and (made.kind, made.of) == ("perm", together)
    }
    axes = range(len(arrays[of].shape))
    return tuple(perms[axis].lookup([place]) for axis in axes) if perms.keys() >= set(axes) else None
