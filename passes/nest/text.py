"""A loop nest as text that a person reads; `passes/nest/reader.py` reads it back.

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
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from tadc.frontend import print_index
from tadc.frontend.functions import OPERATORS
from tadc.frontend.terms import Domain
from tadc.lattice.affine import Affine, Constraint
from tadc.passes.maps.map import (
    Apply,
    Ask,
    Block,
    Choice,
    Fold,
    IndexNumber,
    Let,
    Load,
    Number,
    Takes,
    Tensor,
    Type,
    Value,
)
from tadc.passes.nest.form_reader import FormCursor
from tadc.passes.nest.nest import (
    At,
    Body,
    Bound,
    Compute,
    Either,
    Extreme,
    For,
    If,
    Know,
    Nest,
    Stage,
    Statement,
    Store,
)
from tadc.passes.nest.usual_types import is_relation, usual_type

WIDE = 100
"""A head that is longer has a line for each tensor."""

SIGNS: dict[str, str] = {name: sign for sign, name in OPERATORS.items()}


def nest_text(nest: Nest) -> str:
    """A nest as text, which ends with a line end."""
    return "\n".join(_Printer(nest).lines()) + "\n"


def number_type(tensors: Iterable[Tensor]) -> Type:
    """The type of numbers where none is stated: that of the first tensor."""
    return next((tensor.type for tensor in tensors), "f64")


# -- forms and conditions --------------------------------------------------------------------------


def form_text(form: Affine) -> str:
    """A form, with `%` where that reads back as the same: floors of floors have several forms."""
    text = print_index.form_text(form)
    return text if _few_floors(form) or FormCursor(text).form() == form else str(form)


def _few_floors(form: Affine) -> bool:
    return form.is_linear or sum(1 for _ in form.floors()) < 2


def tensor_text(tensor: Tensor) -> str:
    """`a: f32[512, N]`."""
    return f"{tensor.name}: {tensor.type}[{_forms(tensor.shape)}]"


def bound_text(bound: Bound) -> str:
    """`min(i + 1, N)`, or `if i >= 1 then i else N - 1`."""
    match bound:
        case Extreme(which=which, forms=forms):
            return f"{which}({_forms(forms)})"
        case Either(rows=rows, then=then, otherwise=otherwise):
            return f"if {rows_text(rows)} then {form_text(then)} else {form_text(otherwise)}"
        case form:
            return form_text(form)


def rows_text(rows: Domain, about: Sequence[str] = ()) -> str:
    """Conditions joined by `and`, where that can be as bounds of the names that they are `about`."""
    texts: list[str] = []
    at = 0
    while at < len(rows):
        pair = _between(rows[at], rows[at + 1], about) if at + 1 < len(rows) else None
        texts.append(pair or _row(rows[at], about))
        at += 2 if pair else 1
    return " and ".join(texts) or "true"


def _between(low: Constraint, high: Constraint, about: Sequence[str]) -> str | None:
    """`0 <= k <= N - 1`, if two rows are that."""
    if low.equality or high.equality:
        return None
    for name in about or sorted(low.form.variables):
        lower, upper = Affine.var(name) - low.form, Affine.var(name) + high.form
        if name not in lower.variables | upper.variables:
            return f"{form_text(lower)} <= {name} <= {form_text(upper)}"
    return None


def _row(row: Constraint, about: Sequence[str]) -> str:
    """One condition, which reads back as the same form."""
    form = row.form
    names = about or (sorted(form.variables) if row.equality else ())
    for name in sorted(names, key=lambda name: form.coefficient(name) != 1):
        lower, upper = Affine.var(name) - form, Affine.var(name) + form
        if name not in lower.variables:
            return f"{name} {'=' if row.equality else '>='} {form_text(lower)}"
        if name not in upper.variables:
            # The left side less the right one is the form of an equality.
            return f"{form_text(upper)} = {name}" if row.equality else f"{name} <= {form_text(upper)}"
    if row.equality or not _few_floors(form):
        return f"{form_text(form)} {'=' if row.equality else '>='} 0"
    return print_index.condition_text(row)


def _forms(forms: Iterable[Affine]) -> str:
    return ", ".join(form_text(form) for form in forms)


# -- values ----------------------------------------------------------------------------------------


def _apply(value: Apply) -> str:
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


def _takes(takes: Takes) -> str:
    given = {"lanes": takes.lanes, "parts": takes.parts, "leap": takes.leap}
    text = "".join(f" {word} {count}" for word, count in given.items() if count != 1)
    if takes.threads:
        text += f" threads {', '.join(map(str, takes.threads))}"
    text += f" warp {takes.warp}" if takes.warp != 1 else ""
    text += " unrolled" if takes.unrolled else ""
    text += f" steps {', '.join(map(str, takes.steps))}" if takes.steps else ""
    return f"{text} shared {', '.join(takes.shared)}" if takes.shared else text


def _store(store: Store) -> str:
    """`c[i, j] = %3 joins sum unless k = 0 streams`."""
    text = f"{store.tensor}[{_forms(store.at)}] = {store.value}"
    if store.joins:
        text += f" joins {store.joins}"
    if store.fresh:
        text += f" unless {rows_text(store.fresh)}"
    return f"{text} streams" if store.streams else text


def _loop(loop: For) -> str:
    """`for i = 0 to N step 6 reach 0 to N group 3 thread teams 8`."""
    text = f"for {loop.index} = {bound_text(loop.start)} to {bound_text(loop.stop)}"
    if loop.step != 1:
        text += f" step {loop.step}"
    if loop.reach is not None:
        text += f" reach {form_text(loop.reach[0])} to {form_text(loop.reach[1])}"
    if loop.group != 1:
        text += f" group {loop.group}"
    text = text if loop.kind == "seq" else f"{text} {loop.kind}"
    return f"{text} teams {loop.teams}" if loop.teams else text


@dataclass
class _Printer:
    """The lines of a nest; `types` are those of the values so far."""

    nest: Nest
    depth: int = 0
    made: list[str] = field(default_factory=list[str])
    types: dict[str, Type] = field(default_factory=dict[str, Type])
    tensors: dict[str, Tensor] = field(default_factory=dict[str, Tensor])

    def lines(self) -> list[str]:
        """All lines."""
        nest = self.nest
        self.tensors = {tensor.name: tensor for tensor in nest.tensors}
        self.number = number_type(nest.tensors)
        self.head()
        self.depth += 1
        if tuple(name for name in self.tensors if name in nest.computed) != nest.computed:
            self.put(f"computed {', '.join(nest.computed)}")
        for word, names in (("sizes", nest.sizes), ("ranges", nest.ranges)):
            if names:
                self.put(f"{word} {', '.join(names)}")
        if nest.known:
            self.put(f"known {rows_text(nest.known)}")
        if nest.block:
            self.put(f"in_blocks {nest.block}")
        self.body(nest.body)
        self.close()
        return self.made

    def put(self, text: str) -> None:
        """One line."""
        self.made.append("    " * self.depth + text)

    def open(self, text: str) -> None:
        """A line that opens a brace."""
        self.put(f"{text} {{")
        self.depth += 1

    def close(self, after: str = "") -> None:
        """The brace that closes."""
        self.depth -= 1
        self.put("}" + after)

    def head(self) -> None:
        """`nest f(a: f32[N], out b: f32[N]) {`."""
        nest = self.nest
        given = [("out " if t.name in nest.computed else "") + tensor_text(t) for t in nest.tensors]
        line = f"nest {nest.name}({', '.join(given)}) {{"
        if len(line) <= WIDE:
            self.put(line)
            return
        self.put(f"nest {nest.name}(")
        for number, text in enumerate(given, 1):
            self.put(f"    {text}{',' if number < len(given) else ''}")
        self.put(") {")

    # -- statements ----------------------------------------------------------------------------

    def body(self, body: Body) -> None:
        """Statements in order."""
        for statement in body:
            self.statement(statement)

    def statement(self, statement: Statement) -> None:
        """One statement."""
        match statement:
            case For():
                self.open(_loop(statement))
                self.body(statement.body)
                self.close()
            case If(rows=rows, then=then, otherwise=otherwise):
                self.open(f"if {rows_text(rows)}")
                self.body(then)
                if otherwise:
                    self.close(" else {")
                    self.depth += 1
                    self.body(otherwise)
                self.close()
            case At(index=index, value=value):
                self.put(f"at {index} = {bound_text(value)}")
            case Know(rows=rows):
                self.put(f"know {rows_text(rows)}")
            case Stage(tensor=tensor, space=space):
                self.tensors[tensor.name] = tensor
                self.put(f"stage {tensor_text(tensor)} in {space}")
            case Compute():
                self.compute(statement)

    def compute(self, compute: Compute) -> None:
        """Values, then stores; in braces where these would not show where it begins and ends."""
        block, stores = compute.block, compute.stores
        how = f"{' interleaved' if compute.interleaves else ''}"
        how += f" within {rows_text(compute.within)}" if compute.within else ""
        how += f" shared {', '.join(compute.shared)}" if compute.shared else ""
        braces = how or not block.lets or not stores
        if braces:
            self.open(f"compute{how}")
        self.lets(block)
        if block.gives != tuple(store.value for store in stores):
            self.give(block)
        for store in stores:
            self.put(_store(store))
        if braces:
            self.close()

    # -- values --------------------------------------------------------------------------------

    def give(self, block: Block) -> None:
        """What a block gives."""
        self.put(f"give {', '.join(block.gives)}")

    def block(self, block: Block) -> None:
        """Values, and what is given of them."""
        self.lets(block)
        self.give(block)

    def lets(self, block: Block) -> None:
        """A line or more for each value."""
        for let in block.lets:
            self.let(let)

    def let(self, let: Let) -> None:
        """One value; its type, if that is not the usual one, is known when what is in it is printed."""
        value, start = let.value, len(self.made)
        match value:
            case Choice(rows=rows, then=then, otherwise=otherwise):
                self.open(f"if {rows_text(rows)}")
                self.block(then)
                self.close(" else {")
                self.depth += 1
                self.block(otherwise)
                self.close()
            case Fold(kind=kind, indices=indices, rows=rows, takes=takes):
                where = f" where {rows_text(rows, indices)}" if rows else ""
                over = f" {', '.join(indices)}" if indices else ""
                self.open(f"{kind}{over}{where}{_takes(takes)}")
                self.block(value.body)
                self.close()
            case _:
                self.put(self.plain(value))
        self.name(start, let)

    def name(self, line: int, let: Let) -> None:
        """Put the names of a value, and its type, in front of a line."""
        type = "" if isinstance(let.value, Ask) else let.value.type
        usual = usual_type(let.value, self.types, self.tensors, self.number)
        self.types.update(dict.fromkeys(let.names, type))
        stated = f": {type}" if type and type != usual else ""
        if let.names:
            indent = "    " * self.depth
            rest = self.made[line].removeprefix(indent)
            self.made[line] = f"{indent}{', '.join(let.names)}{stated} = {rest}"

    def plain(self, value: Value) -> str:
        """A value without blocks."""
        match value:
            case Number(value=number):
                return _number(number)
            case IndexNumber(form=form):
                return f"index({form_text(form)})"
            case Load(tensor=tensor, at=at):
                return f"{tensor}[{_forms(at)}]"
            case Apply():
                return _apply(value)
            case Ask(tensor=tensor, at=at, every=every, far=far):
                often = f" every {every}" if every != 1 else ""
                return f"prefetch {tensor}[{_forms(at)}]{often}{' far' if far else ''}"
            case Choice() | Fold():
                raise AssertionError("printed as blocks")
