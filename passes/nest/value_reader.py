"""Values in the text of a nest: `%3 = sum k where 0 <= k <= 7 { … }`, `%1 = a[i, k]`, `%2 = exp(%1)`."""

from __future__ import annotations

import math
from dataclasses import replace

from tadc.dialect.text_tokens import Token
from tadc.frontend.functions import OPERATORS, REDUCTIONS, RELATIONS
from tadc.frontend.source import Span
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
from tadc.passes.nest.usual_types import usual_type

TYPES = ("f32", "f64", "i1")


class ValueReader(FormCursor):
    """Reads blocks of values; `types` has those so far, `spans` where each stands, by `id`."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.begin()

    def begin(self) -> None:
        """Forget all values."""
        self.spans: dict[int, Span] = {}
        self.types: dict[str, Type] = {}
        self.tensors: dict[str, Tensor] = {}
        self.number: Type = "f64"

    def one_of(self, allowed: tuple[str, ...], what: str) -> Token:
        """A word among some."""
        token = self.token
        if token.text not in allowed:
            near = closest(token.text, allowed)
            help = f"did you mean `{near}`?" if near else f"it is one of {', '.join(allowed)}"
            raise Unreadable(f"`{token.text}` is no {what}", token, help)
        return self.take()

    def note(self, node: object, start: int) -> None:
        """Note where a node stands: the first line of its text."""
        end = self.tokens[self.at - 1].end
        line = self.tokens.text.find("\n", start, end)
        self.spans[id(node)] = Span(start, line if line >= 0 else end)

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
        if self.accept_word("if"):
            rows, then = self.rows(), self.block()
            self.expect("else")
            return Choice(rows, then, self.block(), "")
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
        indices = self.names("an index") if self.has_indices() else ()
        rows = self.rows() if self.accept("where") else ()
        counts = {"lanes": 1, "parts": 1, "leap": 1}
        for word in counts:
            if self.accept(word):
                counts[word] = self.integer("a number")
        threads = self.numbers() if self.accept("threads") else ()
        warp = self.integer("a number") if self.accept("warp") else 1
        unrolled = self.accept("unrolled")
        steps = self.numbers() if self.accept("steps") else ()
        shared = self.value_names() if self.accept("shared") else ()
        takes = Takes(**counts, unrolled=unrolled, threads=threads, warp=warp, steps=steps, shared=shared)
        return Fold(kind, indices, rows, self.block(), "", takes)

    def numbers(self) -> tuple[int, ...]:
        """Numbers separated by commas."""
        found = [self.integer("a number")]
        while self.accept(","):
            found.append(self.integer("a number"))
        return tuple(found)

    def value_names(self) -> tuple[str, ...]:
        """Names of values that may stand below, separated by commas."""
        found = [self.expect_kind("value", "a value such as `%1`").text]
        while self.accept(","):
            found.append(self.expect_kind("value", "a value such as `%1`").text)
        return tuple(found)

    def has_indices(self) -> bool:
        """Whether a reduction goes on with indices, which may be called as what follows them."""
        word, after = self.token.text, self.tokens[self.at + 1]
        if word == "where":
            return after.text in ("where", ",", "{")
        bare = word == "unrolled" and after.text in ("{", "steps", "shared")
        return word != "{" and not bare and after.kind not in ("number", "value")


def _typed(value: Value, type: Type) -> Value:
    """The value with its type."""
    return value if isinstance(value, Ask) else replace(value, type=type)
