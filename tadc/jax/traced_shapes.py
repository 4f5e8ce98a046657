"""The shapes and types of a call, checked while JAX traces it: those of results, or what is wrong."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false
# JAX leaves much of itself untyped.

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

from jax import dtypes

from tadc.backend.runtime.call_messages import declared
from tadc.backend.runtime.call_sizes import SizeSymbols
from tadc.backend.runtime.parameters import Parameter
from tadc.backend.runtime.size_list import Numbers, lengths
from tadc.compiler.kernel_interface import parameters_of, size_symbols_of
from tadc.frontend.diagnostics import ArgumentError, Diagnostic
from tadc.frontend.extents import shape_at
from tadc.frontend.program import Program

Shape = tuple[Any, ...]
"""Extents are integers, or JAX's symbols in programs that are exported for all sizes."""


class Shapes:
    """What a program says of the shapes of arguments and results."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.inputs, self.outputs = parameters_of(program)
        self._known: dict[tuple[Shape, ...], tuple[Shape, ...]] = {}

    @cached_property
    def symbols(self) -> SizeSymbols:
        """How shapes tell sizes."""
        return size_symbols_of(self.program)

    def results(self, shapes: tuple[Shape, ...]) -> tuple[Shape, ...]:
        """The shapes of the results. Raises ArgumentError: all that is wrong with those of the arguments."""
        found = self._known.get(shapes)
        if found is None:
            sizes = self.sizes(shapes)
            found = tuple(shape_at(p.shape, sizes) for p in self.outputs)
            if len(self._known) < 256:
                self._known[shapes] = found
        return found

    def sizes(self, shapes: tuple[Shape, ...], given: Mapping[str, int] | None = None) -> Mapping[str, Any]:
        """The values of all size symbols, of which some are given. Raises ArgumentError as `results`."""
        if is_known(shapes):
            return self.symbols.values(shapes, given or {})
        return self.symbols.list.values(lengths(shapes), {}, Numbers[Any]())

    def in_question(self, shapes: tuple[Shape, ...]) -> Mapping[str, int] | None:
        """The sizes where they are in a set that may be excluded, so that the kernel would refuse them."""
        if not self.program.excluded or not is_known(shapes):
            return None
        sizes = self.sizes(shapes)
        refused = any(all(row.holds(sizes) for row in rows) for rows in self.program.excluded)
        return sizes if refused else None


def is_known(shapes: Sequence[Shape]) -> bool:
    """Whether all extents are integers."""
    return all(isinstance(extent, int) for shape in shapes for extent in shape)


def require_types(inputs: Sequence[Parameter], outputs: Sequence[Parameter]) -> None:
    """Raise ArgumentError (TAD0504) where JAX has no such arrays as the program."""
    wide = [p for p in (*inputs, *outputs) if dtypes.canonicalize_dtype(p.dtype) != p.dtype]
    if wide:
        helps = [
            'switch them on before JAX makes arrays: `jax.config.update("jax_enable_x64", True)`',
            "or write the program in f32",
        ]
        message = f"`{wide[0].name}` is f64, and the 64 bits of JAX are switched off"
        raise ArgumentError([Diagnostic("TAD0504", message, notes=[declared(wide[0])], helps=helps)])
