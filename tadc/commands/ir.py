"""The command on IR: goes on from where the IR is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from tadc.backend.compile_steps import step
from tadc.backend.target import BACKENDS, DEVICE
from tadc.commands.files import Sink
from tadc.commands.options import Arguments
from tadc.commands.warn import report_warnings, warn_of_zero_gradients
from tadc.compiler.all_stages import LoweringStage, compile_until
from tadc.compiler.compile_options import Options
from tadc.compiler.derive import resolve_wrt
from tadc.compiler.run_passes import diagnostic_of, run_passes
from tadc.compiler.stages import Compilation, show_module
from tadc.frontend.diagnostics import CompileError, Diagnostic, Label
from tadc.frontend.program import Program
from tadc.frontend.source import Place, Source
from tadc.frontend.specialise import specialised

#: The stages whose output the input of a stage is.
_DIALECTS = {backend.dialect[0]: backend for backend in BACKENDS.values()}
MADE_BY = {
    "diff": ("tad", "cancel", "opt"),
    "llvm": tuple(_DIALECTS),
    **{name: ("gpu" if b.launches_kernels else "loops",) for name, b in _DIALECTS.items()},
}


def read_module(source: Source, allow_unregistered: bool = False) -> tuple[Any, list[Program]]:
    """Parse IR, and prove the reads of its programs in range; raises CompileError.

    Operations of dialects that are not registered are read where they are allowed.
    """
    from tadc.dialect.mlir import ir
    from tadc.dialect.readable_text import parse_module

    context = ir.Context()
    context.allow_unregistered_dialects = allow_unregistered
    module = parse_module(source.text, context, source.name)
    programs = programs_of(module, source)
    for program in programs:
        check_ranges(program, source)
    return module, programs


def programs_of(module: Any, source: Source) -> list[Program]:
    """The programs that a module holds; raises CompileError for a function that is none."""
    from tadc.dialect.program_reader import UnsupportedIR, read_program, tad_functions

    try:
        return [read_program(function) for function in tad_functions(module.operation)]
    except UnsupportedIR as problem:
        raise CompileError([diagnostic_of(problem, source)]) from None


def check_ranges(program: Program, source: Source) -> None:
    """Raises CompileError for reads that can leave their tensor (TAD0607), or come too early (TAD0316)."""
    from tadc.passes.terms.checked_reads import reads_out_of_range

    problems: list[Diagnostic] = []
    for found in reads_out_of_range(program):
        label = Label(source.span_at(found.place)) if isinstance(found.place, Place) else None
        if found.dimension is None:
            message = f"`{found.tensor}` is read at an element that is not computed earlier"
            made = Diagnostic("TAD0316", message, label, source=source)
            what = "not earlier"
        else:
            made = Diagnostic("TAD0607", f"`{found.tensor}` is read out of range", label, source=source)
            made.notes.append(
                f"dimension {found.dimension} holds 0..{found.size - 1}, the index is {found.value}"
            )
            what = "out of range"
        if found.point:
            made.notes.append(f"{what} at `{found.point}`")
        problems.append(made)
    if problems:
        raise CompileError(problems)


def program_of(source: Source) -> Program:
    """The one program of a module, for what is done with programs."""
    _, programs = read_module(source)
    if len(programs) != 1:
        raise CompileError(
            [
                Diagnostic(
                    "TAD0606", f"this IR holds {len(programs)} programs of the tad dialect", source=source
                )
            ]
        )
    programs[0].source = source
    return programs[0]


def lower_ir(
    arguments: Arguments,
    options: Options,
    source: Source,
    after: Callable[[LoweringStage, Compilation, float], None],
) -> int:
    """Parse, run what is asked, write."""
    module, programs = read_module(source, arguments.allow_unregistered_dialect)
    first = stage_of_module(module, options)
    if not programs:
        refuse_what_needs_programs(arguments, first, source)
    for program in programs:
        program.source = source
        if arguments.wrt:
            resolve_wrt(program, arguments.wrt_names)
    if arguments.sizes:
        for program in programs:
            specialised(program, dict(arguments.sizes))  # for its errors, which a pass cannot hand on whole
        values = ",".join(f"{name}={value}" for name, value in arguments.sizes)
        run_passes(module, f"tad-specialise{{sizes={values}}}", source)
    state = Compilation(options, source, written=module)
    sink = Sink(arguments.output or "-")
    if arguments.passes is not None:
        with step("passes"):
            report_warnings(arguments, run_passes(module, arguments.passes, source))
    elif arguments.emit is not None or arguments.wrt is not None:
        last = arguments.emit or "opt"
        if last not in MADE_BY[first] or (first == "diff" and last != "tad"):
            right_target(first, options, source)
            state.options = replace(options, wrt=arguments.wrt_names)
            warned = programs_of(module, source) if arguments.wrt else []
            try:
                stage = compile_until(state, last, first=first, after=after)
            except ValueError as problem:
                raise CompileError([Diagnostic("TAD0606", str(problem), source=source)]) from None
            sink.write(stage.show(state))
            for program in warned:
                program.source = source
                warn_of_zero_gradients(arguments, program)
            return 0
    sink.write(show_module(state))
    return 0


def refuse_what_needs_programs(arguments: Arguments, first: str, source: Source) -> None:
    """Raise CompileError (TAD0606) for what has no meaning in IR without programs of the tad dialect.

    `first` is the stage that is still to be done; what has been lowered goes on without programs.
    """
    message = ""
    if arguments.wrt is not None:
        message = f"`{'--mode' if arguments.mode else '--wrt'}` differentiates programs of the tad dialect"
    elif arguments.sizes:
        message = "`--size` gives values to the sizes of programs of the tad dialect"
    elif arguments.emit is not None and first == "diff":
        message = f"stage `{arguments.emit}` is made of programs of the tad dialect"
    if message:
        notes = ["this IR holds none" + (", or none any more" if first != "diff" else "")]
        helps = ["start from the program, or from what `tadc f.tad --emit tad` prints"]
        if first == "diff":
            helps.append("`--passes PIPELINE` runs passes on any IR")
        raise CompileError([Diagnostic("TAD0606", message, notes=notes, helps=helps, source=source)])


def right_target(first: str, options: Options, source: Source) -> None:
    """IR of one target does not go on to another."""
    is_gpu = "gpu.module" in source.text
    if first == "diff" or is_gpu == options.backend.launches_kernels:
        return
    wanted = f"`--target {DEVICE}` or another GPU" if is_gpu else "`--target cpu`"
    message = f"this IR has been lowered for {'a GPU' if is_gpu else 'the CPU'}"
    raise CompileError([Diagnostic("TAD0606", message, helps=[f"go on with {wanted}"], source=source)])


def stage_of_module(module: Any, options: Options) -> str:
    """The first stage that is still to be done for a module read from a file, for a target of its kind."""
    names = {op.operation.name for op in module.body.operations}
    text = str(module)
    if "gpu.module" in names:
        backend = options.backend if options.backend.launches_kernels else BACKENDS[DEVICE]
        return "llvm" if "llvm.func" in text else backend.dialect[0]
    if "llvm.func" in names:
        return "llvm"
    return "llvm-dialect" if "memref" in text and '"tad.' not in text else "diff"
