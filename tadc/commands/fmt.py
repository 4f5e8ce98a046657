"""`tadc fmt`: writes programs in one style."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tadc.commands.files import Sink, read_source, write_back
from tadc.commands.messages import report, report_text
from tadc.commands.option_parser import BadUsage
from tadc.commands.options import Arguments
from tadc.editing.formatter import formatted
from tadc.frontend.diagnostics import CompileError


def execute(arguments: Arguments) -> int:
    """Format the files, or with `--check` name those that it would change; 1 where there are such, or errors.

    Raises BadUsage where there is no file, and CompileError where one cannot be read or written.
    """
    if not arguments.files:
        raise BadUsage("`tadc fmt` needs a FILE, a folder, or `-` for stdin", "write `tadc fmt f.tad`")
    code = 0
    for name in _programs(arguments.files):
        source = read_source(name, None)
        try:
            text = formatted(source)
        except CompileError as error:
            report(error.diagnostics, arguments.error_format)
            code = 1
            continue
        differs = text != source.text
        if arguments.check_style:
            if differs:
                Sink("-").write(source.name)
                code = 1
        elif name == "-":
            Sink("-").write(text)
        elif differs:
            write_back(name, text)
            if arguments.error_format == "human":
                report_text(f"formatted {name}")
    return code


def _programs(names: list[str]) -> Iterator[str]:
    """The files, with those in folders."""
    for name in names:
        path = Path(name)
        yield from map(str, sorted(path.rglob("*.tad"))) if path.is_dir() else [name]
