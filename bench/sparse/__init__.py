"""Programs with index arrays, with the same function for peers: by sparse arrays, by scatters, by loops."""

from __future__ import annotations

from bench.sparse.graphs import GRAPHS
from bench.sparse.matrices import MATRICES
from bench.sparse.particles import PARTICLES
from bench.sparse.products import PRODUCTS
from bench.sparse.stiffness import STIFFNESS
from bench.workloads.workload import Workload

SPARSE: tuple[Workload, ...] = (*MATRICES, *PRODUCTS, *GRAPHS, *PARTICLES, *STIFFNESS)
