"""The readable form to MLIR's generic form, line by line."""

from __future__ import annotations

import re
from collections.abc import Callable

from tadc.dialect.form_reader import TextError
from tadc.dialect.text_forms import PIECES, Op, box_attribute, element_type
from tadc.dialect.text_indices import Space, TextCursor
from tadc.dialect.text_tokens import Rebuilt, TextPiece, TextToken, TextTokens
from tadc.frontend.deep import deep_recursion
from tadc.frontend.source import Source


def read(source: Source) -> Rebuilt:
    """The generic form, one line a line; raises CompileError (TAD0601) where it does not read."""
    reader = _TextReader(source)
    try:
        with deep_recursion():
            reader.run(len(reader.tokens) - 1)
    except TextError as error:
        raise error.told("TAD0601", "cannot read the IR", source) from None
    reader.out.copy_to(len(source.text))
    return reader.out


class _TextReader(TextCursor):
    """Copies a text up to each op in readable form, reads that by its pattern, and puts its generic form."""

    def __init__(self, source: Source) -> None:
        super().__init__(TextTokens(source.text if "tad." in source.text else ""))
        self.out = Rebuilt(source.text)
        self.scopes: list[set[str]] = []

    def run(self, end: int) -> None:
        """All ops up to a token."""
        while self.at < end:
            if self.token.kind == "word" and self.token.text in PIECES and self.is_op():
                self.op()
            else:
                self.at += 1

    def is_op(self) -> bool:
        """Not the key of an attribute, as in `{tad.read, tad.sum = 1}`."""
        before, after = self.tokens[max(self.at - 1, 0)].text, self.tokens[self.at + 1].text
        return before not in ("{", ",") or after not in ("=", ",", "}")

    def op(self) -> None:
        """One op with its regions."""
        self.out.copy_to(self.token.start)
        op = Op(self.token.text, self.token, result=self.named())
        self.take()
        self.fields(op)
        if op.regions:
            self.out.put(")", self.tokens[self.at - 1].start)
            self.scopes.pop()
        else:
            self.call(op)
        self.finish(op)

    def fields(self, op: Op) -> None:
        """What its pattern says."""
        for number, piece in enumerate(PIECES[op.name]):
            if number % 2:
                FIELDS[piece](self, op)
            else:
                for word in piece.split():
                    self.expect(word)

    def named(self) -> str:
        """The name of the results of the op at hand, `%f =` or `%f:2 =`, if they have one."""
        tokens, at = self.tokens, self.at - 2
        if at >= 2 and tokens.is_at(at - 1, ":", tokens[at].text, "="):
            at -= 2
        is_name = at >= 0 and tokens.is_at(self.at - 1, "=") and tokens[at].kind == "value"
        return tokens[at].text[1:] if is_name else ""

    # -- the generic form ----------------------------------------------------------------------

    def call(self, op: Op) -> None:
        """Write `"tad.read"(%a, %i)`."""
        self.out.put(f'"{op.name}"(', op.token.start)
        self.out.put_all(TextPiece(operand.text, operand.start) for operand in op.operands)
        self.out.put(")", op.token.start)

    def open(self, op: Op) -> None:
        """Write `"tad.sum"(%i) ({ ^bb0(%k: index …):`; the next token is the `{`."""
        self.call(op)
        self.out.put(" ({", self.token.start)
        given = [(name, "index", place) for name, place in op.binders]
        given += [(op.own[0], op.results[0], op.own[1])] if op.own else []
        self.out.put(" ^bb0(" if given else "", self.token.start)
        self.out.put_all(TextPiece(f"{name.text}: {type}{place}", name.start) for name, type, place in given)
        self.out.put("):" if given else "", self.token.start)
        self.scopes.append({name.text[1:] for name, _, _ in given})

    def region(self, op: Op) -> None:
        """`{ … }`: the first one after what stands before regions, another one after a comma."""
        opened = self.at
        if self.tokens[opened - 1].text == "else":
            self.out.put(", {", self.tokens[opened - 2].end)
        else:
            self.open(op)
        brace = self.expect("{")
        if opened not in self.tokens.partner:
            raise TextError("this `{` is never closed", brace)
        self.out.skip_to(brace.end)
        for lookup in op.lookups:
            self.out.put(f" %{lookup.result} = ", lookup.token.start)
            self.call(lookup)
            self.finish(lookup)
        self.run(self.tokens.partner[opened])
        self.out.copy_to(self.expect("}").end)

    def finish(self, op: Op) -> None:
        """Attributes, types, and the location of one that stands in a head."""
        if op.attributes:
            self.out.put(" {", op.token.start)
            self.out.put_all(op.attributes)
            self.out.put("}", op.attributes[-1].origin)
        types, results = (", ".join(each) for each in op.types())
        self.out.put(f" : ({types}) -> ({results}){op.place}", op.token.start)
        self.out.labels[op.token.start] = op.result
        self.out.skip_to(self.tokens[self.at - 1].end)

    def given_location(self) -> str:
        """`loc(…)` as written, or nothing."""
        if not self.tokens.is_at(self.at, "loc", "(") or self.at + 1 not in self.tokens.partner:
            return ""
        start, self.at = self.at, self.tokens.partner[self.at + 1] + 1
        return " " + self.tokens.flat(start, self.at)

    # -- fields --------------------------------------------------------------------------------

    def binders(self, op: Op) -> None:
        """`(%i, %j)`."""
        self.expect("(")
        op.binders = self.listed(")", lambda: self.binder("an index such as `%i`"))
        op.space = Space(op.bound)

    def own(self, op: Op) -> None:
        """`%own`."""
        op.own = self.binder("a name for the tensor itself, such as `%own`")

    def binder(self, what: str) -> tuple[TextToken, str]:
        """What a region binds, and its location."""
        token = self.expect_kind("value", what)
        self.out.labels[token.start] = self.binder_name(token)
        return token, self.given_location()

    def binder_name(self, token: TextToken) -> str:
        """Undo how MLIR makes names unique: `%k_0` under `%k` is a `k` as well."""
        name = token.text[1:]
        match = re.fullmatch(r"(.*)_\d+", name)
        inner = match is not None and any(match.group(1) in scope for scope in self.scopes)
        return match.group(1) if match and inner else name

    def order(self, op: Op) -> None:
        """A form of the indices, or an attribute."""
        token = self.token
        is_attribute = token.kind == "alias" or token.text == "affine_map"
        space = Space(op.bound, closed=True)
        op.give("order", self.attribute("affine_map") if is_attribute else self.map_of(space), token)

    def box(self, op: Op) -> None:
        """`in {…}`, or nothing where the domain is the tensor's shape."""
        op.is_box = self.token.text not in ("in", "[")
        if not op.is_box:
            self.set(op, "domain", "in")

    def lookup(self) -> Op:
        """`%t = %src[%e] : tensor<?xi32>`."""
        name = self.expect_kind("value", "an index such as `%t`")
        self.expect("=")
        made = Op("tad.lookup", name, result=name.text[1:])
        self.fields(made)
        made.place = self.given_location()
        return made

    def set(self, op: Op, key: str, word: str) -> None:
        """`[%i, %j] at (%t = %src[%e] : tensor<?xi32>) in {rows}`, or an attribute.

        The outer indices in order and the lookups that the body begins with stand where there are any.
        """
        if self.accept("["):
            op.space = Space(op.space.binders, self.values("]"), closed=True)
        if word == "in" and self.accept("at"):
            self.expect("(")
            op.lookups = self.listed(")", self.lookup)
            op.space.binders = op.bound
        self.expect(word)
        token = self.token
        rows = self.set_of(op.space) if self.accept("{") else self.attribute("affine_set")
        op.give(key, rows, token)
        op.operands = op.space.operands

    def string(self, op: Op, key: str, what: str) -> None:
        """`"max"`."""
        token = self.expect_kind("string", what)
        op.give(key, token.text, token)

    def callee(self, op: Op) -> None:
        """`@f`."""
        token = self.expect_kind("symbol", "a function such as `@f`")
        op.give("callee", token.text, token)

    def operand(self, op: Op, what: str) -> None:
        op.operands.append(self.expect_kind("value", what))

    def arguments(self, op: Op) -> None:
        """`(%0, %1)`."""
        self.expect("(")
        op.operands = self.values(")")

    def subscripts(self, op: Op) -> None:
        """`[%i, %j + 1]`, or names with a map behind them."""
        opened = self.at
        self.expect("[")
        if self.tokens.is_at(self.tokens.partner.get(opened, opened) + 1, "at"):
            self.mapped(op)
        else:
            op.give("at", self.map_of(op.space, "]"), op.token)
            op.operands += op.space.operands

    def mapped(self, op: Op) -> None:
        """`%i, %j] at affine_map<…>`."""
        op.operands += self.values("]")
        self.expect("at")
        token = self.token
        op.give("at", self.attribute("affine_map"), token)

    def position(self, op: Op) -> None:
        """A form, or names with a map behind them."""
        if self.accept("["):
            self.mapped(op)
        else:
            op.give("at", self.map_of(op.space), op.token)
            op.operands = op.space.operands

    def index_type(self, op: Op) -> None:
        """`: index`, or nothing."""
        if self.accept(":"):
            self.expect("index")

    def attributes(self, op: Op) -> None:
        """`attributes {…}`, where there are any."""
        if not self.accept("attributes"):
            return
        start = self.at
        brace = self.expect("{")
        if start not in self.tokens.partner:
            raise TextError("this `{` is never closed", brace)
        self.at = self.tokens.partner[start] + 1
        if text := self.tokens.flat(start + 1, self.at - 1):
            op.attributes.append(TextPiece(text, self.tokens[start + 1].start, True))

    def after_angles(self) -> str:
        """The text of a token and its `<…>`, if any."""
        start, depth = self.at, 0
        self.at += 1
        opened = self.token
        while depth or (self.token is opened and opened.text == "<"):
            if self.token.kind == "end":
                raise TextError("this `<` is never closed", opened)
            depth += (self.token.text == "<") - (self.token.text == ">")
            self.at += 1
        return self.tokens.flat(start, self.at)

    def attribute(self, keyword: str) -> str:
        """`affine_set<…>` or an alias."""
        if self.token.kind != "alias" and self.token.text != keyword:
            self.expect(keyword)
        return self.after_angles()

    def results(self, op: Op) -> None:
        """The types of the results."""
        op.results += self.several(self.type)
        if op.is_box:
            op.give("domain", box_attribute(op.results[0], len(op.binders)), op.token)

    def function_type(self, op: Op) -> None:
        """`(tensor<8xf64>, index) -> tensor<8xf64>`, or with several results in brackets."""
        start = self.at
        self.expect("(")
        self.listed(")", self.type)
        self.expect("->")
        if self.accept("("):
            self.listed(")", self.type)
        else:
            self.type()
        op.results = [self.tokens.flat(start, self.at)]

    def tensor_type(self, op: Op) -> None:
        op.tensor_type = self.type()
        if op.name == "tad.read" and not element_type(op.tensor_type):
            raise TextError("expected a tensor type such as `tensor<3x4xf64>`", self.tokens[self.at - 1])

    def type(self) -> str:
        """A type of one word and its `<…>`."""
        if self.token.kind not in ("word", "alias"):
            self.expect_kind("word", "a type")
        return self.after_angles()


#: Reads each field of a form.
FIELDS: dict[str, Callable[[_TextReader, Op], object]] = {
    "binders": _TextReader.binders,
    "own": _TextReader.own,
    "order": _TextReader.order,
    "box": _TextReader.box,
    "domain": lambda reader, op: reader.set(op, "domain", "in"),
    "where": lambda reader, op: reader.set(op, "where", "where"),
    "kind": lambda reader, op: reader.string(op, "kind", 'a kind such as `"max"`'),
    "fn": lambda reader, op: reader.string(op, "fn", 'a function such as `"sigmoid"`'),
    "tensor": lambda reader, op: reader.operand(op, "a tensor such as `%a`"),
    "index": lambda reader, op: reader.operand(op, "an index such as `%i`"),
    "values": lambda reader, op: reader.several(lambda: reader.operand(op, "a value such as `%0`")),
    "callee": _TextReader.callee,
    "arguments": _TextReader.arguments,
    "subscripts": _TextReader.subscripts,
    "position": _TextReader.position,
    "attributes": _TextReader.attributes,
    "function type": _TextReader.function_type,
    "results": _TextReader.results,
    "tensor type": _TextReader.tensor_type,
    "index type": _TextReader.index_type,
    "region": _TextReader.region,
}
