"""`--verify-diagnostics`: what a text says is reported of it, against what is; as in mlir-opt.

    // expected-error {{of this line}}      # expected-error@+1 {{of the next}}
    // expected-warning@below {{of the next line that expects nothing}}
    // expected-error-re@above {{a {{[a-z]+}} in braces}}       // expected-error@unknown {{without a place}}

A text stands for all that contain it, in the message, the code, the word at the place or the notes. Each
error and warning has to be expected, and each that is expected to come. A note, `expected-note`, comes with
an error or a warning; those that are not expected are passed over.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from tadc.frontend.diagnostics import CompileError, Diagnostic, Label
from tadc.frontend.source import Source, Span
from tadc.lattice.late_dataclasses import dataclass

_EXPECTED = re.compile(
    r"expected-(error|warning|note)(-re)? *(?:@([+-]\d+|above|below|unknown))? *\{\{(.*)\}\} *$"
)


@dataclass(frozen=True)
class Expected:
    """One thing that is expected: of which severity, in which line (0: without a place), and its text."""

    severity: str
    line: int
    pattern: str
    text: str
    span: Span

    def matches(self, severity: str, line: int, texts: Sequence[str]) -> bool:
        """Whether that is what was reported."""
        here = (severity, line) == (self.severity, self.line)
        return here and any(re.search(self.pattern, text) for text in texts)


def expected_of(source: Source) -> list[Expected]:
    """What a text expects, in order. Raises CompileError (TAD0609) for a wrong regular expression."""
    lines = source.text.split("\n")
    found = [_EXPECTED.search(line) for line in lines]
    silent = [number for number, match in enumerate(found, 1) if match is None]
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)
    made: list[Expected] = []
    for number, match in enumerate(found, 1):
        if match is None:
            continue
        severity, regex, at, text = match.groups()
        if at == "above":
            line = max((n for n in silent if n < number), default=number)
        elif at == "below":
            line = min((n for n in silent if n > number), default=number)
        else:
            line = 0 if at == "unknown" else number + int(at or 0)
        start = starts[number - 1]
        span = Span(start + match.start(), start + match.end())
        pattern = _pattern(text) if regex else re.escape(text.strip())
        try:
            re.compile(pattern)
        except re.error as problem:
            message = f"what is expected is no regular expression: {problem}"
            raise CompileError([Diagnostic("TAD0609", message, Label(span), source=source)]) from None
        made.append(Expected(severity, line, pattern, text, span))
    return made


def _pattern(text: str) -> str:
    """A text in which `{{…}}` holds a regular expression."""
    parts = re.split(r"\{\{(.*?)\}\}", text.strip())
    return "".join(part if n % 2 else re.escape(part) for n, part in enumerate(parts))


def differences(reported: Sequence[Diagnostic], source: Source) -> list[Diagnostic]:
    """TAD0609 for each diagnostic that is not expected, and for each expected one that did not come."""
    waiting = expected_of(source)
    made: list[Diagnostic] = []
    for diagnostic in reported:
        for severity, line, texts in _said(diagnostic, source):
            # Where several could be meant, the one that says the most.
            fit = [e for e in waiting if e.matches(severity, line, texts)]
            if fit:
                waiting.remove(max(fit, key=lambda e: len(e.text)))
            elif severity != "note":
                made.append(_unexpected(diagnostic))
    for missing in waiting:
        message = f'expected {missing.severity} "{missing.text}" was not produced'
        where = f"in line {missing.line}" if missing.line else "without a place"
        made.append(
            Diagnostic("TAD0609", message, Label(missing.span, f"it is expected {where}"), source=source)
        )
    return made


def _said(diagnostic: Diagnostic, source: Source) -> Iterator[tuple[str, int, list[str]]]:
    """What a diagnostic says: its severity, its line and its texts; then the same of its notes."""

    def line(label: Label | None) -> int:
        inside = label is not None and diagnostic.source is not None and diagnostic.source.name == source.name
        if not inside or label is None:
            return 0
        # A module is at the begin of its text, which in a piece of a file is blank.
        rest = source.text[label.span.start :]
        blank = len(rest) - len(rest.lstrip()) if rest.strip() else 0
        return source.position(label.span.start + blank)[0]

    primary = diagnostic.primary
    own = [f"{diagnostic.severity}[{diagnostic.code}]: {diagnostic.message}"]
    place = line(primary)
    yield diagnostic.severity, place, own + ([primary.text] if primary else []) + diagnostic.notes
    for label in diagnostic.secondary:
        yield "note", line(label), [label.text]
    for note in [*diagnostic.notes, *diagnostic.helps]:
        yield "note", place, [note]


def _unexpected(diagnostic: Diagnostic) -> Diagnostic:
    """The diagnostic, as one that nothing expects."""
    code = f"[{diagnostic.code}]" if diagnostic.code else ""
    message = f"unexpected {diagnostic.severity}{code}: {diagnostic.message}"
    return Diagnostic(
        "TAD0609", message, diagnostic.primary, notes=diagnostic.notes, source=diagnostic.source
    )
