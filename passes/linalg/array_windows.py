"""Convolutions and reductions of windows, as StableHLO has them where a size is a symbol."""

from __future__ import annotations

import re
from collections.abc import Sequence
from importlib import import_module
from typing import Any, cast

from tadc.dialect.mlir import ir
from tadc.lattice.late_dataclasses import dataclass
from tadc.passes.linalg.dynamic_shapes import forms_of_vector
from tadc.passes.linalg.elements import Condition, Scalar, applied, as_value, both
from tadc.passes.linalg.imported_arrays import forms_at
from tadc.passes.linalg.index_forms import Counter, IndexForm, divided, number, product
from tadc.passes.linalg.linalg_generic import KINDS, inner_operations, joined, reduced
from tadc.passes.linalg.linalg_reader import LinalgReader, translation
from tadc.passes.linalg.refusals import refuse, refuse_operation
from tadc.passes.linalg.tensor_views import spaced


@dataclass
class _Window:
    """How a window moves along a dimension: its size and step, what lies between elements of it and of the
    array, and what lies around the array."""

    size: IndexForm
    step: IndexForm
    between: IndexForm
    between_elements: IndexForm
    before: IndexForm
    after: IndexForm

    def count(self, length: IndexForm) -> IndexForm | None:
        """How many windows there are in an array of such a length."""
        whole = product(length.plus(-1), self.between_elements)
        reach = product(self.size.plus(-1), self.between)
        if whole is None or reach is None:
            return None
        found = divided(whole + self.before + self.after - reach, self.step)
        return None if found is None else found.plus(1)


def _place(
    reader: LinalgReader,
    op: ir.Operation,
    window: _Window,
    at: tuple[IndexForm, IndexForm],
    length: IndexForm,
) -> tuple[IndexForm, list[Condition]]:
    """Which element a place of a window reads, and when there is one."""
    first, inner = product(at[0], window.step), product(at[1], window.between)
    if first is None or inner is None:
        refuse("a stride that no number tells", reader.place(op))
    return spaced(reader, op, first + inner - window.before, length, window.between_elements)


def _numbers(op: ir.Operation, name: str, count: int, otherwise: int = 1) -> list[IndexForm]:
    given = name in op.attributes
    found = cast("Sequence[int]", op.attributes[name]) if given else [otherwise] * count
    return [number(int(n)) for n in found]


def _padding(op: ir.Operation, count: int) -> list[list[IndexForm]]:
    np: Any = import_module("numpy")
    if "padding" not in op.attributes:
        return [[number(0), number(0)]] * count
    pairs = np.array(op.attributes["padding"]).reshape(count, 2)
    return [[number(int(n)) for n in pair] for pair in pairs]


def _shape(
    reader: LinalgReader, op: ir.Operation, windows: Sequence[_Window], lengths: Sequence[IndexForm]
) -> list[IndexForm]:
    counts = [window.count(length) for window, length in zip(windows, lengths, strict=True)]
    if any(count is None for count in counts):
        refuse("a size that nothing tells before the call", reader.place(op))
    return [count for count in counts if count is not None]


@translation("stablehlo.reduce_window")
def read_windows(reader: LinalgReader, op: ir.Operation) -> None:
    """Reductions of windows."""
    rank = len(op.results[0].type.shape)
    sizes = _numbers(op, "window_dimensions", rank)
    columns = [
        sizes,
        _numbers(op, "window_strides", rank),
        _numbers(op, "window_dilations", rank),
        _numbers(op, "base_dilations", rank),
        *zip(*_padding(op, rank), strict=True),
    ]
    if len(op.operands) != 2:
        refuse("several reductions of windows at once", reader.place(op))
    _reduce(reader, op, [_Window(*row) for row in zip(*columns, strict=True)], op.regions[0].blocks[0])


@translation("stablehlo.custom_call")
def read_dynamic_windows(reader: LinalgReader, op: ir.Operation) -> None:
    """Reductions of windows whose sizes are values, which StableHLO has no operation for."""
    target = op.attributes["call_target_name"].value
    if target != "stablehlo.dynamic_reduce_window":
        refuse_operation(op.name, reader.place(op), target)
    sizes, steps, dilations, between, padding = (
        forms_of_vector(reader, operand, op) for operand in list(op.operands)[2:]
    )
    columns = [sizes, steps, between, dilations, padding[::2], padding[1::2]]
    callee = str(cast("Sequence[ir.Attribute]", op.attributes["called_computations"])[0]).removeprefix("@")
    functions = op.parent
    while functions.name != "builtin.module":
        functions = functions.parent
    body = next(
        f.operation.regions[0].blocks[0]
        for f in functions.regions[0].blocks[0].operations
        if f.operation.attributes["sym_name"].value == callee
    )
    _reduce(reader, op, [_Window(*row) for row in zip(*columns, strict=True)], body)


def _reduce(reader: LinalgReader, op: ir.Operation, windows: Sequence[_Window], body: ir.Block) -> None:
    source = reader.settled(op.operands[0], wider=True, reducing=True)
    initial = reader.array(op.operands[1])
    inside = [inner.name for inner in inner_operations(body)]
    kinds = [KINDS[name] for name in inside if name in KINDS]
    if len(kinds) != 1 or any(name.startswith("arith.") and name not in KINDS for name in inside):
        refuse("an unusual reduction of windows", reader.place(op))

    def at(where: tuple[IndexForm, ...]) -> Scalar:
        counters = tuple(Counter(window.size) for window in windows)
        conditions: list[Condition] = []
        places: list[IndexForm] = []
        rows = zip(windows, where, forms_at(counters), source.shape, strict=True)
        for window, first, inner, length in rows:
            place, holds = _place(reader, op, window, (first, inner), length)
            conditions += holds
            places.append(place)
        made = reduced(kinds[0], counters, both(*conditions), source.read(places))
        return joined(kinds[0], as_value(initial.at(())), made)

    reader.computed(op.results[0], _shape(reader, op, windows, source.shape), at, kinds[0])


@translation("stablehlo.convolution", "stablehlo.dynamic_conv")
def read_convolution(reader: LinalgReader, op: ir.Operation) -> None:
    """Sums over windows and features of an array times a kernel."""
    array, kernel = (reader.settled(operand, wider=True, reducing=True) for operand in list(op.operands)[:2])
    about = re.findall(r"\[([^\]]*)\]", str(op.attributes["dimension_numbers"]))
    left, right, out = ([name.strip() for name in names.split(",")] for names in about)
    spatial = [str(i) for i in range(len(left) - 2)]
    count = len(spatial)
    groups = int(op.attributes["feature_group_count"].value)
    if int(op.attributes["batch_group_count"].value) != 1 or "true" in str(
        op.attributes["window_reversal"] if "window_reversal" in op.attributes else ""
    ):
        refuse("a convolution with groups of batches, or with a kernel that is turned", reader.place(op))
    if len(op.operands) > 2:
        given = forms_of_vector(reader, op.operands[2], op)
        padding = [[given[2 * i], given[2 * i + 1]] for i in range(count)]
    else:
        padding = _padding(op, count)
    columns = [
        [kernel.shape[right.index(d)] for d in spatial],
        _numbers(op, "window_strides", count),
        _numbers(op, "rhs_dilation", count),
        _numbers(op, "lhs_dilation", count),
        *zip(*padding, strict=True),
    ]
    windows = [_Window(*row) for row in zip(*columns, strict=True)]
    lengths = [array.shape[left.index(d)] for d in spatial]
    sizes = dict(zip(spatial, _shape(reader, op, windows, lengths), strict=True))
    sizes |= {"b": array.shape[left.index("b")], "f": kernel.shape[right.index("o")]}
    features = kernel.shape[right.index("i")]
    in_group = divided(sizes["f"], number(groups))

    def at(where: tuple[IndexForm, ...]) -> Scalar:
        here = dict(zip(out, where, strict=True))
        counters = (Counter(features), *(Counter(window.size) for window in windows))
        feature, *inner = forms_at(counters)
        group = number(0) if groups == 1 or in_group is None else divided(here["f"], in_group)
        start = product(group, features) if group is not None else None
        if start is None:
            refuse("groups of features of a size that is a symbol", reader.place(op))
        read = {"b": here["b"], "f": start + feature}
        weight = {"o": here["f"], "i": feature, **dict(zip(spatial, inner, strict=True))}
        inside: list[Condition] = []
        for d, window, step, length in zip(spatial, windows, inner, lengths, strict=True):
            read[d], conditions = _place(reader, op, window, (here[d], step), length)
            inside += conditions
        term = applied("*", array.read([read[d] for d in left]), kernel.read([weight[d] for d in right]))
        return reduced("sum", counters, both(*inside), term)

    reader.computed(op.results[0], [sizes[d] for d in out], at, "sum")
