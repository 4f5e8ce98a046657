"""Quick looks at arrays on a GPU: where one begins, and facts that are equal where it is like one before.

`view_of` tells all of an array and what is wrong with it. Of an array of which type, shape and all else are
those of an earlier call, the address alone is new.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tadc.backend.cuda.api import LEGACY_STREAM
from tadc.backend.cuda.device_arrays import DeviceArray
from tadc.backend.cuda.driver import NoGpu, cuda_driver
from tadc.backend.runtime.dlpack import look_into
from tadc.backend.runtime.frameworks import Framework, framework_of
from tadc.backend.runtime.kept_indices import Relation

#: Where an array begins, and its facts, which are of one kind for arrays of one type.
Glance = Callable[[Any], tuple[int, Any]]


def _at_ours(value: DeviceArray) -> tuple[int, Any]:
    memory = value.allocation
    return value.start, (value.shape, value.dtype, memory.stream, memory.device)


def _at_number(value: float) -> tuple[int, Any]:
    """A number of Python has its address from an earlier call; zeros differ in their signs."""
    return 0, value or repr(value)


def _at_relation(value: Relation) -> tuple[int, Any]:
    """It has its address from an earlier call; `told_of` tells it from others."""
    return 0, value.shape


def _at_interface(value: Any) -> tuple[int, Any]:
    found = value.__cuda_array_interface__
    address: int = found["data"][0] or 0
    kind = found["typestr"], found.get("strides"), found.get("stream"), found.get("mask") is None
    return address, (found["shape"], *kind, _device_at(address))


def _at_capsule(value: Any) -> tuple[int, Any]:
    # Where it is no copy, which lives as long as the capsule, the memory lives as long as the array.
    return look_into(value.__dlpack__(stream=LEGACY_STREAM))


def _device_at(address: int) -> int | None:
    """The GPU of an address where there are several."""
    try:
        driver = cuda_driver()
    except NoGpu:
        return 0
    return driver.device_at(address) if driver.count > 1 else 0


#: Types of Python's numbers, which are copied to the GPU.
NUMBERS = (float, int, bool)
_type_of: Callable[[Any], Any] = type
_ALWAYS: dict[Any, Glance | None] = {kind: _at_number for kind in NUMBERS}
_ALWAYS[DeviceArray] = _at_ours
_ALWAYS[Relation] = _at_relation
#: By the types that calls were made with, of which so many are kept.
_known = dict(_ALWAYS)
_MOST = 64


def glance_at(value: Any) -> Glance | None:
    """What looks at arrays of this type, None where nothing is quicker than a view."""
    kind = _type_of(value)
    if kind not in _known:
        if len(_known) > _MOST:
            _known.clear()
            _known.update(_ALWAYS)
        _known[kind] = _found(value)
    return _known[kind]


def _found(value: Any) -> Glance | None:
    framework = framework_of(value)
    if framework is not None:
        own = type(framework).glance is not Framework.glance
        return framework.glance if own else None
    if hasattr(value, "__cuda_array_interface__"):
        return _at_interface
    return _at_capsule if hasattr(value, "__dlpack__") else None


def look(values: list[Any]) -> tuple[list[int], list[Any]] | None:
    """The addresses of arrays on a GPU, and their facts; None where an array is not seen at a glance.

    Raises what libraries of arrays raise.
    """
    addresses: list[int] = []
    facts: list[Any] = []
    for value in values:
        glance = _known.get(_type_of(value))
        if glance is None:
            return None
        address, fact = glance(value)
        addresses.append(address)
        facts.append(glance)
        facts.append(fact)
    return addresses, facts
