"""Sparse arrays of JAX as arguments: what a `BCOO` stores, and results at the same places."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from jax.experimental import sparse

from tadc.api.sparse_arguments import SparseCall, StoredArray
from tadc.backend.runtime.call_messages import declared
from tadc.backend.runtime.frameworks import is_traced
from tadc.backend.runtime.parameters import Parameter
from tadc.frontend.diagnostics import Diagnostic


class _Column(NamedTuple):
    """A column of the `indices` of a sparse array."""

    indices: Any
    number: int


class SparseArrays(SparseCall):
    """A call whose sparse arguments are given as arrays of JAX: what the kernel takes of them."""

    DENSE = "todense"

    def stored_for(self, parameter: Parameter, value: Any) -> StoredArray | Diagnostic:
        """As `SparseCall`."""

        def again(values: Any) -> Any:
            return sparse.BCOO((values, value.indices), shape=value.shape)

        return _problem(parameter, value) or StoredArray(value.shape, value.data, (), list, again)

    def places_of(self, value: Any, stored: StoredArray) -> list[Any]:
        """As `SparseCall`."""
        return [_Column(value.indices, n) for n in range(value.indices.shape[1])]

    def index_array(self, place: Any) -> Any:
        """As `SparseCall`."""
        return place.indices[:, place.number]

    def is_same(self, one: Any, other: Any) -> bool:
        """As `SparseCall`; two that are traced may differ at a call."""
        if one.indices is other.indices:
            return one.number == other.number
        if is_traced(one.indices) or is_traced(other.indices):
            return False
        return np.array_equal(self.index_array(one), self.index_array(other))

    def elsewhere(self, parameter: Parameter, name: str, other: str) -> Diagnostic:
        """As `SparseCall`."""
        message = f"`{parameter.name}` may store elements at other places than `{name}` says"
        helps = ["give it the `indices` of the other array, or pass what both store by name"]
        return Diagnostic("TAD0503", message, notes=[declared(parameter)], helps=helps)

    def explained(self, problems: Sequence[Diagnostic]) -> list[Diagnostic]:
        """What is wrong, with what padding has to do with it: JAX pads with indices that are out of range."""
        padded = [name for name, value in self.given.items() if _has_padding(value)]
        helps = [f"`{name}` has padding, which `{name}.sum_duplicates()` leaves out" for name in padded]
        return [replace(p, helps=[*p.helps, *helps]) if p.code == "TAD0511" else p for p in problems]


def _has_padding(value: Any) -> bool:
    """Whether an array is known to have indices behind its end."""
    if is_traced(value.indices):
        return False
    return bool((np.asarray(value.indices) == np.array(value.shape[: value.n_sparse])).all(1).any())


def _problem(parameter: Parameter, value: Any) -> Diagnostic | None:
    name, pattern, notes = parameter.name, parameter.pattern, [declared(parameter)]
    assert pattern is not None
    if not isinstance(value, sparse.BCOO):
        message = f"`{name}` is of type {type(value).__name__}; of sparse arrays `BCOO` is taken"
        helps = [f"write `jax.experimental.sparse.BCOO.from_scipy_sparse({name})`"]
        if isinstance(value, sparse.BCSR):
            helps = [f"write `{name}.to_bcoo()`"]
        return Diagnostic("TAD0504", message, notes=notes, helps=helps)
    dense = len(pattern.shape) - len(pattern.at)
    if value.n_batch or value.n_dense != dense or len(value.shape) != len(pattern.shape):
        kind = f"{value.n_batch} of batches and {value.n_dense} dense ones"
        message = f"`{name}` has {len(value.shape)} dimensions, {kind}"
        notes = [f"expected {len(pattern.shape)}, none of batches and {dense} dense ones", *notes]
        return Diagnostic("TAD0503", message, notes=notes)
    return None
