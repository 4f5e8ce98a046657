"""`--bundle FOLDER`: PTX, machine code and launches of a program, to run without the compiler."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from tadc.backend.cuda_toolkit import find_ptxas
from tadc.backend.ptx import assemble
from tadc.backend.runtime.bundle import CUBIN, MANIFEST, PTX
from tadc.backend.target import Target, parse_target
from tadc.commands.files import Sink, file_error
from tadc.frontend.diagnostics import CompileError, Diagnostic
from tadc.frontend.printer import print_program
from tadc.frontend.program import Program
from tadc.gpu_kernels import compiled
from tadc.stages import Options


def write_bundle(program: Program, options: Options, folder: str) -> None:
    """Write the folder. Target `cpu` stands for `cuda`: a bundle is for GPUs.

    Raises:
        CompileError: TAD0801, the folder cannot be written; TAD0703, ptxas rejects a kernel.
    """
    if not program.outputs:
        raise CompileError([Diagnostic("TAD0405", "the program defines no output", source=program.source)])
    path = Path(folder)
    if path.exists() and not path.is_dir():
        raise file_error(f"`{folder}` is no folder")
    target = options.target if options.is_cuda and options.target is not None else parse_target("cuda")
    assert target.sm is not None
    # The emulator's lines of the program cost nothing, so every bundle has them.
    manifest, state = compiled(program, replace(options, target=Target(target.sm, is_emulated=True)))
    whole = {"manifest": manifest.as_json(), "program": print_program(program)}
    Sink(str(path / PTX), make_folder=True).write(state.ptx)
    Sink(str(path / MANIFEST)).write(json.dumps(whole))
    if find_ptxas() is not None and manifest.launches:
        Sink(str(path / CUBIN)).write(assemble(state.ptx, target.sm))
    elif (path / CUBIN).exists():
        (path / CUBIN).unlink()
