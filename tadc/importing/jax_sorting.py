"""Which equations of a function of JAX become programs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tadc.importing.computation_parts import Sorting
from tadc.importing.jax_equations import JaxEquation, JaxValue, why_left

#: They take integers as places: of what they read, by a promise of JAX's.
_READS = ("gather", "scatter", "scatter-add", "scatter_add")


def sorted_equations(
    equations: Sequence[JaxEquation], refused: Mapping[JaxEquation, str]
) -> Sorting[JaxEquation]:
    """What stays in JAX: what is refused, what no program has, and integers that are no constants."""
    sorting = Sorting[JaxEquation]()
    for equation in equations:
        sorting.constants.update(v for v in equation.inputs if v.is_written_out)
        is_static = all(v.is_written_out or v in sorting.static for v in equation.inputs)
        reason = refused.get(equation) or why_left(equation)
        sorting.add(equation, is_static, reason, lambda e: _is_of_integers(e, sorting.static))
    return sorting


def _is_of_integers(equation: JaxEquation, static: set[JaxValue]) -> bool:
    """Whether it computes integers, or reads such that are no places."""

    def is_number(value: JaxValue) -> bool:
        return value.is_float or value.is_condition or value.is_written_out or value in static

    if not all(v.is_float or v.is_condition for v in equation.outputs):
        return True
    if all(map(is_number, equation.inputs)):
        return False
    mode = str(equation.original.params.get("mode", ""))
    return equation.name not in _READS or "PROMISE" not in mode
