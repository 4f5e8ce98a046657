"""How operators compute on DTensors: along an index like that of a batch each process computes its part.

PyTorch chooses among the rules of an operator, for each dimension of a mesh the one for which least is sent,
and redistributes what does not fit. Derivatives and batches are operators with rules of their own.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Sequence
from functools import cached_property
from importlib import import_module
from typing import Any

from tadc.api.function import Function
from tadc.backend.runtime.call_messages import said
from tadc.backend.runtime.frameworks import is_divided
from tadc.backend.runtime.kept_indices import Relation
from tadc.backend.runtime.parameters import Parameter
from tadc.caller.python_signatures import typed_text
from tadc.frontend.diagnostics import ArgumentError, Diagnostic
from tadc.frontend.forks import REGISTRY_LOCK

_MODULE = "torch.distributed.tensor"

#: Operators whose rules PyTorch does not have yet.
_waiting: list[tuple[Callable[..., Any], Function]] = []

#: What PyTorch calls the reductions that join parts.
_JOIN = {"sum": "sum", "prod": "product", "max": "max", "min": "min"}


def add_rules(op: Callable[..., Any], f: Function) -> None:
    """Let an operator have the rules of its function."""
    with REGISTRY_LOCK:
        _waiting.append((op, f))
    hand_over_rules()


def hand_over_rules() -> None:
    """Give PyTorch the rules as soon as there may be DTensors: to import these takes seconds."""
    if _waiting and _MODULE in sys.modules:
        with REGISTRY_LOCK:
            register = import_module(f"{_MODULE}.experimental").register_sharding
            for op, f in _waiting:
                register(op)(ShardingRules(f))
            _waiting.clear()


def require_one_mesh(parameters: Sequence[Parameter], values: Sequence[Any]) -> None:
    """Raise ArgumentError (TAD0504) for DTensors beside others, but for scalars, or of several meshes."""
    divided = [(p, value) for p, value in zip(parameters, values, strict=True) if is_divided(value)]
    if not divided:
        return
    first, one = divided[0]
    problems: list[Diagnostic] = []
    for p, value in zip(parameters, values, strict=True):
        if is_divided(value):
            if value.device_mesh != one.device_mesh:
                problems.append(said("other mesh", p, other=first.name))
        elif p.shape:
            problems.append(said("undivided", p, other=first.name, made=_divided(p, value, first.name)))
    if problems:
        raise ArgumentError(problems)


def _divided(parameter: Parameter, value: Any, other: str) -> str:
    """How a value becomes a DTensor."""
    name = parameter.name
    if isinstance(value, Relation):
        return "pass the index array that it is made of as a DTensor"
    if parameter.pattern is not None:
        return f"pass what it stores as DTensors, {' and '.join(parameter.pattern.at)} and `{name}`"
    return f"distribute it: `distribute_tensor({name}, {other}.device_mesh)`"


def refused_in_a_part(parameters: Sequence[Parameter], refused: Exception) -> Exception:
    """What is said of a part of a DTensor that a kernel refused: other processes have to be asked for the
    rest of it."""
    wrong = [p for p in parameters if p.below is not None and f"`{p.name}` has an element" in str(refused)]
    return ArgumentError([said("wrong index", p) for p in wrong]) if wrong else refused


class ShardingRules:
    """What PyTorch asks for how DTensors like given ones may be divided, along one dimension of a mesh."""

    def __init__(self, f: Function) -> None:
        self.function = f
        #: The dimensions of inputs of which was said that all processes get all of them.
        self._gathered: set[tuple[str, int]] = set()

    @cached_property
    def _axes(self) -> Sequence[Any]:
        return self.function.block.batch_axes

    def __call__(self, *specs: Any) -> list[tuple[list[Any], list[Any]]]:
        """The placements of results and inputs in each way to compute."""
        self._warn(specs)
        tensor, f = sys.modules[_MODULE], self.function
        found = [([tensor.Replicate()] * len(f.outputs), [tensor.Replicate()] * len(f.inputs))]
        for axis in self._axes:
            at: dict[str, Any] = {name: tensor.Shard(d) for name, d in axis.dims.items()}
            at |= {name: tensor.Partial(_JOIN[kind]) for name, kind in axis.joined.items()}
            outputs, inputs = ([at.get(n, tensor.Replicate()) for n in ns] for ns in (f.outputs, f.inputs))
            found.append((outputs, inputs))
        return found

    def _warn(self, specs: Sequence[Any]) -> None:
        """Say once what all processes get all of."""
        shard = sys.modules[_MODULE].Shard
        for name, spec in zip(self.function.inputs, specs, strict=True):
            for m, placement in enumerate(spec.placements):
                if not isinstance(placement, shard) or spec.mesh.size(m) == 1:
                    continue
                place = name, placement.dim
                if place in self._gathered or any(place in axis.dims.items() for axis in self._axes):
                    continue
                self._gathered.add(place)
                axes = [axis.name for axis in self.function.block.axes if place in axis.dims.items()]
                along = f" along index `{axes[0]}`" if axes else ""
                warnings.warn(
                    f"in a call of `{typed_text(self.function)}` each process gets all of dimension "
                    f"{placement.dim} of `{name}`, which is divided{along}",
                    stacklevel=2,
                )
