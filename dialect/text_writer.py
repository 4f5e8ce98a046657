"""MLIR's generic form to the readable form.

An op whose text has not the expected shape stays as it is. Index expressions and sets are
written over SSA names where reading that gives the attribute and the operands back,
which is tried; else as MLIR writes them.
"""

from __future__ import annotations

from collections.abc import Callable

from tadc.dialect.mlir import ir
from tadc.dialect.text_forms import PIECES, Op, box_attribute, dimensions_of
from tadc.dialect.text_indices import Cursor, TextError
from tadc.dialect.text_spelling import Speller
from tadc.dialect.text_tokens import Rebuilt, Token, Tokens
from tadc.frontend.deep import deep_recursion


def write(text: str, context: ir.Context) -> str:
    """The readable form of a text in which `tad` ops are generic, of attributes of a context."""
    writer = _Writer(text, context)
    with deep_recursion():
        writer.run(len(writer.tokens) - 1)
    writer.out.copy_to(len(text))
    return writer.out.text


_BODY = "\0"  # where the text of a region stands, which is written after that around it


class _Shape(Exception):
    """An op whose text is not as expected."""


def _check(good: bool) -> None:
    """Raise where an op is not as expected."""
    if not good:
        raise _Shape


class _Writer(Cursor):
    """Copies a text up to each generic op, reads that, and puts what its pattern says."""

    def __init__(self, text: str, context: ir.Context) -> None:
        super().__init__(Tokens(text))
        self.out = Rebuilt(text)
        self.speller = Speller(context)

    def run(self, end: int) -> None:
        """All ops up to a token."""
        while self.at < end:
            if self.token.kind == "string" and self.token.text[1:-1] in PIECES:
                self.op()
            else:
                self.at += 1

    def op(self) -> None:
        """One op with its regions."""
        start = self.at
        try:
            op, bodies = self.generic()
            end = self.at
            head, *rest = self.fields(op).split(_BODY)
        except (_Shape, TextError, KeyError):
            self.at = start + 1
            return
        self.replace(start, f"{op.name} {head}", bodies[0][0] if bodies else end)
        for number, text in enumerate(rest):
            self.run(bodies[number][1])
            self.replace(self.at, text, bodies[number + 1][0] if number + 1 < len(bodies) else end)

    def fields(self, op: Op) -> str:
        """What its pattern says."""
        pieces = PIECES[op.name]
        return "".join(FIELDS[text](self, op) if n % 2 else text for n, text in enumerate(pieces))

    def replace(self, start: int, text: str, end: int) -> None:
        """Put a text where tokens `start .. end - 1` are, and go on after them."""
        self.out.copy_to(self.tokens[start].start)
        self.out.put(text, self.tokens[start].start)
        self.out.skip_to(self.tokens[end - 1].end, keep_lines=False)
        self.at = end

    # -- the generic form ----------------------------------------------------------------------

    def generic(self) -> tuple[Op, list[tuple[int, int]]]:
        """An op, and from where to where each of its bodies is."""
        op = Op(self.token.text[1:-1], self.take())
        self.expect("(")
        op.operands = self.values(")")
        bodies = self.listed(")", self.braces) if self.accept("(") else []
        if self.token.text == "{":
            for start, end in self.tokens.split(*self.braces()):
                op.attributes.append((self.tokens[start].text, self.tokens.flat(start, end), 0))
        self.expect(":")
        types = self.types()
        self.expect("->")
        given = self.types() if self.token.text == "(" else [self.after_angles()]
        _check(len(bodies) == op.regions and len(given) < 2)
        op.tensor_type = types[0] if types else ""
        op.result_type = "".join(given) or op.tensor_type
        _check(bool(op.result_type) and op.types() == (types, "".join(given)))
        return op, [self.body(op, *body) for body in bodies]

    def braces(self) -> tuple[int, int]:
        """What is in braces or brackets."""
        start, self.at = self.at, self.tokens.partner[self.at] + 1
        return start + 1, self.at - 1

    def types(self) -> list[str]:
        """`(index, index)`."""
        return [self.tokens.flat(*part) for part in self.tokens.split(*self.braces())]

    def body(self, op: Op, start: int, end: int) -> tuple[int, int]:
        """What is in a region behind what it binds: its arguments, and the lookups that its set speaks of."""
        after = self.at
        blocks = self.blocks(start, end)
        _check(blocks == [start] * len(blocks) and not (blocks and op.regions > 1))
        self.at = start + len(blocks)
        if blocks:
            self.binders(op)
            self.expect(":")
        if "lookups" in PIECES[op.name]:
            for _ in range(dimensions_of(_attribute(op, "domain")) - len(op.binders)):
                op.lookups.append(self.lookup())
        start, self.at = self.at, after
        return start, end

    def blocks(self, start: int, end: int) -> list[int]:
        """The block labels of a region itself."""
        found: list[int] = []
        while start < end:
            if self.tokens[start].kind == "block" and self.tokens[start - 1].text not in ("[", ",", "("):
                found.append(start)
            start = self.tokens.partner.get(start, start) + 1
        return found

    def binders(self, op: Op) -> None:
        """`(%i: index, %own: tensor<4xf64>)`, all of them indices but for the tensor itself."""
        for start, end in self.tokens.split(*self.braces()):
            place = self.tokens.flat(self.tokens.after_angles(start + 2), end)
            op.binders.append((self.tokens[start], f" {place}" if place else ""))
            is_own = "own" in PIECES[op.name] and self.tokens.is_at(end, ")")
            _check(self.tokens.is_at(start + 1, ":") and (is_own or self.tokens.is_at(start + 2, "index")))
        if "own" in PIECES[op.name]:
            op.own = op.binders.pop()

    def lookup(self) -> Op:
        """`%t = "tad.lookup"(…) …`."""
        name = self.take().text[1:]
        self.expect("=")
        made, _ = self.generic()
        _check(made.name == "tad.lookup")
        made.result = name
        if self.tokens.is_at(self.at, "loc", "("):
            start, self.at = self.at, self.tokens.partner[self.at + 1] + 1
            made.place = f" {self.tokens.flat(start, self.at)}"
        return made

    # -- fields --------------------------------------------------------------------------------

    def order(self, op: Op) -> str:
        """The form of an order."""
        order = _take(op, "order")
        return self.speller.spell(order, [], op.bound, closed=True) or order

    def box(self, op: Op) -> str:
        """The domain where the tensor's shape does not say it."""
        box = box_attribute(op.result_type, len(op.binders))
        if not op.operands and self.speller.same(_attribute(op, "domain"), box):
            _take(op, "domain")
            return ""
        return f" {self.outer(op, 'domain')}in {self.set(op, 'domain')}"

    def outer(self, op: Op, key: str) -> str:
        """`[operands] ` if the set does not say them itself."""
        said = self.speller.spell(_attribute(op, key), op.operands, _dimensions(op), closed=False)
        return f"[{_names(op.operands)}] " if op.operands and said is None else ""

    def set(self, op: Op, key: str) -> str:
        """`{rows}`, or the attribute."""
        set = _take(op, key)
        for closed in (False, True):
            rows = self.speller.spell(set, op.operands, _dimensions(op), closed=closed)
            if rows is not None:
                return f"{{{rows}}}"
        return set

    def looked_up(self, op: Op) -> str:
        """`at (%t = %src[%e] : tensor<?xi32>) `, where the set speaks of some."""
        texts = (f"%{made.result} = {self.fields(made)}{made.place}" for made in op.lookups)
        return f"at ({', '.join(texts)}) " if op.lookups else ""

    def subscripts(self, op: Op) -> str:
        """`[%i, %j + 1]`, or names with a map behind them."""
        at, indices = _take(op, "at"), op.operands[1:]
        forms = self.speller.spell(at, indices, None, closed=False)
        return f"[{_names(indices)}] at {at}" if forms is None else f"[{forms}]"

    def position(self, op: Op) -> str:
        """A form, or names with a map behind them."""
        at = _take(op, "at")
        form = self.speller.spell(at, op.operands, None, closed=False)
        return form if form and "," not in form else f"[{_names(op.operands)}] at {at}"


def _attribute(op: Op, key: str) -> str:
    """The value of an attribute; raises _Shape where there is none."""
    for name, text, _ in op.attributes:
        if name == key:
            return text.removeprefix(f"{key} = ")
    raise _Shape


def _take(op: Op, key: str) -> str:
    """Remove an attribute that is the op's own."""
    value = _attribute(op, key)
    op.attributes = [each for each in op.attributes if each[0] != key]
    return value


def _string(op: Op, key: str) -> str:
    text = _take(op, key)
    _check(text.startswith('"'))
    return text


def _discardable(op: Op) -> str:
    """`attributes {…}` of what is left."""
    return f" attributes {{{', '.join(text for _, text, _ in op.attributes)}}}" if op.attributes else ""


def _dimensions(op: Op) -> list[str] | None:
    return None if op.name == "tad.guard" else op.bound


def _names(tokens: list[Token]) -> str:
    return ", ".join(token.text for token in tokens)


#: Writes each field of a form.
FIELDS: dict[str, Callable[[_Writer, Op], str]] = {
    "binders": lambda writer, op: f"({', '.join(name.text + place for name, place in op.binders)})",
    "own": lambda writer, op: op.own[0].text + op.own[1] if op.own else "",
    "order": _Writer.order,
    "box": _Writer.box,
    "outer": lambda writer, op: writer.outer(op, "where" if op.name == "tad.guard" else "domain"),
    "lookups": _Writer.looked_up,
    "domain": lambda writer, op: writer.set(op, "domain"),
    "where": lambda writer, op: writer.set(op, "where"),
    "kind": lambda writer, op: _string(op, "kind"),
    "fn": lambda writer, op: _string(op, "fn"),
    "tensor": lambda writer, op: op.operands[0].text,
    "index": lambda writer, op: op.operands[0].text,
    "value": lambda writer, op: op.operands[0].text,
    "arguments": lambda writer, op: f"({_names(op.operands)})",
    "subscripts": _Writer.subscripts,
    "position": _Writer.position,
    "attributes": lambda writer, op: _discardable(op),
    "result": lambda writer, op: op.result_type,
    "tensor type": lambda writer, op: op.tensor_type,
    "index type": lambda writer, op: " : index",
    "region": lambda writer, op: f"{{{_BODY}}}",
}
