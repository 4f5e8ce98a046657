"""Programs at many points at once: what all points share, and programs given a dimension for points."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from tadc.frontend.extents import as_form
from tadc.frontend.naming import first_free
from tadc.frontend.program import Definition, Program
from tadc.frontend.terms import Read, Reduce, Term, bottom_up, reachable
from tadc.lattice.affine import Affine


def repeated(program: Program, names: Collection[str]) -> Program:
    """A program with a dimension in front of every definition and of the arguments `names`.

    Element n of it is the program at element n of these arguments, and at the others as they are.
    """
    terms = program.terms
    shapes = program.shapes()
    taken = {*shapes, *program.sizes, *(i for d in program.definitions for i in d.indices)}
    for term in reachable(d.body for d in program.definitions):
        if isinstance(term, Reduce):
            taken |= {*term.hints}
    index, symbol = first_free("n", taken), first_free("POINTS", taken)
    size = Affine.var(symbol)
    carried = {*names, *(d.name for d in program.definitions)}
    memo: dict[int, Term] = {}

    def read_anew(node: Term, below: list[Term]) -> Term:
        if isinstance(node, Read) and node.tensor in carried:
            assert node.type
            return terms.read(node.tensor, (Affine.var(index), *node.indices), node.type, node.span)
        return terms.rebuild(node, below)

    return replace(
        program,
        arguments=tuple(
            replace(a, shape=(size, *a.shape)) if a.name in names else a for a in program.arguments
        ),
        definitions=tuple(
            replace(
                d,
                shape=(size, *d.shape),
                indices=(index, *d.indices),
                body=bottom_up(d.body, memo, read_anew),
            )
            for d in program.definitions
        ),
        sizes=(*program.sizes, symbol),
    )


def shared_axes(program: Program) -> list[tuple[str, ...]]:
    """For each number p of leading dimensions that all definitions walk alike: the arguments that do too.

    Element by element: entry p holds the arguments that every read takes at the p leading indices of what
    is computed, and every definition is read so. Entry 0 holds none.
    """
    found: list[tuple[str, ...]] = [()]
    definitions = program.definitions
    limit = min((len(d.shape) for d in definitions), default=0)
    for p in range(1, limit + 1):
        front = [as_form(size) for size in definitions[0].shape[:p]]
        if any([as_form(size) for size in d.shape[:p]] != front for d in definitions):
            break
        alike = {a.name for a in program.arguments if [as_form(size) for size in a.shape[:p]] == front}
        for d in definitions:
            own = [Affine.var(i) for i in d.indices[:p]]
            for read in _reads(d):
                if list(read.indices[:p]) != own:
                    alike.discard(read.tensor)
                    if read.tensor in {e.name for e in definitions}:
                        return found
        found.append(tuple(a.name for a in program.arguments if a.name in alike))
    return found


def _reads(definition: Definition) -> Sequence[Read]:
    return [term for term in reachable([definition.body]) if isinstance(term, Read)]
