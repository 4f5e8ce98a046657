"""Sizes of PyTorch's tensors that are symbols, as sizes of a program."""

from __future__ import annotations

from collections.abc import Container
from importlib import import_module
from typing import Any

from tadc.passes.linalg.index_forms import IndexForm, SizeSymbol, number, of_atom
from tadc.passes.linalg.linalg_programs import free_letters
from tadc.passes.linalg.refusals import refuse


def is_size(node: Any) -> bool:
    """Whether the value of a node is a number that PyTorch computes of sizes which are symbols."""
    torch: Any = import_module("torch")
    return isinstance(node.meta.get("val"), torch.SymInt | torch.SymFloat | torch.SymBool)


class SizeNames:
    """Names for the symbols of PyTorch that a program has as sizes, none of them of those that are taken."""

    def __init__(self, taken: Container[str]) -> None:
        self.symbols: dict[str, SizeSymbol] = {}
        self.free = free_letters(taken)

    def of(self, tensor: Any) -> dict[int, IndexForm]:
        """By dimension the sizes of a tensor that are open."""
        torch: Any = import_module("torch")

        shape: list[Any] = list(tensor.shape)
        return {i: self.form(s.node.expr) for i, s in enumerate(shape) if isinstance(s, torch.SymInt)}

    def form(self, expression: Any) -> IndexForm:
        """A size, which is affine in symbols."""
        total = number(0)
        for term, times in expression.as_coefficients_dict().items():
            if term == 1:
                total = total.plus(int(times))
                continue
            if not term.is_symbol:
                refuse(f"a size of an argument, `{expression}`, is no sum of symbols", None)
            symbol = self.symbols.get(str(term))
            if symbol is None:
                symbol = self.symbols[str(term)] = SizeSymbol(next(self.free))
            total += of_atom(symbol).scaled(int(times))
        return total
