"""Arrays of NumPy, and what it reads as such, as the arrays that a kernel takes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np

from tadc.backend.runtime.call_messages import element, said, shape_problem, type_problem
from tadc.backend.runtime.call_sizes import SizeSymbols
from tadc.backend.runtime.copied_arrays import as_read, inexact
from tadc.backend.runtime.frameworks import foreign_device, framework_of, is_divided, is_lazy, is_traced
from tadc.backend.runtime.inspector import Array
from tadc.backend.runtime.kept_indices import Relation
from tadc.backend.runtime.parameters import Parameter
from tadc.backend.runtime.read_calls import Door, read_call
from tadc.frontend.diagnostics import Diagnostic
from tadc.frontend.dtypes import DTYPES
from tadc.frontend.extents import extent_text

#: NumPy's flags C_CONTIGUOUS and ALIGNED: elements are read as they are.
AS_IT_IS = 0x0101


class HostDoor(Door):
    """Arrays of NumPy, and what it reads as such: contiguous, aligned, of the program's type.

    What fits is passed as it is; another layout or a type that converts without loss is copied. Numbers and
    lists of Python convert to f32 as well. An index array is one of integers of some type, or a Relation; its
    elements are not looked at.
    """

    def seen(self, parameter: Parameter, value: Any) -> Any | Diagnostic:
        """See Door."""
        if (
            type(value) is np.ndarray
            and value.dtype is parameter.dtype
            and parameter.fits(value.shape)
            and value.flags.num & AS_IT_IS == AS_IT_IS
        ):
            return value
        if parameter.below is not None and isinstance(value, Relation):
            if not is_traced(value.array):
                return shape_problem(parameter, value.shape) or value
            value = value.array
        return super().seen(parameter, value)

    def array(self, parameter: Parameter, value: Any) -> Array | Diagnostic:
        """See Door."""
        library = framework_of(value)
        if library is not None and library.records(value):
            return said("recorded", parameter)
        if is_lazy(value):
            return said("lazy", parameter)
        if value is None or isinstance(value, str | bytes):
            return said("nothing", parameter, found=type(value).__name__)
        try:
            array: Array = np.asarray(value)
        except Exception as error:  # whatever the library of the value raises
            return unreadable(parameter, value) or said("unreadable", parameter, reason=error)
        if isinstance(value, Mapping):
            return said("mapping", parameter)
        if array.dtype.kind == "O" and (found := unreadable(parameter, value)):
            return found
        return said("masked", parameter, helps=[_unmasked(parameter)]) if _is_masked(value) else array

    def type_problem(self, parameter: Parameter, array: Array, value: Any) -> Diagnostic | None:
        """See Door."""
        return _check_dtype(parameter, array, value, hasattr(value, "dtype"))

    def as_read(self, parameter: Parameter, array: Array, value: Any) -> Array | Diagnostic:
        """See Door."""
        typed = hasattr(value, "dtype")
        if parameter.below is not None:
            kind = array.dtype if typed or array.size else parameter.dtype
            # A type in this machine's order of bytes stays the same object: so does the array, where it fits.
            return as_read(parameter, array, kind if kind.isnative else kind.newbyteorder("="))
        result = as_read(parameter, array, parameter.dtype)
        if isinstance(result, Diagnostic):
            return result
        if typed and (problem := inexact(parameter, array, result)):
            return problem
        if not typed and not np.array_equal(np.isfinite(result), np.isfinite(array)):
            return said("infinite", parameter, greatest=DTYPES[parameter.type].greatest)
        return result


HOST = HostDoor()


def bind(
    parameters: Sequence[Parameter], args: Sequence[Any], kwargs: Mapping[str, Any] | None = None
) -> list[Array]:
    """One array for each parameter, in order, as `HostDoor` has them. Raises ArgumentError as `read_call`."""
    return read_call(SizeSymbols((), parameters), args, kwargs or {}, HOST).arrays


def unreadable(parameter: Parameter, value: Any) -> Diagnostic | None:
    """The error (TAD0504) for an array of another library that gives no elements, where it is known why."""
    if is_traced(value):
        return said("traced", parameter)
    if getattr(value, "requires_grad", False) is True:
        return said("recorded", parameter)
    if is_divided(value):
        return said("divided", parameter)
    device = foreign_device(value)
    return None if device is None else said("device", parameter, found=device)


def _is_masked(value: Any) -> bool:
    mask: Any = getattr(value, "mask", None)
    return mask is not None and hasattr(value, "filled") and bool(np.any(mask))


def _unmasked(parameter: Parameter) -> str:
    if parameter.below is not None:
        return f"0 is an index as others: take those that are not masked, `{parameter.name}.compressed()`"
    return f"fill them: write `{parameter.name}.filled(0)`"


def _check_dtype(parameter: Parameter, array: Array, value: Any, typed: bool) -> Diagnostic | None:
    if parameter.below is not None:
        is_empty = not typed and array.size == 0
        if is_empty or array.dtype.kind in "iu":
            return None
        given = array if typed or array.dtype.kind not in "fO" else np.asarray(value, object)
        return _too_large(parameter, given) or type_problem(
            parameter, array.dtype.kind, array.dtype.name, "numpy"
        )
    if typed and np.can_cast(array.dtype, parameter.dtype, "safe"):
        return None
    # The type of an empty list says nothing.
    if not typed and (array.dtype.kind in "biuf" or array.size == 0):
        return None
    name = array.dtype.name if typed else _kind_of(value, array)
    problem = type_problem(parameter, array.dtype.kind, name, "numpy")
    if array.dtype.kind == "O" and isinstance(value, np.ndarray | list | tuple):
        made = f"numpy.array({parameter.name}, dtype={DTYPES[parameter.type].numpy})"
        problem.helps.append(f"make it an array of numbers: `{made}`")
    return problem


def _too_large(parameter: Parameter, given: Array) -> Diagnostic | None:
    """The error (TAD0511) for an integer of Python that no type of NumPy holds."""
    if given.dtype.kind != "O" or not all(isinstance(value, int) for value in given.flat):
        return None
    for place, value in np.ndenumerate(given):
        if not 0 <= value < 2**63:
            must = "at least 0" if value < 0 else f"below {extent_text(parameter.below or 0)}"
            return said("index", parameter, place=element(parameter, place), value=value, must=must)
    return None


def _kind_of(value: Any, array: Array) -> str:
    """The type of what is no number in a value of Python."""
    while isinstance(value, list | tuple) and array.size:
        items = cast("list[Any] | tuple[Any, ...]", value)
        value = next((x for x in items if not isinstance(x, int | float)), items[0])
    return str(cast(Any, value).__class__.__name__)
