"""Options that exclude or need each other. Raises BadUsage before anything is read."""

from __future__ import annotations

import math

from tadc.backend.target import BACKENDS, UNIT_FORMS, unit_form
from tadc.commands.command_table import Command
from tadc.commands.option_parser import BadUsage
from tadc.commands.options import Arguments
from tadc.commands.output_files import check_output
from tadc.compiler.all_stages import STAGES
from tadc.compiler.compile_options import Options
from tadc.frontend.codes import CODES, WARNINGS
from tadc.native.c_names import is_symbol


def check_consistency(a: Arguments, command: Command) -> None:
    """Check all that can be known from the command line alone."""
    a.allow = [code.upper() for code in a.allow]
    for code in a.allow:
        if code not in WARNINGS:
            what = "is an error and stays one" if code in CODES else "is no code"
            raise BadUsage(f"`--allow {code}`: `{code}` {what}", f"the warnings are {', '.join(WARNINGS)}")
    if a.list or a.explain is not None:
        if a.file or a.expression:
            raise BadUsage(f"`{'--list' if a.list else '--explain'}` takes no program")
        return
    if not command.takes_program:
        return
    prints = {
        "--time": a.time,
        "--print-ir-before": a.print_ir_before,
        "--print-ir-after": a.print_ir_after,
        "--print-ir-after-all": a.print_ir_after_all,
    }
    other = next((name for name, given in prints.items() if given), None)
    if a.error_format == "json" and other:
        raise BadUsage(
            f"`{other}` does not go with `--error-format json`: both write to stderr",
            "`--dump-dir DIR` writes every stage to a file",
        )
    if (a.file is None) == (a.expression is None):
        wrong = "both a FILE and -e TEXT" if a.file else "no program: give a FILE, `-` or -e TEXT"
        raise BadUsage(
            wrong, f"write `{command.example}`" if command.name else "`tadc -h` shows the commands"
        )
    _ = a.sizes, a.memory_limit_bytes
    if a.wrt is not None and not all(a.wrt.split(",")):
        raise BadUsage("`--wrt` lacks a name", "write `--wrt a,b`, or `--wrt '*'` for all")
    if command.name == "uncert":
        _uncertainties(a)
    elif command.name == "inverse":
        if a.product is not None and (a.plan or a.plot):
            other = "--plan" if a.plan else "--plot"
            raise BadUsage(f"`--product` does not go with `{other}`", "ask for one after the other")
    else:
        _one_thing(a)
        if a.mode and a.wrt is None:
            a.wrt = "*"
    check_output(a)


def _one_thing(a: Arguments) -> None:
    """A command does one thing, and options that do not matter to it are errors."""
    others = {
        "--emit": a.emit,
        "--run": a.run is not None,
        "--wrt": a.wrt,
        "--mode": a.mode,
        "--passes": a.passes,
    }
    if a.fix and (other := next((option for option, given in others.items() if given), "")):
        raise BadUsage(f"`--fix` does not go with `{other}`", "fix the program first")
    if a.fix and a.is_mlir:
        raise BadUsage("`--fix` is for programs, not for IR")
    if a.emit and (a.run is not None or a.check_gradient):
        raise BadUsage("`--emit` does not go with `--run` or `--check-gradient`")
    if a.bundle is not None and (a.emit or a.output or a.run is not None or a.check_gradient):
        raise BadUsage("`--bundle` does not go with `--emit`, `--run`, `--check-gradient` or `-o`")
    _certificate_alone(a)
    _text_only(a)
    _shows_ir(a)
    if a.reverse != "store" and (a.mode == "jvp" or not a.wrt):
        raise BadUsage("`--reverse` goes with `--wrt` or `--mode vjp`: it is about gradients")
    if a.values and (a.mode == "jvp" or not (a.wrt or a.mode)):
        raise BadUsage("`--values` goes with `--wrt` or `--mode vjp`; `--mode jvp` returns them anyway")
    if a.mode == "jvp" and (a.check_gradient or a.certificate or a.plot is not None or a.stats):
        raise BadUsage("`--mode jvp` has no gradient to check, explain or count", "leave `--mode` out")
    if a.passes is not None and (a.emit or a.wrt or a.mode):
        raise BadUsage(
            "`--passes` goes without `--emit`, `--wrt` and `--mode`",
            "name the passes: `--passes 'tad-reverse-diff{wrt=a},tad-cancel-deltas'`",
        )
    if a.counts and (a.run is None or a.target != "emulated"):
        raise BadUsage("`--counts` is of what the emulator runs", "`tadc run … --target emulated --counts`")
    if a.check_gradient and a.output:
        raise BadUsage("`--check-gradient` prints a table, it takes no `-o`")
    if a.target == "wasm32" and a.emit is None and (a.output or "").endswith(".wasm"):
        a.emit = "wasm"
    if a.emit:
        _of_target(a)
    _of_units(a)


def _of_target(a: Arguments) -> None:
    """A stage that the target does not have; what is no target is said later."""
    stage = next((stage for stage in STAGES if stage.name == a.emit), None)
    # Of a derivative, to have its stages too.
    having = [
        name
        for name, backend in BACKENDS.items()
        if (stage and stage.when(Options("vjp", target=backend.target(""))))
        or any(form.name == a.emit for form in backend.forms)
    ]
    given = a.target.partition(":")[0]
    if given in BACKENDS and given not in having:
        *others, last = (f"`{name}`" for name in having)
        wanted = f"{', '.join(others)} or {last}" if others else last
        raise BadUsage(f"stage `{a.emit}` is of target {wanted}, not of `{a.target}`")


def _of_units(a: Arguments) -> None:
    """What is said of libraries is said where one is written, and all of it is of all their functions."""
    form = unit_form(a.target, a.emit)
    names = ", ".join(UNIT_FORMS)
    for option, given in {"--prefix": a.prefix is not None, "--threads": a.threads}.items():
        if given and form is None:
            raise BadUsage(f"`{option}` goes with `--emit` of one of {names}, of a target that has it")
    if form is None:
        return
    if a.prefix is not None and not is_symbol(a.prefix):
        raise BadUsage(
            f"`--prefix {a.prefix}`: no name for functions of C",
            "letters, digits and `_`, a letter first, no `__`, and no name that C or its library has",
        )
    if a.schedule and a.wrt:
        raise BadUsage(
            f"`--schedule` does not go with `--emit {a.emit}` and `--wrt`",
            "a schedule is of one function, and there are several",
        )
    if a.dump_dir:
        raise BadUsage(f"`--dump-dir` does not go with `--emit {a.emit}`, which makes several functions")
    if form.make is None and form.name not in ("h", "js") and not a.output:
        raise BadUsage(f"`--emit {a.emit}` needs `-o FILE`", f"add `-o f{form.suffix}`, or `-o -` for stdout")


def _text_only(a: Arguments) -> None:
    """Pieces of a file, and what is expected of them, go with what prints programs and IR."""
    asked = "--split-input-file" if a.split_input_file else "--verify-diagnostics"
    others = {
        "--run": a.run is not None,
        "--bundle": a.bundle is not None,
        "--check-gradient": a.check_gradient,
        "--certificate": a.certificate,
        "--stats": a.stats,
        "--plot": a.plot is not None,
        "--dump-dir": a.dump_dir,
        "--emit cubin": a.emit == "cubin",
    }
    for option, given in others.items():
        if given and (a.split_input_file or a.verify_diagnostics):
            raise BadUsage(f"`{asked}` does not go with `{option}`")


def _shows_ir(a: Arguments) -> None:
    """The generic form is one of IR."""
    emits = next((stage.suffix == ".mlir" for stage in STAGES if stage.name == a.emit), False)
    is_ir = a.is_mlir or a.file == "-" or a.passes is not None
    if a.generic and not (emits or is_ir or a.prints_ir or a.dump_dir):
        raise BadUsage(
            "`--generic` is a form of IR, and none is printed", "add `--emit tad`, or another stage of IR"
        )


def _certificate_alone(a: Arguments) -> None:
    """A certificate, or what is counted, is of the derivative, and of nothing that is printed besides."""
    asked = "--certificate" if a.certificate else "--plot" if a.plot is not None else ""
    asked = asked or ("--stats" if a.stats else "")
    others = {
        "--stats": a.stats and asked != "--stats",
        "--emit": a.emit,
        "--run": a.run is not None,
        "--bundle": a.bundle is not None,
        "--check-gradient": a.check_gradient,
        "--passes": a.passes is not None,
        "--values": a.values,
    }
    for option, given in others.items():
        if asked and given:
            raise BadUsage(f"`{asked}` does not go with `{option}`")
    if asked == "--plot" and a.output:
        raise BadUsage("`--plot` takes no `-o`", "add `--certificate` to write that too")


def _uncertainties(a: Arguments) -> None:
    """The numbers of `tadc uncert`."""
    if not a.k > 0 or math.isinf(a.k):
        raise BadUsage(f"`--k {a.k:g}` is no positive number")
    if a.samples < 2:
        raise BadUsage(f"`--samples {a.samples}` is too few")
    if a.seed < 0:
        raise BadUsage(f"`--seed {a.seed}` is less than 0")
    if a.pieces < 1 or (a.pieces > 1 and a.method != "interval"):
        raise BadUsage(f"`--pieces {a.pieces}`: a number from 1 on, of `--method interval`")
    if a.budget and a.method in ("interval", "mc"):
        raise BadUsage(f"`--method {a.method}` has no budget", "`--method gum` and `worst` have one")
    if a.output not in (None, "-") and not a.output.endswith(".json"):
        raise BadUsage(f"`-o {a.output}`: results are written as JSON", "let its name end in .json")
