"""What calls take in JAX: its arrays, traced or not, by its rules of promotion, and what NumPy reads."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# JAX leaves much of itself untyped.

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from tadc.api.array_kinds import as_numpy_array
from tadc.backend.runtime.call_messages import said, type_problem
from tadc.backend.runtime.host_arrays import HOST
from tadc.backend.runtime.inspector import INDEX_LIMIT
from tadc.backend.runtime.kept_indices import Relation
from tadc.backend.runtime.parameters import Parameter
from tadc.backend.runtime.read_calls import Door
from tadc.frontend.diagnostics import Diagnostic
from tadc.jax.relation_tree import unpacked


class TracedDoor(Door):
    """Arrays while JAX traces a call: converted by its rules of promotion, never to a narrower type."""

    sparse = "a BCOO, as `jax.experimental.sparse.BCOO.fromdense({})`"

    def array(self, parameter: Parameter, value: Any) -> Any | Diagnostic:
        """See Door; a list of Python's numbers is of the program's type, as one number is."""
        value = unpacked(value)
        if isinstance(value, list | tuple) and all(_is_real_number(n) for n in jax.tree.leaves(value)):
            return jnp.asarray(value, parameter.dtype)
        array: Any = jnp.asarray(value)
        if not isinstance(array.dtype, np.dtype):
            return said("nothing", parameter, found=str(array.dtype))
        return array

    def type_problem(self, parameter: Parameter, array: Any, value: Any) -> Diagnostic | None:
        """See Door. An index array has integers."""
        if parameter.below is not None:
            is_right = array.dtype.kind in "iu"
        else:
            is_right = _promoted(array.dtype, array.weak_type, parameter.dtype) == parameter.dtype
        is_lossy = not np.can_cast(array.dtype, parameter.dtype)
        found = array.dtype.kind, array.dtype.name
        return None if is_right else type_problem(parameter, *found, "jax", is_lossy=is_lossy)

    def as_read(self, parameter: Parameter, array: Any, value: Any) -> Any:
        """See Door. An index that 32 bits do not hold becomes one out of range."""
        made = array.astype(parameter.dtype)
        if parameter.below is None or np.can_cast(array.dtype, parameter.dtype):
            return made
        return jnp.where((array >= 0) & (array < INDEX_LIMIT), made, -1)


TRACED = TracedDoor()


class OuterDoor(Door):
    """Values before JAX traces a call: what it takes for no array becomes one of NumPy."""

    sparse = TracedDoor.sparse

    def seen(self, parameter: Parameter, value: Any) -> Any | Diagnostic:
        """See Door."""
        if isinstance(value, jax.Array | Relation) or _is_plain(parameter, value):
            return value
        return HOST.seen(parameter, as_numpy_array(value))


OUTER = OuterDoor()


def _is_real_number(value: Any) -> bool:
    """Whether a value, which may be traced, came as a number of Python without an imaginary part."""
    array = jnp.asarray(value)
    return array.weak_type and array.dtype.kind in "biuf"


def _promoted(given: Any, is_weak: bool, wanted: Any) -> Any:
    if is_weak and given.kind in "biuf":
        return wanted
    try:
        return jnp.promote_types(given, wanted)
    except (TypeError, ValueError):  # of 8 bits, which promote to nothing
        return None


def _is_plain(parameter: Parameter, value: Any) -> bool:
    """Whether a value is what JAX takes, or says itself what is wrong with."""
    if parameter.below is not None or not isinstance(value, PLAIN_KINDS) or type(value) is np.ma.MaskedArray:
        return False
    try:
        kind = np.asarray(value).dtype
    except Exception:  # whatever the library of the value raises
        return False
    size = 16 if kind.kind == "c" else 8
    return kind.kind in "biufcV" and kind.isnative and kind.names is None and kind.itemsize <= size


PLAIN_KINDS = (bool, int, float, complex, list, tuple, np.ndarray, np.generic)
"""The types of what JAX may take beside its own arrays."""


def is_jax_value(value: Any) -> bool:
    """Whether a value may be what JAX takes for an array, by its type alone."""
    return isinstance(value, (jax.Array, Relation, *PLAIN_KINDS))
