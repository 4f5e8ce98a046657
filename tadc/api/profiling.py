"""`tadc.profile()`: the time of calls and of their maps, beside what the machine can do."""

from __future__ import annotations

import ctypes
import json
import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict
from functools import cache, cached_property
from statistics import median
from typing import TYPE_CHECKING, Any

from tadc.api.array_kinds import on_gpu, shape_of
from tadc.api.compiled import Compiled
from tadc.api.function import Function
from tadc.backend.compile_steps import listen, listening, unlisten
from tadc.backend.runtime.call_watchers import CallBlock, CallWatcher, WatchedCall
from tadc.backend.runtime.thread_count import get_num_threads
from tadc.caller.boundary import checked_switch, public
from tadc.caller.showing import ShownAsTables
from tadc.frontend.diagnostics import CompileError
from tadc.frontend.forks import new_lock
from tadc.lattice.late_dataclasses import dataclass, field, replace

if TYPE_CHECKING:
    from rich.table import Table

    from tadc.analysis.map_costs import CalledMaps, CostOfMaps
    from tadc.compiler.compile_options import Options

_Sizes = tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class ProfiledCall:
    """A call: when it began and how long it took, in seconds without compiling, and in which thread.

    `maps` are the seconds of each part of the kernel where no other thread ran the same kernel meanwhile,
    `compiling` those of compiling within the call.
    """

    function: str
    sizes: _Sizes
    begin: float
    seconds: float
    thread: int
    maps: tuple[float, ...] = ()
    compiling: float = 0.0


@dataclass(frozen=True)
class ProfiledPart:
    """What calls did, all together or in one of their maps, whose tensors `name` lists.

    `seconds` are those of a call, the median; `operations` and `bytes` are what it has to do at least: each
    element of a tensor is moved once. `share` is the time that the machine would take for these at its peak,
    over that of the fastest call: 1 is the roofline, and more is noise of the measurement. They are None
    where nothing is known of them.
    """

    name: str
    calls: int
    seconds: float
    operations: int | None
    bytes: int | None
    share: float | None


@dataclass
class _TimedKernel:
    """A kernel that measures its maps, and what it was compiled of."""

    function: Function
    options: Options
    compiled: Compiled
    names: tuple[str, ...]
    totals: ctypes.Array[ctypes.c_int64]
    inside: int = 0
    is_shared: bool = False
    lock: Any = field(default_factory=new_lock)

    @cached_property
    def called(self) -> list[CalledMaps | None]:
        """What each measured call of the entry computes, as far as that can be told."""
        from tadc.analysis.map_costs import called_maps

        found = called_maps(self.function.program, self.options)
        return [*found] if len(found) == len(self.names) else [None] * len(self.names)

    def run(self, call: WatchedCall) -> tuple[Any, tuple[float, ...]]:
        """What a call gives, and the seconds of its maps; none of these where other calls run meanwhile."""
        __tracebackhide__ = True
        with self.lock:
            self.inside += 1
            self.is_shared |= self.inside > 1
            before = [*self.totals]
        try:
            result = self.compiled.called(call.args, call.kwargs, call.out)
        finally:
            with self.lock:
                after, is_alone = [*self.totals], not self.is_shared
                self.inside -= 1
                self.is_shared &= self.inside > 0
        maps = zip(before, after, strict=True) if is_alone else ()
        return result, tuple((end - begin) / 1e9 for begin, end in maps)


@dataclass
class _TimedRun:
    """A run of such a kernel, for all profiles around a call."""

    timed: _TimedKernel
    call: WatchedCall
    maps: tuple[float, ...] = ()

    def __call__(self) -> Any:
        __tracebackhide__ = True
        result, self.maps = self.timed.run(self.call)
        return result


@dataclass
class _CallsAlike:
    """Calls of one function with the same sizes."""

    source: tuple[Function, Options] | None
    timed: _TimedKernel | None
    threads: int
    calls: list[ProfiledCall] = field(default_factory=list["ProfiledCall"])


class _StepsHeard(threading.local):
    """The steps of compiling while a profile is made, `found` by all threads; the rest is a thread's own."""

    def __init__(self, found: list[tuple[str, float, float, int]]) -> None:
        self.found, self.seconds = found, 0.0
        self.begins: list[float] = []

    def begin(self, name: str) -> None:
        self.begins.append(time.perf_counter())

    def end(self, name: str, seconds: float) -> None:
        begin = self.begins.pop()
        self.found.append((name, begin, time.perf_counter() - begin, threading.get_native_id()))
        if not self.begins:
            self.seconds += seconds


class Profile(CallBlock, ShownAsTables):
    """What `tadc.profile()` found. `str` of it, and what notebooks show, is a table of the functions.

    `with` measures the calls of a block, as a decorator it measures those of a function; calls of a second
    block are added.
    """

    def __init__(self, maps: bool) -> None:
        self._maps, self._origin, self._steps = maps, time.perf_counter(), _StepsHeard([])
        self._rows: dict[tuple[int, _Sizes], _CallsAlike] = {}
        self._timed: dict[tuple[int, _Sizes], _TimedKernel] = {}
        self._timed_for: dict[tuple[int, _Sizes], _TimedKernel | None] = {}
        self._making: dict[tuple[int, _Sizes], AbstractContextManager[Any]] = {}
        self._kept: list[Any] = []
        self._lock = new_lock()

    def __repr__(self) -> str:
        count = sum(len(row.calls) for row in self._copied())
        return f"<tadc.Profile of {count} call{'s' * (count != 1)}>"

    def watchers(self) -> Sequence[CallWatcher]:
        """Itself."""
        return (self,)

    def begin(self) -> None:
        """Hear of compiling outside of calls, too."""
        listen(self._steps)

    def end(self, errors: Sequence[BaseException]) -> None:
        """Hear of it no longer."""
        unlisten(self._steps)

    def _copied(self) -> list[_CallsAlike]:
        """What there is now: other threads may go on."""
        with self._lock:
            return [replace(row, calls=[*row.calls]) for row in self._rows.values()]

    @property
    def calls(self) -> list[ProfiledCall]:
        """All calls, in the order in which they began; `begin` is counted from the begin of the block."""
        return sorted((call for row in self._copied() for call in row.calls), key=lambda c: c.begin)

    def parts(self) -> list[list[ProfiledPart]]:
        """For each function and its sizes the calls as a whole, then the maps in the order in which they run.

        The first time it measures what the machine can do, for a second.
        """
        return [*map(_parts, self._copied())]

    def to_json(self) -> str:
        """One JSON object: `functions`, each with `calls` and `maps`, and `calls`, one after the other."""
        rows = [{"calls": asdict(first), "maps": [*map(asdict, maps)]} for first, *maps in self.parts()]
        return json.dumps({"functions": rows, "calls": [*map(asdict, self.calls)]}, indent=2)

    def to_chrome_trace(self, path: str | os.PathLike[str]) -> None:
        """Write calls, their maps and the steps of compiling to a file for chrome://tracing or Perfetto.

        Maps stand one after the other from where their call has been compiled. Raises OSError where the file
        cannot be written.
        """
        events = [
            _event(name, "compile", begin - self._origin, seconds, thread, {})
            for name, begin, seconds, thread in [*self._steps.found]
        ]
        for row in self._copied():
            parts = _parts(row)
            for call in row.calls:
                about = {**dict(call.sizes), "operations": parts[0].operations, "bytes": parts[0].bytes}
                length, at = call.seconds + call.compiling, call.begin + call.compiling
                events.append(_event(call.function, "call", call.begin, length, call.thread, about))
                for part, seconds in zip(parts[1:], call.maps, strict=False):
                    of = {"operations": part.operations, "bytes": part.bytes}
                    events.append(_event(part.name, "map", at, seconds, call.thread, of))
                    at += seconds
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"traceEvents": events, "displayTimeUnit": "ms"}, file)

    def around(self, call: WatchedCall, run: Callable[[WatchedCall], Any]) -> Any:
        """Measure a call."""
        __tracebackhide__ = True
        sizes = _sizes_of(call)
        with listening(self._steps):
            if self._maps and sizes is not None and call.instead is None:
                found = self._timed_of(call.called, sizes)
                call = call if found is None else replace(call, instead=_TimedRun(found, call))
            compiling, begin = self._steps.seconds, time.perf_counter()
            result = run(call)
            end = time.perf_counter()
        timed, maps = None, ()
        if self._maps and isinstance(call.instead, _TimedRun):
            timed, maps = call.instead.timed, call.instead.maps
        compiling = min(self._steps.seconds - compiling, end - begin)
        seconds, thread = end - begin - compiling, threading.get_native_id()
        made = ProfiledCall(
            _name(call.called), sizes or (), begin - self._origin, seconds, thread, maps, compiling
        )
        with self._lock:
            key = id(call.called), sizes or ()
            if key not in self._rows:
                self._kept.append(call.called)  # so that no other has its number
                self._rows[key] = _CallsAlike(
                    _source(call.called) if sizes is not None else None, timed, get_num_threads()
                )
            self._rows[key].calls.append(made)
        return result

    def _timed_of(self, called: Function | Compiled, sizes: _Sizes) -> _TimedKernel | None:
        """The kernel that measures the maps of a call, in the place of that which it would run."""
        asked = id(called), sizes
        if asked not in self._timed_for:
            made = self._made_for(called, sizes)
            with self._lock:
                self._kept.append(called)  # so that no other has its number
                self._timed_for[asked] = made
        return self._timed_for[asked]

    def _made_for(self, called: Function | Compiled, sizes: _Sizes) -> _TimedKernel | None:
        """One for all sizes that have no version of their own."""
        if (source := _source(called)) is None:
            return None
        known: Any = called.made_kernel() if isinstance(called, Function) else called.kernel
        versions = known and known.versions
        has_version = bool(versions) and versions.at(dict(sizes)) is not None
        key = id(called), sizes if has_version else ()
        with self._lock:
            making = self._making.setdefault(key, new_lock())
        with making:
            if key not in self._timed:
                self._timed[key] = _timed(*source, dict(key[1]))
            return self._timed[key]

    def _tables(self) -> list[Table]:
        from rich.table import Table

        table = Table("function, maps", "sizes", title="calls of compiled functions")
        for name in ("calls", "ms", "operations", "bytes", "Gop/s", "GB/s", "roofline"):
            table.add_column(name, justify="right")
        for row in self._copied():
            first, *maps = _parts(row)
            sizes = ", ".join(f"{name}={n}" for name, n in row.calls[0].sizes)
            table.add_row(first.name, sizes, *_cells(first), style="bold")
            for part in maps if len(maps) > 1 else ():
                table.add_row(f"  {part.name}", "", *_cells(part))
        return [table]


@public
def profile(*, maps: bool = True) -> Profile:
    """Measure calls of functions inside the block, in all threads: `print` what it gives shows a table.

    Of each function there are the time of a call, the operations and the bytes that it has to take, and the
    share of the roofline: of what the machine could do, with these threads and from the caches that the data
    fits. With `maps` so there are for each map of a kernel of the CPU; for this the function is compiled once
    more, to a kernel with the same loops that looks at the clock between them. Compiling does not count.

    >>> import tadc
    >>> f = tadc.function("x: f64[N]; y[i] = exp(x[i])")
    >>> with tadc.profile() as found:
    ...     y = f([0.0, 1.0])
    >>> (call,) = found.calls
    >>> call.function, call.sizes
    ('(x) -> (y)', (('N', 2),))
    """
    return Profile(checked_switch(maps, "maps"))


def _event(
    name: str, kind: str, begin: float, seconds: float, thread: int, about: Mapping[str, Any]
) -> dict[str, Any]:
    """A complete event of the Trace Event Format, in microseconds."""
    when = {"ts": 1e6 * begin, "dur": 1e6 * seconds, "pid": os.getpid(), "tid": thread}
    return {"name": name, "cat": kind, "ph": "X", **when, "args": about}


def _name(called: Function | Compiled) -> str:
    if isinstance(called, Function):
        return f"({', '.join(called.inputs)}) -> ({', '.join(called.outputs)})"
    inputs, outputs = (
        ", ".join(p.name for p in side) for side in (called.kernel.inputs, called.kernel.outputs)
    )
    return f"({inputs}) -> ({outputs})"


def _source(called: Function | Compiled) -> tuple[Function, Options] | None:
    """The function and the options that a call is compiled from; None of what is not for this machine."""
    of = called.kernel_source() if isinstance(called, Function) else called.of
    return None if of is None or of[1].backend.launches_kernels else of


def _sizes_of(call: WatchedCall) -> _Sizes | None:
    """The sizes of a call, None where it is not for the CPU or wrong, which is for the call to say."""
    if on_gpu(call.args, call.kwargs):
        return None
    try:
        called = call.called
        known = called.size_symbols if isinstance(called, Function) else called.kernel.sizes
        named = {**dict(zip((p.name for p in known.inputs), call.args, strict=False)), **call.kwargs}
        shapes = [tuple(shape_of(named[p.name])) for p in known.inputs]
        given = {name: value for name, value in call.kwargs.items() if name in known.known}
        return tuple(known.values(shapes, given).items())
    except (AttributeError, CompileError, IndexError, KeyError, TypeError, ValueError):
        return None


def _timed(f: Function, options: Options, sizes: Mapping[str, int]) -> _TimedKernel:
    """The kernel that measures a version for sizes, or with none of these the kernel for all."""
    from tadc.api.call_versions import adapt_to_calls
    from tadc.api.execute import compile_timed

    f = f.at(sizes) if sizes else f
    compiled, names, totals = compile_timed(f.program, options)
    kernel: Any = compiled.kernel
    adapt_to_calls(kernel, f, options)
    if kernel.versions is not None:
        kernel.versions.make = None
    return _TimedKernel(f, options, compiled, names, totals)


def _parts(row: _CallsAlike) -> list[ProfiledPart]:
    """The calls of a row, then its maps."""
    from tadc.analysis.map_costs import MapCosts

    costs = None
    sizes = dict(row.calls[0].sizes)
    if row.source is not None:
        f, options = row.source
        costs = MapCosts((row.timed.function if row.timed is not None else f).program, options, sizes)
    times = [call.seconds for call in row.calls]
    found = [_part(row.calls[0].function, times, costs and costs.whole(), row.threads)]
    if row.timed is None:
        return found
    kept = [call.maps for call in row.calls if len(call.maps) == len(row.timed.names)]
    for n, (name, maps) in enumerate(zip(row.timed.names, row.timed.called, strict=True)):
        cost = costs.of(maps) if costs is not None and maps is not None else None
        label = ", ".join(maps.computes) if maps is not None else name
        if kept:
            found.append(_part(label, [each[n] for each in kept], cost, row.threads))
    return found


def _part(name: str, times: Sequence[float], cost: CostOfMaps | None, threads: int) -> ProfiledPart:
    made = ProfiledPart(name, len(times), median(times), None, None, None)
    if cost is None:
        return made
    least = max(cost.work.weighted / _peak(cost.dtype, threads), cost.bytes / _bandwidth(cost.bytes, threads))
    share = least / min(times) if min(times) else None
    return replace(made, operations=cost.work.operations, bytes=cost.bytes, share=share)


@cache
def _peak(dtype: str, threads: int) -> float:
    """Operations a second: narrow types are computed with as f32 is."""
    from tadc.analysis.machine_peaks import flops

    return flops("f64" if dtype == "f64" else "f32", threads, repetitions=10)


def _bandwidth(size: int, threads: int) -> float:
    """Bytes a second, from and to what holds so many; measured at a power of 4."""
    return _bandwidth_at(min(max(14, size.bit_length() + size.bit_length() % 2), 27), threads)


@cache
def _bandwidth_at(power: int, threads: int) -> float:
    from tadc.analysis.machine_peaks import triad

    return triad("f32", threads, 1 << power, repetitions=10)


def _cells(part: ProfiledPart) -> list[str]:
    def rate(amount: int | None) -> str:
        return f"{amount / part.seconds / 1e9:.3g}" if amount and part.seconds else ""

    counts = ["" if amount is None else f"{amount:,}" for amount in (part.operations, part.bytes)]
    share = "" if part.share is None else f"{100 * part.share:.0f} %"
    return [
        str(part.calls),
        f"{1e3 * part.seconds:.4g}",
        *counts,
        rate(part.operations),
        rate(part.bytes),
        share,
    ]
