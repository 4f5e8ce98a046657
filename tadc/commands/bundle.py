"""`--bundle FOLDER`: kernels and launches of a program, to run without the compiler."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from tadc.api.execute import unit_of
from tadc.backend.base import Target, Unit
from tadc.backend.target import CPU, DEVICE, parse_target
from tadc.commands.files import Sink, file_error
from tadc.compiler.compile_options import Options
from tadc.frontend.diagnostics import CompileError, Diagnostic
from tadc.frontend.printer import print_program
from tadc.frontend.program import Program


def write_bundle(program: Program, options: Options, folder: str) -> None:
    """Write the folder. Target `cpu` stands for the usual GPU: a bundle is for GPUs.

    Raises:
        CompileError: TAD0801, the folder cannot be written; TAD0703, a kernel is rejected; TAD0706, the
            target has no bundles.
    """
    if not program.outputs:
        raise CompileError([Diagnostic("TAD0405", "the program defines no output", source=program.source)])
    path = Path(folder)
    if path.exists() and not path.is_dir():
        raise file_error(f"`{folder}` is no folder")
    if options.target.backend == CPU.backend:
        options = replace(options, target=parse_target(DEVICE))

    def compiled(target: Target) -> Unit:
        return unit_of(program, replace(options, target=target))

    files = options.backend.bundle(compiled, options.settings, print_program(program))
    for name, content in files.items():
        if content is not None:
            Sink(str(path / name), make_folder=True).write(content)
        elif (path / name).exists():
            (path / name).unlink()
