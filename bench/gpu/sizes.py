"""Sizes of the workloads on a GPU: larger where those of the CPU fit in its cache, or take no time."""

from __future__ import annotations

from collections.abc import Mapping

from bench.everyday import EVERYDAY
from bench.workloads import WORKLOADS
from bench.workloads.workload import Workload

#: What is timed: the workloads, and rows that PyTorch has kernels for.
TIMED = {w.name: w for w in (*WORKLOADS, *(w for w in EVERYDAY if w.name in ("softmax", "layer-norm")))}

LARGER: Mapping[str, Mapping[str, int]] = {
    "paper": {"I": 2048, "J": 1536},
    "fir": {"N": 2000128},
    "banded": {"N": 500000},
    "autocorrelation": {"N": 131072},
    "conv2d": {"B": 32},
    "local": {"B": 64},
    "stencil": {"N": 4096, "M": 4096},
    "attention": {"N": 1024},
    "matmul": {"N": 4096, "K": 4096, "M": 4096},
    "log_sum": {"N": 8192},
    "softmax": {"N": 16384, "K": 1024},
    "layer-norm": {"N": 16384, "K": 1024},
}


def sizes_of(workload: Workload, small: bool) -> Mapping[str, int]:
    """The sizes that a workload has on a GPU, or those for tests."""
    return workload.small if small else {**workload.sizes, **LARGER.get(workload.name, {})}
