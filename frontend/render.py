"""Diagnostics as text in the style of rustc, and as JSON."""

from __future__ import annotations

import unicodedata
from typing import Any

from tadc.frontend.diagnostic_data import Diagnostic, Label
from tadc.frontend.source import Source, Span
from tadc.lattice.late_dataclasses import dataclass

_TAB = 4
#: A longer line is cut to a window around its first mark.
_WIDTH = 160
_BEFORE = 60
#: A longer message is cut in the middle: a name may be as long as the program.
_LONGEST = 1000

_BOLD = "1"
_BLUE = "1;34"
_TONES = {"error": "1;31", "warning": "1;33", "note": "1;36"}


def render(diagnostic: Diagnostic, color: bool = False) -> str:
    """The message with its source lines, underlined and labelled; no newline at the end."""
    return "\n".join(_Renderer(_placed(diagnostic), color).lines())


def render_json(diagnostic: Diagnostic) -> dict[str, Any]:
    """A diagnostic as plain data: lines and columns count from 1, offsets from 0."""
    diagnostic = _placed(diagnostic)
    source = diagnostic.source

    def label(item: Label) -> dict[str, Any]:
        return {"text": _short(item.text), **_place(item.span, source)}

    return {
        "severity": diagnostic.severity,
        "code": diagnostic.code or None,
        "message": _short(diagnostic.message),
        "file": source.name if source else None,
        "primary": label(diagnostic.primary) if diagnostic.primary else None,
        "secondary": [label(item) for item in diagnostic.secondary],
        "notes": [_short(note) for note in diagnostic.notes],
        "helps": [_short(help) for help in diagnostic.helps],
        "edits": [
            {
                "file": source.name if source else None,
                **_place(e.span, source),
                "replacement": e.replacement,
                "applicability": e.applicability,
            }
            for e in diagnostic.edits
        ],
    }


def _placed(diagnostic: Diagnostic) -> Diagnostic:
    return diagnostic.source.placed(diagnostic) if diagnostic.source else diagnostic


def _place(span: Span, source: Source | None) -> dict[str, Any]:
    place: dict[str, Any] = {"start": span.start, "end": span.end}
    if source:
        place["line"], place["column"] = source.position(span.start)
        place["end_line"], place["end_column"] = source.position(span.end)
    return place


@dataclass
class _Mark:
    """An underline on one line, in columns of the screen from 0."""

    start: int
    end: int
    text: str
    primary: bool


class _Renderer:
    def __init__(self, diagnostic: Diagnostic, color: bool) -> None:
        self.diagnostic = diagnostic
        self.color = color
        self.tone = _TONES.get(diagnostic.severity, _BOLD)
        self.marks: dict[int, list[_Mark]] = {}
        self.views: dict[int, _Line] = {}
        if diagnostic.source:
            for item in [diagnostic.primary, *diagnostic.secondary]:
                if item:
                    self._mark(item, diagnostic.source, item is diagnostic.primary)
        self.margin = len(str(max(self.marks))) if self.marks else 1

    def paint(self, text: str, style: str) -> str:
        return f"\x1b[{style}m{text}\x1b[0m" if self.color and text else text

    def lines(self) -> list[str]:
        d = self.diagnostic
        head = f"{d.severity}[{d.code}]" if d.code else d.severity
        out = [self.paint(head, self.tone) + self.paint(f": {_clean(d.message)}", _BOLD)]
        pad = " " * self.margin
        if d.source:
            where = d.source.name
            if d.primary:
                line, column = d.source.position(d.primary.span.start)
                where += f":{line}:{column}"
            out.append(f"{pad}{self.paint('-->', _BLUE)} {where}")
        bar = f"{pad} {self.paint('|', _BLUE)}"
        if self.marks:
            out += [bar, *self._excerpt(bar)]
        tail = [("note", n) for n in d.notes] + [("help", h) for h in d.helps]
        if self.marks and tail:
            out.append(bar)
        for word, text in tail:
            first, *rest = _clean(text).split("\n")
            out.append(f"{pad} {self.paint('=', _BLUE)} {self.paint(word, _BOLD)}: {first}")
            out += [f"{pad}         {more}" for more in rest]
        return out

    # -- what is marked --------------------------------------------------------------------

    def _mark(self, item: Label, source: Source, primary: bool) -> None:
        """Put a label's underline on its line; one over several lines marks the first and the last."""
        first, column = source.position(item.span.start)
        last, end = source.position(max(item.span.end, item.span.start))
        if last > first and end == 1:
            last -= 1
            end = len(source.line(last)) + 1
        if first == last:
            self._add(source, first, column, end, item.text, primary)
            return
        self._add(source, first, column, len(source.line(first)) + 1, "", primary)
        text = source.line(last)
        self._add(source, last, len(text) - len(text.lstrip()) + 1, end, item.text, primary)

    def _add(self, source: Source, line: int, column: int, end: int, text: str, primary: bool) -> None:
        view = self.views.get(line)
        if view is None:
            view = self.views[line] = _Line.of(source.line(line), column)
        start = view.column(column - 1)
        stop = max(view.column(end - 1), start + 1)
        self.marks.setdefault(line, []).append(_Mark(start, stop, _clean(text), primary))

    # -- drawing ---------------------------------------------------------------------------

    def _excerpt(self, bar: str) -> list[str]:
        out: list[str] = []
        source = self.diagnostic.source
        assert source
        previous = 0
        for number in sorted(self.marks):
            if previous and number == previous + 2:
                out.append(self._numbered(previous + 1, _Line.of(source.line(previous + 1), 1).text))
            elif previous and number > previous + 1:
                out.append("...")
            out.append(self._numbered(number, self.views[number].text))
            out += [f"{bar} {row}" for row in self._underline(self.marks[number])]
            previous = number
        return out

    def _numbered(self, number: int, text: str) -> str:
        head = self.paint(f"{number:>{self.margin}} |", _BLUE)
        return f"{head} {text}".rstrip()

    def _underline(self, marks: list[_Mark]) -> list[str]:
        """The row of underlines; the rightmost text beside it, the others hung below."""
        row = _Row(self)
        for mark in sorted(marks, key=lambda m: (m.primary, m.start - m.end)):
            row.put(mark.start, ("^" if mark.primary else "-") * (mark.end - mark.start), mark)
        texts = sorted((m for m in marks if m.text), key=lambda m: (m.start, not m.primary))
        if texts and all(m.end <= texts[-1].start for m in marks if m is not texts[-1]):
            last = texts.pop()
            row.put(last.end + 1, last.text, last)
        out = [str(row)]
        column = -1
        while texts:
            last = texts.pop()
            if last.start != column:
                row = _Row(self)
                for mark in [*texts, last]:
                    row.put(mark.start, "|", mark)
                out.append(str(row))
            column = last.start
            row = _Row(self)
            for mark in texts:
                row.put(mark.start, "|", mark)
            row.put(last.start, last.text, last)
            out.append(str(row))
        return out


class _Row:
    """One line of the screen, written in places."""

    def __init__(self, renderer: _Renderer) -> None:
        self.renderer = renderer
        self.cells: list[tuple[str, str]] = []

    def put(self, column: int, text: str, mark: _Mark) -> None:
        style = self.renderer.tone if mark.primary else _BLUE
        self.cells += [(" ", "")] * (column + len(text) - len(self.cells))
        self.cells[column : column + len(text)] = [(c, style) for c in text]

    def __str__(self) -> str:
        out: list[str] = []
        run, style = "", ""
        for char, wanted in [*self.cells, ("", "end")]:
            if wanted != style:
                out.append(self.renderer.paint(run, style) if style else run)
                run, style = "", wanted
            run += char
        return "".join(out).rstrip()


@dataclass
class _Line:
    """A source line as the screen shows it: tabs expanded, a long one cut."""

    text: str
    columns: list[int]
    offset: int
    #: The first character of the line that was looked at.
    left: int = 0

    @staticmethod
    def of(text: str, mark: int) -> _Line:
        # Of a line of a million characters only what can be shown is looked at.
        left = max(0, mark - 1 - _WIDTH)
        cut_before, cut_after = left > 0, len(text) > left + 3 * _WIDTH
        text = text[left : left + 3 * _WIDTH]
        line = _Line._of(text, mark - left, cut_before, cut_after)
        return _Line(line.text, line.columns, line.offset, left)

    @staticmethod
    def _of(text: str, mark: int, cut_before: bool, cut_after: bool) -> _Line:
        shown: list[str] = []
        columns: list[int] = []
        width = 0
        for char in text:
            columns.append(width)
            piece = " " * (_TAB - width % _TAB) if char == "\t" else char if char.isprintable() else "\ufffd"
            shown.append(piece)
            width += len(piece) if char == "\t" else _cells(char)
        columns.append(width)
        if width <= _WIDTH and not cut_before and not cut_after:
            return _Line("".join(shown), columns, 0)
        first = max(0, min(mark - 1 - _BEFORE, len(text) - _WIDTH))
        last = min(len(text), first + _WIDTH)
        cut = "".join(shown[first:last])
        before = "…" if first or cut_before else ""
        after = "…" if last < len(text) or cut_after else ""
        return _Line(before + cut + after, columns, columns[first] - len(before))

    def column(self, index: int) -> int:
        """The column of a character; those that are cut off lie at the edge."""
        column = self.columns[min(max(index - self.left, 0), len(self.columns) - 1)]
        return min(max(column - self.offset, 0), _WIDTH + 1)


def _cells(char: str) -> int:
    if unicodedata.combining(char):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def _clean(text: str) -> str:
    """Nothing in a message may steer the terminal."""
    return "".join(c if c.isprintable() or c == "\n" else "\ufffd" for c in _short(text))


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST // 2]} … {text[-_LONGEST // 2 :]}"
