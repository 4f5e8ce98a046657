"""`tadc.profile()`: calls, their maps, what these compute and move, and traces."""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import tadc
from tadc.api import profiling
from tadc.backend.cpu import thread_pool
from tadc.backend.runtime.call_watchers import WATCHERS

TWO = "x: f64[N, M]; z[j] = sum{i} (x[i, j]*x[i, 0]); t = max{j} (z[j])"


@pytest.fixture(autouse=True)
def known_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """One with 1 Gop/s and 1 GB/s, which takes no time to measure."""
    monkeypatch.setattr(profiling, "_peak", lambda dtype, threads: 1e9)
    monkeypatch.setattr(profiling, "_bandwidth", lambda size, threads: 1e9)


def test_calls_their_maps_and_their_costs() -> None:
    f = tadc.function(TWO)
    x = np.random.default_rng(0).standard_normal((300, 200))
    plain = f(x)
    with tadc.profile() as found:
        results = [f(x) for _ in range(3)]
        f(x[:7])
    assert not WATCHERS
    assert all(np.array_equal(a, b) for result in results for a, b in zip(result, plain, strict=True))
    assert [dict(call.sizes) for call in found.calls] == [{"N": 300, "M": 200}] * 3 + [{"N": 7, "M": 200}]
    (whole, *maps), small = found.parts()
    assert (whole.name, whole.calls, whole.bytes) == ("(x) -> (z, t)", 3, 8 * (300 * 200 + 200 + 1))
    assert {"z", "t"} < {name for part in maps for name in part.name.split(", ")}
    assert whole.operations == sum(part.operations or 0 for part in maps)
    assert whole.operations == pytest.approx(2 * 300 * 200 + 200, rel=1e-3)
    z = next(part for part in maps if "z" in part.name.split(", "))
    assert (z.operations or 0) >= 2 * 300 * 200
    assert (z.bytes or 0) >= 8 * 300 * 200
    for call in found.calls:
        assert 0 < sum(call.maps) <= call.seconds
    assert whole.share
    assert whole.share >= (whole.bytes or 0) / 1e9 / max(call.seconds for call in found.calls)
    assert small[0].calls == 1
    text = str(found)
    assert "(x) -> (z, t)" in " ".join(text.split())
    assert "<table>" in found._repr_html_()  # pyright: ignore[reportPrivateUsage]


def test_the_times_of_maps_are_those_of_their_loops() -> None:
    """A map with a hundred times the work of another takes longer, whichever is first."""
    for text in ("a[i] = x[i] + 1; b[i] = sum{k: 500} (sin(k*a[i]))",):
        f = tadc.function(f"x: f64[N]; {text}")
        with tadc.profile() as found:
            for _ in range(3):
                f(np.ones(3000))
        ((_, *maps),) = found.parts()
        seconds = {part.name: part.seconds for part in maps}
        if "b" in seconds and "a" in seconds:
            assert seconds["b"] > 10 * seconds["a"]
        else:
            assert set(seconds) == {"a, b"}


def test_a_trace_and_json(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    f = tadc.function("x: f64[N]; y[i] = 3*x[i] + 0.375")
    with tadc.profile() as found:
        tadc.compile(f)([1, 2, 3])
        f([1, 2, 3])
    found.to_chrome_trace("trace.json")
    trace = json.loads(Path("trace.json").read_text())
    calls = [event for event in trace["traceEvents"] if event["cat"] == "call"]
    assert [event["args"]["N"] for event in calls] == [3, 3]
    assert {event["ph"] for event in trace["traceEvents"]} == {"X"}
    assert "optimise" in {event["name"] for event in trace["traceEvents"] if event["cat"] == "compile"}
    maps = [event for event in trace["traceEvents"] if event["cat"] == "map"]
    assert [event["name"] for event in maps] == ["y", "y"]
    for call, inside in zip(calls, maps, strict=True):
        assert call["ts"] <= inside["ts"] <= inside["ts"] + inside["dur"] <= call["ts"] + call["dur"]
    data = json.loads(found.to_json())
    assert [each["calls"]["operations"] for each in data["functions"]] == [6, 6]
    assert [call["sizes"] for call in data["calls"]] == [[["N", 3]]] * 2


def test_events_of_a_trace_stand_within_each_other(tmp_path: Path) -> None:
    """As the Trace Event Format asks of complete events of a thread; also where a call compiles."""
    f = tadc.function("x: f64[N]; let z[i] = exp(x[i]) - 0.3125; y[i] = z[i]*sum{k} (z[k])")
    with tadc.profile(maps=False) as found:
        f(np.ones(4))
    with found:
        tadc.grad(tadc.function("x: f64[N]; s = sum{i} (x[i]**2*0.3125)"))(np.ones(2))
    found.to_chrome_trace(tmp_path / "trace.json")
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    assert {event["cat"] for event in events} == {"call", "compile"}
    open_until: list[float] = []
    for event in sorted(events, key=lambda event: (event["ts"], -event["dur"])):
        assert isinstance(event["name"], str)
        assert {"pid", "tid", "args"} <= event.keys()
        end = event["ts"] + event["dur"]
        while open_until and open_until[-1] <= event["ts"] + 0.5:  # so exact are the clocks of two events
            open_until.pop()
        assert not open_until or end <= open_until[-1] + 0.5
        open_until.append(end)


def test_compiling_does_not_count() -> None:
    f = tadc.function("x: f64[N]; y[i] = tanh(x[i])**3 + exp(-x[i]) + 0.875*x[i]")
    begin = time.perf_counter()
    with tadc.profile(maps=False) as found:
        f(np.ones(4))
    assert found.calls[0].seconds < (time.perf_counter() - begin) / 4
    assert found.calls[0].maps == ()
    assert len(found.parts()[0]) == 1


def test_threads_are_told_apart() -> None:
    f = tadc.function("x: f64[N]; y[i] = exp(x[i])")
    with tadc.profile() as found:
        threads = [threading.Thread(target=lambda: [f(np.ones(1000)) for _ in range(20)]) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(found.calls) == 60
    assert len({call.thread for call in found.calls}) == 3


def test_what_is_wrong_is_said_as_without() -> None:
    f = tadc.function("x: f64[3]; y[i] = x[i]")
    with tadc.profile() as found:
        with pytest.raises(tadc.ArgumentError, match="shape"):
            f(np.ones(4))
        with pytest.raises(tadc.ArgumentError):
            f(z=np.ones(3))
    assert not found.calls
    with pytest.raises(tadc.UsageError):
        tadc.profile(True)  # pyright: ignore[reportCallIssue]
    with pytest.raises(tadc.UsageError, match="maps is True or False"):
        tadc.profile(maps=5)  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("wrong", [3.0, None, "abc"])
def test_what_is_no_array_is_said_as_without(wrong: object) -> None:
    f = tadc.function("x: f64[N]; y[i] = x[i]")
    with pytest.raises(tadc.CompileError) as plain:
        f(wrong)
    with tadc.profile(), pytest.raises(tadc.CompileError) as error:
        f(wrong)
    assert [d.code for d in error.value.diagnostics] == [d.code for d in plain.value.diagnostics]


def test_others_around_see_the_calls_too() -> None:
    f = tadc.function("x: f64[N]; y[i] = sqrt(x[i]) + 0.4375")
    with tadc.profile() as outer, tadc.debug_nans(), tadc.profile() as inner:
        f(np.ones(3))
        with pytest.raises(tadc.CompileError, match="is not a number"):
            f(-np.ones(3))
    assert [len(call.maps) for call in outer.calls] == [1, 1]
    assert [len(call.maps) for call in inner.calls] == [1]
    assert [call.sizes for call in inner.calls] == [(("N", 3),)]


@pytest.mark.skipif(not thread_pool.is_supported(), reason="one thread on this system")
def test_the_threads_of_a_block_around() -> None:
    f, x = tadc.function("x: f64[N]; y[i] = exp(sin(x[i])) + 0.4375"), np.ones(1 << 19)
    with tadc.config(threads=1), tadc.profile() as found:
        f(x)
        mine, all = time.thread_time(), time.process_time()
        for _ in range(20):
            f(x)
        mine, all = time.thread_time() - mine, time.process_time() - all
    assert all - mine < mine / 4
    assert len(found.calls[-1].maps) == 1


def test_a_profile_may_go_on() -> None:
    f, found = tadc.function("x: f64[N]; y[i] = x[i]"), tadc.profile()
    for _ in range(2):
        with found:
            f(np.ones(3))
    assert len(found.calls) == 2
    assert not WATCHERS


def test_calls_while_another_thread_reads() -> None:
    f, x = tadc.function("x: f64[N]; y[i] = x[i] + 0.1875"), np.ones(3)
    with tadc.profile() as found:
        f(x)
        thread = threading.Thread(target=lambda: [f(np.ones(n)) for n in range(1, 200)])
        thread.start()
        while thread.is_alive():
            assert found.calls
            assert found.parts()
        thread.join()
    assert len(found.calls) == 200
    assert len(found._timed) == 1  # pyright: ignore[reportPrivateUsage]


def test_compiling_in_another_thread_does_not_count() -> None:
    f = tadc.function("x: f64[N]; y[i] = tanh(x[i])**3 + exp(-x[i]) + 0.8125*x[i]")
    begin = time.perf_counter()
    with tadc.profile(maps=False) as found:
        thread = threading.Thread(target=lambda: f(np.ones(4)))
        thread.start()
        thread.join()
    assert found.calls[0].seconds < (time.perf_counter() - begin) / 4


def test_recurrences_index_arrays_and_open_functions() -> None:
    step = tadc.function("x: f64[N]; scan{t} y[t] = if {t = 0} then (x[t]) else (0.5*y[t - 1] + x[t])")
    gather = tadc.function("src: index[E] in N; x: f64[N]; y[n: N] = sum{e: src[e] = n} (x[src[e]])")
    typed = tadc.function("x: T[N]; s = sum{i} (x[i])")
    with tadc.profile() as found:
        assert step(np.ones(3)).tolist() == [1, 1.5, 1.75]
        assert gather(src=np.array([0, 0, 2]), x=np.ones(3)).tolist() == [2, 0, 1]
        assert typed(np.ones(5, np.float32)) == 5
    assert [call.function for call in found.calls] == ["(x) -> (y)", "(src, x) -> (y)", "(x) -> (s)"]
    assert all(part.operations is not None for row in found.parts() for part in row[:1])


def test_what_the_machine_can_do() -> None:
    from tadc.analysis.machine_peaks import flops, triad

    assert flops("f64", 1, repetitions=1) > 1e8
    assert triad("f32", 1, 1 << 16, repetitions=1) > 1e8
    assert triad("f32", 2, 1 << 12, repetitions=1) > 1e7


def test_calls_on_a_gpu_compile_nothing_for_the_cpu() -> None:
    class OnGpu:
        """An array whose call is refused before anything is compiled."""

        def __init__(self) -> None:
            self.__cuda_array_interface__ = dict(shape=(3,), typestr="<f8", data=(1, False), version=3)

    f = tadc.function("x: f64[3]; y[i] = 2*x[i] + 0.3125")
    with tadc.profile(), pytest.raises(tadc.CompileError):
        f(OnGpu())
    assert f._compiled is None  # pyright: ignore[reportPrivateUsage]
