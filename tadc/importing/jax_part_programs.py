"""How JAX runs parts of a function, and the programs of some."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

from tadc.api.function import Function
from tadc.importing.computation_parts import Part
from tadc.importing.imported_function import ImportedFunction, imported_function
from tadc.importing.jax_equations import JaxEquation, JaxValue, compute, value_of
from tadc.importing.jax_tracing import program_of_traced, traced_by_jax
from tadc.passes.linalg.source_places import SourcePlace


class JaxHost:
    """See Host."""

    def compute(self, operations: Sequence[JaxEquation], known: dict[Any, Any]) -> None:
        """See Host."""
        compute(operations, known)

    def value(self, value: JaxValue, known: dict[Any, Any]) -> Any:
        """See Host."""
        return value_of(value, known)

    def is_condition(self, value: JaxValue) -> bool:
        """See Host."""
        return value.is_condition

    def numbers(self, conditions: Any) -> Any:
        """See Host."""
        return conditions.astype("int32")

    def of_program(self, f: Function) -> Callable[..., Any]:
        """See Host."""
        return f.jax


def function_of_part(
    part: Part[JaxEquation],
    names: Sequence[str],
    results: Sequence[str],
    name: str,
    place: SourcePlace | None,
) -> ImportedFunction:
    """The program of a part. Raises CompileError where there is none."""
    jax: Any = import_module("jax")

    def computed(*arrays: Any) -> list[Any]:
        known = dict(zip(part.inputs, arrays, strict=True))
        compute(part.equations, known)
        return [known[v].astype("float32") if v.is_condition else known[v] for v in part.outputs]

    given = [jax.ShapeDtypeStruct(v.type.shape, v.type.dtype) for v in part.inputs]
    traced = traced_by_jax(computed, given, name, place)
    return imported_function(program_of_traced(traced, names, results, name, place))
