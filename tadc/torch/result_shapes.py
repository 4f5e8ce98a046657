"""The shapes of an operator's results, of extents that may be symbols of PyTorch (`SymInt`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tadc.backend.runtime.host_arrays import Parameter, declared
from tadc.backend.runtime.interface import Interface
from tadc.frontend.extents import shape_at, size_sources
from tadc.torch.pytorch import torch

#: Devices that functions compute on, and the one without elements.
DEVICES = ("cpu", "cuda", "meta")

ELEMENTS = {"f32": torch.float32, "f64": torch.float64, "i32": torch.int32}


def results_like(interface: Interface, tensors: Sequence[Any]) -> list[Any]:
    """Tensors like the results, without elements where the inputs have none.

    What the extents must be is told to PyTorch, which keeps it as a guard where they are symbols; raises
    what its checks raise.
    """
    for parameter, tensor in zip(interface.arguments, tensors, strict=True):
        _check(tensor.device.type in DEVICES, f"nothing can be computed on {tensor.device}", parameter)
        _check(
            tensor.dtype == ELEMENTS[parameter.type], f"`{parameter.name}` is no {parameter.type}", parameter
        )
        rank = len(parameter.shape)
        _check(tensor.dim() == rank, f"`{parameter.name}` does not have {rank} dimensions", parameter)
    sizes = _sizes(interface, tensors)
    placed = next((tensor for tensor in tensors if tensor.device.type != "cpu"), tensors[0])
    return [placed.new_empty(shape_at(p.shape, sizes), dtype=ELEMENTS[p.type]) for p in interface.outputs]


def _sizes(interface: Interface, tensors: Sequence[Any]) -> Mapping[str, Any]:
    """The values of size symbols, all extents checked."""
    sizes: dict[str, Any] = {}
    for source in size_sources([p.shape for p in interface.arguments]):
        sizes[source.symbol] = source.value(tensors[source.argument].shape[source.dimension], sizes)
        torch._check(sizes[source.symbol] >= 0, lambda: "tadc: a size is negative")
    for parameter, tensor in zip(interface.arguments, tensors, strict=True):
        for d, extent in enumerate(shape_at(parameter.shape, sizes)):
            _check(tensor.shape[d] == extent, f"dimension {d} of `{parameter.name}` does not fit", parameter)
    for rows in interface.excluded:
        inside: Any = True
        for row in rows:
            value = row.form.evaluate(sizes)
            inside = inside & (value == 0 if row.equality else value >= 0)
        torch._check(torch.sym_not(inside), lambda: "tadc: the program has no meaning for these sizes")
    return sizes


def _check(condition: Any, what: str, parameter: Parameter) -> None:
    torch._check(condition, lambda: f"tadc: {what}; {declared(parameter)}")
