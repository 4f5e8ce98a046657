"""The type that a value has by what it is made of: the text of a nest states others only."""

from __future__ import annotations

from collections.abc import Mapping

from tadc.frontend.functions import RELATIONS
from tadc.passes.maps.map import (
    Applied,
    Ask,
    Choice,
    Constant,
    Fold,
    IndexNumber,
    Load,
    TensorDecl,
    Type,
    Value,
)

CONVERT = "convert"
"""Its type is always stated."""


def is_relation(function: str) -> bool:
    """Whether a function gives a condition."""
    return function in RELATIONS or function.startswith("cmpf ")


def usual_type(
    value: Value, types: Mapping[str, Type], tensors: Mapping[str, TensorDecl], number: Type
) -> Type | None:
    """The type of a value, by those of other values and of tensors, and that of numbers.

    None where it is always stated, or where what it is made of is unknown.
    """
    match value:
        case Constant() | IndexNumber():
            return number
        case Load(tensor=name):
            return tensors[name].type if name in tensors else None
        case Applied(function=function) if is_relation(function):
            return "i1"
        case Applied(function=function, operands=operands):
            of = 1 if function == "choose" else 0
            return types.get(operands[of]) if function != CONVERT and len(operands) > of else None
        case Choice(then=block) | Fold(body=block):
            return types.get(block.gives[0]) if block.gives else None
        case Ask():
            return None
