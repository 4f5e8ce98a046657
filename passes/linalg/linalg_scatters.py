"""Scatters and cumulative sums: sums over what goes to a place."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tadc.dialect.mlir import ir
from tadc.passes.linalg.elements import (
    Called,
    Condition,
    Float,
    Integer,
    Scalar,
    Value,
    applied,
    as_value,
    both,
    chosen,
    compared,
)
from tadc.passes.linalg.imported_arrays import ImportedArray, forms_at
from tadc.passes.linalg.index_forms import Counter, IndexForm, number, of_atom
from tadc.passes.linalg.linalg_generic import joined, reduced
from tadc.passes.linalg.linalg_reader import LinalgReader, translation
from tadc.passes.linalg.refusals import refuse

_JOINS = {"addf": "sum", "addi": "sum", "add": "sum", "mulf": "prod", "multiply": "prod"}
_EXTREMES = {"maximumf": "max", "maximum": "max", "maxnumf": "max", "minimumf": "min", "minimum": "min"}


def _kind(block: ir.Block) -> str:
    """What a scatter does with what is there: `set`, `sum`, `prod`, `max` or `min`; "" for anything else."""
    yielded = list(block.operations)[-1].operation.operands[0]
    arguments = list(block.arguments)
    if yielded in arguments:
        return "set"
    op = yielded.owner
    op = getattr(op, "operation", op)
    if op.name == "linalg.generic":
        op = list(op.regions[0].blocks[0].operations)[-1].operation.operands[0].owner
    return {**_JOINS, **_EXTREMES}.get(getattr(op, "name", "").rpartition(".")[2], "")


class WindowScatter:
    """An array into which updates go."""

    def __init__(
        self, reader: LinalgReader, op: ir.Operation, kind: str, target: ImportedArray, updates: ImportedArray
    ):
        self.reader, self.op, self.kind = reader, op, kind
        self.target, self.updates = target, updates

    def at(
        self,
        where: Sequence[IndexForm],
        starts: dict[int, Value],
        loops: Sequence[Counter],
        windows: dict[int, int | None],
        update_at: dict[int, IndexForm],
    ) -> Scalar:
        """An element: the target's, and what goes there.

        `starts` say by dimension of the target where a window begins, `windows` which dimension of the
        updates runs along it, None where the window has one element.
        """
        conditions: list[Condition] = []
        places = dict(update_at)
        for dimension, window in windows.items():
            form = where[dimension]
            start = starts.get(dimension)
            if start is not None and not isinstance(start, Integer):
                self.reader.refuse_index(self.op)
            if isinstance(start, Integer):
                gap = form - start.form
            else:
                gap = form
            if window is None:
                conditions.append(compared("=", Integer(gap), Integer(number(0))))
                if isinstance(start, Integer):
                    self.reader.demand(start.form, self.target.shape[dimension])
                continue
            size = self.updates.shape[window]
            if start is not None:
                conditions += [
                    compared("<=", Integer(number(0)), Integer(gap)),
                    compared("<", Integer(gap), Integer(size)),
                ]
            places[window] = gap
        at_update = [places[d] for d in range(len(self.updates.shape))]
        return self._joined(where, loops, both(*conditions), self.updates.read(at_update))

    def _joined(
        self, where: Sequence[IndexForm], loops: Sequence[Counter], condition: Condition, update: Value
    ) -> Value:
        old = self.target.read(where)
        counters = tuple(loop for loop in loops if loop.size.number != 1)
        if self.kind == "set":
            if not counters:
                return chosen(condition, update, old)
            made = reduced("sum", counters, condition, update)
            one: Value = Integer(number(1))
            hits = reduced("sum", counters, condition, one)
            return chosen(compared(">", hits, Float(0.5)), made, old)
        if self.kind in ("max", "min") and not counters:
            return chosen(condition, applied(self.kind, old, update), old)
        if self.kind == "prod" and not counters:
            return chosen(condition, Called("*", (old, update)), old)
        return joined(self.kind, old, reduced(self.kind, counters, condition, update))


@translation("stablehlo.scatter")
def read_scatter(reader: LinalgReader, op: ir.Operation) -> None:
    """A scatter of StableHLO with one array."""
    kind = _kind(op.regions[0].blocks[0])
    if len(op.results) != 1 or not kind:
        refuse("a scatter that does something unusual cannot be imported", reader.place(op))
    target, indices, updates = (reader.settled(o, wider=True) for o in op.operands)
    said = _numbers(str(op.attributes["scatter_dimension_numbers"]))
    window_dims = said.get("update_window_dims", [])
    inserted = said.get("inserted_window_dims", [])
    batched = said.get("input_batching_dims", [])
    index_batched = said.get("scatter_indices_batching_dims", [])
    operand_dims = said.get("scatter_dims_to_operand_dims", [])
    vector_dim = said.get("index_vector_dim", [0])[0]
    scatter_dims = [d for d in range(len(updates.shape)) if d not in window_dims]
    scatter = WindowScatter(reader, op, kind, target, updates)

    def at(where: tuple[IndexForm, ...]) -> Scalar:
        counters = {d: Counter(updates.shape[d]) for d in scatter_dims}
        places = {d: of_atom(counter) for d, counter in counters.items()}
        batch = [places[d] for d in scatter_dims]
        starts: dict[int, Value] = {}
        for number_, dimension in enumerate(operand_dims):
            at_index = list(batch)
            if vector_dim < len(indices.shape):
                at_index.insert(vector_dim, number(number_))
            starts[dimension] = indices.read(at_index)
        windows: dict[int, int | None] = {}
        free = iter(window_dims)
        for dimension in range(len(target.shape)):
            if dimension in batched:
                position = index_batched[batched.index(dimension)]
                position -= position > vector_dim
                starts[dimension] = Integer(batch[position])
                windows[dimension] = None
            else:
                windows[dimension] = None if dimension in inserted else next(free)
        return scatter.at(where, starts, list(counters.values()), windows, places)

    reader.computed(op.results[0], target.shape, at, kind)


def _numbers(text: str) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for name, many, one in re.findall(r"(\w+) = (?:\[([^\]]*)\]|(\d+))", text):
        found[name] = [int(n) for n in (many or one).replace(",", " ").split()]
    return found


@translation("tm_tensor.scatter")
def read_torch_scatter(reader: LinalgReader, op: ir.Operation) -> None:
    """A scatter of torch-mlir: updates and their places, a row for each."""
    kind = _kind(op.regions[0].blocks[0])
    if not kind:
        refuse("a scatter that does something unusual cannot be imported", reader.place(op))
    updates, indices, target = (reader.settled(o, wider=True) for o in op.operands)
    mapped = list(map(int, re.findall(r"-?\d+", str(op.attributes["dimension_map"]).partition(":")[2])))
    scatter = WindowScatter(reader, op, kind, target, updates)
    rows = updates.shape[0]
    # The first dimension of the updates counts them, the others are the last ones of the target.
    behind = len(updates.shape) - 1
    offset = len(target.shape) - behind

    def at(where: tuple[IndexForm, ...]) -> Scalar:
        row = Counter(rows)
        starts: dict[int, Value] = {}
        for number_, dimension in enumerate(mapped):
            starts[dimension] = indices.read([of_atom(row), number(number_)])
        windows: dict[int, int | None] = {
            d: (None if d - offset < 0 else d - offset + 1) for d in range(len(target.shape))
        }
        places = {0: of_atom(row)}
        for dimension, window in list(windows.items()):
            if window is not None and dimension in mapped and updates.shape[window].number == 1:
                windows[dimension] = None
                places[window] = number(0)
        return scatter.at(where, starts, [row], windows, places)

    reader.computed(op.results[0], target.shape, at, kind)


@translation("tm_tensor.scan")
def read_scan(reader: LinalgReader, op: ir.Operation) -> None:
    """A cumulative sum or product."""
    kind = _kind(op.regions[0].blocks[0])
    if kind not in ("sum", "prod", "max", "min"):
        refuse("a cumulative operation of an unusual kind cannot be imported", reader.place(op))
    array = reader.settled(op.operands[0], wider=True, reducing=True)
    dimension: int = op.attributes["dimension"].value
    size = array.shape[dimension]

    def at(where: tuple[IndexForm, ...]) -> Scalar:
        counter = Counter(size)
        inner = list(where)
        (inner[dimension],) = forms_at((counter,))
        before = compared("<=", Integer(inner[dimension]), Integer(where[dimension]))
        return reduced(kind, (counter,), before, array.read(inner))

    reader.computed(op.results[0], array.shape, at, kind)
    total = [form for d, form in enumerate(array.shape) if d != dimension]
    if len(op.results) > 1:
        reader.give(op.results[1], ImportedArray(tuple(total), array.type, lambda _: as_value(Float(0.0))))
