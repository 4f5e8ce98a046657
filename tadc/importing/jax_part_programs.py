"""The program of some equations of JAX, and how it is called among the others."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

from tadc.importing.computation_parts import Part
from tadc.importing.imported_function import imported_function
from tadc.importing.jax_equations import JaxEquation, JaxValue, compute, value_of
from tadc.importing.jax_tracing import program_of_traced, traced_by_jax
from tadc.passes.linalg.source_places import SourcePlace


class PartProgram:
    """The program of a part. Raises CompileError where there is none."""

    def __init__(
        self,
        part: Part[JaxEquation],
        names: Sequence[str],
        results: Sequence[str],
        name: str,
        place: SourcePlace | None,
    ) -> None:
        jax: Any = import_module("jax")
        self.part, self.names = part, names

        def computed(*arrays: Any) -> list[Any]:
            known = dict(zip(part.inputs, arrays, strict=True))
            compute(part.equations, known)
            return [known[v].astype("float32") if v.is_condition else known[v] for v in part.outputs]

        given = [jax.ShapeDtypeStruct(v.type.shape, v.type.dtype) for v in part.inputs]
        traced = traced_by_jax(computed, given, name, place)
        self.function = imported_function(program_of_traced(traced, names, results, name, place))

    def run(self, known: dict[JaxValue, Any]) -> None:
        """Call it in JAX; truth values are numbers to it."""
        given = dict(self.function.constants)
        for value, name in zip(self.part.inputs, self.names, strict=True):
            if name in self.function.inputs:
                array = value_of(value, known)
                given[name] = array.astype("int32") if value.is_condition else array
        found: Any = self.function.jax(**given)
        outputs = self.function.outputs
        by_name = dict(zip(outputs, found if len(outputs) > 1 else (found,), strict=True))
        for value, name in zip(self.part.outputs, self.function.results, strict=True):
            known[value] = by_name[name] != 0 if value.is_condition else by_name[name]
