"""The text of a loop nest to the nest, in any layout, with comments; `nest_text.py` writes it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import TypeVar

from tadc.dialect.form_reader import TextError
from tadc.frontend.diagnostics import CompileError
from tadc.frontend.dtypes import DEFAULT
from tadc.frontend.functions import OPERATORS, RELATIONS
from tadc.frontend.source import Source, Span
from tadc.frontend.suggest import nearest_help
from tadc.lattice.affine import Affine, Lookup
from tadc.lattice.late_dataclasses import dataclass, field, replace
from tadc.passes.maps.map import (
    Applied,
    Ask,
    Block,
    Choice,
    Constant,
    Fold,
    IndexNumber,
    Let,
    Load,
    TensorDecl,
    Type,
)
from tadc.passes.nest.grammar import RecordReader
from tadc.passes.nest.nest import (
    At,
    Body,
    Bound,
    Call,
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
from tadc.passes.nest.nest_text import NESTS, TYPES, number_type
from tadc.passes.nest.usual_types import usual_type

Node = TypeVar("Node")

STATEMENTS: dict[str, type[Statement]] = {
    "for": For, "if": If, "know": Know, "at": At, "stage": Stage, "call": Call,
}  # fmt: skip


@dataclass(frozen=True)
class ReadNest:
    """A nest, and where its statements, values and stores stand in the text, by `id`; those `above` it, by
    name, are those that it may call."""

    nest: Nest
    source: Source
    spans: dict[int, Span]
    above: Mapping[str, Nest] = field(default_factory=dict[str, Nest])


def read_nest(text: str) -> Nest:
    """The nest of a text. Raises CompileError (TAD0610) where it does not read, or holds several."""
    source = Source(text, "<nest>")
    found = read_nests(source)
    if len(found) != 1:
        second = found[1].spans[id(found[1].nest)] if found else Span(0, 1)
        raise _unreadable(TextError("expected one nest", second), "", source)
    return found[0].nest


def read_nests(source: Source) -> list[ReadNest]:
    """The nests of a source, with places for messages. Raises CompileError (TAD0610) where none reads."""
    reader = _NestReader(source.text)
    found: list[ReadNest] = []
    try:
        while reader.token.kind != "end":
            reader.begin()
            above = {read.nest.name: read.nest for read in found}
            found.append(ReadNest(reader.noted(reader.nest), source, reader.spans, above))
    except RecursionError:
        deep = TextError("nested too deeply", reader.token, "take it apart")
        raise _unreadable(deep, reader.called, source) from None
    except TextError as error:
        raise _unreadable(error, reader.called, source) from None
    return found


def _unreadable(error: TextError, called: str, source: Source) -> CompileError:
    """What is said about a text; `called` is the nest at hand."""
    notes, help = [f"in nest `{called}`"] * bool(called), "`docs/nest.md` has the form of each line"
    return error.told("TAD0610", "cannot read the loop nest", source, help, notes)


class _NestReader(RecordReader):
    """Reads nests; `types` has those of values so far, `spans` where each node stands, by `id`."""

    grammar = NESTS

    def begin(self) -> None:
        """Forget the nest before."""
        self.called = ""
        self.spans: dict[int, Span] = {}
        self.types: dict[str, Type] = {}
        self.tensors: dict[str, TensorDecl] = {}
        self.number: Type = DEFAULT

    def noted(self, read: Callable[[], Node]) -> Node:
        """A node, whose place is noted: the first line of its text."""
        start = self.token.start
        node, end = read(), self.tokens[self.at - 1].end
        line = self.tokens.text.find("\n", start, end)
        self.spans[id(node)] = Span(start, line if line >= 0 else end)
        return node

    # -- the head ------------------------------------------------------------------------------

    def nest(self) -> Nest:
        """All of a nest."""
        self.expect("nest")
        self.called = self.name("a name for the nest")
        self.expect("(")
        outs = () if self.token.text == ")" else self.several(self.argument)
        self.expect(")")
        tensors = tuple(self.tensors.values())
        self.number = number_type(tensors)
        self.expect("{")
        computed = tuple(name for name in outs if name)
        if self.accept_word("computed"):
            computed = self.several(lambda: self.name("a tensor"))
        found = self.record(Nest, name=self.called, tensors=tensors, computed=computed, body=())
        return replace(found, body=self.statements())

    def argument(self) -> str:
        """A tensor; its name, if it is computed."""
        out, token = self.accept_word("out"), self.token
        if token.text in self.tensors:
            raise TextError(f"a second tensor `{token.text}`", token, "give it another name")
        name = self.tensor().name
        return name if out else ""

    def tensor(self) -> TensorDecl:
        """`a: f32[512, N]`."""
        found = self.record(TensorDecl)
        self.tensors[found.name] = found
        return found

    # -- statements ----------------------------------------------------------------------------

    def body(self) -> Body:
        self.expect("{")
        return self.statements()

    def statements(self) -> Body:
        """Statements, up to and with the closing brace."""
        found: list[Statement] = []
        while not self.accept("}"):
            if self.token.kind == "end":
                self.expect("}")
            found.append(self.noted(self.statement))
        return tuple(found)

    def statement(self) -> Statement:
        """One statement."""
        word = self.token.text
        if word in STATEMENTS and self.word_is(word):
            return self.record(STATEMENTS[word])
        if self.word_is("compute"):
            head = self.record(Compute, block=Block((), ()), stores=())
            self.expect("{")
            made = self.compute()
            self.expect("}")
            return replace(head, block=made.block, stores=made.stores)
        found = self.compute()
        if not found.block.lets:
            if self.token.kind == "mark":
                help = "a value is of one operation: name what it is made of"
                raise TextError(f"`{self.token.text}` goes on where a value ends", self.token, help)
            help = "a statement is `for`, `if`, `at`, `stage`, `call`, or values and then stores"
            raise TextError(f"`{self.token.text}` begins no statement", self.token, help)
        return found

    def bound(self) -> Bound:
        """A form, the least or the greatest of some, or one by a condition."""
        if self.word_is("if"):
            return self.record(Either)
        is_extreme = self.token.text in ("min", "max") and self.tokens[self.at + 1].text == "("
        return self.record(Extreme) if is_extreme else self.form()

    def named(self, name: str) -> Affine:
        """An index, a size, or an element of an index array: `src[e]`."""
        array = self.tensors.get(name)
        if array is None or array.below is None:
            return super().named(name)
        at: tuple[Affine, ...] = ()
        if self.accept("["):
            at = self.forms("]")
            self.expect("]")
        return Affine.atom(Lookup(name, at, array.below))

    def ends(self) -> tuple[Affine, Affine]:
        """`0 to N`."""
        least = self.form()
        self.expect("to")
        return least, self.form()

    def compute(self) -> Compute:
        """Values, what they give, and stores."""
        lets = self.lets()
        gives = self.several(self.used) if self.accept_word("give") else None
        stores: list[Store] = []
        while self.token.kind == "word" and self.tokens[self.at + 1].text == "[":
            stores.append(self.noted(lambda: self.record(Store)))
        given = tuple(store.value for store in stores) if gives is None else gives
        return Compute(Block(lets, given), tuple(stores))

    def known_tensor(self) -> str:
        """The name of a tensor."""
        token = self.expect_kind("word", "a tensor")
        if token.text not in self.tensors:
            help = nearest_help(token.text, self.tensors, "name it behind `nest`, or in a `stage` above")
            raise TextError(f"unknown tensor `{token.text}`", token, help)
        return token.text

    def used(self) -> str:
        """The name of a value that stands above."""
        token = self.expect_kind("value", "a value such as `%1`")
        if token.text not in self.types:
            help = "a value stands above what uses it, in the same block or in one around it"
            raise TextError(f"unknown value `{token.text}`", token, help)
        return token.text

    # -- values --------------------------------------------------------------------------------

    def block(self) -> Block:
        """`{ values, give %3 }`."""
        self.expect("{")
        lets = self.lets()
        self.expect("give")
        found = Block(lets, self.several(self.used))
        self.expect("}")
        return found

    def lets(self) -> tuple[Let, ...]:
        """All values that stand here."""
        found: list[Let] = []
        while self.token.kind == "value" or self.word_is("prefetch"):
            found.append(self.noted(self.let))
        return tuple(found)

    def let(self) -> Let:
        """`%1, %2: f32 = sum k where … { … }`."""
        if self.word_is("prefetch"):
            return Let((), self.record(Ask))
        names = self.several(self.value_name)
        stated = self.one_of(TYPES, "type") if self.accept(":") else None
        self.expect("=")
        begin = self.token
        value = self.value()
        type = stated or usual_type(value, self.types, self.tensors, self.number)
        if type is None:
            help = f"write it: `{names[0]}: f64 = …`"
            raise TextError("a value whose type does not follow from its operands", begin, help)
        self.types.update(dict.fromkeys(names, type))
        return Let(names, replace(value, type=type))

    def value(self) -> Constant | IndexNumber | Load | Applied | Choice | Fold:
        """The value of a name, of a type that its `Let` finds."""
        token, after = self.token, self.tokens[self.at + 1]
        match token.kind, token.text:
            case "value", _:
                return self.infix()
            case _, "-" if after.kind == "value":
                self.take()
                return Applied("neg", (self.used(),), "")
            case "number", _:
                return self.literal()
            case _, "-":
                return self.literal()
            case _, "inf" | "nan" if after.text not in ("(", "["):
                return self.literal()
            case _, "if" if self.word_is("if"):
                return self.record(Choice, type="")
            case "string", text:
                self.take()
                return self.call(text[1:-1])
            case "word", _ if after.text == "[":
                return self.record(Load, type="")
            case "word", "index" if after.text == "(":
                return self.record(IndexNumber, type="")
            case "word", text if after.text == "(":
                self.take()
                return self.call(text)
            case "word", _:
                return self.record(Fold, type="")
            case _:
                raise TextError("expected a value", token, "such as `a[i]`, `1.5`, `%1 + %2`, `exp(%1)`")

    def literal(self) -> Constant:
        """`1.5`, `-inf`."""
        sign = -1.0 if self.accept("-") else 1.0
        token = self.take()
        text = token.text
        if token.kind != "number" and text not in ("inf", "nan"):
            raise TextError(f"expected a number, found `{text}`", token, "such as `1.5`, `-2.0`, `-inf`")
        return Constant(math.nan if text == "nan" else sign * float(text), "")

    def infix(self) -> Applied:
        """`%1 + %2`, `%1 ** 3`."""
        left, sign = self.used(), self.token
        if sign.text not in OPERATORS and sign.text not in RELATIONS:
            raise TextError("expected an operator", sign, f"one of {' '.join([*OPERATORS, *RELATIONS])}")
        self.take()
        if sign.text == "**" and self.token.kind != "value":
            minus, exponent = self.accept("-"), self.integer()
            return Applied("powi", (left,), "", -exponent if minus else exponent)
        return Applied(OPERATORS.get(sign.text, sign.text), (left, self.used()), "")

    def call(self, function: str) -> Applied:
        """The rest of `exp(%1)`."""
        self.expect("(")
        operands = () if self.token.text == ")" else self.several(self.used)
        self.expect(")")
        return Applied(function, operands, "")

    def has_indices(self) -> bool:
        """Whether a reduction goes on with indices, which may be called as what follows them."""
        word, after = self.token.text, self.tokens[self.at + 1]
        if word == "where":
            return after.text in ("where", ",", "{")
        return word != "{" and after.kind not in ("number", "value")
