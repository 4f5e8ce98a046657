"""Tensors of which memory has the last steps alone: subscripts of steps are taken modulo their number."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TypeVar

from tadc.passes.maps.map import Ask, Let, Load, Map, MapFunction, TensorDecl, Window
from tadc.passes.nest.nest import Nest, Store
from tadc.passes.nest.primitives.rewriting import rewrite_lets, rewrite_stores, rewrite_values

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

    body = rewrite_stores(rewrite_values(nest.body, read), moved)
    return replace(nest, tensors=in_memory(nest.tensors, windows), body=body)


def in_memory(tensors: Iterable[TensorDecl], windows: Mapping[str, Window]) -> tuple[TensorDecl, ...]:
    """Tensors in the shapes that they have in memory."""
    return tuple(
        replace(tensor, shape=windows[tensor.name].shape(tensor.shape)) if tensor.name in windows else tensor
        for tensor in tensors
    )


def readers_of_windows(function: MapFunction) -> MapFunction:
    """The function where maps that are no recurrences read tensors with windows in the memory of these."""
    windows = function.windows

    def read(let: Let) -> Let:
        value = let.value
        if not isinstance(value, Load) or value.tensor not in windows:
            return let
        return replace(let, value=replace(value, at=windows[value.tensor].place(value.at)))

    def one(item: Map) -> Map:
        body = item.body if item.order is not None else rewrite_lets(item.body, read)
        return replace(item, tensors=in_memory(item.tensors, windows), body=body)

    return replace(function, maps=tuple(map(one, function.maps))) if windows else function
