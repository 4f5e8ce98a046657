"""MLIR's generic form to the readable form.

An op whose text has not the expected shape stays as it is. Index expressions and sets are
written over SSA names where reading that gives the attribute and the operands back,
which is tried; else as MLIR writes them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from tadc.dialect.mlir import ir
from tadc.dialect.text_indices import Cursor, TextError
from tadc.dialect.text_reader import box_attribute, dimensions_of, element_type
from tadc.dialect.text_spelling import Speller
from tadc.dialect.text_tokens import Rebuilt, Tokens


def write(text: str, context: ir.Context) -> str:
    """The readable form of a text in which `tad` ops are generic, of attributes of a context."""
    return _Writer(text, context).run()


class _Shape(Exception):
    """An op whose text is not as expected."""


@dataclass
class _Op:
    """A generic op; numbers are token indices."""

    name: str
    start: int
    operands: list[str]
    regions: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])
    attributes: dict[str, str] = field(default_factory=dict[str, str])
    operand_types: list[str] = field(default_factory=list[str])
    result_type: str = ""
    end: int = 0

    def take(self, key: str) -> str:
        """Remove an attribute that is the op's own."""
        if key not in self.attributes:
            raise _Shape
        return self.attributes.pop(key).removeprefix(f"{key} = ")

    @property
    def discardable(self) -> str:
        """`attributes {…}` of what is left."""
        return f" attributes {{{', '.join(self.attributes.values())}}}" if self.attributes else ""

    def check(self, good: bool) -> None:
        """Raise where the op is not as expected."""
        if not good:
            raise _Shape

    def check_indices(self, number: int = 0) -> None:
        """All operands from a number on are indices."""
        self.check(all(t == "index" for t in self.operand_types[number:]))


class _Generic(Cursor):
    """Reads one generic op, regions unread."""

    def op(self) -> _Op:
        op = _Op(self.token.text[1:-1], self.at, [])
        self.at += 1
        self.expect("(")
        op.operands = [v.text for v in self.values(")")]
        if self.accept("("):
            while True:
                opened = self.at
                self.expect("{")
                self.at = self.tokens.partner[opened] + 1
                op.regions.append((opened, self.at - 1))
                if not self.accept(","):
                    break
            self.expect(")")
        if self.token.text == "{":
            self.dictionary(op)
        self.expect(":")
        op.operand_types = self.types()
        self.expect("->")
        kinds = self.types() if self.token.text == "(" else [self.type()]
        op.check(len(kinds) <= 1 and len(op.operands) == len(op.operand_types))
        op.result_type = "".join(kinds)
        op.end = self.at
        return op

    def dictionary(self, op: _Op) -> None:
        close = self.tokens.partner[self.at]
        for start, end in self.tokens.split(self.at + 1, close):
            op.attributes[self.tokens[start].text] = self.tokens.flat(start, end)
        self.at = close + 1

    def types(self) -> list[str]:
        close = self.tokens.partner[self.at]
        found = [self.tokens.flat(*part) for part in self.tokens.split(self.at + 1, close)]
        self.at = close + 1
        return found

    def type(self) -> str:
        start, self.at = self.at, self.tokens.after_angles(self.at)
        return self.tokens.flat(start, self.at)


class _Writer:
    def __init__(self, text: str, context: ir.Context) -> None:
        self.tokens = Tokens(text)
        self.out = Rebuilt(text)
        self.speller = Speller(context)
        self.at = 0
        self.ends: dict[int, tuple[str, int]] = {}
        self.writers: dict[str, Callable[[_Op], None]] = {
            "tad.map": self.map,
            "tad.scan": self.scan,
            "tad.sum": self.sum_op,
            "tad.reduce": self.reduce_op,
            "tad.guard": self.guard,
            "tad.read": self.read,
            "tad.lookup": self.read,
            "tad.index": self.index,
            "tad.value_of": self.value_of,
            "tad.apply": self.apply,
            "tad.yield": self.yield_op,
        }

    def run(self) -> str:
        tokens = self.tokens
        while self.at < len(tokens) - 1:
            if self.at in self.ends:
                self.replace(self.at, *self.ends.pop(self.at))
            elif tokens[self.at].kind == "string" and tokens[self.at].text[1:-1] in self.writers:
                self.op()
            else:
                self.at += 1
        self.out.copy_to(len(tokens.text))
        return self.out.text

    def op(self) -> None:
        start = self.at
        try:
            op = _Generic(self.tokens, start).op()
            self.writers[op.name](op)
        except (_Shape, TextError, KeyError):
            self.at = start + 1

    def replace(self, start: int, text: str, end: int) -> None:
        """Put a text where tokens `start .. end - 1` are, and go on after them."""
        self.out.copy_to(self.tokens[start].start)
        self.out.put(text, self.tokens[start].start)
        self.out.skip_to(self.tokens[end - 1].end, keep_lines=False)
        self.at = end

    # -- ops with regions ----------------------------------------------------------------------

    def map(self, op: _Op) -> None:
        binders, names, body = self.region(op)
        self.elements(op, f"({', '.join(binders)})", names, body)

    def scan(self, op: _Op) -> None:
        binders, names, body = self.region(op, own=True)
        order = op.take("order")
        form = self.speller.order(order, names[:-1])
        head = f"{binders[-1]} ({', '.join(binders[:-1])}) by {order if form is None else form}"
        self.elements(op, head, names[:-1], body)

    def elements(self, op: _Op, head: str, binders: list[str], body: int) -> None:
        """What makes a tensor: its head, with the domain where the tensor's shape does not say it."""
        names = binders
        op.check_indices()
        domain = op.take("domain")
        if op.operands:
            head += " {}in {}".format(*self.domain(domain, op.operands, names))
        elif not self.speller.same(domain, box_attribute(op.result_type, len(binders))):
            rows = self.speller.set(domain, [], names, closed=True)
            head += f" in {domain if rows is None else rows}"
        self.open(op, head, body)

    def sum_op(self, op: _Op, kind: str = "") -> None:
        binders, names, body = self.region(op)
        op.check_indices()
        domain = op.take("domain")
        lookups: list[str] = []
        for _ in range(dimensions_of(domain) - len(names)):
            name, text, body = self.lookup(body)
            names.append(name)
            lookups.append(text)
        outer, domain = self.domain(domain, op.operands, names)
        at = f"at ({', '.join(lookups)}) " if lookups else ""
        self.open(op, f"{kind}({', '.join(binders)}) {outer}{at}in {domain}", body)

    def lookup(self, start: int) -> tuple[str, str, int]:
        """The name of what an operation at a token looks up, how that is written, and the token after it."""
        name = self.tokens[start].text
        made = _Generic(self.tokens, start + 2).op()
        made.check(made.name == "tad.lookup")
        end = made.end
        if self.tokens.is_at(end, "loc", "("):
            end = self.tokens.partner[end + 1] + 1
        return name, f"{name} = {self.element(made)} {self.tokens.flat(made.end, end)}".rstrip(), end

    def reduce_op(self, op: _Op) -> None:
        kind = op.take("kind")
        op.check(kind.startswith('"'))
        self.sum_op(op, f"{kind} ")

    def guard(self, op: _Op) -> None:
        op.check(len(op.regions) == 2)
        op.check_indices()
        (opened, closed), (again, _) = op.regions
        op.check(not any(self.blocks(*region) for region in op.regions))
        outer, where = self.domain(op.take("where"), op.operands, None)
        self.ends[closed] = ("} else {", again + 1)
        self.open(op, f"{outer}where {where}", opened + 1)

    def domain(self, text: str, operands: list[str], binders: list[str] | None) -> tuple[str, str]:
        """`[operands] ` if the set does not say them itself, and the set."""
        rows = self.speller.set(text, operands, binders, closed=False)
        if rows is not None:
            return "", rows
        rows = self.speller.set(text, operands, binders, closed=True)
        return f"[{', '.join(operands)}] " if operands else "", text if rows is None else rows

    def region(self, op: _Op, *, own: bool = False) -> tuple[list[str], list[str], int]:
        """The block arguments as written and by name, and the first token of the body.

        All are indices, but for the last where it is the op's `own` tensor.
        """
        op.check(len(op.regions) == 1)
        opened, closed = op.regions[0]
        blocks = self.blocks(opened, closed)
        if not blocks:
            return [], [], opened + 1
        op.check(blocks == [opened + 1])
        cursor = Cursor(self.tokens, opened + 2)
        cursor.expect("(")
        end = self.tokens.partner[cursor.at - 1]
        binders: list[str] = []
        names: list[str] = []
        for start, stop in self.tokens.split(cursor.at, end):
            is_own = own and stop == end
            op.check(
                self.tokens.is_at(start + 1, ":") if is_own else self.tokens.is_at(start + 1, ":", "index")
            )
            names.append(self.tokens[start].text)
            place = self.tokens.flat(self.tokens.after_angles(start + 2), stop)
            binders.append(f"{names[-1]} {place}".rstrip())
        op.check(self.tokens.is_at(end + 1, ":"))
        return binders, names, end + 2

    def blocks(self, opened: int, closed: int) -> list[int]:
        """The block labels of a region itself."""
        found: list[int] = []
        index = opened + 1
        while index < closed:
            token = self.tokens[index]
            if token.kind == "block" and self.tokens[index - 1].text not in ("[", ",", "("):
                found.append(index)
            index = self.tokens.partner.get(index, index) + 1
        return found

    def open(self, op: _Op, text: str, body: int) -> None:
        """Write the head of an op, up to where its body begins."""
        op.check(bool(op.result_type))
        self.ends[op.regions[-1][1]] = ("}", op.end)
        self.replace(op.start, f"{op.name} {text}{op.discardable} -> {op.result_type} {{", body)

    # -- ops without regions -------------------------------------------------------------------

    def read(self, op: _Op) -> None:
        self.line(op, self.element(op))

    def element(self, op: _Op) -> str:
        """What a read of a tensor or a lookup reads."""
        op.check(bool(op.operands) and not op.regions)
        op.check_indices(1)
        tensor, indices, kind = op.operands[0], op.operands[1:], op.operand_types[0]
        op.check(element_type(kind) == ("i32" if op.name == "tad.lookup" else op.result_type))
        at = op.take("at")
        forms = self.speller.map(at, indices)
        where = f"[{', '.join(indices)}] at {at}" if forms is None else f"[{forms}]"
        return f"{tensor}{where}{op.discardable} : {kind}"

    def index(self, op: _Op) -> None:
        op.check_indices()
        op.check(op.result_type == "index")
        at = op.take("at")
        form = self.speller.map(at, op.operands)
        if not form or "," in form:
            form = f"[{', '.join(op.operands)}] at {at}"
        self.line(op, f"{form}{op.discardable} : index")

    def value_of(self, op: _Op) -> None:
        op.check(op.operand_types == ["index"])
        self.line(op, f"{op.operands[0]}{op.discardable} : {op.result_type}")

    def apply(self, op: _Op) -> None:
        op.check(all(t == op.result_type for t in op.operand_types))
        function = op.take("fn")
        op.check(function.startswith('"'))
        self.line(op, f"{function}({', '.join(op.operands)}){op.discardable} : {op.result_type}")

    def yield_op(self, op: _Op) -> None:
        op.check(len(op.operands) == 1 and not op.result_type)
        op.result_type = op.operand_types[0]
        self.line(op, f"{op.operands[0]}{op.discardable} : {op.result_type}")

    def line(self, op: _Op, text: str) -> None:
        op.check(not op.regions and bool(op.result_type))
        self.replace(op.start, f"{op.name} {text}", op.end)
