"""Workloads of other derivatives than gradients: of a value y of arguments x, …"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

import tadc
from bench.workloads.workload import Arrays, Workload


@dataclass(frozen=True)
class Jacobian(Workload):
    """All of dy/dx, by the first argument."""

    kind: str = "jacobian"

    def derivative(self, dtype: str, sizes: Mapping[str, int]) -> tadc.Function:
        """The Jacobian."""
        f = self.function(dtype, sizes)
        return tadc.jacobian(f, f.inputs[0])


@dataclass(frozen=True)
class SecondDerivative(Workload):
    """The Hessian of a scalar by the first argument."""

    kind: str = "hessian"

    def derivative(self, dtype: str, sizes: Mapping[str, int]) -> tadc.Function:
        """The Hessian."""
        f = self.function(dtype, sizes)
        return tadc.hessian(f, f.inputs[0])


@dataclass(frozen=True)
class Tangent(Workload):
    """The value and its derivative along tangents of all arguments."""

    kind: str = "tangents"

    def derivative(self, dtype: str, sizes: Mapping[str, int]) -> tadc.Function:
        """Value and tangent."""
        return tadc.jvp(self.function(dtype, sizes))

    def inputs(self, sizes: Mapping[str, int]) -> Arrays:
        """The arguments, then their tangents."""
        primals = super().inputs(sizes)
        random = np.random.default_rng(1)
        return (*primals, *(random.uniform(-0.5, 0.5, x.shape).astype(x.dtype) for x in primals))
