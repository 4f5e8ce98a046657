"""The text of a loop nest to the nest: what `passes/nest/text.py` writes, in any layout, with comments."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import get_args

from tadc.dialect.text_indices import TextError
from tadc.frontend.diagnostics import CompileError, Diagnostic, Label
from tadc.frontend.functions import REDUCTIONS
from tadc.frontend.source import Source, Span
from tadc.lattice.affine import Affine
from tadc.passes.maps.map import (
    Block,
    Tensor,
)
from tadc.passes.nest.form_reader import Unreadable
from tadc.passes.nest.nest import At, Body, Compute, For, If, Kind, Know, Nest, Space, Stage, Statement, Store
from tadc.passes.nest.text import number_type
from tadc.passes.nest.value_reader import TYPES, ValueReader

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


CANNOT = "cannot read the loop nest"


class _Reader(ValueReader):
    """Reads a nest."""

    def begin(self) -> None:
        """Forget the nest before."""
        super().begin()
        self.called = ""

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
            token = self.token
            if token.text in self.tensors:
                raise Unreadable(f"a second tensor `{token.text}`", token, "give it another name")
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
        block = self.integer("the threads of a block") if self.accept_word("in_blocks") else 0
        found = Nest(self.called, tensors, sizes, ranges, known, computed, self.body(), block)
        self.note(found, start)
        return found

    def tensor(self) -> Tensor:
        """`a: f32[512, N]`."""
        token = self.expect_kind("word", "a tensor such as `a: f32[N]`")
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

    def statement(self) -> Statement:
        """One statement."""
        if self.accept_word("for"):
            return self.loop()
        if self.accept_word("if"):
            rows = self.rows()
            self.expect("{")
            then = self.body()
            return If(rows, then, self.braces() if self.accept_word("else") else ())
        if self.accept_word("know"):
            return Know(self.rows())
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
            interleaves = self.accept("interleaved")
            within = self.rows() if self.accept_word("within") else ()
            shared = self.value_names() if self.accept_word("shared") else ()
            self.expect("{")
            found = replace(self.compute(), interleaves=interleaves, within=within, shared=shared)
            self.expect("}")
            return found
        found = self.compute()
        if not found.block.lets:
            if self.token.kind == "mark":
                help = "a value is of one operation: name what it is made of"
                raise Unreadable(f"`{self.token.text}` goes on where a value ends", self.token, help)
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
        reach: tuple[Affine, Affine] | None = None
        if self.accept("reach"):
            least = self.form()
            self.expect("to")
            reach = (least, self.form())
        group = 1
        if self.token.text == "group" and self.tokens[self.at + 1].kind == "number":
            self.take()
            group = self.integer("a number")
        kind = "seq" if self.token.text in ("{", "teams") else self.one_of(KINDS, "kind of loop").text
        teams = self.integer("a number of teams") if self.accept("teams") else 0
        body = self.braces()
        return For(index, start, stop, step, next(k for k in KINDS if k == kind), body, reach, group, teams)

    def compute(self) -> Compute:
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
        return Compute(Block(lets, gives), tuple(stores))

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
