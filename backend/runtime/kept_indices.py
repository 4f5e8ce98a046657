"""Index arrays as kernels read them, with what was found out about them.

A `Relation` has a copy of its own, which is looked at once; what is known of other arrays says
`backend/runtime/known_arrays.py`.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from tadc.backend.runtime.inspector import Array, admitted, falls, is_long

#: Of one index array, so many others that were made of it alone are kept, so many that were made of it and
#: others, which these keep from being freed, and the arguments of so many plans.
_MADE, _MADE_WITH, _PLANS = 64, 8, 8


class KeptIndexArray:
    """An array of 32-bit integers that does not change, and what was made of it.

    `largest` is -1 where there is no element, and at least 2**31 where one is negative or too large: then the
    elements are not those of the array that it was made of.
    """

    def __init__(self, array: Array, *, largest: int | None = None) -> None:
        """Of a contiguous array of integers; one of 32 bits is not copied, and not looked at where its
        `largest` is known."""
        self.array, self.largest = admitted(array) if largest is None else (array, largest)
        self._falls: bool | None = None
        #: What the inspector made of it, by what that depends on.
        self.made: dict[Hashable, Any] = {}
        #: The keys of what was made with others, the last ones last.
        self.joint: list[Hashable] = []
        #: The arguments that plans of kernels take besides, by the plan.
        self.calls: dict[Hashable, Any] = {}

    @property
    def falls(self) -> bool:
        """Whether an element is less than the one before."""
        if self._falls is None:
            self._falls = falls(self.array)
        return self._falls

    def is_long(self, length: int, ends: KeptIndexArray | None) -> bool:
        """Whether a range from an element up to the next, or up to one of `ends`, has so many elements."""
        key = "long", length, ends
        if key not in self.made:
            found = is_long(self.array, None if ends is None else ends.array, length)
            self.keep(key, found, [ends] if ends else ())
        return self.made[key]

    def keep(self, key: Hashable, made: Any, others: Sequence[KeptIndexArray] = ()) -> Any:
        """What was made of it, which is kept by a key; what was made of others too, for the last ones."""
        if others:
            self.joint.append(key)
            if len(self.joint) > _MADE_WITH:
                self.made.pop(self.joint.pop(0), None)
        if len(self.made) >= _MADE:
            self.made = {}
        self.made[key] = made
        return made

    def keep_call(self, plan: Hashable, arguments: Any) -> None:
        """Keep the arguments that a plan takes besides."""
        if len(self.calls) >= _PLANS:
            self.calls = {}
        self.calls[plan] = arguments


def _is_array(value: Any) -> bool:
    return isinstance(value, np.ndarray)


class Relation:
    """An index array that was looked at once, to be passed in the place of the array.

    `tadc.relation` makes it. It has a copy of its own, and keeps what kernels ask of it: where values stand.

    >>> import tadc
    >>> edges = tadc.relation([2, 0, 2], 3)
    >>> isinstance(edges, tadc.Relation), edges.array.tolist(), edges.below
    (True, [2, 0, 2], 3)
    """

    __slots__ = ("__weakref__", "below", "kept")

    def __init__(self, array: Array, below: int) -> None:
        """Of a contiguous array of integers from 0 to `below - 1`, which has been checked."""
        self.kept = KeptIndexArray(array)
        self.below = below

    @classmethod
    def of(cls, kept: KeptIndexArray, below: int) -> Relation:
        """What is kept of an array whose elements have been checked."""
        made = cls.__new__(cls)
        made.kept, made.below = kept, below
        return made

    @property
    def array(self) -> Array:
        """The elements, as 32-bit integers, read-only; within what JAX transforms what stands for them."""
        if not _is_array(self.kept.array):
            return self.kept.array
        view = self.kept.array.view()
        view.flags.writeable = False
        return view

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the array."""
        return self.kept.array.shape

    def __len__(self) -> int:
        return len(self.kept.array)

    def __repr__(self) -> str:
        return f"<tadc.Relation of shape {self.shape} in {self.below}>"

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return np.array(self.array, dtype=dtype, copy=True) if copy else np.asarray(self.array, dtype)

    def __reduce__(self) -> tuple[Any, ...]:
        return Relation, (self.kept.array, self.below)
