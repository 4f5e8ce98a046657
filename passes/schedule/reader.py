"""The text of a schedule to the schedule: what `passes/schedule/text.py` writes, in any layout."""

from __future__ import annotations

from dataclasses import dataclass
from typing import get_args

from tadc.dialect.text_indices import TextError
from tadc.frontend.codes import CODES
from tadc.frontend.diagnostics import CompileError, Diagnostic, Label
from tadc.frontend.source import Source, Span
from tadc.passes.maps.size_tests import Condition
from tadc.passes.nest.form_text import Unreadable
from tadc.passes.nest.grammar import RecordReader
from tadc.passes.nest.steps import Bind, BoundKind, Step, Threads
from tadc.passes.schedule.text import STEPS, MapSchedule

WORDS: dict[str, type[Step]] = {
    **{STEPS.pieces(step)[0].first: step for step in get_args(Step) if step is not Bind},
    **dict.fromkeys(get_args(BoundKind), Bind),
}
"""Each step by the word that it begins with."""


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


class _Reader(RecordReader):
    """Reads maps, each with its steps."""

    grammar = STEPS

    def maps(self) -> list[ReadMap]:
        """All maps."""
        found: list[ReadMap] = []
        while self.token.kind != "end":
            begin = self.expect("map").start
            tensors = self.several(lambda: self.name("a tensor"))
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
        word, token = self.one_of(tuple(WORDS), "step of a schedule"), self.token
        self.at -= 1
        step = self.record(WORDS[word])
        if isinstance(step, Threads) and len(step.indices) > 2:
            raise Unreadable("threads divide one index, or one of two", token, "name two indices at most")
        return step

    def pair(self) -> tuple[str, int]:
        """A loop with a number, 1 where it is left out."""
        return self.name("a loop"), self.integer(1) if self.token.kind == "number" else 1

    def tests(self) -> tuple[Condition, ...]:
        """`N * M >= 1000 and (N % 4) = 0`."""
        found = [self.test()]
        while self.accept("and"):
            found.append(self.test())
        return tuple(found)

    def test(self) -> Condition:
        """`N * (M + 1) >= 1000`."""
        extents = [self.atom()]
        while self.accept("*"):
            extents.append(self.atom())
        token = self.take()
        if token.text not in ("<=", "=", ">="):
            help = "write `>=`, `<=` or `=` behind a product of sizes; sums stand in parentheses"
            raise Unreadable(f"`{token.text}` compares no sizes", token, help)
        number = self.integer()
        least = 0 if token.text == "<=" else number
        return Condition(tuple(extents), least, None if token.text == ">=" else number)
