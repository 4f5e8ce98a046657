"""Large arrays that functions of JAX have in them, as arguments of theirs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

from tadc.importing.jax_equations import JaxValue, compute, equations_of, value_of
from tadc.lattice.late_dataclasses import dataclass

#: In bytes. MLIR has constants as text, of two digits a byte, which of smaller ones takes a few milliseconds.
_LARGE = 2**16


@dataclass(frozen=True)
class LiftedFunction:
    """A function without its large constants: of its arguments in a row, and then of these."""

    run: Callable[..., list[Any]]
    constants: Sequence[Any]


def lifted_function(closed: Any) -> LiftedFunction | None:
    """What JAX traced without its large constants; None where it has none."""
    arguments = [JaxValue(v.aval) for v in closed.jaxpr.invars]
    equations, results = equations_of(closed, arguments)
    read = dict.fromkeys([v for equation in equations for v in equation.inputs] + results)
    # Several values are of one array where functions inside read it, too.
    large = {id(v.value): v.value for v in read if _is_large(v)}
    if not large:
        return None

    def run(*given: Any) -> list[Any]:
        known: dict[JaxValue, Any] = dict(zip(arguments, given[: len(arguments)], strict=True))
        arrays = dict(zip(large, given[len(arguments) :], strict=True))
        known |= {v: arrays[id(v.value)] for v in read if id(v.value) in arrays}
        compute(equations, known)
        return [value_of(result, known) for result in results]

    return LiftedFunction(run, list(large.values()))


def _is_large(value: JaxValue) -> bool:
    jax: Any = import_module("jax")
    if value.value is None or isinstance(value.value, jax.core.Tracer):
        return False
    return value.has_numbers and value.type.size * value.type.dtype.itemsize >= _LARGE
