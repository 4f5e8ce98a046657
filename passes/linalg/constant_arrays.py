"""Arrays of constants: numbers, places, or arguments with a value."""

from __future__ import annotations

import re

import numpy as np

from tadc.dialect.mlir import ir
from tadc.passes.linalg.elements import (
    Float,
    ImportedTensor,
    Integer,
    Scalar,
    TensorElement,
    Truth,
    Value,
    both,
    chosen,
    compared,
)
from tadc.passes.linalg.imported_arrays import At, ImportedArray, Numbers
from tadc.passes.linalg.index_forms import Element, IndexForm, number, of_atom
from tadc.passes.linalg.linalg_reader import LinalgReader, constant_scalar
from tadc.passes.linalg.refusals import refuse

#: So many numbers are written out as a choice; more are an argument.
_FEW = 4
_RESOURCE = re.compile(r'dense_resource<"?([^">]+)"?>')


def read_constant(reader: LinalgReader, op: ir.Operation) -> None:
    """A constant of MLIR that is an array."""
    result = op.results[0]
    attribute = op.attributes["value"]
    type = reader.element_type(result)
    shape = reader.shape(result)
    if getattr(attribute, "is_splat", False):
        scalar = constant_scalar(attribute.get_splat_value().value, type)
        reader.give(result, ImportedArray(shape, type, lambda _: scalar))
        return
    resource = _RESOURCE.match(str(attribute)[:200])
    numbers = _of_resource(reader, op, resource[1], type) if resource else attribute
    values = np.array(numbers).reshape([s.number or 0 for s in shape])
    give_constant(reader, result, values, type)


def _of_resource(reader: LinalgReader, op: ir.Operation, name: str, type: str) -> Numbers:
    """The numbers of a resource. MLIR's Python shows them nowhere but in the text of a module."""
    if not reader.resources:
        root = op
        while root.parent is not None:
            root = root.parent
        found = re.findall(r'([\w.$"-]+): "0x([0-9A-F]+)"', root.get_asm())
        reader.resources.update({said.strip('"'): text for said, text in found})
    dtype = f"f{int(type[1:]) // 8}" if type in ("f16", "f32", "f64") else f"i{int(type[1:]) // 8}"
    if type == "bf16" or name not in reader.resources:
        refuse(f"a resource of MLIR of type {type} cannot be imported", reader.place(op))
    # The first four bytes say how the others are aligned.
    return np.frombuffer(bytes.fromhex(reader.resources[name])[4:], "?" if type == "i1" else dtype)


def give_constant(reader: LinalgReader, result: ir.Value, values: Numbers, type: str) -> None:
    """Say that a value of MLIR is an array of NumPy's."""
    shape = tuple(map(number, values.shape))
    if _is_splat(values):
        scalar = constant_scalar(values.flat[0].item(), type)
        reader.give(result, ImportedArray(shape, type, lambda _: scalar))
        return
    is_float = type in ("f16", "bf16", "f32", "f64")
    linear = _linear(values)
    if linear is not None and (not is_float):
        start, steps = linear

        def progression(at: tuple[IndexForm, ...]) -> Scalar:
            total = number(start)
            for form, step in zip(at, steps, strict=True):
                total += form.scaled(step)
            return Integer(total)

        if type != "i1":
            reader.give(result, ImportedArray(shape, type, progression))
            return
    if values.size <= _FEW or type == "i1":
        at = _written_out(values, type)
        if values.size <= _FEW or (values.ndim == 1 and values.size <= 4 * _FEW):
            reader.give(result, ImportedArray(shape, type, at, weight=values.size))
            return
    reader.give(result, reader.constant_argument(values, type))


def _is_splat(values: Numbers) -> bool:
    """Whether all elements have the same bits."""
    bits = values.view(f"i{values.dtype.itemsize}")
    return bool(values.size) and bool(bits.min() == bits.max())


def _linear(values: Numbers) -> tuple[int, list[int]] | None:
    """First value and steps of integers that are a sum of multiples of their places."""
    if values.dtype.kind not in "iu" or not values.size:
        return None
    start = int(values.flat[0])
    steps: list[int] = []
    shape: tuple[int, ...] = values.shape
    for axis, size in enumerate(shape):
        first = [0] * values.ndim
        first[axis] = min(1, size - 1)
        step = int(values[tuple(first)]) - start
        steps.append(step)
    # Most others have another last element, which costs nothing to see.
    if start + sum(step * (size - 1) for step, size in zip(steps, shape, strict=True)) != values.flat[-1]:
        return None
    guess = np.full(shape, start, dtype=np.int64)
    for axis, size in enumerate(shape):
        line = [1] * values.ndim
        line[axis] = size
        guess += np.reshape(np.arange(size) * steps[axis], line)
    return (start, steps) if (guess == values).all() else None


def _written_out(values: Numbers, type: str) -> At:
    """The elements of few constants, by conditions of their places."""

    def at(where: tuple[IndexForm, ...]) -> Scalar:
        found: Value | None = None
        for place in reversed(list(np.ndindex(*values.shape))):
            scalar = constant_scalar(values[place].item(), type)
            here = (
                chosen(scalar, Integer(number(1)), Integer(number(0)))
                if isinstance(scalar, Truth)
                else scalar
            )
            assert isinstance(here, Float | Integer)
            if found is None:
                found = here
                continue
            conditions = [
                compared("=", Integer(f), Integer(number(i))) for f, i in zip(where, place, strict=True)
            ]
            found = chosen(both(*conditions), here, found)
        return found if found is not None else Float(0.0)

    return at


def argument_array(tensor: ImportedTensor, type: str) -> ImportedArray:
    """An argument as an array."""
    positions = range(len(tensor.shape))

    def at(where: tuple[IndexForm, ...]) -> Scalar:
        forms = tuple(where[i] for i in positions)
        if tensor.is_index:
            element = Integer(of_atom(Element(tensor.name, forms, tensor.below)))
            return compared("=", element, Integer(number(1))) if type == "i1" else element
        return TensorElement(tensor, forms)

    return ImportedArray(tensor.shape, type, at, is_stored=True)
