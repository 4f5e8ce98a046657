"""Index arrays that were seen before, in relations and in arrays that anybody may write to.

To sort an array takes much longer than to read it. So of one that was seen there is a copy: where its
elements are still the same, so is what was made of them.
"""

from __future__ import annotations

import weakref
from collections.abc import Hashable
from typing import Any

import numpy as np

from tadc.backend.runtime.addresses import addresses
from tadc.backend.runtime.free_memory import free_for
from tadc.backend.runtime.host_arrays import AS_IT_IS
from tadc.backend.runtime.inspector import INDEX, INDEX_LIMIT, Array, is_same
from tadc.backend.runtime.kept_indices import KeptIndexArray, Relation

#: Before so many bytes are copied, memory is asked for, which what is sorted takes several times.
_LARGE, _TIMES = 1 << 26, 4

#: So many parts of other arrays are kept at once.
_VIEWS = 16

#: What was made of arrays that still exist, by where their elements are and how they are read.
_KNOWN: dict[Hashable, tuple[weakref.ref[Array], KeptIndexArray]] = {}
#: Those that are views, the last ones last.
_RECENT: dict[Hashable, None] = {}


def known(value: Any) -> KeptIndexArray | None:
    """What is kept of a relation, or of a contiguous array whose elements are those of the last call."""
    if value.__class__ is Relation:
        return value.kept
    if value.__class__ is not np.ndarray or value.flags.num & AS_IT_IS != AS_IT_IS:
        return None
    found = _KNOWN.get(_key(value))
    return found[1] if found is not None and is_same(value, found[1].array) else None


def index_array_of(value: Relation | Array) -> KeptIndexArray:
    """What is known of a relation, or of a contiguous array of integers, which is kept while that exists."""
    found = known(value)
    if found is not None:
        return found
    assert not isinstance(value, Relation)
    if value.nbytes > _LARGE and free_for(_TIMES * value.nbytes) is not None:
        return KeptIndexArray(value)
    made = KeptIndexArray(value.copy() if value.dtype == INDEX else value)
    if made.largest >= INDEX_LIMIT:
        return made  # Its elements are not those of the array.
    owner = value
    while isinstance(owner.base, np.ndarray):
        owner = owner.base
    key = _key(value)
    _KNOWN[key] = weakref.ref(owner, lambda _: _forget(key)), made
    if owner is not value:
        _RECENT.pop(key, None)
        _RECENT[key] = None
        if len(_RECENT) > _VIEWS:
            _forget(next(iter(_RECENT)))
    return made


def _forget(key: Hashable) -> None:
    _KNOWN.pop(key, None)
    _RECENT.pop(key, None)


def _key(array: Array) -> Hashable:
    return addresses((array,))[0], array.shape, array.dtype
