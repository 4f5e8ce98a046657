"""What each form of the command does."""

from __future__ import annotations

import sys
from pathlib import Path

from tadc.cli_options import Arguments
from tadc.driver import STAGES, Stage, compile_until, stage_of_module
from tadc.files import Sink, read_text
from tadc.frontend.source import Source
from tadc.stages import Compilation, Options


def execute(arguments: Arguments) -> int:
    """Do what the command line asks; the exit code. Raises CompileError."""
    if arguments.list:
        return list_names(arguments.list)
    source = read_source(arguments)
    if arguments.is_mlir:
        return lower_ir(arguments, source)
    if arguments.passes is not None:
        return run_passes_on(arguments, source)
    if arguments.run is not None:
        from tadc.run_command import run

        return run(arguments, checked(source, arguments))
    if arguments.check_gradient:
        from tadc.gradient_check import check_gradient

        return check_gradient(checked(source, arguments), arguments.wrt)
    return show(arguments, source)


def list_names(what: str) -> int:
    """Print what there is."""
    if what == "stages":
        lines = [f"{s.name:14}{s.about}" for s in STAGES]
    elif what == "functions":
        from tadc.frontend.functions import FUNCTIONS

        lines = [f"{name}({', '.join('xy'[:count])})" for name, count in sorted(FUNCTIONS.items())]
    else:
        from tadc.pipeline import REGISTRY

        lines = [f"{p.argument:20}{p.description}" for p in REGISTRY.values()]
    print("\n".join(lines))
    return 0


def read_source(arguments: Arguments) -> Source:
    """The text of the input."""
    if arguments.expression is not None:
        return Source(arguments.expression, "<expression>")
    assert arguments.file is not None
    if arguments.file == "-":
        return Source(sys.stdin.read(), "<stdin>")
    return Source(read_text(arguments.file), arguments.file)


def options_of(arguments: Arguments) -> Options:
    """The compiler options of a command line."""
    from tadc.backend.target import parse_target

    mode = "value"
    # A delta is only in a derivative: its stages without --wrt show that by all arguments.
    if arguments.wrt or arguments.emit in ("diff", "cancel"):
        mode = "value-and-vjp" if arguments.values else "vjp"
    return Options(mode, None, parse_target(arguments.target), arguments.opt_level)


def checked(source: Source, arguments: Arguments) -> Compilation:
    """The program, parsed and checked, with the arguments to differentiate by resolved."""
    state = Compilation(Options(), source)
    observer = Observer(arguments)
    compile_until(state, "typed", after=observer)
    state.options = options_of(arguments)
    if state.options.differentiates:
        from dataclasses import replace

        from tadc.derive import resolve_wrt

        assert state.program is not None
        names = None if arguments.wrt in (None, "*") else arguments.wrt.replace(" ", "").split(",")
        state.options = replace(state.options, wrt=resolve_wrt(state.program, names))
    return state


class Observer:
    """Sees each stage: `--time`, `--dump-dir`."""

    def __init__(self, arguments: Arguments) -> None:
        self.arguments = arguments
        self.number = 0

    def __call__(self, stage: Stage, state: Compilation, seconds: float) -> None:
        if self.arguments.time:
            print(f"{stage.name:14}{1e3 * seconds:10.1f} ms", file=sys.stderr)
        if self.arguments.dump_dir:
            self.dump(stage, state)

    def dump(self, stage: Stage, state: Compilation) -> None:
        """Write a stage to a numbered file."""
        if stage.name == "cubin":
            return
        folder = Path(self.arguments.dump_dir or ".")
        order = [s.name for s in STAGES].index(stage.name)
        Sink(str(folder / f"{order:02}-{stage.name}{stage.suffix}"), make_folder=True).write(
            stage.show(state)
        )


def show(arguments: Arguments, source: Source) -> int:
    """Print a stage, or the program or derivative as a program."""
    state = checked(source, arguments)
    observer = Observer(arguments)
    sink = Sink(arguments.output or "-")
    if arguments.emit in ("ast", "typed") or (arguments.emit is None and arguments.wrt is None):
        name = arguments.emit or "typed"
        stage = next(s for s in STAGES if s.name == name)
        sink.write(stage.show(state))
        return 0
    from tadc.pipeline import printing_after_all

    with printing_after_all(arguments.print_ir_after_all):
        stage = compile_until(state, arguments.emit or "opt", first="tad", after=observer)
    if arguments.emit is None:
        from tadc.derive import read_back
        from tadc.frontend.printer import print_program

        sink.write(print_program(read_back(state)))
        return 0
    sink.write(stage.show(state))
    return 0


def run_passes_on(arguments: Arguments, source: Source) -> int:
    """Run a pipeline on the `tad` dialect of a program."""
    from tadc.pipeline import printing_after_all, run_passes

    state = checked(source, arguments)
    compile_until(state, "tad", first="tad")
    with printing_after_all(arguments.print_ir_after_all):
        run_passes(state.module, arguments.passes or "", source)
    return write_module(arguments, state)


def lower_ir(arguments: Arguments, source: Source) -> int:
    """Go on from IR of any stage."""
    from tadc.dialect.mlir import ir
    from tadc.dialect.text import parse_module
    from tadc.pipeline import printing_after_all, run_passes

    module = parse_module(source.text, ir.Context(), source.name)
    state = Compilation(options_of(arguments), source, module=module)
    if arguments.passes is not None:
        with printing_after_all(arguments.print_ir_after_all):
            run_passes(module, arguments.passes, source)
    elif arguments.emit is None and arguments.wrt is None:
        pass  # parsed and verified: that is all that was asked
    else:
        first, last = stage_of_module(module), arguments.emit or "opt"
        if last == "tad":
            return write_module(arguments, state)
        if arguments.wrt and arguments.wrt != "*":
            from dataclasses import replace

            state.options = replace(state.options, wrt=tuple(arguments.wrt.split(",")))
        try:
            with printing_after_all(arguments.print_ir_after_all):
                stage = compile_until(state, last, first=first, after=Observer(arguments))
        except ValueError as problem:
            from tadc.frontend.diagnostics import CompileError, Diagnostic

            raise CompileError([Diagnostic("TAD0606", str(problem), source=source)]) from None
        Sink(arguments.output or "-").write(stage.show(state))
        return 0
    return write_module(arguments, state)


def write_module(arguments: Arguments, state: Compilation) -> int:
    """Print the module."""
    from tadc.stages import show_module

    Sink(arguments.output or "-").write(show_module(state))
    return 0
