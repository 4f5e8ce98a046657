"""What each form of the command does."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from importlib import import_module
from pathlib import Path

from tadc.backend.compile_steps import step
from tadc.backend.target import unit_form
from tadc.caller.program_files import read_text
from tadc.commands.files import Sink, file_error
from tadc.commands.given_program import is_ir, read_program
from tadc.commands.nest_files import is_nest, show_nests
from tadc.commands.option_parser import BadUsage
from tadc.commands.options import Arguments
from tadc.commands.warn import report_warnings, warn_of_zero_gradients
from tadc.compiler.all_stages import STAGES, LoweringStage, compile_until
from tadc.compiler.compile_options import Options
from tadc.compiler.derive import read_back, resolve_wrt
from tadc.compiler.stages import Compilation
from tadc.frontend.codes import CODES, explanation
from tadc.frontend.per_value import PerValue
from tadc.frontend.printer import print_program, size_conditions_text
from tadc.frontend.program import Program
from tadc.frontend.source import Source
from tadc.frontend.suggest import did_you_mean

#: Commands with a module of their name, whose `execute` does all of it.
APART = ("cache", "completion", "fmt", "help", "import", "inverse", "lsp", "plan", "uncert")


def execute(arguments: Arguments) -> int:
    """Do what the command line asks; the exit code. Raises CompileError."""
    if arguments.command in APART:
        module = "import_model" if arguments.command == "import" else arguments.command
        return import_module(f"tadc.commands.{module}").execute(arguments)
    with ExitStack() as around:
        if arguments.load or arguments.generic or arguments.prints_ir:
            from tadc.commands.passes import with_passes

            around.enter_context(with_passes(arguments))
        if arguments.list:
            return import_module("tadc.commands.listed_names").list_names(
                arguments.list, arguments.names, arguments.json
            )
        if arguments.explain is not None:
            return explain(arguments.explain)
        if arguments.dump_dir and Path(arguments.dump_dir).exists() and not Path(arguments.dump_dir).is_dir():
            raise file_error(f"`--dump-dir {arguments.dump_dir}` names a file, not a folder")
        if arguments.watch:
            from tadc.commands.check_on_change import check_on_change

            check_on_change(arguments, lambda again: execute_on(again, read_program(again)))
        source = read_program(arguments)
        if arguments.fix and not is_nest(arguments, source):
            from tadc.commands.fix import fix

            return fix(arguments, source)
        if arguments.split_input_file or arguments.verify_diagnostics:
            from tadc.commands.split_file import in_pieces

            return in_pieces(arguments, source, execute_on)
        return execute_on(arguments, source)


def execute_on(arguments: Arguments, source: Source) -> int:
    """Do what the arguments ask for on the text of a program, a module or nests."""
    if is_nest(arguments, source):
        return show_nests(arguments, source)
    if arguments.certificate or arguments.plot is not None:
        return show_certificate(arguments, source)
    if arguments.stats:
        return show_statistics(arguments, source)
    runs = (
        arguments.run is not None
        or arguments.command == "tune"
        or arguments.check_gradient
        or arguments.bundle is not None
    )
    form = unit_form(arguments.target, arguments.emit)
    if form is not None and (form.make is None or not is_ir(arguments, source)):
        from tadc.commands.native import write_unit

        return write_unit(arguments, checked(source, replace(arguments, reverse="store")))
    if is_ir(arguments, source) and not runs:
        if arguments.emit != "typed":
            from tadc.commands.ir import lower_ir

            return lower_ir(arguments, options_of(arguments), source, Observer(arguments))
    elif arguments.passes is not None:
        return run_passes_on(arguments, source)
    if arguments.check_gradient:
        from tadc.commands.array_files import read_arrays
        from tadc.commands.gradient_check import check_gradient

        state = checked(source, arguments)
        assert state.program is not None
        given = read_arrays(arguments.run or [], [a.name for a in state.program.arguments])
        if arguments.wrt:
            warn_of_zero_gradients(arguments, state.program)
        return check_gradient(state, arguments.wrt_names, given, arguments.json)
    if arguments.bundle is not None:
        from tadc.commands.bundle import write_bundle
        from tadc.commands.given_function import function_asked

        state = checked(source, arguments)
        write_bundle(function_asked(arguments, state).program, state.options.of_derived, arguments.bundle)
        return 0
    if arguments.command == "tune":
        from tadc.commands.tune import tune

        return tune(arguments, checked(source, arguments))
    if arguments.run is not None:
        from tadc.commands.run import run

        return run(arguments, checked(source, arguments))
    return show(arguments, source)


def explain(word: str) -> int:
    """Print the page of a code, or without one the titles of all. Raises BadUsage for an unknown code."""
    code = word.upper()
    if not code:
        Sink("-").write("\n".join(f"{code}  {title}" for code, title in CODES.items()))
    elif code in CODES:
        Sink("-").write(explanation(code))
    else:
        raise BadUsage(f"no code `{word}`", *did_you_mean(code, CODES), "`tadc explain` lists all codes")
    return 0


def options_of(arguments: Arguments) -> Options:
    """The compiler options of a command line."""
    from tadc.backend.target import parse_target

    mode = "value"
    # A delta is only in a derivative: its stages without --wrt show that by all arguments.
    if arguments.mode == "jvp":
        mode = "jvp"
    elif arguments.wrt or arguments.emit in ("diff", "cancel"):
        mode = "value-and-vjp" if arguments.values else "vjp"
    target = parse_target(arguments.target)
    level, sizes = arguments.opt_level, arguments.sizes
    return Options(
        mode,
        None,
        target,
        level,
        sizes,
        materialize=arguments.materialize,
        fast_math=arguments.fast_math,
        memory_limit=arguments.memory_limit_bytes,
        schedule=Source(read_text(arguments.schedule), arguments.schedule) if arguments.schedule else None,
    )


def checked(source: Source, arguments: Arguments) -> Compilation:
    """The program, parsed and checked, with the arguments to differentiate by resolved."""
    state = Compilation(Options(sizes=arguments.sizes), source)
    if is_ir(arguments, source):
        from tadc.commands.ir import program_of
        from tadc.frontend.specialise import specialised

        state.program = specialised(program_of(source), dict(arguments.sizes))
    else:
        compile_until(state, "typed", after=Observer(arguments))
        if state.per_value is not None:
            state.program = program_for_values(arguments, state.per_value)
        found = state.program or (state.per_value and state.per_value.example)
        report_warnings(arguments, found.doubts if found else ())
    state.options = options_of(arguments)
    if state.options.differentiates:
        assert state.program is not None
        state.options = replace(state.options, wrt=resolve_wrt(state.program, arguments.wrt_names))
    if arguments.reverse == "store":
        return state
    from tadc.commands.given_function import function_asked

    options = replace(state.options.of_derived, reverse=arguments.reverse)
    return Compilation(options, state.source, program=function_asked(arguments, state).program)


def program_for_values(arguments: Arguments, found: PerValue) -> Program | None:
    """The program for the values that arrays tell, none where it is only shown. Raises CompileError."""
    if arguments.certificate or arguments.plot is not None:
        return found.example
    if arguments.run is not None:
        from tadc.commands.array_files import read_inputs

        arrays = read_inputs(arguments.run, [a.name for a in found.example.arguments])
        shapes = {name: getattr(value, "shape", ()) for name, value in arrays.items()}
        return found.at({**found.values(shapes, arrays), **dict(arguments.sizes)})
    if (
        arguments.wrt
        or arguments.stats
        or arguments.check_gradient
        or arguments.bundle is not None
        or arguments.emit not in (None, "ast", "typed")
    ):
        raise found.needs_values()
    return None


class Observer:
    """Sees each stage: `--dump-dir`."""

    def __init__(self, arguments: Arguments) -> None:
        self.arguments = arguments

    def __call__(self, stage: LoweringStage, state: Compilation, seconds: float) -> None:
        """Note a stage that is done."""
        if self.arguments.dump_dir:
            self.dump(stage, state)

    def dump(self, stage: LoweringStage, state: Compilation) -> None:
        """Write a stage to a numbered file."""
        content = stage.show(state)
        if isinstance(content, bytes):
            return
        folder = Path(self.arguments.dump_dir or ".")
        order = [s.name for s in STAGES].index(stage.name)
        Sink(str(folder / f"{order:02}-{stage.name}{stage.suffix}"), make_folder=True).write(content)


def show(arguments: Arguments, source: Source) -> int:
    """Print a stage, or the program or derivative as a program."""
    state = checked(source, arguments)
    if arguments.emit and state.program is not None:
        state.options = as_tuned(state)
    observer = Observer(arguments)
    sink = Sink(arguments.output or "-")
    watched = arguments.prints_ir or arguments.dump_dir
    if arguments.emit in ("ast", "typed") or (not arguments.emit and arguments.wrt is None and not watched):
        stage = next(s for s in STAGES if s.name == (arguments.emit or "typed"))
        shown_program = str(stage.show(state))
        if stage.name == "typed" and state.program is not None:
            shown_program = size_conditions_text(state.program) + shown_program
        sink.write(shown_program)
        return 0
    shown: list[str | bytes] = []

    def after(stage: LoweringStage, state: Compilation, seconds: float) -> None:
        observer(stage, state, seconds)
        if stage.name == "opt" and (arguments.wrt or not arguments.emit):
            derived = read_back(state)
            if not arguments.emit:
                shown.append(print_program(derived))
            if state.options.differentiates:
                assert state.program is not None
                warn_of_zero_gradients(arguments, state.program, derived)

    last = arguments.emit or (last_text(state.options) if arguments.dump_dir else "opt")
    stage = compile_until(state, last, first="tad", after=after)
    sink.write(stage.show(state) if arguments.emit else shown[0])
    if arguments.wrt and arguments.emit in ("tad", "diff", "cancel"):
        assert state.program is not None
        warn_of_zero_gradients(arguments, state.program)
    return 0


def as_tuned(state: Compilation) -> Options:
    """The options of what is shown, with the schedule that `tadc tune` found for it."""
    from tadc.api.tuned import with_tuned
    from tadc.commands.given_function import recipe_asked

    found = with_tuned(recipe_asked(state), replace(state.options.of_derived, sizes=()))
    return replace(state.options, schedule=found.schedule)


def show_certificate(arguments: Arguments, source: Source) -> int:
    """Print why the gradients are exact, or draw it."""
    from tadc.certificates.certify import certify

    kind = ""
    if arguments.plot is not None:
        from tadc.commands.certificate_plot import picture_format

        kind = picture_format(arguments.plot)
    state = checked(source, arguments)
    assert state.program is not None
    symbols = state.per_value.symbols if state.per_value else ()
    with step("certify"):
        found = certify(state.program, arguments.wrt_names, Observer(arguments), symbols)
    if arguments.plot is not None:
        from tadc.commands.certificate_plot import draw

        with step("draw"):
            picture = draw(found, kind)
        Sink(arguments.plot).write(picture)
    if arguments.certificate:
        output = arguments.output or "-"
        Sink(output).write(found.as_json() if output.endswith(".json") else str(found))
    return 0


def show_statistics(arguments: Arguments, source: Source) -> int:
    """Print what the program and its gradients compute, move and keep."""
    from tadc.analysis.statistics import statistics

    state = checked(source, arguments)
    assert state.program is not None
    found = statistics(state.program, arguments.wrt_names, state.options)
    output = arguments.output or "-"
    Sink(output).write(found.as_json() if arguments.json or output.endswith(".json") else str(found))
    return 0


def last_text(options: Options) -> str:
    """The last stage that has a text."""
    return options.backend.forms[0].name


def run_passes_on(arguments: Arguments, source: Source) -> int:
    """Run a pipeline on the `tad` dialect of a program."""
    from tadc.compiler.run_passes import run_passes

    state = checked(source, arguments)
    compile_until(state, "tad", first="tad")
    with step("passes"):
        run_passes(state.module, arguments.passes or "", source)
    return write_module(arguments, state)


def write_module(arguments: Arguments, state: Compilation) -> int:
    """Print the module."""
    from tadc.compiler.stages import show_module

    Sink(arguments.output or "-").write(show_module(state))
    return 0
