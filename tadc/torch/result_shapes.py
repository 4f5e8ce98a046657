"""The shapes of an operator's results, of extents that may be symbols of PyTorch (`SymInt`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tadc.backend.runtime.call_messages import said
from tadc.backend.runtime.interface import Interface
from tadc.backend.runtime.parameters import Parameter
from tadc.backend.runtime.size_list import Numbers, Place, lengths
from tadc.frontend.dtypes import DTYPES
from tadc.frontend.extents import Extent, SizeSource, shape_at
from tadc.frontend.render import render
from tadc.frontend.terms import Domain
from tadc.torch.pytorch import torch

#: Devices that functions compute on, and the one without elements.
DEVICES = ("cpu", "cuda", "meta")

ELEMENTS = {name: getattr(torch, record.library) for name, record in DTYPES.items()}


def results_like(interface: Interface, tensors: Sequence[Any]) -> list[Any]:
    """Tensors like the results, without elements where the inputs have none.

    What the extents must be is told to PyTorch, which keeps it as a guard where they are symbols; raises
    what its checks raise.
    """
    for parameter, tensor in zip(interface.arguments, tensors, strict=True):
        _check(tensor.device.type in DEVICES, "device", parameter, found=tensor.device)
        _check(tensor.dtype == ELEMENTS[parameter.type], "wrong type", parameter)
        rank = len(parameter.shape)
        _check(tensor.dim() == rank, "wrong rank", parameter, rank=rank)
    shapes = [tensor.shape for tensor in tensors]
    sizes = interface.told.values(lengths(shapes), {}, _Symbols(interface.arguments))
    placed = next((tensor for tensor in tensors if tensor.device.type != "cpu"), tensors[0])
    return [placed.new_empty(shape_at(p.shape, sizes), dtype=ELEMENTS[p.type]) for p in interface.outputs]


class _Symbols(Numbers[Any]):
    """Symbols of PyTorch, of which it is told what must hold."""

    def __init__(self, arguments: Sequence[Parameter]) -> None:
        self.arguments = arguments

    def told(self, length: Any, source: SizeSource, values: Mapping[str, Any]) -> Any:
        value = source.value(length, values)
        _check(value >= 0, "wrong sizes")
        return value

    def same(self, length: Any, extent: Extent, place: Place, values: Mapping[str, Any]) -> None:
        (wanted,), parameter = shape_at([extent], values), self.arguments[place[0]]
        _check(length == wanted, "wrong extent", parameter, axis=place[1])

    def outside(self, rows: Domain, values: Mapping[str, Any]) -> None:
        inside: Any = True
        for row in rows:
            value = row.form.evaluate(values)
            inside = inside & (value == 0 if row.equality else value >= 0)
        _check(torch.sym_not(inside), "wrong sizes")


def _check(condition: Any, what: str, parameter: Parameter | None = None, **words: Any) -> None:
    torch._check(condition, lambda: f"tadc: {render(said(what, parameter, **words))}")
