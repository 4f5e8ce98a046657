"""Where a part of a program stands in Python, and diagnostics that are shown there."""

from __future__ import annotations

import linecache
import re
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import islice
from types import CodeType

from tadc.building import spoken
from tadc.caller.warn_caller import nearest_caller
from tadc.frontend.diagnostics import CompileError, Diagnostic, Label, UsageError
from tadc.frontend.source import Source, Span
from tadc.lattice.late_dataclasses import dataclass, field, replace


@dataclass(frozen=True, slots=True)
class Site:
    """An instruction of Python code. Which characters it was made of is looked up where it is asked for."""

    code: CodeType
    instruction: int

    @property
    def file(self) -> str:
        """The name of the file, as Python has it."""
        return self.code.co_filename

    def line(self) -> int:
        """The first line, from 1."""
        return self._lines_and_columns()[0] or self.code.co_firstlineno

    def _lines_and_columns(self) -> tuple[int | None, int | None, int | None, int | None]:
        """First and last line, from 1, first column and the one behind the last, from 0 in bytes of UTF-8."""
        if self.instruction < 0:
            return self.code.co_firstlineno, None, None, None
        nowhere = (None, None, None, None)
        return next(islice(self.code.co_positions(), self.instruction // 2, None), nowhere)

    def note(self) -> str:
        """What a diagnostic says where there is no text to show."""
        return f"written in Python at {self.file}:{self.line()}"

    def source(self) -> Source | None:
        """The text of the file; None where there is none, as of code that was made of a string."""
        # Python 3.13 keeps the text of `python -c` by the name that all strings have.
        text = "".join(linecache.getlines(self.file)) if self.file != "<string>" else ""
        return Source(text, self.file) if text and self.line() <= text.count("\n") + 1 else None

    def span(self, source: Source) -> Span:
        """Where the expression stands in the text of its file; the whole line where only that is known."""
        first, last, start, end = self._lines_and_columns()
        if (
            first is None
            or last is None
            or start is None
            or end is None
            or last > source.text.count("\n") + 1
        ):
            text = source.line(self.line())
            begin = _offset(source, self.line(), len(text[: len(text) - len(text.lstrip())].encode()))
            return Span(begin, begin + len(text.strip()))
        return Span(_offset(source, first, start), _offset(source, last, end))


def _offset(source: Source, line: int, column: int) -> int:
    text = source.line(line).encode()[:column].decode(errors="ignore")
    return source.start_of(line) + len(text)


#: Where parts are said to stand that are made later than they were written.
_STANDING: ContextVar[Site | None] = ContextVar("_STANDING", default=None)


@contextmanager
def standing_at(site: Site) -> Generator[None]:
    """What is made within stands at a site."""
    token = _STANDING.set(site)
    try:
        yield
    finally:
        _STANDING.reset(token)


def here() -> Site:
    """The instruction at work outside of tadc."""
    if (given := _STANDING.get()) is not None:
        return given
    frame, _ = nearest_caller()
    # NumPy asks expressions about its functions.
    while frame.f_back and frame.f_globals.get("__name__", "").partition(".")[0] == "numpy":
        frame = frame.f_back
    return Site(frame.f_code, frame.f_lasti)


def wrong(message: str, *helps: str, site: Site | None = None) -> UsageError:
    """The error (TAD0510) about the expression of Python that is at work, or that of a site."""
    site = site or here()
    found = Diagnostic("TAD0510", message, helps=list(helps))
    if source := site.source():
        found.source, found.primary = source, Label(_first_line(site.span(source), source))
    else:
        found.notes.append(site.note())
    return UsageError([found])


@dataclass(frozen=True)
class BuiltSource(Source):
    """The text of a program that was built in Python: which part of it was written where.

    Sites of parts stand before those of what they are parts of.
    """

    sites: tuple[tuple[Span, Site], ...] = field(default=(), compare=False, repr=False)

    def placed(self, diagnostic: Diagnostic) -> Diagnostic:
        """The diagnostic at the lines of Python, or with a note that names them where these have no text.

        It has no edits: they would change the text of the program, which nobody wrote.
        """
        if diagnostic.primary is None:
            return replace(diagnostic, source=None, edits=[])
        found = self._site(diagnostic.primary.span)
        if found is None:
            return replace(diagnostic, source=Source(self.text, self.name), edits=[])
        part, site = found
        source = site.source()
        if source is None:
            notes = [*diagnostic.notes, site.note()]
            return replace(diagnostic, source=Source(self.text, self.name), notes=notes, edits=[])
        labels: list[Label] = []
        notes: list[str] = []
        primary = self._label(diagnostic.primary, part, site, source)
        for label in diagnostic.secondary:
            known = self._site(label.span)
            if known is None:
                continue
            whole, of = known
            if of.file == site.file:
                labels.append(self._label(label, whole, of, source))
            else:
                words = self.text[label.span.start : label.span.end]
                notes.append(f"`{words}` at {of.file}:{of.line()}: {label.text}")
        notes = [*diagnostic.notes, *notes]
        helps = [spoken.in_python(help) for help in diagnostic.helps]
        return Diagnostic(
            diagnostic.code, diagnostic.message, primary, labels, notes, helps, diagnostic.severity, source
        )

    def _site(self, span: Span) -> tuple[Span, Site] | None:
        """The smallest part in which a span lies, and its site."""
        around = [(p, site) for p, site in self.sites if p.start <= span.start and span.end <= p.end]
        return min(around, key=lambda item: item[0].end - item[0].start) if around else None

    def _label(self, label: Label, part: Span, site: Site, source: Source) -> Label:
        span = site.span(source)
        words = self.text[label.span.start : label.span.end]
        # An index, a size or a tensor has no instruction of its own: it is looked for by its name.
        if words.isidentifier() and label.span != part:
            word = re.compile(rf"\b{re.escape(words)}\b")
            before = len(word.findall(self.text[part.start : label.span.start]))
            there = len(word.findall(self.text[part.start : part.end]))
            found = [m.start() + span.start for m in word.finditer(source.text[span.start : span.end])]
            if len(found) in (1, there):
                start = found[before if len(found) == there else 0]
                span = Span(start, start + len(words))
        return Label(_first_line(span, source), label.text)


def _first_line(span: Span, source: Source) -> Span:
    end = source.text.find("\n", span.start, span.end)
    return span if end < 0 else Span(span.start, end)


def in_python(error: CompileError) -> CompileError:
    """The same errors, at the lines of Python."""
    return type(error)([d.source.placed(d) if d.source else d for d in error.diagnostics])
