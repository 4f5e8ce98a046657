"""Conformance cases: a program as text, and the same as a JAX function written by hand."""

from __future__ import annotations

import textwrap
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from jax import Array
from numpy.typing import NDArray

from tests.reference.autodiff import Tensors
from tests.reference.checking import check

Reference: TypeAlias = Callable[..., Array | dict[str, Array]]


@dataclass(frozen=True)
class Tensor:
    """An argument: its shape, type and the interval of its random elements."""

    shape: tuple[int, ...]
    dtype: str = "float64"
    low: float = -1.0
    high: float = 1.0


@dataclass(frozen=True)
class Case:
    """One row of the conformance document."""

    name: str
    program: str
    reference: Reference
    tensors: Mapping[str, Tensor]
    order: int
    tolerance: float
    slow_order: int
    compiled: bool

    @property
    def seed(self) -> int:
        """The same in every run, another one for every case."""
        return zlib.crc32(self.name.encode())

    def inputs(self) -> dict[str, NDArray[np.floating]]:
        """Random arguments."""
        rng = np.random.default_rng(self.seed)
        return {n: rng.uniform(t.low, t.high, t.shape).astype(t.dtype) for n, t in self.tensors.items()}

    def outputs(self, values: Tensors) -> dict[str, Array]:
        """The reference; one that returns an array alone means the output `f`."""
        result = self.reference(**{name: values[name] for name in self.tensors})
        return result if isinstance(result, dict) else {"f": result}

    def check(self, *, slow: bool = False) -> None:
        """Assert value, gradients and printed gradients at every order of the case."""
        check(
            self.program,
            self.outputs,
            self.inputs(),
            order=self.slow_order if slow else self.order,
            differences=all(t.dtype == "float64" for t in self.tensors.values()),
            tolerance=self.tolerance,
            compiled=self.compiled,
            seed=self.seed + 1,
        )


@dataclass
class Catalogue:
    """The cases of one test file, in order."""

    cases: list[Case] = field(default_factory=list[Case])

    @property
    def slow(self) -> list[Case]:
        """Those of which the slow run checks more."""
        return [case for case in self.cases if case.slow_order > case.order]

    def add(
        self,
        name: str,
        program: str,
        *,
        order: int = 3,
        slow_order: int = 0,
        tolerance: float = 1e-9,
        compiled: bool = True,
        **tensors: tuple[int, ...] | Tensor,
    ) -> Callable[[Reference], Reference]:
        """Register the decorated function as the reference of a program with these arguments.

        `order` is checked in every run, but the third, and `slow_order`, if it is higher, in the slow run.
        XLA computes an element again beside its maximum, and may round it otherwise there: no element is the
        maximum then. Without `compiled` the reference runs operation by operation.
        """

        def register(reference: Reference) -> Reference:
            arguments = {n: t if isinstance(t, Tensor) else Tensor(t) for n, t in tensors.items()}
            text = textwrap.dedent(program).strip()
            always = min(order, 2)
            most = max(order, slow_order)
            self.cases.append(Case(name, text, reference, arguments, always, tolerance, most, compiled))
            return reference

        return register
