"""Calls of operators of PyTorch within `tadc.profile()`, `tadc.config(threads=…)` and `tadc.debug_nans()`."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from typing import Any

import pytest

import tadc
from tadc.api import profiling
from tadc.backend.cpu import thread_pool
from tadc.backend.runtime.call_watchers import WatchedCall, unwatch, watch
from tadc.native import watched_calls

torch: Any = pytest.importorskip("torch")


@pytest.fixture(autouse=True)
def known_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """One with 1 Gop/s and 1 GB/s, which takes no time to measure."""
    monkeypatch.setattr(profiling, "_peak", lambda dtype, threads: 1e9)
    monkeypatch.setattr(profiling, "_bandwidth", lambda size, threads: 1e9)


def test_a_profile_of_a_model() -> None:
    layer = tadc.function("x: f32[N, M]; w: f32[M, K]; y[i, k] = sum{j} (x[i, j]*w[j, k]) + 0.5")

    class Model(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.w = torch.nn.Parameter(torch.arange(12.0).reshape(3, 4) / 7)

        def forward(self, x: Any) -> Any:
            return layer.torch(x, self.w) * 2

    model, x = Model(), torch.arange(6.0).reshape(2, 3)
    with tadc.profile() as found:
        model(x).sum().backward()
        compiled = torch.compile(model, backend="aot_eager")(x)
    assert torch.allclose(compiled, 2 * (x @ model.w) + 1)
    assert torch.allclose(model.w.grad, 2 * x.T @ torch.ones(2, 4))
    forward = [call for call in found.calls if call.function == "(x, w) -> (y)"]
    (backward,) = (call for call in found.calls if call.function not in {"(x, w) -> (y)"})
    assert len(forward) == 2
    assert backward.function.endswith("-> (dw)")
    for call in found.calls:
        assert dict(call.sizes) == {"N": 2, "M": 3, "K": 4}
        assert 0 < sum(call.maps) <= call.seconds
    whole = found.parts()[0][0]
    assert whole.operations == 2 * 2 * 3 * 4 + 2 * 4
    assert whole.bytes == 4 * (6 + 12 + 8)
    assert whole.share


def test_results_of_calls_that_are_watched() -> None:
    """Types, layouts, several results, scalars, nothing at all."""
    f = tadc.function(
        "x: f64[N, M]; b: bf16[M]; k: f32; src: index[E] in N\n"
        "y[i] = sum{j} (x[i, j]*b[j])\nz[e, j] = x[src[e], j]*k\ns = sum{e, j} (x[src[e], j])"
    )
    src = torch.tensor([1, 0, 1])
    for x in (torch.arange(8.0).double().reshape(4, 2).T, torch.ones(2, 0).double()):
        given = x, torch.ones(x.shape[1]).bfloat16(), torch.tensor(3.0), src
        plain = f.torch(*given)
        with tadc.profile(maps=False) as found:
            watched = f.torch(*given)
        with tadc.profile():
            measured = f.torch(*given)
        for a, b, c in zip(plain, watched, measured, strict=True):
            assert torch.equal(a, b)
            assert torch.equal(a, c)
        assert len(found.calls) == 1


def test_threads_of_a_block(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[int] = []
    monkeypatch.setattr(thread_pool, "_tell_here", told.append)
    monkeypatch.setattr(thread_pool, "is_supported", lambda: True)
    f, x = tadc.function("x: f32[N]; y[i] = 3*x[i]"), torch.ones(3, requires_grad=True)
    with tadc.config(threads=1):
        f.torch(x).sum().backward()
    f.torch(x)
    assert told == [1, 0, 1, 0]


def test_numbers_that_are_none() -> None:
    f = tadc.function("x: f64[N]; y[i] = sqrt(x[i])")
    x = torch.tensor([4.0, -1.0]).double()
    with tadc.debug_nans():
        assert f.torch(x[:1]).tolist() == [2]
        with pytest.raises(tadc.CompileError, match=r"`y\[1\]` is not a number") as error:
            f.torch(x)
    assert error.value.diagnostics[0].notes == ["x[1] is -1"]
    y = f.torch(torch.ones(2, requires_grad=True).double())
    block = tadc.debug_nans()
    block.__enter__()
    with pytest.raises(RuntimeError, match="TAD0514") as inside:
        (y * torch.tensor([0.0, torch.nan]).double()).sum().backward()
    with pytest.raises(tadc.CompileError, match="is not a number") as error:
        block.__exit__(RuntimeError, inside.value, None)
    assert error.value.__cause__ is inside.value


def test_kernels_are_logged(capsys: pytest.CaptureFixture[str]) -> None:
    f = tadc.function("x: f32[N]; y[i] = 3*x[i] + 0.1875")
    with tadc.config(log="info"):
        f.torch(torch.ones(3))
    (line,) = (each for each in capsys.readouterr().err.splitlines() if "kernel of" in each)
    assert f"kernel of (x: f32[N]) -> (y: f32[N]) for PyTorch {torch.__version__}: compiled in" in line


def test_nobody_is_asked_where_nobody_watches(monkeypatch: pytest.MonkeyPatch) -> None:
    f = tadc.function("x: f32[N]; y[i] = 3*x[i]")
    asked: list[Any] = []
    inner = watched_calls.watched
    monkeypatch.setattr(watched_calls, "watched", lambda *call: asked.append(call) or inner(*call))
    f.torch(torch.ones(3))
    with tadc.profile(maps=False), tadc.profile(maps=False):
        f.torch(torch.ones(3))
    f.torch(torch.ones(3))
    assert len(asked) == 1


def test_what_is_wrong_is_said_as_without() -> None:
    f = tadc.function("x: f32[N]; src: index[E] in N; y[e] = x[src[e]]")
    wrong = torch.ones(3), torch.tensor([0, 5])
    said: list[str] = []
    for block in (tadc.config(), tadc.profile(), tadc.debug_nans()):
        with block, pytest.raises(tadc.ArgumentError) as error:
            f.torch(*wrong)
        said.append(str(error.value))
    assert len({*said}) == 1
    assert "TAD0511" in said[0]


def test_an_error_of_who_watches() -> None:
    """Ctrl-C is one: it may come while a call is measured."""

    class Interrupted:
        def around(self, call: WatchedCall, run: Callable[[WatchedCall], Any]) -> Any:
            raise KeyboardInterrupt

    f, x, interrupted = tadc.function("x: f32[N]; y[i] = 3*x[i]"), torch.ones(3), Interrupted()
    y = f.torch(torch.ones(3, requires_grad=True)).sum()
    watch(interrupted)
    try:
        with pytest.raises(KeyboardInterrupt):
            f.torch(x)
        with pytest.raises(RuntimeError, match="tadc: KeyboardInterrupt"):
            y.backward()
    finally:
        unwatch(interrupted)
    assert f.torch(x).tolist() == [3, 3, 3]


def test_frames_keep_no_arrays_around_memory_of_pytorch() -> None:
    """Debuggers and logs show what stands in frames, and that memory may be free by then."""
    f = tadc.function("x: f64[N]; y[i] = sqrt(x[i])")
    y = f.torch(torch.ones(2, requires_grad=True).double())
    with tadc.debug_nans(), pytest.raises(RuntimeError, match="TAD0514"):
        (y * torch.tensor([1, torch.nan])).sum().backward()
    error = watched_calls._told[-1][2]  # pyright: ignore[reportPrivateUsage]
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    assert frames
    assert all("results" not in frame.f_locals for frame in frames)
