"""`--split-input-file` and `--verify-diagnostics`: the pieces between `// -----`, each by itself."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from contextlib import redirect_stdout
from dataclasses import replace

from tadc.commands.expected import differences
from tadc.commands.files import Sink
from tadc.commands.messages import collecting, report
from tadc.commands.options import Arguments
from tadc.frontend.diagnostics import CompileError
from tadc.frontend.source import Source

_MARK = re.compile(r"^(?://|#) ?-{5,}[ \t]*$", re.MULTILINE)


def pieces_of(source: Source) -> list[Source]:
    """The pieces of a text that are not blank; blank lines in front keep the numbers of their lines."""
    starts = [0, *(match.end() for match in _MARK.finditer(source.text))]
    ends = [*(match.start() for match in _MARK.finditer(source.text)), len(source.text)]
    return [
        Source("\n" * source.text.count("\n", 0, start) + source.text[start:end], source.name)
        for start, end in zip(starts, ends, strict=True)
        if source.text[start:end].strip()
    ] or [source]


def in_pieces(arguments: Arguments, source: Source, run: Callable[[Arguments, Source], int]) -> int:
    """Run each piece as a file of its own; the exit code is the largest.

    What is printed of them stands between the same marks. With `--verify-diagnostics` the exit code is 0
    where exactly the diagnostics come that each piece expects.
    """
    pieces = pieces_of(source) if arguments.split_input_file else [source]
    printed: list[str] = []
    codes: list[int] = []
    for piece in pieces:
        text = io.StringIO()
        with redirect_stdout(text), collecting() as reported:
            try:
                code = run(replace(arguments, output=None), piece)
            except CompileError as problem:
                reported += problem.diagnostics
                code = 1
        if text.getvalue():
            printed.append(text.getvalue())
        if arguments.verify_diagnostics:
            reported = differences(reported, piece)
            code = int(bool(reported))
        if reported:
            report(reported, arguments.error_format)
        codes.append(code)
    if printed:
        mark = "# -----\n" if "# -----" in source.text else "// -----\n"
        Sink(arguments.output or "-").write(mark.join(printed))
    return max(codes)
