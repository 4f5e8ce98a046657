"""Which definitions and sizes a program needs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from tadc.frontend.extents import symbols_in
from tadc.frontend.program import Argument, Definition, Program
from tadc.frontend.terms import index_forms, reachable, tensors_read


def needed(definitions: Sequence[Definition]) -> tuple[Definition, ...]:
    """The definitions that are returned, or read by one that is needed, in order."""
    kept: list[Definition] = []
    wanted: set[str] = set()
    for definition in reversed(definitions):
        if definition.is_output or definition.name in wanted:
            kept.append(definition)
            wanted |= tensors_read([definition.body])
    return tuple(kept[::-1])


def used_sizes(program: Program, arguments: Iterable[Argument]) -> set[str]:
    """The sizes that definitions and the shapes of these arguments use."""
    kept = tuple(arguments)
    nodes = reachable([d.body for d in program.definitions])
    found = {name for node in nodes for form in index_forms(node) for name in form.variables}
    found |= {name for d in program.definitions if d.order is not None for name in d.order.variables}
    found |= symbols_in(size for t in (*kept, *program.definitions) for size in t.shape)
    found |= symbols_in(a.below for a in kept if a.below is not None)
    return found & set(program.sizes)


def of_values(program: Program) -> set[str]:
    """The names of tensors that values need: results that are no derivatives."""
    values = [replace(d, is_output=is_value(d)) for d in program.definitions]
    return {d.name for d in needed(values)}


def is_value(definition: Definition) -> bool:
    """Whether a definition is a result, and no derivative of one."""
    return definition.is_output and not (definition.gradient_of or definition.tangent_of)
