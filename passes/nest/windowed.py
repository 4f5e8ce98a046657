"""Tensors of which memory has the last steps alone: subscripts of steps are taken modulo their number."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TypeVar

from tadc.passes.maps.map import Ask, Let, Load, Window
from tadc.passes.nest.nest import Nest, Store
from tadc.passes.nest.primitives.rewriting import rewrite_stores, rewrite_values

Access = TypeVar("Access", Load, Ask, Store)


def windowed(nest: Nest, windows: Mapping[str, Window]) -> Nest:
    """The nest where tensors that have windows are in the memory of these."""
    if windows.keys().isdisjoint(tensor.name for tensor in nest.tensors):
        return nest

    def moved(of: Access) -> Access:
        window = windows.get(of.tensor)
        return of if window is None else replace(of, at=window.place(of.at))

    def read(let: Let) -> Let:
        match let.value:
            case Load() as value:
                return replace(let, value=moved(value))
            case Ask() as value:
                return replace(let, value=moved(value))
            case _:
                return let

    tensors = tuple(
        replace(tensor, shape=windows[tensor.name].shape(tensor.shape)) if tensor.name in windows else tensor
        for tensor in nest.tensors
    )
    return replace(nest, tensors=tensors, body=rewrite_stores(rewrite_values(nest.body, read), moved))
