"""The workloads, each a program with the same function written for the peers."""

from __future__ import annotations

from bench.workloads.contractions import BILINEAR, MATMUL, MTTKRP
from bench.workloads.hessian import HESSIAN_500, HESSIAN_1500
from bench.workloads.images import CONV1D, CONV2D, LOCAL, STENCIL
from bench.workloads.kernels import ATTENTION, DENSITY, LOG_SUM
from bench.workloads.paper import PAPER
from bench.workloads.signals import AUTOCORRELATION, BANDED, FILTER
from bench.workloads.workload import Workload

WORKLOADS: tuple[Workload, ...] = (
    PAPER,
    DENSITY,
    FILTER,
    BANDED,
    AUTOCORRELATION,
    MTTKRP,
    CONV1D,
    CONV2D,
    LOCAL,
    STENCIL,
    BILINEAR,
    ATTENTION,
    MATMUL,
    LOG_SUM,
    HESSIAN_500,
    HESSIAN_1500,
)
