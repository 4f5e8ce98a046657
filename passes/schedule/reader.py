"""The text of a schedule to the schedule: what `passes/schedule/text.py` writes, in any layout."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar, get_args

from tadc.dialect.form_reader import TextError
from tadc.frontend.codes import CODES
from tadc.frontend.source import Source, Span
from tadc.lattice.late_dataclasses import dataclass
from tadc.passes.maps.size_tests import SizeTest
from tadc.passes.nest.grammar import RecordReader
from tadc.passes.nest.steps import Bind, BoundKind, Room, Step, Threads
from tadc.passes.schedule.text import STEPS, MapSchedule
from tadc.passes.where import Given, WhereStep, does_not_fit

WORDS: dict[str, type[Step]] = {
    **{STEPS.pieces(step)[0].first: step for step in get_args(Step) if step not in (Bind, Room)},
    **dict.fromkeys(get_args(BoundKind), Bind),
}
"""Each step of a map by the word that it begins with."""

WHERE = {STEPS.pieces(step)[0].first: step for step in get_args(WhereStep)}
"""Each step of a function."""

S = TypeVar("S")


@dataclass(frozen=True)
class ReadMap:
    """The steps for a map, and where it and each of its steps stand in the text."""

    schedule: MapSchedule
    span: Span
    spans: tuple[Span, ...]


def read_schedule(source: Source) -> tuple[ReadMap, ...]:
    """The maps of a schedule. Raises CompileError (TAD0611) where it does not read."""
    return _read(source)[1]


def read_where(source: Source) -> Mapping[str, Given]:
    """Where a schedule says that the tensors of functions are computed.

    Raises CompileError: TAD0611 where it does not read, TAD0612 where it names a function twice.
    """
    found: dict[str, Given] = {}
    for name, span, steps, spans in _read(source)[0]:
        if name in found:
            raise does_not_fit(f"`{name}` has steps above", span, "leave these or those out", source)
        found[name] = Given(steps, spans, span, source)
    return found


def _read(source: Source) -> tuple[Sequence[_Function], tuple[ReadMap, ...]]:
    """What a source has for functions and for maps."""
    reader = _ScheduleReader(source.text)
    try:
        return reader.functions(), tuple(reader.maps())
    except TextError as error:
        title = f"this is {CODES['TAD0611']}"
        raise error.told("TAD0611", title, source, "`--emit schedule` prints one") from None


_Function = tuple[str, Span, tuple[WhereStep, ...], tuple[Span, ...]]


class _ScheduleReader(RecordReader):
    """Reads functions and maps, each with its steps."""

    grammar = STEPS

    def functions(self) -> list[_Function]:
        """Those functions that stand before all maps."""
        found: list[_Function] = []
        while self.token.text == "function":
            begin = self.take().start
            name = self.name("a function")
            span = self.since(begin)
            found.append((name, span, *self.steps(lambda: self.step_of(WHERE))))
        return found

    def maps(self) -> list[ReadMap]:
        """All maps."""
        found: list[ReadMap] = []
        while self.token.kind != "end":
            begin = self.expect("map").start
            tensors = self.several(lambda: self.name("a tensor"))
            span = self.since(begin)
            steps, spans = self.steps(self.step)
            found.append(ReadMap(MapSchedule(tensors, steps), span, spans))
        return found

    def steps(self, read: Callable[[], S]) -> tuple[tuple[S, ...], tuple[Span, ...]]:
        """Steps up to the next function or map, and where they stand."""
        steps, spans = list[S](), list[Span]()
        self.accept(":")
        while self.token.kind != "end" and self.token.text not in ("function", "map"):
            begin = self.token.start
            steps.append(read())
            spans.append(self.since(begin))
            self.accept(";")
        return tuple(steps), tuple(spans)

    def since(self, start: int) -> Span:
        return Span(start, self.tokens[self.at - 1].end)

    def step(self) -> Step:
        """One step."""
        token = self.tokens[self.at + 1]
        # What is staged is a read, which a value names, or tensors.
        is_room = self.token.text == "stage" and token.kind != "value"
        step = self.step_of({"stage": Room} if is_room else WORDS)
        if isinstance(step, Threads) and len(step.indices) > 2:
            raise TextError("threads divide one index, or one of two", token, "name two indices at most")
        return step

    def step_of(self, words: Mapping[str, type[S]]) -> S:
        """A step among those that begin with some words."""
        word = self.one_of(tuple(words), "step of a schedule")
        self.at -= 1
        return self.record(words[word])

    def pair(self) -> tuple[str, int]:
        return self.name("a loop"), self.integer(1) if self.token.kind == "number" else 1

    def tests(self) -> tuple[SizeTest, ...]:
        """`N * M >= 1000 and (N % 4) = 0`."""
        found = [self.test()]
        while self.accept("and"):
            found.append(self.test())
        return tuple(found)

    def test(self) -> SizeTest:
        """`N * (M + 1) >= 1000`."""
        extents = [self.factor()]
        while self.accept("*"):
            extents.append(self.factor())
        token = self.take()
        if token.text not in ("<=", "=", ">="):
            help = "write `>=`, `<=` or `=` behind a product of sizes; sums stand in parentheses"
            raise TextError(f"`{token.text}` compares no sizes", token, help)
        number = self.integer()
        least = 0 if token.text == "<=" else number
        return SizeTest(tuple(extents), least, None if token.text == ">=" else number)
