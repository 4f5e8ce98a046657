"""The readable form to MLIR's generic form, line by line."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from tadc.dialect.text_indices import Cursor, Space, TextError, spell
from tadc.dialect.text_tokens import Rebuilt, Token, Tokens
from tadc.frontend.diagnostics import CompileError, Diagnostic, Label
from tadc.frontend.source import Source, Span


def read(source: Source) -> Rebuilt:
    """The generic form, one line a line; raises CompileError (TAD0601) where it does not read."""
    if "tad." not in source.text:
        whole = Rebuilt(source.text)
        whole.copy_to(len(source.text))
        return whole
    try:
        return _Reader(source).run()
    except TextError as error:
        span = Span(error.token.start, max(error.token.end, error.token.start + 1))
        label = Label(span, error.message)
        raise CompileError([Diagnostic("TAD0601", "cannot read the IR", label, source=source)]) from None


@dataclass
class _Op:
    """What the head of an op says, for its end."""

    token: Token
    result: str
    operands: Sequence[Token] = ()
    types: Sequence[str] = ()
    result_type: str = ""
    place: str = ""
    attributes: list[tuple[str, int]] = field(default_factory=list[tuple[str, int]])

    def give(self, key: str, value: str, token: Token) -> None:
        """Set an attribute, said at a token."""
        self.attributes.append((f"{key} = {value}" if key else value, token.start))


class _Reader(Cursor):
    def __init__(self, source: Source) -> None:
        super().__init__(Tokens(source.text))
        self.source = source
        self.out = Rebuilt(source.text)
        self.ends: dict[int, Callable[[], None]] = {}
        self.scopes: list[set[str]] = []

    def run(self) -> Rebuilt:
        while self.token.kind != "end":
            if self.at in self.ends:
                self.ends.pop(self.at)()
            elif self.token.kind == "word" and self.token.text in OPS and self.is_op():
                self.op()
            else:
                self.at += 1
        self.out.copy_to(len(self.source.text))
        return self.out

    def is_op(self) -> bool:
        """Not the key of an attribute, as in `{tad.read, tad.sum = 1}`."""
        before, after = self.tokens[max(self.at - 1, 0)].text, self.tokens[self.at + 1].text
        return before not in ("{", ",") or after not in ("=", ",", "}")

    def op(self) -> None:
        tokens, at = self.tokens, self.at
        named = at >= 2 and tokens.is_at(at - 1, "=") and tokens[at - 2].kind == "value"
        self.out.copy_to(self.token.start)
        op = _Op(self.take(), tokens[at - 2].text[1:] if named else "")
        OPS[op.token.text](self, op)

    # -- ops with regions ----------------------------------------------------------------------

    def map(self, op: _Op) -> None:
        self.elements(op, *self.binders())

    def scan(self, op: _Op) -> None:
        own = self.expect_kind("value", "a name for the tensor itself, such as `%own`")
        place = self.given_location() or self.location(own, self.binder_name(own))
        binders, places = self.binders()
        self.expect("by")
        token = self.token
        if token.kind == "alias" or token.text == "affine_map":
            order = self.attribute("affine_map")
        else:
            space = Space([b.text for b in binders], closed=True)
            order = space.map([spell(self.sum(space))])
        op.give("order", order, token)
        self.elements(op, binders, places, (own, place))

    def elements(
        self, op: _Op, binders: list[Token], places: list[str], own: tuple[Token, str] | None = None
    ) -> None:
        """The rest of what makes a tensor, from its domain on; `own` is what stands for it inside."""
        boxed = self.token.text not in ("in", "[")
        if not boxed:
            space = self.space([b.text for b in binders])
            self.expect("in")
            self.set(op, "domain", space)
            op.operands = space.operands
            op.types = ["index"] * len(op.operands)
        self.discardable(op)
        self.expect("->")
        op.result_type = self.type()
        if boxed:
            op.give("domain", box_attribute(op.result_type, len(binders)), op.token)
        self.open(op, binders, places, own)
        self.region(op, self.close)

    def sum_op(self, op: _Op) -> None:
        binders, places = self.binders()
        space = self.space([b.text for b in binders])
        lookups = self.lookups() if self.accept("at") else []
        space.binders = [*(space.binders or ()), *(f"%{lookup.result}" for lookup in lookups)]
        self.expect("in")
        self.set(op, "domain", space)
        self.discardable(op)
        self.expect("->")
        op.operands, op.result_type = space.operands, self.type()
        op.types = ["index"] * len(op.operands)
        self.open(op, binders, places)
        self.region(op, self.close)
        for lookup in lookups:
            self.out.put(f" %{lookup.result} = ", lookup.token.start)
            self.call_and_finish(lookup)

    def lookups(self) -> list[_Op]:
        """`(%t = %src[%e] : tensor<?xi32>)`, which the body begins with."""
        self.expect("(")
        found: list[_Op] = []
        while not self.accept(")"):
            if found:
                self.expect(",")
            name = self.expect_kind("value", "an index such as `%t`")
            self.expect("=")
            found.append(_Op(Token("word", "tad.lookup", name.start, name.end), name.text[1:]))
            self.element(found[-1])
            found[-1].result_type = "index"
            found[-1].place = self.given_location()
        return found

    def reduce_op(self, op: _Op) -> None:
        kind = self.expect_kind("string", 'a kind such as `"max"`')
        op.give("kind", kind.text, kind)
        self.sum_op(op)

    def guard(self, op: _Op) -> None:
        space = self.space(None)
        self.expect("where")
        self.set(op, "where", space)
        self.discardable(op)
        self.expect("->")
        op.operands, op.result_type = space.operands, self.type()
        op.types = ["index"] * len(op.operands)
        self.open(op, [], [])
        self.region(op, self.otherwise)

    def binders(self) -> tuple[list[Token], list[str]]:
        """`(%i, %j)`: the names, and the location of each."""
        self.expect("(")
        found: list[Token] = []
        places: list[str] = []
        while not self.accept(")"):
            if found:
                self.expect(",")
            found.append(self.expect_kind("value", "an index such as `%i`"))
            places.append(self.given_location() or self.location(found[-1], self.binder_name(found[-1])))
        return found, places

    def binder_name(self, token: Token) -> str:
        """Undo how MLIR makes names unique: `%k_0` under `%k` is a `k` as well."""
        name = token.text[1:]
        match = re.fullmatch(r"(.*)_\d+", name)
        inner = match is not None and any(match.group(1) in scope for scope in self.scopes)
        return match.group(1) if match and inner else name

    def space(self, binders: Sequence[str] | None) -> Space:
        """`[%i, %j]`, the outer indices in order, where it is given."""
        if self.accept("["):
            return Space(binders, self.values("]"), closed=True)
        return Space(binders)

    def set(self, op: _Op, key: str, space: Space) -> None:
        """`{rows}`, or an attribute."""
        token = self.token
        rows = space.set(self.rows(space)) if self.accept("{") else self.attribute("affine_set")
        op.give(key, rows, token)

    def open(
        self,
        op: _Op,
        binders: Sequence[Token],
        places: Sequence[str],
        own: tuple[Token, str] | None = None,
    ) -> None:
        """Write `"tad.sum"(%i) ({ ^bb0(%k: index …):`; the next token is the `{`."""
        out = self.out
        self.call(op)
        out.put(" ({", self.token.start)
        given = [(b, "index", place) for b, place in zip(binders, places, strict=True)]
        if own is not None:
            given.append((own[0], op.result_type, own[1]))
        for number, (binder, type, place) in enumerate(given):
            out.put(", " if number else " ^bb0(", binder.start)
            out.put(f"{binder.text}: {type}{place}", binder.start)
        out.put("):" if given else "", self.token.start)
        self.scopes.append({b.text[1:] for b, _, _ in given})

    def call(self, op: _Op) -> None:
        """Write `"tad.read"(%a, %i)`."""
        self.out.put(f'"{op.token.text}"(', op.token.start)
        for number, operand in enumerate(op.operands):
            self.out.put(", " if number else "", operand.start)
            self.out.put(operand.text, operand.start)
        self.out.put(")", op.token.start)

    def region(self, op: _Op, end: Callable[[_Op], None]) -> None:
        """Go into a region; `end` runs at its `}`."""
        opened = self.at
        brace = self.expect("{")
        if opened not in self.tokens.partner:
            raise TextError("this `{` is never closed", brace)
        self.out.skip_to(brace.end, keep_lines=True)
        self.ends[self.tokens.partner[opened]] = lambda: end(op)

    def otherwise(self, op: _Op) -> None:
        """`} else {`."""
        brace = self.expect("}")
        self.out.copy_to(brace.end)
        self.expect("else")
        self.out.put(", {", brace.end)
        self.region(op, self.close)

    def close(self, op: _Op) -> None:
        """`}`: what the generic form keeps for the end."""
        brace = self.expect("}")
        self.out.copy_to(brace.end)
        self.out.put(")", brace.start)
        self.scopes.pop()
        self.finish(op)

    # -- ops without regions -------------------------------------------------------------------

    def read_op(self, op: _Op) -> None:
        self.element(op)
        op.result_type = element_type(op.types[0])
        if not op.result_type:
            raise TextError("expected a tensor type such as `tensor<3x4xf64>`", self.tokens[self.at - 1])
        self.call_and_finish(op)

    def lookup_op(self, op: _Op) -> None:
        self.element(op)
        op.result_type = "index"
        self.call_and_finish(op)

    def element(self, op: _Op) -> None:
        """`%a[%i, %j + 1] : tensor<3x8xf64>`."""
        tensor = self.expect_kind("value", "a tensor such as `%a`")
        opened = self.at
        self.expect("[")
        space = Space()
        if self.tokens.is_at(self.tokens.partner.get(opened, opened) + 1, "at"):
            indices = self.values("]")
            self.map_attribute(op)
        else:
            indices, at = space.operands, space.map(self.forms(space, "]"))
            op.give("at", at, op.token)
        self.discardable(op)
        self.expect(":")
        kind = self.type()
        op.operands, op.types = [tensor, *indices], [kind, *["index"] * len(indices)]

    def index_op(self, op: _Op) -> None:
        space = Space()
        if self.accept("["):
            op.operands = self.values("]")
            self.map_attribute(op)
        else:
            op.operands, form = space.operands, spell(self.sum(space))
            op.give("at", space.map([form]), op.token)
        self.discardable(op)
        if self.accept(":"):
            self.expect("index")
        op.types, op.result_type = ["index"] * len(op.operands), "index"
        self.call_and_finish(op)

    def value_of(self, op: _Op) -> None:
        op.operands, op.types = [self.expect_kind("value", "an index such as `%i`")], ["index"]
        self.typed(op)
        self.call_and_finish(op)

    def apply(self, op: _Op) -> None:
        function = self.expect_kind("string", 'a function such as `"sigmoid"`')
        self.expect("(")
        op.operands = self.values(")")
        op.give("fn", function.text, function)
        self.typed(op)
        op.types = [op.result_type] * len(op.operands)
        self.call_and_finish(op)

    def yield_op(self, op: _Op) -> None:
        op.operands = [self.expect_kind("value", "a value such as `%0`")]
        self.typed(op)
        op.types, op.result_type = [op.result_type], "()"
        self.call_and_finish(op)

    def typed(self, op: _Op) -> None:
        """`attributes {…} : type`."""
        self.discardable(op)
        self.expect(":")
        op.result_type = self.type()

    def call_and_finish(self, op: _Op) -> None:
        self.call(op)
        self.finish(op)

    # -- what ends every op --------------------------------------------------------------------

    def finish(self, op: _Op) -> None:
        """Attributes, types, and a location unless one is given."""
        for number, (text, origin) in enumerate(op.attributes):
            self.out.put(", " if number else " {", op.token.start)
            self.out.put(text, origin)
        if op.attributes:
            self.out.put("}", op.attributes[-1][1])
        text = f" : ({', '.join(op.types)}) -> {op.result_type}"
        if op.place or not self.tokens.is_at(self.at, "loc", "("):
            text += op.place or self.location(op.token, op.result)
        self.out.put(text, op.token.start)
        self.out.skip_to(self.tokens[self.at - 1].end, keep_lines=True)

    def location(self, token: Token, name: str) -> str:
        line, column = self.source.position(token.start)
        place = f"{_quoted(self.source.name)}:{line}:{column}"
        return f" loc({_quoted(name)}({place}))" if name and not name[0].isdigit() else f" loc({place})"

    def given_location(self) -> str:
        """`loc(…)` as written, or nothing."""
        if not self.tokens.is_at(self.at, "loc", "(") or self.at + 1 not in self.tokens.partner:
            return ""
        start, self.at = self.at, self.tokens.partner[self.at + 1] + 1
        return " " + self.tokens.flat(start, self.at)

    def discardable(self, op: _Op) -> None:
        """`attributes {…}`, where there are any."""
        if not self.accept("attributes"):
            return
        start = self.at
        brace = self.expect("{")
        if start not in self.tokens.partner:
            raise TextError("this `{` is never closed", brace)
        self.at = self.tokens.partner[start] + 1
        for first, end in self.tokens.split(start + 1, self.at - 1):
            op.give("", self.tokens.flat(first, end), self.tokens[first])

    def map_attribute(self, op: _Op) -> None:
        self.expect("at")
        token = self.token
        op.give("at", self.attribute("affine_map"), token)

    def attribute(self, keyword: str) -> str:
        """`affine_set<…>` or an alias."""
        if self.token.kind != "alias" and self.token.text != keyword:
            self.expect(keyword)
        start, self.at = self.at, self.tokens.after_angles(self.at)
        return self.tokens.flat(start, self.at)

    def type(self) -> str:
        """A type of one word and its `<…>`."""
        if self.token.kind not in ("word", "alias"):
            self.expect_kind("word", "a type")
        start, self.at = self.at, self.tokens.after_angles(self.at)
        return self.tokens.flat(start, self.at)


#: Reads each op, its name consumed.
OPS: dict[str, Callable[[_Reader, _Op], None]] = {
    "tad.map": _Reader.map,
    "tad.scan": _Reader.scan,
    "tad.sum": _Reader.sum_op,
    "tad.reduce": _Reader.reduce_op,
    "tad.guard": _Reader.guard,
    "tad.read": _Reader.read_op,
    "tad.lookup": _Reader.lookup_op,
    "tad.index": _Reader.index_op,
    "tad.value_of": _Reader.value_of,
    "tad.apply": _Reader.apply,
    "tad.yield": _Reader.yield_op,
}


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def element_type(type: str) -> str:
    """The element type of a plain tensor type, else nothing."""
    match = re.fullmatch(r"tensor<(?:[\d?]+x)*([a-z]\w*)>", type.replace(" ", ""))
    return match.group(1) if match else ""


def dimensions_of(set: str) -> int:
    """The number of dimensions of an integer set; 0 of an alias."""
    match = re.match(r"affine_set<\(([^)]*)\)", set)
    return len(match.group(1).split(",")) if match and match.group(1).strip() else 0


def box_attribute(type: str, rank: int) -> str:
    """The index domain of a tensor type; of any `rank` where the type has no static shape."""
    match = re.fullmatch(r"tensor<((?:\d+x)*)\w+>", type)
    sizes = [int(size) for size in match.group(1).split("x")[:-1]] if match else []
    dims = ", ".join(f"d{i}" for i in range(len(sizes) if match else rank))
    rows = ", ".join(f"d{i} >= 0, -d{i} + {size - 1} >= 0" for i, size in enumerate(sizes))
    return f"affine_set<({dims}) : ({rows})>"
