"""The shapes of an operator's results, of extents that may be symbols of PyTorch (`SymInt`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tadc.backend.runtime.call_checks import EXTENT, RANK, SIZES, TYPE, CallCheck
from tadc.backend.runtime.call_messages import said
from tadc.backend.runtime.interface import Interface
from tadc.backend.runtime.parameters import Parameter
from tadc.backend.runtime.size_list import Numbers, Place, lengths
from tadc.frontend.diagnostics import Diagnostic
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
    symbols = _Symbols(interface.arguments)
    for n, (parameter, tensor) in enumerate(zip(interface.arguments, tensors, strict=True)):
        found = tensor.device
        torch._check(found.type in DEVICES, lambda: _text(said("device", parameter, found=found)))
        symbols.require(tensor.dtype == ELEMENTS[parameter.type], CallCheck(TYPE, n))
        symbols.require(tensor.dim() == len(parameter.shape), CallCheck(RANK, n))
    sizes = interface.told.values(lengths([tensor.shape for tensor in tensors]), {}, symbols)
    placed = next((tensor for tensor in tensors if tensor.device.type != "cpu"), tensors[0])
    return [placed.new_empty(shape_at(p.shape, sizes), dtype=ELEMENTS[p.type]) for p in interface.outputs]


class _Symbols(Numbers[Any]):
    """Symbols of PyTorch, of which it is told what must hold."""

    def __init__(self, arguments: Sequence[Parameter]) -> None:
        self.arguments = arguments

    def require(self, condition: Any, check: CallCheck) -> None:
        """Something that PyTorch makes sure of."""
        torch._check(condition, lambda: _text(check.problem(self.arguments)))

    def told(self, length: Any, source: SizeSource, values: Mapping[str, Any]) -> Any:
        value = source.value(length, values)
        self.require(value >= 0, SIZES)
        return value

    def same(self, length: Any, extent: Extent, place: Place, values: Mapping[str, Any]) -> None:
        (wanted,) = shape_at([extent], values)
        self.require(length == wanted, CallCheck(EXTENT, *place))

    def outside(self, rows: Domain, values: Mapping[str, Any]) -> None:
        inside: Any = True
        for row in rows:
            value = row.form.evaluate(values)
            inside = inside & (value == 0 if row.equality else value >= 0)
        self.require(torch.sym_not(inside), SIZES)


def _text(problem: Diagnostic) -> str:
    return f"tadc: {render(problem)}"
