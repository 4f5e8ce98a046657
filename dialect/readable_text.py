"""The readable form of the `tad` dialect's IR.

    %f = tad.map (%i, %j) -> tensor<3x4xf64> {
      %0 = tad.sum (%k) in {0 <= %k <= 4, %k <= %i} -> f64 {
        %1 = tad.read %a[%i, %j + %k] : tensor<3x8xf64>
        tad.yield %1 : f64
      }
      tad.yield %0 : f64
    }

It stands for MLIR's generic form line by line; `docs/dialect.md` says how it is written. Ops of other
dialects, and `tad` ops in generic form, are as MLIR reads them.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Generator
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

from tadc.dialect import text_reader, text_writer
from tadc.dialect.locations import labelled, place_of
from tadc.dialect.mlir import ir
from tadc.dialect.ops import load_dialect
from tadc.dialect.text_forms import FORMS
from tadc.dialect.text_tokens import Rebuilt, TextTokens
from tadc.frontend.diagnostics import CompileError, Diagnostic, Label
from tadc.frontend.source import Source, Span
from tadc.frontend.suggest import did_you_mean

_BUFFER = "-"  # what MLIR calls a text that it parses from memory
_UNREADABLE = ("TAD0601", "cannot read the IR")
_INVALID = ("TAD0602", "the IR is not valid")
_ARGUMENT = re.compile(r"%(?!arg\d+\b)([A-Za-z$._-][\w$.-]*)", re.A)
_UNKNOWN = re.compile(r"(?:custom op|unregistered operation) '(tad\.\w*)'")
_NOISE = ("see current operation", "Available dialects")
_VERIFIER = re.compile(r"'[\w.]+' op |operand #\d+ does not dominate|empty block")


def to_text(operation: Any, *, debug_info: bool = False, generic: bool = False) -> str:
    """Print an operation or module in the readable form; other dialects as MLIR prints them.

    With `generic` all is in MLIR's generic form, which any tool of MLIR reads.
    """
    operation = operation.operation
    text = operation.get_asm(
        print_generic_op_form=generic,
        use_local_scope=True,
        use_name_loc_as_prefix=True,
        enable_debug_info=debug_info,
        assume_verified=True,
    )
    text = text if text.endswith("\n") else text + "\n"
    if generic or '"tad.' not in text:
        return text
    return text_writer.write(text, operation, debug_info=debug_info)


def parse_module(text: str, context: ir.Context, filename: str = "<stdin>") -> Any:
    """Read a module in readable or generic form, and verify it.

    Loads the dialect into the context. Locations that the text does not give are places in it.
    Raises CompileError: TAD0601 where the text does not read, TAD0602 where an op is not valid.
    """
    source = Source(text, "<stdin>" if filename == _BUFFER else filename)
    load_dialect(context)
    generic = text_reader.read(source)
    places = _Places(source, generic)
    try:
        with _errors_raised(context):
            module = ir.Module.parse(generic.text, context)
    except ir.MLIRError as error:
        found = [_diagnostic(d, _headline(d), places) for d in error.error_diagnostics]
        raise CompileError(found or [_silent(source)]) from None
    places.settle(module)
    return module


def verify(module: Any, source: Source | None = None) -> None:
    """Verify a module; raises CompileError (TAD0602) with what its verifiers say.

    `source` is the text that locations of its name point into.
    """
    try:
        with _errors_raised(module.context):
            module.operation.verify()
    except ir.MLIRError as error:
        places = _Places(source) if source else None
        found = [_diagnostic(d, _INVALID, places) for d in error.error_diagnostics]
        raise CompileError(found or [Diagnostic(*_INVALID)]) from None


@contextmanager
def _errors_raised(context: ir.Context) -> Generator[None]:
    """Errors come with the exception, also where a caller's context has them handled."""
    before = context.emit_error_diagnostics
    context.emit_error_diagnostics = False
    try:
        yield
    finally:
        context.emit_error_diagnostics = before


class _Places:
    """Where in a readable text MLIR's locations are."""

    def __init__(self, source: Source, generic: Rebuilt | None = None) -> None:
        self.source = source
        self.generic = generic or Rebuilt(source.text)
        self.generic.copy_to(len(source.text))
        self.made = Source(self.generic.text)

    def offset(self, location: Any) -> int | None:
        """The offset in the source, if the location is in it."""
        place = place_of(location)
        if place is None or place.file not in (_BUFFER, self.source.name):
            return None
        if place.file != _BUFFER:
            return self.source.span_at(place).start
        # MLIR counts bytes; a module that no text begins is at line 0.
        line, column = max(place.line, 1), max(place.column, 1)
        before = self.made.line(line).encode()[: column - 1].decode(errors="ignore")
        return self.generic.origin(self.made.start_of(line) + len(before))

    def span(self, offset: int) -> Span:
        """The token at an offset; the last one at the end of the text."""
        tokens = TextTokens(self.source.text)
        index = bisect_right(tokens, offset, key=lambda token: token.start) - 1
        last = tokens[max(len(tokens) - 2, 0)]
        found = tokens[max(index, 0)]
        found = last if found.kind == "end" else found
        return Span(found.start, max(found.end, found.start))

    def settle(self, module: Any) -> None:
        """Give what MLIR located in the generic text its place in the readable one."""
        context = module.context
        pending = [module.operation]
        while pending:
            operation = pending.pop()
            if (offset := self.given(operation.location)) is not None:
                operation.location = self.location(offset, self.generic.labels.get(offset, ""), context)
            for block in (block for region in operation.regions for block in region.blocks):
                for argument in block.arguments:
                    if (offset := self.given(argument.location)) is not None:
                        match = _ARGUMENT.match(self.source.text, offset)
                        label = self.generic.labels.get(offset, match[1] if match else "")
                        argument.set_location(self.location(offset, label, context))
                pending += [op.operation for op in block.operations]

    def given(self, location: Any) -> int | None:
        """The offset of a location that MLIR gave what has none."""
        is_given = isinstance(location, ir.FileLineColLoc) and str(location.filename) == _BUFFER
        return self.offset(location) if is_given else None

    def location(self, offset: int, label: str, context: ir.Context) -> Any:
        """The place of an offset, with a name that is no number."""
        line, column = self.source.position(offset)
        place = ir.Location.file(self.source.name, line, column, context=context)
        return labelled("" if label[:1].isdigit() else label, place)


def _headline(diagnostic: Any) -> tuple[str, str]:
    """Whether a text did not read, or what it says is not valid."""
    place = place_of(diagnostic.location)
    given = place is not None and place.file != _BUFFER
    return _INVALID if given or _VERIFIER.match(diagnostic.message) else _UNREADABLE


def _diagnostic(diagnostic: Any, headline: tuple[str, str], places: _Places | None) -> Diagnostic:
    """MLIR's diagnostic as ours, shown in the source where it lies there."""
    code, title = headline
    made = Diagnostic(code, title)
    text = _first_line(diagnostic.message)
    offset = places.offset(diagnostic.location) if places else None
    if places and offset is not None:
        made.primary, made.source = Label(places.span(offset), text), places.source
    else:
        made.message += f": {text}"
        if place := place_of(diagnostic.location):
            made.notes.append(f"at {place.file}:{place.line}:{place.column}")
    if unknown := _UNKNOWN.match(text):
        made.helps += did_you_mean(unknown.group(1), FORMS)
    for note in diagnostic.notes:
        offset = places.offset(note.location) if places else None
        if note.message.startswith(_NOISE):
            continue
        if places and offset is not None and made.primary and made.primary.span.start != offset:
            made.secondary.append(Label(places.span(offset), _first_line(note.message)))
        else:
            made.notes.append(_first_line(note.message))
    return made


def _silent(source: Source) -> Diagnostic:
    """For MLIR's only error without a word: a `tad` op in neither of its forms."""
    tokens = TextTokens(source.text)
    ops = (t for t, after in pairwise(tokens) if t.text.startswith("tad.") and after.text in ("=", ",", "}"))
    labels = [Label(Span(t.start, t.end), "neither an op nor an attribute") for t in ops]
    return Diagnostic(*_UNREADABLE, labels[0] if labels else None, source=source)


def _first_line(message: str) -> str:
    """Without the operation that MLIR prints after some of its messages."""
    return message.split("\n", 1)[0].strip().removesuffix(", has")
