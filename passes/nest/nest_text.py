"""A loop nest as text that a person reads; `passes/nest/nest_reader.py` reads it back.

    nest matmul(a: f32[512, 64], b: f32[64, 256], out c: f32[512, 256]) {
        for i = 0 to 512 {
            for j = 0 to 256 {
                %0 = sum k where 0 <= k <= 63 {
                    %1 = a[i, k]
                    %2 = b[k, j]
                    %3 = %1 * %2
                    give %3
                }
                c[i, j] = %0
            }
        }
    }

Values and the stores behind them are one `Compute`. What is usual is left out: a step of 1, a loop one after
the other, a type that follows from operands. `docs/nest.md` describes all of it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import get_args

from tadc.frontend.dtypes import COMPUTING, DEFAULT, DTYPES
from tadc.frontend.functions import OPERATORS, REDUCTIONS
from tadc.lattice.affine import Affine
from tadc.passes.maps.map import (
    Applied,
    Ask,
    Block,
    Choice,
    Constant,
    Fold,
    FoldLoop,
    IndexNumber,
    Let,
    Load,
    TensorDecl,
    Type,
)
from tadc.passes.nest.form_text import form_text
from tadc.passes.nest.grammar import Grammar, Kind, Writer, listed, one_of, plain
from tadc.passes.nest.nest import (
    At,
    Body,
    Call,
    Compute,
    Either,
    Extreme,
    For,
    If,
    Know,
    Nest,
    Space,
    Stage,
    Store,
)
from tadc.passes.nest.nest import Kind as LoopKind
from tadc.passes.nest.usual_types import is_relation, usual_type

WIDE = 100
"""A head that is longer has a line for each tensor."""

LOCKSTEP = tuple(kind for kind in get_args(FoldLoop) if kind != "seq")
TYPES = tuple(DTYPES)
SIGNS: dict[str, str] = {name: sign for sign, name in OPERATORS.items()}

PATTERNS: dict[type, str] = {
    Nest: "[[sizes {sizes:sizes=}\n]][[ranges {ranges:ranges=}\n]][[known {known=}\n]]"
    "[[in_blocks {block}\n]]",
    TensorDecl: "{name:new tensor}: {type}[{shape}][[ below {below}]][[ increasing{increasing}]]"
    "[[ of ({elements:elements})]]",
    For: "for {index} = {start} to {stop}[[ step {step=1}]][[ reach {reach}]][[ group {group}]]"
    "[[ {kind=seq}]][[ teams {teams}]] {body}",
    If: "if {rows} {then}[[ else {otherwise}]]",
    At: "at {index} = {value}",
    Know: "know {rows}",
    Stage: "stage {tensor} in {space}",
    Call: "call {nest}({tensors:known tensors})[[ for {ranges}]][[ sizes {sizes}]][[ by threads{threads}]]"
    "[[ once{once}]]",
    Compute: "compute[[ interleaved {interleaved}]][[ within {within}]]",
    Extreme: "{which:extreme}({forms})",
    Either: "if {rows} then {then} else {otherwise}",
    Store: "{tensor:tensor}[{at}] = {value:used}[[ joins {joins:reduction}]]"
    "[[ unless {fresh}]][[ streams{streams}]]",
    IndexNumber: "index({form})",
    Load: "{tensor:tensor}[{at}][[ along {along}]]",
    Choice: "if {rows} {then} else {otherwise}",
    Fold: "{kind:reduction}[[ {indices:bound=}]][[ {loop:in lockstep=seq}]][[ by {together}]][[ warp {warp}]]"
    "[[ where {rows@indices=}]][[ parts {parts@indices}]][[ from {first:all used}]]"
    "[[ when {when:used}]] {body}",
    Ask: "prefetch {tensor:tensor}[{at}][[ every {every}]]",
}


NESTS = Grammar(
    PATTERNS,
    {
        "str": plain(str, lambda reader: reader.name("an index")),
        "sizes": listed(lambda reader: reader.name("a size")),
        "ranges": listed(lambda reader: reader.name("an index argument")),
        "bound": listed(lambda reader: reader.name("an index"), lambda reader: reader.has_indices()),
        "tensor": plain(str, lambda reader: reader.known_tensor()),
        "new tensor": plain(str, lambda reader: reader.name("a tensor such as `a: f32[N]`")),
        "known tensors": listed(lambda reader: reader.known_tensor()),
        "elements": listed(lambda reader: reader.integer()),
        "used": plain(str, lambda reader: reader.used()),
        "all used": listed(lambda reader: reader.used()),
        "Type": one_of(TYPES, "element type"),
        "Kind": one_of(get_args(LoopKind), "kind of loop"),
        "in lockstep": Kind(
            lambda writer, kind: kind,
            lambda reader, after: reader.one_of(LOCKSTEP, "kind of loop"),
            lambda reader, after: reader.token.text in LOCKSTEP,
        ),
        "Space": one_of(get_args(Space), "space"),
        "extreme": one_of(("min", "max"), "extreme"),
        "Bound": Kind(
            lambda writer, bound: form_text(bound) if isinstance(bound, Affine) else writer.record(bound),
            lambda reader, after: reader.bound(),
        ),
        "reduction": one_of(REDUCTIONS, "value or reduction"),
        "Affine | None": plain(form_text, lambda reader: reader.form()),
        "tuple[Affine, Affine] | None": plain(
            lambda ends: f"{form_text(ends[0])} to {form_text(ends[1])}", lambda reader: reader.ends()
        ),
        "tuple[Domain, ...]": plain(str, lambda reader: reader.several(reader.rows, "then")),
        "TensorDecl": Kind(
            lambda writer, tensor: writer.tensor(tensor), lambda reader, after: reader.tensor()
        ),
        "Body": Kind(lambda writer, body: writer.body(body), lambda reader, after: reader.body()),
        "Block": Kind(lambda writer, block: writer.block(block), lambda reader, after: reader.block()),
    },
)
"""The text of each record; what goes beyond a pattern is written below, and read in `nest_reader.py`."""


def nest_text(nest: Nest) -> str:
    """A nest as text, which ends with a line end."""
    lines, depth = list[str](), 0
    for line in _NestWriter(nest).nest_lines().split("\n"):
        depth -= line.startswith(("}", ")"))
        lines.append("    " * depth + line)
        depth += line.endswith(("{", "("))
    return "\n".join([*lines, ""])


def number_type(tensors: Iterable[TensorDecl]) -> Type:
    """The type of numbers where none is stated: that of the first tensor that is no index array."""
    return next((COMPUTING[tensor.type] for tensor in tensors if tensor.below is None), DEFAULT)


class _NestWriter(Writer):
    """Writes a nest, no line of it indented; `types` are those of the values so far."""

    def __init__(self, nest: Nest) -> None:
        super().__init__(NESTS)
        self.nest, self.number = nest, number_type(nest.tensors)
        self.types: dict[str, Type] = {}
        self.tensors: dict[str, TensorDecl] = {}

    def nest_lines(self) -> str:
        """All of it."""
        nest, computed = self.nest, self.nest.computed
        given = [("out " if t.name in computed else "") + self.tensor(t) for t in nest.tensors]
        head = f"nest {nest.name}({', '.join(given)}) {{\n"
        if len(head) > WIDE + 1:
            given = ",\n".join(given)
            head = f"nest {nest.name}(\n{given}\n) {{\n"
        if tuple(name for name in self.tensors if name in computed) != computed:
            head += f"computed {', '.join(computed)}\n"
        return f"{head}{self.record(nest)}{self.statements(nest.body)}}}"

    def tensor(self, tensor: TensorDecl) -> str:
        """`a: f32[512, N]`."""
        self.tensors[tensor.name] = tensor
        return self.record(tensor)

    def body(self, body: Body) -> str:
        return f"{{\n{self.statements(body)}}}"

    def statements(self, body: Body) -> str:
        return "".join(self.compute(s) if isinstance(s, Compute) else f"{self.record(s)}\n" for s in body)

    def compute(self, compute: Compute) -> str:
        """Values, then stores; in braces where these would not show where it begins and ends."""
        block, stores, head = compute.block, compute.stores, self.record(compute)
        is_plain = tuple(store.value for store in stores) == block.gives
        made = self.lets(block) + ("" if is_plain else self.give(block))
        made += "".join(f"{self.record(store)}\n" for store in stores)
        return f"{head} {{\n{made}}}\n" if " " in head or not block.lets or not stores else made

    def block(self, block: Block) -> str:
        """Values in braces, and what is given of them."""
        return f"{{\n{self.lets(block)}{self.give(block)}}}"

    def give(self, block: Block) -> str:
        return f"give {', '.join(block.gives)}\n"

    def lets(self, block: Block) -> str:
        """A line or more for each value."""
        return "".join(map(self.let, block.lets))

    def let(self, let: Let) -> str:
        """One value; its type, if that is not the usual one, is known when what is in it is written."""
        value = let.value
        match value:
            case Ask():
                return f"{self.record(value)}\n"
            case Constant():
                made = _number(value.value)
            case Applied():
                made = _apply(value)
            case _:
                made = self.record(value)
        usual = usual_type(value, self.types, self.tensors, self.number)
        self.types.update(dict.fromkeys(let.names, value.type))
        stated = f": {value.type}" if value.type and value.type != usual else ""
        return f"{', '.join(let.names)}{stated} = {made}\n" if let.names else f"{made}\n"


def _apply(value: Applied) -> str:
    function, operands = value.function, value.operands
    sign = SIGNS.get(function, function if is_relation(function) else None)
    if function == "powi" and len(operands) == 1:
        return f"{operands[0]} ** {value.exponent}"
    if function == "neg" and len(operands) == 1:
        return f"-{operands[0]}"
    if sign is not None and " " not in sign and len(operands) == 2:
        return f"{operands[0]} {sign} {operands[1]}"
    name = f'"{function}"' if " " in function else function
    return f"{name}({', '.join(operands)})"


def _number(value: float) -> str:
    return (
        repr(float(value)) if math.isfinite(value) else {math.inf: "inf", -math.inf: "-inf"}.get(value, "nan")
    )
