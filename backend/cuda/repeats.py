"""Calls like one before, which need no more than a look at the addresses of their arrays.

Like it are arrays of the same types, shapes and kinds of elements on the same GPU, the same numbers and sizes
and the same stream: what was right with those is right with these. Index arrays are the same ones, to which
nobody has written since.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from tadc.backend.cuda.arguments import REFUSALS
from tadc.backend.cuda.glances import glance_at, look
from tadc.backend.cuda.results import was_written
from tadc.backend.cuda.seen_indices import are_of, told_of, while_alive

if TYPE_CHECKING:
    from tadc.backend.cuda.call import GpuCall
    from tadc.backend.cuda.device import Allocation
    from tadc.backend.cuda.prepared import CallPlan
    from tadc.backend.runtime.frameworks import Framework

#: The kinds of calls that are kept.
_KINDS = 256


class _CallKind(NamedTuple):
    """What calls with equal facts have in common."""

    framework: Framework | None
    stream: int | None
    """The one that was given."""
    plan: CallPlan
    held: tuple[tuple[int, Allocation], ...]
    """Copies of numbers and of relations among the arguments, by position, on the stream where they were
    copied."""
    lends: bool
    """Whether the call has to keep its arrays."""
    made: tuple[Allocation, ...]
    """What was made of index arrays, on that stream."""
    owners: tuple[weakref.ref[Any], ...]
    """What has the memory of index arrays."""


class _Looks(NamedTuple):
    """What is seen of a call: addresses of its arrays, what tells it from other calls, the arrays of `out=`,
    whose addresses come last, and what has the memory of index arrays."""

    addresses: list[int]
    facts: list[Any]
    given: list[Any]
    owners: tuple[Any, ...]


class Repeats:
    """The kinds of calls of a kernel, and of its versions, that were seen."""

    def __init__(
        self, names: Sequence[str], indices: Sequence[int], size_names: Iterable[str], outputs: int
    ) -> None:
        """`names` are those of the inputs, those at `indices` of index arrays."""
        self._names, self._indices = tuple(names), tuple(indices)
        self._others = frozenset({*size_names, "stream"} - {*names})
        self._outputs = outputs
        self._kinds: dict[tuple[Any, ...], _CallKind] = {}
        self._last: tuple[list[Any], _CallKind | None] = [], None

    def again(self, args: Sequence[Any], kwargs: Mapping[str, Any], out: Any) -> list[Any] | None:
        """The results of a call like one before, None where there was none: then nothing has run."""
        try:
            looks = self._look(args, kwargs, out)
            if looks is None:
                return None
            addresses, facts, given, owners = looks
            last, kind = self._last
            if facts != last:
                kind = self._kinds.get(tuple(facts))
                if not owners:
                    self._last = facts, kind
            if kind is None or not are_of(kind.owners, owners):
                return None
            framework, stream, plan, held, lends, made, _ = kind
            current = framework.stream(plan.device.number) if framework is not None else None
        except REFUSALS:
            return None
        here = current or stream or 0
        for position, copy in held:
            if copy.stream != here:
                return None
            addresses[position] = copy.address
        if made:
            if made[0].stream != here:
                return None
            first = len(self._names)
            addresses[first:first] = [memory.address for memory in made]
        bits = 0
        for address in addresses:
            bits |= address
        if bits % plan.alignment or (current is not None and stream is not None and stream != current):
            return None
        prepared = plan.on(here)
        if given:
            found = given if prepared.into_apart(addresses) else None
            for value in found or ():
                was_written(value)
        elif framework is None:
            found = prepared.into_new(addresses)
        elif framework.is_constant:
            found = [framework.taken(array) for array in prepared.into_new(addresses)]
        else:
            found = prepared.into_arrays_of(framework, addresses)
        if lends:
            plan.device.outlive(here, (args, kwargs))
        return found

    def remember(
        self,
        args: Sequence[Any],
        kwargs: Mapping[str, Any],
        out: Any,
        call: GpuCall,
        plan: CallPlan,
        is_stream_given: bool,
    ) -> None:
        """Let `again` do calls like this one."""
        for value in (*args, *kwargs.values(), *_several(out)):
            glance_at(value)
        try:
            looks = self._look(args, kwargs, out)
            if looks is None:
                return
            if len(self._kinds) >= _KINDS:
                self._kinds.clear()
            handle, key = call.stream if is_stream_given else None, tuple(looks.facts)
            owners = while_alive(looks.owners, self._kinds, key)
            kind = _CallKind(
                call.framework, handle, plan, tuple(call.held), bool(call.lent), tuple(call.made), owners
            )
            self._kinds[key] = kind
            if not owners:
                self._last = looks.facts, kind
        except REFUSALS:
            return

    def _look(self, args: Sequence[Any], kwargs: Mapping[str, Any], out: Any) -> _Looks | None:
        names = self._names
        values = [*args]
        if kwargs:
            values += [kwargs[name] for name in names[len(values) :]]
        if len(values) != len(names):
            return None
        given: list[Any] = []
        if out is not None:
            given = _several(out)
            if len(given) != self._outputs:
                return None
            values += given
        found = look(values)
        if found is None:
            return None
        addresses, facts = found
        owners: tuple[Any, ...] = ()
        if self._indices:
            told = told_of([values[n] for n in self._indices])
            if told is None:
                return None
            owners = told.owners
            facts += *told.facts, *(addresses[n] for n in self._indices)
        if len(args) + len(kwargs) != len(names):
            others = [name for name in kwargs if name in self._others]
            if len(args) + len(kwargs) != len(names) + len(others):
                return None
            for name in others:
                facts += name, type(kwargs[name]), kwargs[name]
        return _Looks(addresses, facts, given, owners)


def _several(out: Any) -> list[Any]:
    """The arrays of `out=` in order."""
    if isinstance(out, tuple | list):
        return [*cast("Sequence[Any]", out)]
    return [] if out is None else [out]
