"""What this machine can do at most, a second: `tadc/analysis/machine_peaks.py`, and exponentials."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np

import tadc
from bench.results import Roofline
from bench.timing import seconds
from tadc.analysis.machine_peaks import flops, triad

_TYPES: dict[str, Any] = {"f32": np.float32, "f64": np.float64}


def measure(dtype: str, threads: int) -> Roofline:
    """The best of several measurements."""
    return Roofline(
        dtype, threads, flops(dtype, threads), exponentials(dtype) * threads, triad(dtype, threads)
    )


def exponentials(dtype: str) -> float:
    """Exponentials a second of the fastest library here on one core, from its caches."""
    count = 1 << 15
    x = np.linspace(-5, 5, count, dtype=_TYPES[dtype])
    out = np.empty_like(x)
    kernel = tadc.compile(tadc.function(f"x: {dtype}[{count}]\ny[i] = exp(x[i])"))
    calls: list[Callable[[], object]] = [lambda: np.exp(x, out), lambda: kernel(x, out=out)]
    if find_spec("torch"):
        torch: Any = import_module("torch")
        torch_x, torch_out = torch.from_numpy(x), torch.from_numpy(out)
        before = torch.get_num_threads()
        torch.set_num_threads(1)
        calls.append(lambda: torch.exp(torch_x, out=torch_out))
        best = min(_repeated(call) for call in calls)
        torch.set_num_threads(before)
    else:
        best = min(_repeated(call) for call in calls)
    return count / best


def _repeated(call: Callable[[], object], times: int = 200) -> float:
    return min(seconds(call) for _ in range(times))
