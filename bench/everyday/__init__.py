"""Programs that the code generator was not written for, with the same function for JAX and other peers."""

from __future__ import annotations

from bench.everyday.arrays import ARRAYS
from bench.everyday.grids import GRIDS
from bench.everyday.known import KNOWN
from bench.everyday.layers import LAYERS
from bench.everyday.pairs import PAIRS
from bench.everyday.steps import STEPS
from bench.everyday.windows import WINDOWS
from bench.workloads.workload import Workload

EVERYDAY: tuple[Workload, ...] = (*LAYERS, *GRIDS, *ARRAYS, *PAIRS, *WINDOWS, *STEPS, *KNOWN)
