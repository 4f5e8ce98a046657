"""Times of calls on a GPU, by its events."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from bench.gpu.peers import Peer
from tadc.backend.cuda.device import Device

#: Seconds that a contender is timed for, and the most measurements.
SECONDS, MEASUREMENTS = 0.3, 25
#: A measurement takes about so many seconds: short calls are queued one after another, to be timed together.
EACH, MOST_CALLS = 0.01, 200
#: Bytes that are written before a single call: more than any second cache has, and so many that the host
#: has queued the call before they are.
FLUSHED = 1 << 30


class Clock:
    """Times calls on a device, each for so many seconds; 0 takes the fewest measurements that there are."""

    def __init__(self, device: Device, seconds: float = SECONDS) -> None:
        self.device, self.seconds = device, seconds
        count = FLUSHED if seconds else 1 << 10
        self._flushed = device.allocate(count), device.allocate(count)
        with device.current() as driver:
            self._events = driver.event(), driver.event()

    def queued(self, peer: Peer) -> list[float]:
        """Seconds of a call, one queued after the other; by the clock where the stream is not known."""
        self._of_many(peer, 1)
        count = max(1, min(MOST_CALLS, round(EACH / max(self._of_many(peer, 1), 1e-9))))
        return self._repeated(lambda: self._of_many(peer, count))

    def flushed(self, peer: Peer) -> list[float]:
        """Seconds of single calls that find nothing in the caches; their host is ahead of them."""
        stream = peer.stream
        if stream is None:
            return []
        into, source = self._flushed
        first, last = self._events

        def once() -> float:
            with self.device.current() as driver:
                driver.copy_within(into.address, source.address, into.bytes, stream)
                driver.record(first, stream)
                found = peer.call()
                driver.record(last, stream)
                elapsed = driver.elapsed(first, last) / 1e3
                del found
                return elapsed

        return self._repeated(once)

    def host(self, call: Callable[[], Any]) -> float:
        """Seconds of the host for a call, the least of some: it does not wait for the GPU."""
        times: list[float] = []
        for _ in range(50 if self.seconds else 2):
            begin = time.perf_counter()
            found = call()
            times.append(time.perf_counter() - begin)
            del found
        with self.device.current() as driver:
            driver.synchronize()
        return min(times)

    def _of_many(self, peer: Peer, count: int) -> float:
        found: Any = None
        first, last = self._events
        with self.device.current() as driver:
            if peer.stream is not None:
                driver.record(first, peer.stream)
            begin = time.perf_counter()
            for _ in range(count):
                found = peer.call()
            if peer.stream is None:
                peer.wait(found)
                return (time.perf_counter() - begin) / count
            driver.record(last, peer.stream)
            return driver.elapsed(first, last) / 1e3 / count

    def _repeated(self, measure: Callable[[], float]) -> list[float]:
        begin = time.monotonic()
        times: list[float] = []
        while len(times) < 3 or time.monotonic() - begin < self.seconds:
            times.append(measure())
            if len(times) == MEASUREMENTS:
                break
        return times


@contextmanager
def all_as_graphs() -> Generator[None]:
    """Calls that come again with the same addresses are replayed as graphs, of however few launches."""
    with patch("tadc.backend.cuda.prepared.MANY", 1):
        yield
