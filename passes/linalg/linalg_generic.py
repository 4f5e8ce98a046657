"""`linalg.generic` and what is like it: elements that are computed of others, and reductions."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from tadc.dialect.mlir import ir
from tadc.passes.linalg.elements import (
    ALWAYS,
    Called,
    Chosen,
    Condition,
    Float,
    Integer,
    Reduced,
    Scalar,
    Value,
    applied,
    as_condition,
    as_value,
    both,
    chosen,
    compared,
    is_of_indices,
    negated,
)
from tadc.passes.linalg.imported_arrays import ImportedArray, forms_at, view
from tadc.passes.linalg.index_forms import Counter, IndexForm, number
from tadc.passes.linalg.linalg_reader import Key, LinalgReader, affine_form, constant_scalar, translation
from tadc.passes.linalg.refusals import refuse
from tadc.passes.linalg.scalar_operations import ELEMENTWISE

#: What a reduction computes, by the operation that takes an element in.
KINDS = {
    "arith.addf": "sum",
    "arith.addi": "sum",
    "arith.mulf": "prod",
    "arith.muli": "prod",
    "arith.maximumf": "max",
    "arith.maxnumf": "max",
    "arith.maxsi": "max",
    "arith.maxui": "max",
    "arith.minimumf": "min",
    "arith.minnumf": "min",
    "arith.minsi": "min",
    "arith.minui": "min",
    "arith.ori": "max",
    "arith.andi": "min",
    "stablehlo.add": "sum",
    "stablehlo.multiply": "prod",
    "stablehlo.maximum": "max",
    "stablehlo.minimum": "min",
    "stablehlo.or": "max",
    "stablehlo.and": "min",
}
_JOINS = {"sum": "+", "prod": "*", "max": "max", "min": "min"}
_NOTHING = {"sum": 0.0, "prod": 1.0, "max": -math.inf, "min": math.inf}
_GREATEST = 1e30


@translation("linalg.generic")
def read_generic(reader: LinalgReader, op: ir.Operation) -> None:
    """A `linalg.generic`."""
    _Generic(reader, op).read()


class _Generic:
    """One operation: its loops, its operands with their maps, and its body."""

    def __init__(self, reader: LinalgReader, op: ir.Operation) -> None:
        self.reader, self.op = reader, op
        maps = list[ir.AffineMapAttr](op.attributes["indexing_maps"])
        self.maps: list[ir.AffineMap] = [attribute.value for attribute in maps]
        kinds = list(map(str, list[ir.Attribute](op.attributes["iterator_types"])))
        self.is_reduction = ["reduction" in kind for kind in kinds]
        self.block = op.regions[0].blocks[0]
        self.arguments = list(self.block.arguments)
        self.operands = list(op.operands)
        self.inputs = len(self.operands) - len(op.results)
        self.sizes = self._sizes(len(kinds))
        wide = [d for d, size in enumerate(self.sizes) if size.number != 1]
        for form, operand in zip(self.maps[self.inputs :], self.operands[self.inputs :], strict=True):
            told = [r.position if isinstance(r, ir.AffineDimExpr) else -1 for r in form.results]
            full = [size.number != 1 for size in reader.array(operand).shape]
            written = [d for d, is_wide in zip(told, full, strict=True) if is_wide]
            if sorted(written) != [d for d in wide if not self.is_reduction[d]]:
                refuse("an output that is not written once at each place", reader.place(op))

    def _sizes(self, loops: int) -> list[IndexForm]:
        """The size of each loop, as a dimension of an operand that it alone reads tells it."""
        sizes: list[IndexForm | None] = [None] * loops
        for operand, map in zip(self.operands, self.maps, strict=True):
            if not self.reader.is_array(operand):
                continue
            shape = self.reader.array(operand).shape
            for result, size in zip(map.results, shape, strict=True):
                if isinstance(result, ir.AffineDimExpr):
                    position: int = result.position
                    known: IndexForm | None = sizes[position]
                    if known is not None and known != size:
                        self.reader.equal.append((known, size))
                    if known is None or known.number is None:
                        sizes[position] = size
        found = [size for size in sizes if size is not None]
        if len(found) < loops:
            refuse("a loop whose length nothing tells", self.reader.place(self.op))
        return found

    def read(self) -> None:
        """Say what each result is."""
        terminator = list(self.block.operations)[-1].operation
        yields = list(terminator.operands)
        if not any(self.is_reduction) and self._is_view(yields):
            return
        self._settle_operands()
        for number_, (result, yielded) in enumerate(zip(self.op.results, yields, strict=True)):
            if any(self.is_reduction):
                self._reduction(number_, result, yielded)
            else:
                self._elementwise(number_, result, yielded)

    def _is_view(self, yields: list[ir.Value]) -> bool:
        """Make a copy or a broadcast, with all its dimensions in any order, a view."""
        if len(yields) != 1 or yields[0] not in self.arguments[: self.inputs]:
            return False
        position = self.arguments.index(yields[0])
        operand = self.operands[position]
        if not self.reader.is_array(operand):
            return False
        result = self.op.results[0]
        source = self.reader.settled(operand, wider=self._is_wider(position))
        shape = self._result_shape(0)

        def where(at: tuple[IndexForm, ...]) -> list[IndexForm]:
            return self._at(position, self._dims(0, at))

        self.reader.give(result, view(source, shape, where, self.reader.place(self.op)))
        return True

    def _result_shape(self, number_: int) -> tuple[IndexForm, ...]:
        map = self.maps[self.inputs + number_]
        dims = {i: size for i, size in enumerate(self.sizes)}
        return tuple(dims[r.position] if isinstance(r, ir.AffineDimExpr) else number(1) for r in map.results)

    def _is_wider(self, position: int) -> bool:
        """Whether elements of an operand are read several times."""
        map = self.maps[position]
        alone = {r.position for r in map.results if isinstance(r, ir.AffineDimExpr)}
        return any(size.number != 1 and d not in alone for d, size in enumerate(self.sizes))

    def _settle_operands(self) -> None:
        reducing = any(self.is_reduction)
        for position, operand in enumerate(self.operands[: self.inputs]):
            if self.reader.is_array(operand) and list(self.arguments[position].uses):
                self.reader.settled(operand, wider=self._is_wider(position), reducing=reducing)
        for inner in inner_operations(self.block):
            if inner.name == "tensor.extract":
                self.reader.settled(inner.operands[0], wider=True)

    def _dims(self, number_: int, at: Sequence[IndexForm]) -> dict[int, IndexForm]:
        """The loops of the result's dimensions at index expressions."""
        found: dict[int, IndexForm] = {}
        for result, form in zip(self.maps[self.inputs + number_].results, at, strict=True):
            if isinstance(result, ir.AffineDimExpr):
                found[result.position] = form
        for dim, size in enumerate(self.sizes):
            if dim not in found and size.number == 1:
                found[dim] = number(0)
        return found

    def _at(self, position: int, dims: dict[int, IndexForm]) -> list[IndexForm]:
        found = [affine_form(result, dims) for result in self.maps[position].results]
        forms = [form for form in found if form is not None]
        if len(forms) < len(found):
            refuse("an index that is no sum of multiples cannot be imported", self.reader.place(self.op))
        return forms

    def _body(self, dims: dict[int, IndexForm], skipped: Sequence[ir.Value] = ()) -> dict[Key, Scalar]:
        """What the body's arguments and indices are at values of the loops."""
        known: dict[Key, Scalar] = _LazyArguments(self, dims, skipped)
        return known

    def _elementwise(self, number_: int, result: ir.Value, yielded: ir.Value) -> None:
        def at(where: tuple[IndexForm, ...]) -> Scalar:
            return self.reader.scalar(yielded, self._body(self._dims(number_, where)))

        owner, place = yielded.owner, self.reader.place(self.op)
        kind = owner.name if hasattr(owner, "name") else ""
        array = self.reader.computed(result, self._result_shape(number_), at, kind, place)
        if kind in ("arith.truncf", "arith.extf"):
            self.reader.converted(array, str(owner.operands[0].type), place)

    def _reduction(self, number_: int, result: ir.Value, yielded: ir.Value) -> None:
        argument = self.arguments[self.inputs + number_]
        terms = _terms(yielded, argument)
        extreme = self._extreme() if terms is None else ""
        place, shape = self.reader.place(self.op), self._result_shape(number_)
        if terms is None and not extreme:

            def refused(_: tuple[IndexForm, ...]) -> Scalar:
                refuse("an unusual reduction", place, "write it by sums, products and extrema")

            self.reader.give(result, ImportedArray(shape, self.reader.element_type(result), refused, place))
            return
        kind, parts, tests = terms or (extreme, self.arguments[:1], [])
        first = None
        if extreme and number_:
            kind, first = "min", self.reader.settle(self.reader.array(self.op.results[0]), place, wider=True)
        loops = [d for d, is_reduction in enumerate(self.is_reduction) if is_reduction]
        initial = self.reader.settled(self.operands[self.inputs + number_], wider=False, reducing=True)

        def at(where: tuple[IndexForm, ...]) -> Scalar:
            dims = self._dims(number_, where)
            counters = tuple(Counter(self.sizes[d]) for d in loops)
            dims.update(zip(loops, forms_at(counters), strict=True))
            known = self._body(dims, (argument,))
            total: Value | None = None
            for part in parts:
                value = as_value(self.reader.scalar(part, known))
                total = value if total is None else applied(_JOINS[kind], total, value)
            assert total is not None
            if first is not None:
                is_first = compared("=", total, first.read(where))
                total = chosen(is_first, Integer(dims[loops[0]]), Integer(self.sizes[loops[0]]))
                return reduced(kind, counters, ALWAYS, total)
            taken = both(*(_test_of(self.reader.scalar(test, known), holds) for test, holds in tests))
            if not is_of_indices(taken):
                total, taken = chosen(taken, total, Float(_NOTHING[kind])), ALWAYS
            made = reduced(kind, counters, taken, total)
            return joined(kind, as_value(initial.at(where)), made)

        self.reader.computed(result, shape, at, kind, place)

    def _extreme(self) -> str:
        """`max` or `min` where the results are the extreme element and its first place, else "".

        Libraries write the body by various comparisons, so it is seen what it makes of numbers.
        """
        if len(self.op.results) != 2 or self.is_reduction.count(True) != 1:
            return ""
        before, place_before = self.arguments[self.inputs :]
        yields = list(list(self.block.operations)[-1].operation.operands)

        type = str(self.arguments[0].type)
        low, high = (constant_scalar(value, type) for value in (0, 1))
        first, other = Integer(number(0)), Integer(number(1))

        def made(new: Scalar, old: Scalar) -> tuple[Value, ...]:
            known: dict[Key, Scalar] = dict.fromkeys(self.arguments[1:], other)
            known |= {("index", d): other for d in range(len(self.sizes))}
            known |= {self.arguments[0]: new, before: old, place_before: first}
            return tuple(as_value(self.reader.scalar(yielded, known)) for yielded in yields)

        found = [made(low, high), made(high, low), made(high, high)]
        low, high = as_value(low), as_value(high)
        if found == [(high, first), (high, other), (high, first)]:
            return "max"
        return "min" if found == [(low, other), (low, first), (high, first)] else ""


def inner_operations(block: ir.Block) -> Iterator[ir.Operation]:
    """The operations of a block and of blocks inside."""
    for view_ in block.operations:
        op = view_.operation
        yield op
        for region in op.regions:
            for inner in region.blocks:
                yield from inner_operations(inner)


class _LazyArguments(dict[Key, Scalar]):
    """What stands in a body; the arguments are read as they are asked for."""

    def __init__(self, generic: _Generic, dims: dict[int, IndexForm], skipped: Sequence[ir.Value]) -> None:
        super().__init__({("index", d): Integer(form) for d, form in dims.items()})
        self.generic, self.dims = generic, dims
        self.positions: dict[Key, int] = {a: p for p, a in enumerate(generic.arguments) if a not in skipped}

    def __contains__(self, key: object) -> bool:
        return super().__contains__(key) or key in self.positions

    def __missing__(self, key: Key) -> Scalar:
        position = self.positions[key]
        operand = self.generic.operands[position]
        reader = self.generic.reader
        if reader.is_array(operand):
            array = reader.array(operand)
            found = array.at(tuple(self.generic._at(position, self.dims)))  # pyright: ignore[reportPrivateUsage]
        else:
            found = reader.scalar(operand)
        self[key] = found
        return found


def _terms(
    yielded: ir.Value, argument: ir.Value
) -> tuple[str, list[ir.Value], list[tuple[ir.Value, bool]]] | None:
    """The reduction that a body makes, what it takes in, and what must hold or not for that; None for what is
    none."""
    op = yielded.owner
    if not hasattr(op, "operands") or not hasattr(op, "name"):
        return None
    if op.name == "arith.select":
        test, then, other = op.operands
        for one, rest, holds in ((then, other, True), (other, then, False)):
            if rest == argument and (inner := _terms(one, argument)) is not None:
                return inner[0], inner[1], [*inner[2], (test, holds)]
    kind = KINDS.get(op.name)
    if kind is None:
        return None
    left, right = list(op.operands)[:2]
    for one, other in ((left, right), (right, left)):
        if one == argument:
            return kind, [other], []
    for one, other in ((left, right), (right, left)):
        inner = _terms(one, argument)
        if inner is not None and inner[0] == kind and not inner[2]:
            return kind, [*inner[1], other], []
    return None


def _test_of(scalar: Scalar, holds: bool) -> Condition:
    condition = as_condition(scalar)
    return condition if holds else negated(condition)


def reduced(kind: str, counters: tuple[Counter, ...], where: Condition, body: Value) -> Value:
    """A reduction; over nothing but single values it is the body."""
    left = tuple(counter for counter in counters if counter.size.number != 1)
    if not left:
        return chosen(where, body, Float(_NOTHING[kind]))
    if kind == "sum":
        inside, body = _guarded(body)
        where = both(where, inside)
    if isinstance(body, Reduced) and body.kind == kind:
        return Reduced(kind, (*left, *body.counters), both(where, body.where), body.body)
    return Reduced(kind, left, where, body)


def _guarded(summand: Value) -> tuple[Condition, Value]:
    """Where indices let a summand be other than 0, and what it is there."""
    if isinstance(summand, Chosen) and summand.other in (Float(0.0), Integer(number(0))):
        if is_of_indices(summand.condition):
            inside, then = _guarded(summand.then)
            return both(summand.condition, inside), then
    elif isinstance(summand, Called) and summand.function == "*":
        (one, left), (other, right) = map(_guarded, summand.operands)
        return both(one, other), applied("*", left, right)
    return ALWAYS, summand


def joined(kind: str, initial: Value, made: Value) -> Value:
    """What a reduction begins with and what it makes, without what is neutral."""
    value = initial.value if isinstance(initial, Float) else None
    if isinstance(initial, Integer) and initial.form.number is not None:
        value = float(initial.form.number)
    neutral = {"sum": value == 0, "prod": value == 1}.get(kind)
    if kind == "max":
        neutral = (value is not None and value < -_GREATEST) or _is_bit(initial, made, 0)
    if kind == "min":
        neutral = (value is not None and value > _GREATEST) or _is_bit(initial, made, 1)
    if value is not None and abs(value) >= 2**31 - 1 and kind in ("max", "min"):
        neutral = (value < 0) == (kind == "max")
    return made if neutral else applied(_JOINS[kind], initial, made)


def _is_bit(initial: Value, made: Value, value: int) -> bool:
    """Whether all that is reduced is 0 or 1, and the first value says nothing."""
    body = made.body if isinstance(made, Reduced) else made
    bits = (Integer(number(0)), Integer(number(1)))
    is_bits = isinstance(body, Chosen) and body.then in bits and body.other in bits
    return is_bits and initial == Integer(number(value))


@translation("elementwise", *ELEMENTWISE)
def read_elementwise(reader: LinalgReader, op: ir.Operation) -> None:
    """An operation on whole arrays, element by element."""
    if op.name == "arith.constant":
        from tadc.passes.linalg.constant_arrays import read_constant

        read_constant(reader, op)
        return
    arrays = [reader.settled(operand, wider=False) for operand in op.operands]

    def at(where: tuple[IndexForm, ...]) -> Scalar:
        operands = [array.at(where) for array in arrays]
        made = ELEMENTWISE.get(op.name)
        return made(*operands) if made else reader.operation(op, operands)

    reader.computed(op.results[0], arrays[0].shape, at, op.name)


@translation("linalg.fill")
def read_fill(reader: LinalgReader, op: ir.Operation) -> None:
    """A constant array."""
    source, target = op.operands

    def at(_: tuple[IndexForm, ...]) -> Scalar:
        return reader.array(source).at(()) if reader.is_array(source) else reader.scalar(source)

    reader.computed(op.results[0], reader.array(target).shape, at)
