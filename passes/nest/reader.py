"""The text of a loop nest to the nest: what `passes/nest/text.py` writes, in any layout, with comments."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import get_args

from tadc.dialect.text_indices import TextError
from tadc.dialect.text_tokens import Token
from tadc.frontend.codes import CODES
from tadc.frontend.diagnostics import CompileError, Diagnostic, Label
from tadc.frontend.functions import OPERATORS, REDUCTIONS, RELATIONS
from tadc.frontend.source import Source, Span
from tadc.frontend.suggest import closest
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
from tadc.passes.nest.form_reader import FormCursor, Unreadable
from tadc.passes.nest.nest import At, Body, Compute, For, If, Kind, Nest, Space, Stage, Statement, Store
from tadc.passes.nest.text import number_type
from tadc.passes.nest.usual_types import usual_type

TYPES = ("f32", "f64", "i1")
KINDS: tuple[Kind, ...] = get_args(Kind)
SPACES: tuple[Space, ...] = get_args(Space)


@dataclass(frozen=True)
class ReadNest:
    """A nest, and where its statements, values and stores stand in the text, by `id`."""

    nest: Nest
    source: Source
    spans: dict[int, Span]


def read_nest(text: str) -> Nest:
    """The nest of a text. Raises CompileError (TAD0610) where it does not read, or holds several."""
    found = read_nests(Source(text, "<nest>"))
    if len(found) != 1:
        second = found[1].spans[id(found[1].nest)] if found else Span(0, 1)
        raise CompileError([_unreadable(Label(second, "expected one nest"), "", "", Source(text, "<nest>"))])
    return found[0].nest


def read_nests(source: Source) -> list[ReadNest]:
    """The nests of a source, with places for messages. Raises CompileError (TAD0610) where none reads."""
    reader = _Reader(source.text)
    found: list[ReadNest] = []
    try:
        while reader.token.kind != "end":
            reader.begin()
            found.append(ReadNest(reader.nest(), source, reader.spans))
    except RecursionError:
        label, help = Label(Span(reader.token.start, reader.token.end), "nested too deeply"), "take it apart"
        raise CompileError([_unreadable(label, reader.called, help, source)]) from None
    except TextError as error:
        token = error.token
        label = Label(Span(token.start, max(token.end, token.start + 1)), error.message)
        help = getattr(error, "help", "")
        raise CompileError([_unreadable(label, reader.called, help, source)]) from None
    return found


def _unreadable(label: Label, called: str, help: str, source: Source) -> Diagnostic:
    """The message about a text; `called` is the nest at hand."""
    notes = [f"in nest `{called}`"] if called else []
    helps = [help or "`docs/nest.md` has the form of each line"]
    return Diagnostic("TAD0610", CANNOT, label, notes=notes, helps=helps, source=source)


CANNOT = f"this is {CODES['TAD0610']}"


class _Reader(FormCursor):
    """Reads a nest; `types` has the values so far."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.begin()

    def begin(self) -> None:
        """Forget the nest before."""
        self.spans: dict[int, Span] = {}
        self.types: dict[str, Type] = {}
        self.tensors: dict[str, Tensor] = {}
        self.called = ""

    def one_of(self, allowed: tuple[str, ...], what: str) -> Token:
        """A word among some."""
        token = self.token
        if token.text not in allowed:
            near = closest(token.text, allowed)
            help = f"did you mean `{near}`?" if near else f"it is one of {', '.join(allowed)}"
            raise Unreadable(f"`{token.text}` is no {what}", token, help)
        return self.take()

    # -- the head ------------------------------------------------------------------------------

    def nest(self) -> Nest:
        """All of a nest."""
        start = self.token.start
        if not self.accept("nest"):
            raise Unreadable("expected `nest`", self.token, "a nest begins as in `nest f(out y: f64[N]) {`")
        self.called = self.name("a name for the nest")
        self.expect("(")
        computed: tuple[str, ...] = ()
        while not self.accept(")"):
            if self.tensors:
                self.expect(",")
            out = self.accept_word("out")
            tensor = self.tensor()
            computed += (tensor.name,) if out else ()
        tensors = tuple(self.tensors.values())
        self.number = number_type(tensors)
        self.expect("{")
        if self.accept_word("computed"):
            computed = self.names("a tensor")
        sizes = self.names("a size") if self.accept_word("sizes") else ()
        ranges = self.names("an index argument") if self.accept_word("ranges") else ()
        known = self.rows() if self.accept_word("known") else ()
        found = Nest(self.called, tensors, sizes, ranges, known, computed, self.body())
        self.note(found, start)
        return found

    def tensor(self) -> Tensor:
        """`a: f32[512, N]`."""
        token = self.expect_kind("word", "a tensor such as `a: f32[N]`")
        if token.text in self.tensors:
            raise Unreadable(f"a second tensor `{token.text}`", token, "give it another name")
        self.expect(":")
        type = self.one_of(TYPES, "element type").text
        self.expect("[")
        found = Tensor(token.text, type, self.forms("]"))
        self.tensors[token.text] = found
        return found

    # -- statements ----------------------------------------------------------------------------

    def body(self) -> Body:
        """Statements, up to and with the closing brace."""
        found: list[Statement] = []
        while not self.accept("}"):
            if self.token.kind == "end":
                raise Unreadable("expected `}`, found the end of the text", self.token, "close each brace")
            start = self.token.start
            found.append(self.statement())
            self.note(found[-1], start)
        return tuple(found)

    def note(self, node: object, start: int) -> None:
        """Note where a node stands: the first line of its text."""
        end = self.tokens[self.at - 1].end
        line = self.tokens.text.find("\n", start, end)
        self.spans[id(node)] = Span(start, line if line >= 0 else end)

    def statement(self) -> Statement:
        """One statement."""
        if self.accept_word("for"):
            return self.loop()
        if self.accept_word("if"):
            rows = self.rows()
            self.expect("{")
            then = self.body()
            return If(rows, then, self.braces() if self.accept_word("else") else ())
        if self.accept_word("at"):
            index = self.name("an index")
            self.expect("=")
            return At(index, self.bound())
        if self.accept_word("stage"):
            tensor = self.tensor()
            self.expect("in")
            space = self.one_of(SPACES, "space").text
            return Stage(tensor, next(s for s in SPACES if s == space))
        if self.accept_word("compute"):
            weaves = self.accept("interleaved")
            self.expect("{")
            found = self.compute(weaves)
            self.expect("}")
            return found
        found = self.compute(False)
        if not found.block.lets:
            help = "a statement is `for`, `if`, `at`, `stage`, or values and then stores"
            raise Unreadable(f"`{self.token.text}` begins no statement", self.token, help)
        return found

    def braces(self) -> Body:
        """`{ … }`."""
        self.expect("{")
        return self.body()

    def loop(self) -> For:
        """The rest of a loop."""
        index = self.name("an index")
        self.expect("=")
        start = self.bound()
        if not self.accept("to"):
            raise Unreadable("expected `to`", self.token, "a loop runs below its stop: `for i = 0 to N {`")
        stop = self.bound()
        step = self.integer("a step such as `4`") if self.accept("step") else 1
        if step < 1:
            raise Unreadable("a step of 0", self.tokens[self.at - 1], "leave it out for a step of 1")
        kind = "seq" if self.token.text == "{" else self.one_of(KINDS, "kind of loop").text
        body = self.braces()
        return For(index, start, stop, step, next(k for k in KINDS if k == kind), body)

    def compute(self, weaves: bool) -> Compute:
        """Values, what they give, and stores."""
        lets = self.lets()
        gives = self.gives() if self.accept_word("give") else None
        stores: list[Store] = []
        while self.token.kind == "word" and self.tokens[self.at + 1].text == "[":
            start = self.token.start
            stores.append(self.store())
            self.note(stores[-1], start)
        if gives is None:
            gives = tuple(store.value for store in stores)
        return Compute(Block(lets, gives), tuple(stores), weaves)

    def store(self) -> Store:
        """`c[i, j] = %3 joins sum unless k = 0 streams`."""
        tensor = self.known_tensor()
        self.expect("[")
        at = self.forms("]")
        self.expect("=")
        value = self.used().text
        joins = self.one_of(tuple(REDUCTIONS), "reduction").text if self.accept_word("joins") else ""
        fresh = self.rows() if self.accept_word("unless") else ()
        return Store(tensor, at, value, self.accept_word("streams"), joins, fresh)

    # -- values --------------------------------------------------------------------------------

    def known_tensor(self) -> str:
        """The name of a tensor."""
        token = self.expect_kind("word", "a tensor")
        if token.text not in self.tensors:
            near = closest(token.text, tuple(self.tensors))
            help = f"did you mean `{near}`?" if near else "name it behind `nest`, or in a `stage` above"
            raise Unreadable(f"unknown tensor `{token.text}`", token, help)
        return token.text

    def used(self) -> Token:
        """The name of a value that stands above."""
        token = self.expect_kind("value", "a value such as `%1`")
        if token.text not in self.types:
            help = "a value stands above what uses it, in the same block or in one around it"
            raise Unreadable(f"unknown value `{token.text}`", token, help)
        return token

    def gives(self) -> tuple[str, ...]:
        """Values separated by commas."""
        found = [self.used().text]
        while self.accept(","):
            found.append(self.used().text)
        return tuple(found)

    def block(self) -> Block:
        """`{ values, give %3 }`."""
        self.expect("{")
        lets = self.lets()
        if not self.accept_word("give"):
            raise Unreadable("expected `give`", self.token, "a block ends in what it gives: `give %3`")
        found = Block(lets, self.gives())
        self.expect("}")
        return found

    def lets(self) -> tuple[Let, ...]:
        """All values that stand here."""
        found: list[Let] = []
        while self.token.kind == "value" or self.word_is("prefetch"):
            start = self.token.start
            found.append(self.let())
            self.note(found[-1], start)
        return tuple(found)

    def let(self) -> Let:
        """`%1, %2: f32 = sum k where … { … }`."""
        if self.accept_word("prefetch"):
            return Let((), self.ask())
        names = [self.expect_kind("value", "a name such as `%1`").text]
        while self.accept(","):
            names.append(self.expect_kind("value", "a name such as `%1`").text)
        stated = self.one_of(TYPES, "type").text if self.accept(":") else None
        self.expect("=")
        begin = self.token
        value = self.value()
        type = stated or usual_type(value, self.types, self.tensors, self.number)
        if type is None:
            help = f"write it: `{names[0]}: f64 = …`"
            raise Unreadable("a value whose type does not follow from its operands", begin, help)
        found = Let(tuple(names), _typed(value, type))
        self.types.update(dict.fromkeys(names, type))
        return found

    def ask(self) -> Ask:
        """The rest of `prefetch b[k + 8, j] every 4 far`."""
        tensor = self.known_tensor()
        self.expect("[")
        at = self.forms("]")
        every = self.integer("a number of steps") if self.accept_word("every") else 1
        return Ask(tensor, at, every, self.accept_word("far"))

    def value(self) -> Value:
        """What a name stands for, of a type that its `Let` finds."""
        token, after = self.token, self.tokens[self.at + 1].text
        if token.kind == "value":
            return self.infix()
        if token.text == "-" and self.tokens[self.at + 1].kind == "value":
            self.take()
            return Apply("neg", (self.used().text,), "")
        if (
            token.kind == "number"
            or token.text == "-"
            or (token.text in ("inf", "nan") and after not in "([")
        ):
            return self.literal()
        if token.kind == "string":
            return self.call(self.take().text[1:-1])
        if token.kind != "word":
            raise Unreadable("expected a value", token, "such as `a[i]`, `1.5`, `%1 + %2`, `exp(%1)`")
        if after == "[":
            tensor = self.known_tensor()
            self.expect("[")
            return Load(tensor, self.forms("]"), "")
        if after == "(":
            return self.index() if self.take().text == "index" else self.call(token.text)
        if self.accept("if"):
            rows, then = self.rows(), self.block()
            self.expect("else")
            return Choice(rows, then, self.block(), "")
        return self.fold()

    def index(self) -> IndexNumber:
        """The rest of `index(2*i)`."""
        self.expect("(")
        form = self.form()
        self.expect(")")
        return IndexNumber(form, "")

    def literal(self) -> Number:
        """`1.5`, `-inf`."""
        sign = -1.0 if self.accept("-") else 1.0
        text = self.take().text
        return Number(math.nan if text == "nan" else sign * float(text), "")

    def infix(self) -> Apply:
        """`%1 + %2`, `%1 ** 3`."""
        left, sign = self.used().text, self.token
        if sign.text not in OPERATORS and sign.text not in RELATIONS:
            raise Unreadable("expected an operator", sign, f"one of {' '.join([*OPERATORS, *RELATIONS])}")
        self.take()
        if sign.text == "**" and self.token.kind != "value":
            minus = self.accept("-")
            exponent = self.integer("an exponent")
            return Apply("powi", (left,), "", -exponent if minus else exponent)
        function = OPERATORS.get(sign.text, sign.text)
        return Apply(function, (left, self.used().text), "")

    def call(self, function: str) -> Apply:
        """The rest of `exp(%1)`."""
        self.expect("(")
        operands: list[str] = []
        while not self.accept(")"):
            if operands:
                self.expect(",")
            operands.append(self.used().text)
        return Apply(function, tuple(operands), "")

    def fold(self) -> Fold:
        """`sum k, l where 0 <= k <= 7 lanes 8 { … give %3 }`."""
        kind = self.one_of(tuple(REDUCTIONS), "value or reduction").text
        indices = () if self.token.text == "{" else self.names("an index")
        rows = self.rows() if self.accept("where") else ()
        counts = {"lanes": 1, "parts": 1, "leap": 1}
        for word in counts:
            if self.accept(word):
                counts[word] = self.integer("a number")
        return Fold(kind, indices, rows, self.block(), "", Takes(**counts))


def _typed(value: Value, type: Type) -> Value:
    """The value with its type."""
    return value if isinstance(value, Ask) else replace(value, type=type)
