"""Operations of MLIR's `tensor` dialect: arrays that read others at other places."""

from __future__ import annotations

from collections.abc import Sequence

from tadc.dialect.mlir import ir
from tadc.passes.linalg.elements import (
    Condition,
    Float,
    Integer,
    Scalar,
    Value,
    as_value,
    both,
    chosen,
    compared,
    is_whole,
)
from tadc.passes.linalg.imported_arrays import ImportedArray, view
from tadc.passes.linalg.index_forms import IndexForm, divided, number, product, remainder
from tadc.passes.linalg.linalg_reader import LinalgReader, translation
from tadc.passes.linalg.refusals import refuse

_DYNAMIC = -(2**63)


@translation("tensor.empty")
def read_empty(reader: LinalgReader, op: ir.Operation) -> None:
    """An array that something is written to."""
    result = op.results[0]
    sizes = iter([reader.size(operand) for operand in op.operands])
    known = [next(sizes) if size == _DYNAMIC else None for size in result.type.shape]
    zero: Scalar = Float(0.0)
    shape = reader.shape(result, known)
    reader.give(result, ImportedArray(shape, reader.element_type(result), lambda _: zero))


@translation("tensor.cast", "builtin.unrealized_conversion_cast")
def read_cast(reader: LinalgReader, op: ir.Operation) -> None:
    """The same array, of which more or less is known, or of integers that have no sign."""
    array = reader.array(op.operands[0])
    shape = reader.shape(op.results[0], array.shape)
    for known, said in zip(array.shape, shape, strict=True):
        if known != said:
            reader.equal.append((known, said))
            reader.fixed.append(reader.place(op))
    reader.give(op.results[0], view(array, shape, lambda at: at, reader.place(op)))


def _mixed(reader: LinalgReader, static: ir.Attribute, dynamic: list[ir.Value]) -> list[Value]:
    """Numbers of which some are values of MLIR, in order."""
    found: list[Value] = []
    for value in list[int](static):
        found.append(as_value(reader.scalar(dynamic.pop(0))) if value == _DYNAMIC else Integer(number(value)))
    return found


def _slices(
    reader: LinalgReader, op: ir.Operation, operands: list[ir.Value]
) -> tuple[list[Value], list[IndexForm], list[IndexForm]]:
    """Offsets, sizes and strides of a slice."""
    attributes = op.attributes
    offsets = _mixed(reader, attributes["static_offsets"], operands)
    rest: list[list[IndexForm]] = []
    for name in ("static_sizes", "static_strides"):
        values = _mixed(reader, attributes[name], operands)
        if not all(isinstance(value, Integer) for value in values):
            help = "let it be a sum of symbols and numbers for all of their values"
            refuse("a size that nothing tells before the call", reader.place(op), help)
        rest.append([value.form for value in values if isinstance(value, Integer)])
    return offsets, rest[0], rest[1]


def _kept(full: Sequence[IndexForm], shape: Sequence[IndexForm]) -> list[int]:
    """The dimensions of a slice that the array has, too: those of one element may be left out."""
    kept: list[int] = []
    for dimension, size in enumerate(full):
        position = len(kept)
        if (
            position < len(shape)
            and size == shape[position]
            and _fits(full[dimension + 1 :], shape[position + 1 :])
        ):
            kept.append(dimension)
    return kept


def _fits(full: Sequence[IndexForm], shape: Sequence[IndexForm]) -> bool:
    """Whether a shape is the other without some ones."""
    position = 0
    for size in full:
        if position < len(shape) and size == shape[position]:
            position += 1
        elif size.number != 1:
            return False
    return position == len(shape)


def slice_places(
    reader: LinalgReader, op: ir.Operation, shape: Sequence[IndexForm]
) -> tuple[list[IndexForm], list[int], list[IndexForm]]:
    """Of an insertion the offsets, the dimensions that the source has, and the sizes."""
    if op.name == "tensor.insert":
        indices = list(op.operands)[2:]
        return [reader.form(index) for index in indices], [], [number(1)] * len(indices)
    offsets, sizes, strides = _slices(reader, op, list(op.operands)[2:])
    if any(stride.number != 1 for stride, size in zip(strides, sizes, strict=True) if size.number != 1):
        refuse("a loop that writes slices with strides", reader.place(op))
    forms = [offset.form for offset in offsets if isinstance(offset, Integer)]
    if len(forms) < len(offsets):
        reader.refuse_index(op)
    return forms, _kept(sizes, shape), sizes


@translation("tensor.extract_slice")
def read_slice(reader: LinalgReader, op: ir.Operation) -> None:
    """A slice with strides."""
    operands = list(op.operands)
    array = reader.settled(operands.pop(0), wider=False)
    offsets, sizes, strides = _slices(reader, op, operands)
    shape = reader.shape(op.results[0], [s for s in sizes])
    kept = _kept(sizes, shape)
    if not all(map(is_whole, offsets)):
        reader.refuse_index(op)

    def where(at: tuple[IndexForm, ...]) -> list[IndexForm]:
        inner = [number(0)] * len(sizes)
        for dimension, form in zip(kept, at, strict=True):
            inner[dimension] = form
        steps = [product(form, stride) for form, stride in zip(inner, strides, strict=True)]
        return [step for step in steps if step is not None]

    known = [offset.form for offset in offsets if isinstance(offset, Integer)]
    if len(known) == len(offsets):

        def places(at: tuple[IndexForm, ...]) -> list[IndexForm]:
            found = [offset + step for offset, step in zip(known, where(at), strict=True)]
            for form, size in zip(found, array.shape, strict=True):
                reader.demand(form, size)
            return found

        reader.give(op.results[0], view(array, shape, places, reader.place(op)))
        return

    def chosen_at(at: tuple[IndexForm, ...]) -> Scalar:
        from tadc.passes.linalg.scalar_operations import OPERATIONS

        indices = [
            as_value(OPERATIONS["arith.addi"](offset, Integer(step)))
            for offset, step in zip(offsets, where(at), strict=True)
        ]
        return reader.element(array, indices, op)

    reader.computed(op.results[0], shape, chosen_at)


def spaced(
    reader: LinalgReader, op: ir.Operation, gap: IndexForm, size: IndexForm, step: IndexForm
) -> tuple[IndexForm, list[Condition]]:
    """Which of elements that lie a step apart is at a place from the first, and when one is there."""
    place, rest, end = divided(gap, step), remainder(gap, step), product(size.plus(-1), step)
    if place is None or rest is None or end is None:
        refuse("a stride that no number tells", reader.place(op))
    return place, [
        compared("<=", Integer(number(0)), Integer(gap)),
        compared("<=", Integer(gap), Integer(end)),
        compared("=", Integer(rest), Integer(number(0))),
    ]


@translation("tensor.insert_slice")
def read_insertion(reader: LinalgReader, op: ir.Operation) -> None:
    """An array with a part of it replaced."""
    source, target = (reader.settled(operand, wider=False) for operand in list(op.operands)[:2])
    offsets, sizes, strides = _slices(reader, op, list(op.operands)[2:])
    kept = _kept(sizes, source.shape)

    def at(where: tuple[IndexForm, ...]) -> Scalar:
        inside: list[Condition] = []
        inner: list[IndexForm] = []
        for form, offset, size, stride in zip(where, offsets, sizes, strides, strict=True):
            if not isinstance(offset, Integer):
                reader.refuse_index(op)
            place, conditions = spaced(reader, op, form - offset.form, size, stride)
            inside += conditions
            inner.append(place)
        condition = both(*inside)
        then = source.read([inner[dimension] for dimension in kept])
        return chosen(condition, then, target.read(where))

    reader.computed(op.results[0], target.shape, at)


@translation("tensor.insert")
def read_inserted(reader: LinalgReader, op: ir.Operation) -> None:
    """An array with one element replaced."""
    value = as_value(reader.scalar(op.operands[0]))
    target = reader.settled(op.operands[1], wider=False)
    places, _, _ = slice_places(reader, op, ())

    def at(where: tuple[IndexForm, ...]) -> Scalar:
        here = [compared("=", Integer(f), Integer(place)) for f, place in zip(where, places, strict=True)]
        return chosen(both(*here), value, target.read(where))

    reader.computed(op.results[0], target.shape, at)


@translation("tensor.gather")
def read_gather(reader: LinalgReader, op: ir.Operation) -> None:
    """Slices of an array at places, of which each is a row of another; along the others they are whole."""
    source, places = (reader.settled(operand, wider=False) for operand in op.operands)
    gathered = list[int](op.attributes["gather_dims"])
    behind = len(places.shape) - 1
    full = [number(1) if d in gathered else size for d, size in enumerate(source.shape)]
    is_full = len(op.results[0].type.shape) == behind + len(full)
    kept = [d for d in range(len(full)) if is_full or d not in gathered]

    def at(where: tuple[IndexForm, ...]) -> Scalar:
        inner = dict(zip(kept, where[behind:], strict=True))
        indices: list[Value] = [Integer(inner.get(d, number(0))) for d in range(len(full))]
        for position, dimension in enumerate(gathered):
            indices[dimension] = places.read((*where[:behind], number(position)))
        return reader.element(source, indices, op)

    reader.computed(op.results[0], (*places.shape[:behind], *(full[d] for d in kept)), at)


@translation("tensor.pad")
def read_pad(reader: LinalgReader, op: ir.Operation) -> None:
    """An array with a value around it."""
    operands = list(op.operands)
    # Elements that are computed are stored without what is around them: reads of it are bounds then.
    array = reader.settled(operands.pop(0), wider=True, reducing=True)
    low = _mixed(reader, op.attributes["static_low"], operands)
    high = _mixed(reader, op.attributes["static_high"], operands)
    before = [value.form for value in low if isinstance(value, Integer)]
    after = [value.form for value in high if isinstance(value, Integer)]
    shape = tuple(a + size + b for a, size, b in zip(before, array.shape, after, strict=True))
    terminator = list(op.regions[0].blocks[0].operations)[-1].operation
    padding = terminator.operands[0]

    def at(where: tuple[IndexForm, ...]) -> Scalar:
        inner = [form - offset for form, offset in zip(where, before, strict=True)]
        inside = [compared("<=", Integer(number(0)), Integer(form)) for form in inner]
        inside += [
            compared("<", Integer(f), Integer(size)) for f, size in zip(inner, array.shape, strict=True)
        ]
        value = as_value(reader.scalar(padding))
        return chosen(both(*inside), array.read(inner), value)

    reader.computed(op.results[0], shape, at)


@translation("tensor.concat")
def read_concatenation(reader: LinalgReader, op: ir.Operation) -> None:
    """Arrays one behind the other."""
    dimension: int = op.attributes["dim"].value
    arrays = [reader.settled(operand, wider=False) for operand in op.operands]
    ends = [number(0)]
    for array in arrays:
        ends.append(ends[-1] + array.shape[dimension])
    shape = list(arrays[0].shape)
    shape[dimension] = ends[-1]

    def at(where: tuple[IndexForm, ...]) -> Scalar:
        found: Value | None = None
        for array, start in reversed(list(zip(arrays, ends, strict=False))):
            inner = list(where)
            inner[dimension] = where[dimension] - start
            here = array.read(inner)
            if found is None:
                found = here
            else:
                end = start + array.shape[dimension]
                found = chosen(compared("<", Integer(where[dimension]), Integer(end)), here, found)
        assert found is not None
        return found

    reader.computed(op.results[0], shape, at)


def _groups(op: ir.Operation) -> list[list[int]]:
    groups = list[ir.ArrayAttr](op.attributes["reassociation"])
    return [[int(i.value) for i in list[ir.IntegerAttr](group)] for group in groups]


def merged(forms: Sequence[IndexForm], sizes: Sequence[IndexForm]) -> IndexForm:
    """The place of an element in dimensions that are one."""
    total = number(0)
    for form, size in zip(forms, sizes, strict=True):
        scaled = product(total, size)
        if scaled is None:
            refuse("dimensions of sizes that nothing tells become one", None)
        total = scaled + form
    return total


def split(form: IndexForm, sizes: Sequence[IndexForm]) -> list[IndexForm] | None:
    """The places in several dimensions of an element of one; None where they cannot be written."""
    found: list[IndexForm] = []
    rest = form
    for position in range(len(sizes) - 1, 0, -1):
        size = sizes[position]
        if size.number == 1:
            found.append(number(0))
            continue
        if all(s.number == 1 for s in sizes[:position]):
            found.append(rest)
            rest = number(0)
            continue
        place, whole = remainder(rest, size), divided(rest, size)
        if place is None or whole is None:
            return None
        found.append(place)
        rest = whole
    return [rest, *reversed(found)]


@translation("tensor.collapse_shape")
def read_collapse(reader: LinalgReader, op: ir.Operation) -> None:
    """Dimensions that become one."""
    array = reader.settled(op.operands[0], wider=False)
    groups = _groups(op)
    shape = [_size(array.shape, group) for group in groups]

    def where(at: tuple[IndexForm, ...]) -> list[IndexForm]:
        found: list[IndexForm] = [number(0)] * len(array.shape)
        for group, form in zip(groups, at, strict=True):
            places = split(form, [array.shape[d] for d in group])
            if places is None:
                refuse("dimensions of sizes that nothing tells become one", reader.place(op))
            for dimension, place in zip(group, places, strict=True):
                found[dimension] = place
        return found

    reader.give(op.results[0], view(array, shape, where, reader.place(op)))


def _size(shape: Sequence[IndexForm], group: Sequence[int]) -> IndexForm:
    total = number(1)
    for dimension in group:
        made = product(total, shape[dimension])
        assert made is not None
        total = made
    return total


@translation("tensor.expand_shape")
def read_expansion(reader: LinalgReader, op: ir.Operation) -> None:
    """A dimension that becomes several."""
    array = reader.settled(op.operands[0], wider=False)
    groups = _groups(op)
    operands = list(op.operands)[1:]
    known = [
        v.form
        for v in _mixed(reader, op.attributes["static_output_shape"], operands)
        if isinstance(v, Integer)
    ]
    shape = reader.shape(op.results[0], known)

    def where(at: tuple[IndexForm, ...]) -> list[IndexForm]:
        return [merged([at[d] for d in group], [shape[d] for d in group]) for group in groups]

    reader.give(op.results[0], view(array, shape, where, reader.place(op)))
