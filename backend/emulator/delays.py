"""A driver whose streams lag behind the host, at random: what waits for too little is found.

Streams do not wait for each other but by events, as those of PyTorch and XLA, which are not blocking ones.
What was freed cannot be read: a launch that comes to it later is a fault. So what a program gets does not
depend on the seed, or the order of its streams is wrong.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from random import Random
from typing import Any

from tadc.backend.cuda import api
from tadc.backend.emulator.handles import StreamWork
from tadc.backend.emulator.library import EmulatedCuda

#: How likely a stream does something before the driver takes a call: some lag far behind others.
_PACES = (0.01, 0.7)


class DelayedCuda(EmulatedCuda):
    """The emulated libcuda, where work waits on its stream until chance, or a call that waits, lets it run.

    What goes wrong in it comes to light in the next call that waits for a stream, as with the real driver;
    until then it is in `late`.
    """

    def __init__(self, seed: int, **settings: Any) -> None:
        self.late: list[BaseException] = []
        self._random = Random(seed)
        self._queues: dict[int, deque[StreamWork]] = {}
        self._paces: dict[int, float] = {}
        super().__init__(**settings)

    def _queue(self, stream: int | None) -> deque[StreamWork]:
        """The work that a stream has left; 0 is another name of the legacy default stream."""
        key = stream or api.LEGACY_STREAM
        if key not in self._queues:
            self._queues[key], self._paces[key] = deque(), self._random.choice(_PACES)
        return self._queues[key]

    def _on_stream(
        self, stream: int | None, run: Callable[[], None], after: StreamWork | None = None
    ) -> StreamWork:
        made = StreamWork(run, stream or api.LEGACY_STREAM, after)
        self._queue(stream).append(made)
        return made

    def _meanwhile(self) -> None:
        """Any stream that can go on may do so."""
        for stream, queue in [*self._queues.items()]:
            while queue and self._random.random() < self._paces[stream]:
                self._next(queue)

    def _next(self, queue: deque[StreamWork]) -> None:
        """Do what is first, and before it what it waits for."""
        self._until(queue[0].after)
        work = queue.popleft()
        work.is_done = True
        try:
            work.run()
        except BaseException as error:
            self.late.append(error)

    def _until(self, work: StreamWork | None) -> None:
        while work is not None and not work.is_done:
            self._next(self._queues[work.stream])

    def _finish(self, stream: int | None) -> None:
        queue = self._queue(stream)
        while queue:
            self._next(queue)
        if self.late:
            raise self.late[0]

    def finish(self) -> None:
        """Let all streams come to their ends. Raises what went wrong."""
        for stream in list(self._queues):
            self._finish(stream)
