"""Index arrays on a GPU that a kernel has seen, and what was made of them there.

To check and sort them takes tens of launches, and waits. What was made serves again while the memory is that
of the same array and its library has counted no write to it, as PyTorch counts them for autograd; JAX writes
to none, and to arrays of ours others do when they know the address. Arrays of other libraries are compared
with a copy, in a launch each and one wait.
"""

from __future__ import annotations

import weakref
from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from tadc.backend.cuda.device_arrays import DeviceArray, View, copied_in, view_of
from tadc.backend.runtime.frameworks import framework_of
from tadc.backend.runtime.kept_indices import KeptIndexArray, Relation

if TYPE_CHECKING:
    from tadc.backend.cuda.device import Device
    from tadc.backend.cuda.device_inspector import DeviceInspector

#: So many calls' arrays are kept, and copies of so many bytes.
_CALLS, _BYTES = 8, 1 << 28


class SeenArrays(NamedTuple):
    """What tells index arrays of a call from others, but for their addresses: what has their memory, and how
    often that was written to."""

    owners: tuple[Any, ...]
    writes: tuple[Hashable, ...]

    @property
    def facts(self) -> tuple[Hashable, ...]:
        """Equal for equal arrays, while the owners live."""
        return (*map(id, self.owners), *self.writes)


def told_of(values: Sequence[Any]) -> SeenArrays | None:
    """What relations and libraries of arrays tell; None where one does not tell."""
    found: list[tuple[Any, Hashable]] = []
    for value in values:
        if isinstance(value, Relation | DeviceArray):
            own = (value.kept, 0) if isinstance(value, Relation) else (value, value.writes)
            if own[1] is None:
                return None
            found.append(own)
            continue
        framework = framework_of(value)
        writes = framework.writes_of(value) if framework is not None else None
        if writes is None:
            return None
        found.append(writes)
    return SeenArrays(tuple(owner for owner, _ in found), tuple(count for _, count in found))


def placed(array: KeptIndexArray, device: Device, stream: int) -> View:
    """An index array of the host as kernels on a device read it, where it stays as long as it is there."""
    key = "on", device, stream
    found = array.made.get(key)
    if found is None:
        host = array.array
        found = array.keep(key, DeviceArray(copied_in(host, device, stream), host.shape, host.dtype))
    return view_of(found)


class _Seen(NamedTuple):
    """Arrays of a call, by their owners or as copies, and what was made of them."""

    owners: tuple[weakref.ref[Any], ...]
    copies: tuple[DeviceArray, ...]
    made: list[View]


class SeenIndices:
    """The index arrays of the last calls of a kernel."""

    def __init__(self) -> None:
        self._seen: dict[Hashable, _Seen] = {}

    def made(self, values: Sequence[Any], views: Sequence[View], on: DeviceInspector) -> list[View] | None:
        """What was made of index arrays, None where these, or their elements, are others. May wait."""
        told = told_of(values)
        seen = self._seen.get(_key(told, views, on))
        if seen is None:
            return None
        if told is not None:
            same = are_of(seen.owners, told.owners)
        else:
            same = not on.differ(views, seen.copies)
        return seen.made if same else None

    def keep(
        self, values: Sequence[Any], views: Sequence[View], on: DeviceInspector, made: list[View]
    ) -> None:
        """Keep what was made while the arrays live."""
        told, seen = told_of(values), self._seen
        key = _key(told, views, on)
        seen.pop(key, None)
        while len(seen) >= _CALLS:
            seen.pop(next(iter(seen)))
        if told is not None:
            seen[key] = _Seen(while_alive(told.owners, seen, key), (), made)
        elif sum(view.bytes for view in views) <= _BYTES:
            seen[key] = _Seen((), tuple(map(on.copy, views)), made)


def while_alive(owners: Sequence[Any], kept: dict[Any, Any], key: Hashable) -> tuple[weakref.ref[Any], ...]:
    """References, the first of which to die takes an entry away."""
    return tuple(weakref.ref(owner, lambda _: kept.pop(key, None)) for owner in owners)


def are_of(references: Sequence[weakref.ref[Any]], owners: Sequence[Any]) -> bool:
    """Whether these are references to the owners."""
    return all(ref() is owner for ref, owner in zip(references, owners, strict=True))


def _key(told: SeenArrays | None, views: Sequence[View], on: DeviceInspector) -> Hashable:
    shapes = tuple(view.shape for view in views)
    if told is None:
        return on.device, on.stream, shapes
    return on.device, on.stream, shapes, tuple(view.address for view in views), told.facts
