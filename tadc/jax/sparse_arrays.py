"""Sparse arrays of JAX as arguments: what a `BCOO` stores, and results at the same places."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from jax.experimental import sparse

from tadc.api.sparse_arguments import wrong_shape
from tadc.api.sparse_kinds import is_sparse
from tadc.backend.runtime.frameworks import is_traced
from tadc.backend.runtime.host_arrays import Parameter, declared
from tadc.frontend.diagnostics import ArgumentError, Diagnostic
from tadc.frontend.extents import told_sizes


class SparseArrays:
    """A call whose sparse arguments are given as arrays of JAX: what the kernel takes of them.

    Positional arguments are the inputs in order but for index arrays that say where sparse tensors are.
    """

    def __init__(
        self,
        inputs: Sequence[Parameter],
        untold: Sequence[str],
        args: Sequence[Any],
        kwargs: Mapping[str, Any],
    ) -> None:
        """`untold` are the sizes that a call gives by name. Raises ArgumentError, all that is wrong."""
        places = {name for p in inputs if p.pattern is not None for name in p.pattern.at}
        names = [p.name for p in inputs if p.name not in places]
        self.args = tuple(args[len(names) :])
        self.kwargs: dict[str, Any] = {**dict(zip(names, args, strict=False)), **kwargs}
        #: The sizes that are given by name, and those that sparse arrays tell.
        self.told = {name: self.kwargs[name] for name in untold if isinstance(self.kwargs.get(name), int)}
        self._of: dict[str, Any] = {}
        problems: list[Diagnostic] = []
        for parameter in inputs:
            value = self.kwargs.get(parameter.name)
            if not is_sparse_argument(value):
                continue
            found = _problem(parameter, value) or self._take(parameter, value, untold)
            problems += [found] if found else []
        if problems:
            raise ArgumentError(problems)

    def _take(self, parameter: Parameter, value: Any, untold: Sequence[str]) -> Diagnostic | None:
        """Put what a sparse array stores in its place, and its index arrays; or what is wrong."""
        pattern, notes = parameter.pattern, [declared(parameter)]
        assert pattern is not None
        told_sizes([pattern.shape], [value.shape], self.told)
        if (wrong := wrong_shape(parameter, value.shape, self.told)) is not None:
            return wrong
        self.kwargs.update((name, self.told[name]) for name in untold if name in self.told)
        self.kwargs[parameter.name] = value.data
        for n, name in enumerate(pattern.at):
            other = self._of.setdefault(name, value)
            if other is value and name in self.kwargs:
                message = f"`{name}` is given twice: `{parameter.name}` tells it"
                return Diagnostic("TAD0502", message, helps=["leave it out"])
            if other is value:
                self.kwargs[name] = value.indices[:, n]
            elif not _same(value.indices, other.indices):
                message = f"`{parameter.name}` may store elements at other places than `{name}` says"
                helps = ["give it the `indices` of the other array, or pass what both store by name"]
                return Diagnostic("TAD0503", message, notes=notes, helps=helps)
        return None

    def result(self, parameter: Parameter, array: Any) -> Any:
        """A result as the caller gets it: sparse where an argument is at the same places."""
        given = None if parameter.pattern is None else self._of.get(parameter.pattern.at[0])
        if given is None:
            return array
        return sparse.BCOO((array, given.indices), shape=given.shape)


def _same(one: Any, other: Any) -> bool:
    """Whether index arrays are known to be equal; two that are traced may differ at a call."""
    if one is other:
        return True
    return not (is_traced(one) or is_traced(other)) and np.array_equal(one, other)


def is_sparse_argument(value: Any) -> bool:
    """Whether a value is a sparse array of JAX, SciPy or PyTorch."""
    return isinstance(value, sparse.JAXSparse) or is_sparse(value)


def _problem(parameter: Parameter, value: Any) -> Diagnostic | None:
    name, pattern, notes = parameter.name, parameter.pattern, [declared(parameter)]
    if pattern is None:
        message = f"`{name}` is a sparse array, and the program has all its elements"
        helps = [f"write `{name}.todense()`, or declare it sparse: `{name}: … at (row, col)`"]
        return Diagnostic("TAD0504", message, notes=notes, helps=helps)
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
