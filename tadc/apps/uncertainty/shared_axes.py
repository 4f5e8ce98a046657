"""Programs that compute many points at once: what of their inputs all points share."""

from __future__ import annotations

from tadc.toolkit.language import Program, Read, as_form, reachable


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
            for read in reachable([d.body]):
                if isinstance(read, Read) and read.indices[:p] != d.own[:p]:
                    alike.discard(read.tensor)
                    if read.tensor in {e.name for e in definitions}:
                        return found
        found.append(tuple(a.name for a in program.arguments if a.name in alike))
    return found
