"""Which definitions a program needs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tadc.frontend.program import Definition, Program
from tadc.frontend.terms import tensors_read


def needed(definitions: Sequence[Definition]) -> tuple[Definition, ...]:
    """The definitions that are returned, or read by one that is needed, in order."""
    kept: list[Definition] = []
    wanted: set[str] = set()
    for definition in reversed(definitions):
        if definition.is_output or definition.name in wanted:
            kept.append(definition)
            wanted |= tensors_read([definition.body])
    return tuple(kept[::-1])


def of_values(program: Program) -> set[str]:
    """The names of tensors that values need: results that are no derivatives."""
    values = [replace(d, is_output=is_value(d)) for d in program.definitions]
    return {d.name for d in needed(values)}


def is_value(definition: Definition) -> bool:
    """Whether a definition is a result, and no derivative of one."""
    return definition.is_output and not (definition.gradient_of or definition.tangent_of)
