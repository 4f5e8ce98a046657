"""The text of a schedule to the schedule: what `passes/schedule/text.py` writes, in any layout."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar, get_args

from tadc.dialect.text_indices import TextError
from tadc.dialect.text_tokens import Token
from tadc.frontend.codes import CODES
from tadc.frontend.diagnostics import CompileError, Diagnostic, Label
from tadc.frontend.source import Source, Span
from tadc.frontend.suggest import closest
from tadc.frontend.terms import Domain
from tadc.lattice.affine import Affine
from tadc.passes.maps.size_tests import Condition
from tadc.passes.nest.form_reader import FormCursor, Unreadable
from tadc.passes.nest.steps import (
    Ahead,
    Bind,
    BoundKind,
    Cut,
    Fill,
    Fits,
    Flatten,
    FoldLanes,
    FoldThreads,
    InBlocks,
    Interleave,
    Leap,
    Peel,
    Points,
    Prefetch,
    Reorder,
    Residues,
    Reverse,
    Rows,
    Share,
    Split,
    Stage,
    Step,
    Stream,
    Tail,
    Threads,
    Transpose,
    When,
)
from tadc.passes.schedule.text import MapSchedule

Word = TypeVar("Word", bound=str)

TAILS: tuple[Tail, ...] = get_args(Tail)
KINDS: tuple[BoundKind, ...] = get_args(BoundKind)
FILLS: tuple[Fill, ...] = get_args(Fill)
AHEAD: tuple[Ahead, ...] = get_args(Ahead)


@dataclass(frozen=True)
class ReadMap:
    """The steps for a map, and where it and each of its steps stand in the text."""

    schedule: MapSchedule
    span: Span
    spans: tuple[Span, ...]


def read_schedule(source: Source) -> tuple[ReadMap, ...]:
    """The schedule of a source. Raises CompileError (TAD0611) where it does not read."""
    reader = _Reader(source.text)
    try:
        return tuple(reader.maps())
    except TextError as error:
        token = error.token
        label = Label(Span(token.start, max(token.end, token.start + 1)), error.message)
        help = getattr(error, "help", "") or "`--emit schedule` prints one"
        raise CompileError([Diagnostic("TAD0611", CANNOT, label, helps=[help], source=source)]) from None


CANNOT = f"this is {CODES['TAD0611']}"


class _Reader(FormCursor):
    """Reads maps, each with its steps."""

    def maps(self) -> list[ReadMap]:
        """All maps."""
        found: list[ReadMap] = []
        while self.token.kind != "end":
            begin = self.expect("map").start
            tensors = self.names("a tensor")
            span, steps, spans = self.since(begin), list[Step](), list[Span]()
            self.accept(":")
            while self.token.kind != "end" and self.token.text != "map":
                begin = self.token.start
                steps.append(self.step())
                spans.append(self.since(begin))
                self.accept(";")
            found.append(ReadMap(MapSchedule(tensors, tuple(steps)), span, tuple(spans)))
        return found

    def since(self, start: int) -> Span:
        """What was read from a place on."""
        return Span(start, self.tokens[self.at - 1].end)

    def step(self) -> Step:
        """One step."""
        token = self.token
        read = _STEPS.get(token.text)
        if read is None:
            raise self.unknown(token, tuple(_STEPS), "step of a schedule")
        self.take()
        return read(self)

    # -- pieces --------------------------------------------------------------------------------

    def value(self) -> str:
        """The name of a read or a reduction."""
        return self.expect_kind("value", "a value such as `%1`").text

    def loop(self) -> str:
        """The name of a loop."""
        return self.name("a loop")

    def loops(self) -> tuple[str, ...]:
        """Names of loops."""
        return self.names("a loop")

    def arrow(self) -> None:
        """`->`."""
        self.expect("-")
        self.expect(">")

    def positive(self, what: str) -> int:
        """A number of at least 1."""
        token = self.token
        number = self.integer(what)
        if number < 1:
            raise Unreadable(f"{what} is 1 at least", token, "write a positive number")
        return number

    def option(self, word: str, usual: int) -> int:
        """A number after a word, or the usual one."""
        return self.positive(f"a number after `{word}`") if self.accept(word) else usual

    def one_of(self, allowed: tuple[Word, ...], what: str) -> Word:
        """A word among some."""
        token = self.token
        found = next((word for word in allowed if word == token.text), None)
        if found is None:
            raise self.unknown(token, allowed, what)
        self.take()
        return found

    def unknown(self, token: Token, allowed: tuple[str, ...], what: str) -> Unreadable:
        """What is said of a word that is not among some."""
        near = closest(token.text, allowed)
        help = f"did you mean `{near}`?" if near else f"it is one of {', '.join(allowed)}"
        return Unreadable(f"`{token.text}` is no {what}", token, help)

    def where(self) -> Domain:
        """Conditions, if there are any."""
        return self.rows() if self.accept("where") else ()

    def pairs(self) -> list[tuple[str, int]]:
        """Loops with a number each, 1 where it is left out."""
        found: list[tuple[str, int]] = []
        while not found or self.accept(","):
            name = self.loop()
            found.append((name, self.positive("a number") if self.token.kind == "number" else 1))
        return found

    # -- steps ---------------------------------------------------------------------------------

    def split(self) -> Step:
        """`split i 6 overlap -> i0, i1`."""
        index, factor = self.loop(), self.positive("the values of a tile")
        tail: Tail = "exact" if self.token.text == "-" else self.one_of(TAILS, "way to end tiles")
        return Split(index, factor, tail, *self.two())

    def two(self) -> tuple[str, str]:
        """`-> i0, i1`."""
        self.arrow()
        outer = self.loop()
        self.expect(",")
        return outer, self.loop()

    def peel(self) -> Step:
        """`peel i where 4 <= i <= 9 by 2 room 8 groups all`."""
        index, rows = self.loop(), self.where()
        factor, room = self.option("by", 1), self.option("room", 1)
        groups = self.accept("groups")
        return Peel(index, rows, factor, room, groups, self.accept("all"))

    def residues(self) -> Step:
        """`residues i 2 -> i0, i1`."""
        index, factor = self.loop(), self.positive("the elements of a group")
        return Residues(index, factor, *self.two())

    def cut(self) -> Step:
        """`cut %3 k 128 -> k0`."""
        fold, index, steps = self.value(), self.loop(), self.positive("the values of a block")
        self.arrow()
        return Cut(fold, index, steps, self.loop())

    def fold_lanes(self) -> Step:
        """`fold_lanes %3 16 parts 2`."""
        return FoldLanes(self.value(), self.positive("the lanes of a vector"), self.option("parts", 1))

    def fold_threads(self) -> Step:
        """`fold_threads %3 4, 8 warp 32`."""
        fold, threads = self.value(), [self.positive("a number of threads")]
        while self.accept(","):
            threads.append(self.positive("a number of threads"))
        return FoldThreads(fold, tuple(threads), self.option("warp", 1))

    def leap(self) -> Step:
        """`leap %3 8 parts 2`."""
        return Leap(self.value(), self.positive("steps"), self.option("parts", 1))

    def stage(self) -> Step:
        """`stage %2 inside j0 over k, j1, j2 by transpose`."""
        read = self.value()
        inside = self.loop() if self.accept("inside") else ""
        self.expect("over")
        over = self.loops()
        fill: Fill = self.one_of(FILLS, "way to fill a buffer") if self.accept("by") else "vectors"
        return Stage(read, inside, over, fill)

    def share(self) -> Step:
        """`share %1, %2 in %3 steps 4, 8`."""
        reads = [self.value()] if self.token.kind == "value" else []
        while reads and self.accept(","):
            reads.append(self.value())
        if not self.accept("in"):
            return Share(tuple(reads))
        fold = self.value()
        self.expect("steps")
        steps = [self.positive("a number of steps")]
        while self.accept(","):
            steps.append(self.positive("a number of steps"))
        return Share(tuple(reads), fold, tuple(steps))

    def prefetch(self) -> Step:
        """`prefetch %2 rows`, `prefetch %2 run i0 over j0, k lines 1`."""
        read = self.value()
        how: Ahead = self.one_of(AHEAD, "way to ask ahead")
        if how != "run":
            return Prefetch(read, how)
        index = self.loop()
        self.expect("over")
        over = self.loops()
        self.expect("lines")
        return Prefetch(read, how, index, over, self.positive("lines"))

    def threads(self) -> Step:
        """`threads i 6`, `threads i 6, j 64`."""
        token, pairs = self.token, self.pairs()
        if len(pairs) > 2:
            raise Unreadable("threads divide one index, or one of two", token, "name two indices at most")
        return Threads(tuple(name for name, _ in pairs), tuple(grain for _, grain in pairs))

    def points(self) -> Step:
        """`points where i = j`."""
        rows = self.where()
        return Points(rows, self.loop() if self.accept("step") else "")

    def when(self) -> Step:
        """`when N * M >= 1000 and (N % 4) = 0`."""
        tests = [self.test()]
        while self.accept("and"):
            tests.append(self.test())
        return When(tuple(tests))

    def test(self) -> Condition:
        """`N * (M + 1) >= 1000`."""
        extents: list[Affine] = [self.atom()]
        while self.accept("*"):
            extents.append(self.atom())
        token = self.take()
        if token.text not in ("<=", "=", ">="):
            help = "write `>=`, `<=` or `=` behind a product of sizes; sums stand in parentheses"
            raise Unreadable(f"`{token.text}` compares no sizes", token, help)
        number = self.integer("a number")
        least = 0 if token.text == "<=" else number
        return Condition(tuple(extents), least, None if token.text == ">=" else number)

    def stream(self) -> Step:
        """`stream c`."""
        return Stream(self.names("a tensor"))


def _bind(kind: BoundKind) -> Callable[[_Reader], Step]:
    return lambda reader: Bind(kind, reader.loops())


_STEPS: dict[str, Callable[[_Reader], Step]] = {
    "split": _Reader.split,
    "peel": _Reader.peel,
    "residues": _Reader.residues,
    "reorder": lambda reader: Reorder(reader.loops()),
    "reverse": lambda reader: Reverse(reader.loop()),
    **{kind: _bind(kind) for kind in KINDS},
    "in_blocks": lambda reader: InBlocks(reader.positive("the threads of a block")),
    "cut": _Reader.cut,
    "fold_lanes": _Reader.fold_lanes,
    "fold_threads": _Reader.fold_threads,
    "leap": _Reader.leap,
    "stage": _Reader.stage,
    "share": _Reader.share,
    "transpose": lambda reader: Transpose(reader.value(), reader.loop()),
    "interleave": lambda reader: Interleave(reader.loop()),
    "stream": _Reader.stream,
    "prefetch": _Reader.prefetch,
    "threads": _Reader.threads,
    "rows": lambda reader: Rows(reader.loop(), reader.positive("rows")),
    "points": _Reader.points,
    "when": _Reader.when,
    "flatten": lambda reader: Flatten(reader.loop()),
    "fits": lambda reader: Fits(tuple(reader.pairs())),
}
"""How each step reads, by its word."""
