"""Handles of a driver: what they stand for, and calls that are refused."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any, TypeVar

from tadc.backend.cuda import api
from tadc.lattice.late_dataclasses import dataclass

T = TypeVar("T")


class RefusedError(Exception):
    """A call that has a result other than success."""

    def __init__(self, result: int) -> None:
        super().__init__(result)
        self.result = result


@dataclass
class StreamWork:
    """Work of a stream, which begins when all before it on the stream and `after` are done."""

    run: Callable[[], None]
    stream: int
    after: StreamWork | None = None
    is_done: bool = False


class Handles:
    """The objects that calls make, by their handles, and the streams there are."""

    def __init__(self, streams: set[int]) -> None:
        self._handles = itertools.count(1 << 20)
        self._objects: dict[int, Any] = {}
        self._streams = streams

    def _new(self, out: Any, value: Any) -> None:
        handle = next(self._handles)
        self._objects[handle] = value
        out[0] = handle

    def _found(self, handle: int | None, kind: type[T]) -> T:
        found = self._objects.get(handle or 0)
        if not isinstance(found, kind):
            raise RefusedError(api.INVALID_HANDLE)
        return found

    def _require(self, holds: bool, result: int = api.INVALID_VALUE) -> None:
        if not holds:
            raise RefusedError(result)

    def _on_stream(
        self, stream: int | None, run: Callable[[], None], after: StreamWork | None = None
    ) -> StreamWork:
        """Do work in the order of a stream, and after other work: here at once."""
        run()
        return StreamWork(run, stream or 0, after, is_done=True)

    def _finish(self, stream: int | None) -> None:
        """Wait for all work of a stream: here it is done."""

    def _until(self, work: StreamWork | None) -> None:
        """Wait for work: here it is done."""

    def _meanwhile(self) -> None:
        """What streams do before the driver takes a call."""

    def _require_stream(self, stream: int | None) -> None:
        self._require((stream or 0) in self._streams, api.INVALID_HANDLE)
