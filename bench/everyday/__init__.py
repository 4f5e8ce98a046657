"""Programs that the code generator was not written for, each with the same function for JAX."""

from __future__ import annotations

from bench.everyday.arrays import ARRAYS
from bench.everyday.grids import GRIDS
from bench.everyday.layers import LAYERS
from bench.workloads.workload import Workload

EVERYDAY: tuple[Workload, ...] = (*LAYERS, *GRIDS, *ARRAYS)
