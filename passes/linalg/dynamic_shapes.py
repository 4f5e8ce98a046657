"""Operations of StableHLO whose shapes are values, as JAX writes them for sizes that are symbols."""

from __future__ import annotations

import re
from collections import Counter as Multiset
from collections.abc import Sequence
from itertools import product as product_of
from typing import cast

from tadc.dialect.mlir import ir
from tadc.passes.linalg.elements import (
    ALWAYS,
    Condition,
    Integer,
    Scalar,
    Value,
    as_value,
    both,
    chosen,
    compared,
)
from tadc.passes.linalg.imported_arrays import ImportedArray, counters_of, forms_at, view
from tadc.passes.linalg.index_forms import Atom, IndexForm, ScaledIndex, divided, number, product
from tadc.passes.linalg.linalg_reader import LinalgReader, translation
from tadc.passes.linalg.refusals import refuse
from tadc.passes.linalg.scalar_operations import OPERATIONS
from tadc.passes.linalg.tensor_views import merged, spaced, split

#: So many copies of a dimension of a size that is a symbol are told apart.
_FEW = 8


def forms_of_vector(reader: LinalgReader, value: ir.Value, op: ir.Operation) -> list[IndexForm]:
    """The elements of an array of sizes, row by row."""
    array = reader.array(value)
    found: list[IndexForm] = []
    for place in product_of(*(range(size.number or 0) for size in array.shape)):
        element = as_value(array.at(tuple(map(number, place))))
        if not isinstance(element, Integer):
            refuse("a size that nothing tells before the call", reader.place(op))
        found.append(element.form)
    return found


def _numbers(op: ir.Operation, name: str) -> list[int]:
    return [int(n) for n in cast("Sequence[int]", op.attributes[name])]


@translation("stablehlo.dynamic_broadcast_in_dim")
def read_dynamic_broadcast(reader: LinalgReader, op: ir.Operation) -> None:
    """An array along further dimensions."""
    shape = forms_of_vector(reader, op.operands[1], op)
    dims = _numbers(op, "broadcast_dimensions")
    known = reader.array(op.operands[0]).shape
    kept = {d for d, size in zip(dims, known, strict=True) if size.number != 1}
    is_wider = any(d not in kept and size.number != 1 for d, size in enumerate(shape))
    source = reader.settled(op.operands[0], wider=is_wider)

    def where(at: tuple[IndexForm, ...]) -> list[IndexForm]:
        return [at[d] if d in kept else number(0) for d in dims]

    reader.give(op.results[0], view(source, shape, where, reader.place(op)))


@translation("stablehlo.reverse")
def read_reverse(reader: LinalgReader, op: ir.Operation) -> None:
    """An array whose elements come in the other order along some dimensions."""
    source = reader.settled(op.operands[0], wider=False)
    dims = _numbers(op, "dimensions")

    def where(at: tuple[IndexForm, ...]) -> list[IndexForm]:
        return [
            size.plus(-1) - form if d in dims else form
            for d, (form, size) in enumerate(zip(at, source.shape, strict=True))
        ]

    reader.give(op.results[0], view(source, source.shape, where, reader.place(op)))


@translation("tensor.from_elements")
def read_elements(reader: LinalgReader, op: ir.Operation) -> None:
    """An array of numbers, as that of sizes."""
    result = op.results[0]
    shape = reader.shape(result)
    sizes = [size.number or 0 for size in shape]

    def at(where: tuple[IndexForm, ...]) -> Scalar:
        place = 0
        for form, size in zip(where, sizes, strict=True):
            if form.number is None:
                reader.refuse_index(op)
            place = place * size + form.number
        return reader.scalar(op.operands[place])

    reader.give(result, ImportedArray(shape, reader.element_type(result), at, reader.place(op)))


@translation("stablehlo.dynamic_reshape", "tensor.reshape")
def read_dynamic_reshape(reader: LinalgReader, op: ir.Operation) -> None:
    """The elements in order in another shape."""
    source = reader.settled(op.operands[0], wider=False)
    shape = forms_of_vector(reader, op.operands[1], op)
    groups = _paired(source.shape, shape)

    def cases(at: tuple[IndexForm, ...]) -> list[tuple[Condition, list[IndexForm]]]:
        found: list[tuple[Condition, list[IndexForm]]] = [(ALWAYS, [number(0)] * len(source.shape))]
        for own, new in groups:
            place = merged([at[d] for d in new], [shape[d] for d in new])
            sizes = [source.shape[d] for d in own]
            places = split(place, sizes)
            ways = _copies(place, sizes) if places is None else [(ALWAYS, places)]
            if not ways:
                refuse(
                    "dimensions of sizes that nothing tells become one",
                    reader.place(op),
                    "keep them apart, or let the size of all but the first be a number",
                )
            found = [
                (both(before, holds), _with(known, own, forms))
                for before, known in found
                for holds, forms in ways
            ]
        return found

    def element(at: tuple[IndexForm, ...]) -> Scalar:
        *others, (_, last) = cases(at)
        value = source.read(last)
        for condition, places in reversed(others):
            value = chosen(condition, source.read(places), value)
        return value

    if len(cases(forms_at(counters_of(shape)))) > 1:
        reader.computed(op.results[0], shape, element)
    else:
        reader.give(op.results[0], view(source, shape, lambda at: cases(at)[0][1], reader.place(op)))


def _copies(place: IndexForm, sizes: Sequence[IndexForm]) -> list[tuple[Condition, list[IndexForm]]]:
    """The places in a few copies of a dimension, and when it is each; nothing for other sizes."""
    long = [d for d, size in enumerate(sizes) if size.number != 1]
    count = sizes[long[0]].number if len(long) == 2 else None
    if count is None or count > _FEW:
        return []
    found: list[tuple[Condition, list[IndexForm]]] = []
    for copy in range(count):
        size = sizes[long[1]]
        end = compared("<", Integer(place), Integer(size.scaled(copy + 1)))
        forms = [number(0)] * len(sizes)
        forms[long[0]], forms[long[1]] = number(copy), place - size.scaled(copy)
        found.append((end, forms))
    return found


def _with(forms: Sequence[IndexForm], dims: Sequence[int], places: Sequence[IndexForm]) -> list[IndexForm]:
    found = list(forms)
    for dimension, form in zip(dims, places, strict=True):
        found[dimension] = form
    return found


def _factors(sizes: Sequence[IndexForm]) -> tuple[int, Multiset[Atom | IndexForm]]:
    """A number and atoms whose product the sizes are."""
    times, atoms = 1, Multiset[Atom | IndexForm]()
    for size in sizes:
        rest = size
        while len(rest.terms) == 1 and rest.constant == 0:
            atom, count = rest.terms[0]
            times *= count
            scaled = isinstance(atom, ScaledIndex)
            atoms[atom.size if isinstance(atom, ScaledIndex) else atom] += 1
            rest = atom.of if isinstance(atom, ScaledIndex) else number(1)
            if not scaled:
                break
        if rest.number is not None:
            times *= rest.number
        else:
            atoms[rest] += 1
    return times, atoms


def _paired(old: Sequence[IndexForm], new: Sequence[IndexForm]) -> list[tuple[list[int], list[int]]]:
    """Dimensions next to each other that have the same number of elements, in the fewest."""
    groups: list[tuple[list[int], list[int]]] = []
    i = j = 0
    while i < len(old) and j < len(new):
        own, other = [i], [j]
        i, j = i + 1, j + 1
        while (left := _factors([old[d] for d in own])) != (right := _factors([new[d] for d in other])):
            grows = right[0] % left[0] == 0 and left[1] <= right[1]
            if (grows or j == len(new)) and i < len(old):
                own.append(i)
                i += 1
            elif j < len(new):
                other.append(j)
                j += 1
            else:
                break
        groups.append((own, other))
    return groups


@translation("stablehlo.real_dynamic_slice")
def read_dynamic_slice(reader: LinalgReader, op: ir.Operation) -> None:
    """A slice with strides."""
    source = reader.settled(op.operands[0], wider=False)
    starts, limits, strides = (forms_of_vector(reader, operand, op) for operand in list(op.operands)[1:])
    shape: list[IndexForm] = []
    for start, limit, stride in zip(starts, limits, strides, strict=True):
        size = divided(limit - start + stride.plus(-1), stride)
        if size is None:
            refuse("a stride that no number tells", reader.place(op))
        shape.append(size)

    def where(at: tuple[IndexForm, ...]) -> list[IndexForm]:
        steps = [product(form, stride) for form, stride in zip(at, strides, strict=True)]
        return [start + step for start, step in zip(starts, steps, strict=True) if step is not None]

    reader.give(op.results[0], view(source, shape, where, reader.place(op)))


@translation("stablehlo.dynamic_pad")
def read_dynamic_pad(reader: LinalgReader, op: ir.Operation) -> None:
    """An array with a value around its elements, and between them."""
    source = reader.settled(op.operands[0], wider=False)
    padding = reader.array(op.operands[1])
    low, high, inner = (forms_of_vector(reader, operand, op) for operand in list(op.operands)[2:])
    steps = [gap.plus(1) for gap in inner]
    shape: list[IndexForm] = []
    for before, after, size, step in zip(low, high, source.shape, steps, strict=True):
        reach = product(size.plus(-1), step)
        assert reach is not None
        shape.append(before + after + reach.plus(1))

    def at(where: tuple[IndexForm, ...]) -> Scalar:
        inside: list[Condition] = []
        places: list[IndexForm] = []
        for form, before, size, step in zip(where, low, source.shape, steps, strict=True):
            place, conditions = spaced(reader, op, form - before, size, step)
            inside += conditions
            places.append(place)
        return chosen(both(*inside), source.read(places), as_value(padding.at(())))

    reader.computed(op.results[0], shape, at)


#: What the numbers of dimensions of a gather list.
_GATHERED = (
    "offset_dims",
    "collapsed_slice_dims",
    "start_index_map",
    "operand_batching_dims",
    "start_indices_batching_dims",
)


@translation("stablehlo.dynamic_gather")
def read_dynamic_gather(reader: LinalgReader, op: ir.Operation) -> None:
    """Slices of an array at places, which are moved to where the whole slice is inside."""
    source = reader.settled(op.operands[0], wider=False)
    places = reader.array(op.operands[1])
    sizes = forms_of_vector(reader, op.operands[2], op)
    about = str(op.attributes["dimension_numbers"])
    offset, collapsed, mapped, batching, batches = (_listed(about, name) for name in _GATHERED)
    found = re.search(r"index_vector_dim = (\d+)", about)
    vector = int(found[1]) if found else 0
    kept = [d for d in range(len(source.shape)) if d not in (*collapsed, *batching)]
    outer = [size for d, size in enumerate(places.shape) if d != vector]
    outer_dims = [d for d in range(len(outer) + len(kept)) if d not in offset]
    shape_at = dict(zip((*outer_dims, *offset), (*outer, *(sizes[d] for d in kept)), strict=True))

    def at(where: tuple[IndexForm, ...]) -> Scalar:
        here = [where[d] for d in outer_dims]
        indices: list[Value] = [Integer(number(0))] * len(source.shape)
        for position, dimension in enumerate(mapped):
            start = list(here)
            if vector < len(places.shape):
                start.insert(vector, number(position))
            limit = Integer(source.shape[dimension] - sizes[dimension])
            place = places.at(tuple(start))
            reader.use_values([place])
            first = OPERATIONS["arith.maxsi"](place, Integer(number(0)))
            indices[dimension] = as_value(OPERATIONS["arith.minsi"](first, limit))
        for dimension, batch in zip(batching, batches, strict=True):
            indices[dimension] = Integer(here[batch - (batch > vector)])
        for dimension, place in zip(kept, offset, strict=True):
            moved = OPERATIONS["arith.addi"](indices[dimension], Integer(where[place]))
            indices[dimension] = as_value(moved)
        return reader.element(source, indices, op)

    reader.computed(op.results[0], [shape_at[d] for d in range(len(shape_at))], at)


def _listed(about: str, name: str) -> list[int]:
    found = re.search(rf"{name} = \[([\d, ]*)\]", about)
    return [int(n) for n in found[1].split(",")] if found and found[1] else []
