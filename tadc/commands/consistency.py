"""Options that exclude or need each other, a line each, and what else is known before anything is read."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from typing import Any

from tadc.backend.target import BACKENDS, UNIT_FORMS, unit_form
from tadc.commands.command_table import Command
from tadc.commands.option_parser import BadUsage
from tadc.commands.option_table import OPTIONS
from tadc.commands.options import Arguments
from tadc.commands.output_files import check_output
from tadc.compiler.all_stages import STAGES
from tadc.compiler.compile_options import Options
from tadc.frontend.codes import CODES, WARNINGS
from tadc.lattice.late_dataclasses import dataclass
from tadc.native.c_names import is_symbol


@dataclass(frozen=True)
class Excluded:
    """Options none of which goes with any of the `others`; `--emit cubin` is that value of one."""

    options: str
    others: str
    why: str = ""
    help: str = ""


@dataclass(frozen=True)
class Wrong:
    """A message for what holds of the arguments; in braces it names their fields."""

    holds: Callable[[Arguments], Any]
    message: str
    help: str = ""


#: What is asked instead of a program's text or IR.
_DONE = "--run, --bundle, --check-gradient"

EXCLUDED = (
    Excluded("--time, --print-ir-before, --print-ir-after, --print-ir-after-all", "--error-format json",
             "both write to stderr", "`--dump-dir DIR` writes every stage to a file"),
    Excluded("--product", "--plan, --plot", help="ask for one after the other"),
    Excluded("--watch", "-o, --fix, --split-input-file, --verify-diagnostics"),
    Excluded("--fix", "--emit, --run, --wrt, --mode, --passes", help="fix the program first"),
    Excluded("--emit", "--run, --check-gradient"),
    Excluded("--bundle", "--emit, --run, --check-gradient, -o"),
    # A certificate, or what is counted, is of the derivative, and of nothing that is printed besides.
    Excluded("--certificate, --plot", "--stats"),
    Excluded("--certificate, --plot, --stats", f"--emit, {_DONE}, --passes, --values"),
    Excluded("--split-input-file, --verify-diagnostics",
             f"{_DONE}, --certificate, --stats, --plot, --dump-dir, --emit cubin"),
    Excluded("--passes", "--emit, --wrt, --mode",
             help="name the passes: `--passes 'tad-reverse-diff{wrt=a},tad-cancel-deltas'`"),
)  # fmt: skip

#: Of commands that are one of the options in which the form without a command has them.
_OF_PROGRAMS = (
    Wrong(lambda a: a.fix and a.is_mlir, "`--fix` is for programs, not for IR"),
    Wrong(lambda a: a.watch and a.file in (None, "-"), "`--watch` is of a file",
          "name one: `tadc check --watch f.tad`"),
    Wrong(lambda a: a.generic and not _shows_ir(a), "`--generic` is a form of IR, and none is printed",
          "add `--emit tad`, or another stage of IR"),
    Wrong(lambda a: a.reverse != "store" and (a.mode == "jvp" or not a.wrt),
          "`--reverse` goes with `--wrt` or `--mode vjp`: it is about gradients"),
    Wrong(lambda a: a.values and (a.mode == "jvp" or not (a.wrt or a.mode)),
          "`--values` goes with `--wrt` or `--mode vjp`; `--mode jvp` returns them anyway"),
    Wrong(lambda a: a.mode == "jvp" and given(a, "--check-gradient, --certificate, --plot, --stats"),
          "`--mode jvp` has no gradient to check, explain or count", "leave `--mode` out"),
    Wrong(lambda a: a.counts and (a.run is None or a.target != "emulated"),
          "`--counts` is of what the emulator runs", "`tadc run … --target emulated --counts`"),
    Wrong(lambda a: a.plot is not None and a.output, "`--plot` takes no `-o`",
          "add `--certificate` to write that too"),
    Wrong(lambda a: a.check_gradient and a.output, "`--check-gradient` prints a table, it takes no `-o`"),
)  # fmt: skip

_OF_UNCERTAINTIES = (
    Wrong(lambda a: not a.k > 0 or math.isinf(a.k), "`--k {k:g}` is no positive number"),
    Wrong(lambda a: a.samples < 2, "`--samples {samples}` is too few"),
    Wrong(lambda a: a.seed < 0, "`--seed {seed}` is less than 0"),
    Wrong(lambda a: a.pieces < 1 or (a.pieces > 1 and a.method != "interval"),
          "`--pieces {pieces}`: a number from 1 on, of `--method interval`"),
    Wrong(lambda a: a.budget and a.method in ("interval", "mc"), "`--method {method}` has no budget",
          "`--method gum` and `worst` have one"),
    Wrong(lambda a: a.output not in (None, "-") and not a.output.endswith(".json"),
          "`-o {output}`: results are written as JSON", "let its name end in .json"),
)  # fmt: skip

_OF_BLOCKS = (
    Wrong(lambda a: a.workers is not None and a.workers < 1, "`--workers {workers}`: there is at least one"),
    Wrong(lambda a: not re.fullmatch(r"(\w+(=[1-9]\d*)?(,|$))*", a.block or ""),
          "`--block {block}` names no lengths of blocks", "write `--block i=1000`, or `--block i=1000,j=10`"),
)  # fmt: skip

_OF_TUNING = (
    Wrong(lambda a: BACKENDS.get(a.target.partition(":")[0], BACKENDS["cpu"]).launches_kernels,
          "`tadc tune` times kernels of a CPU, not of `{target}`",
          "leave `--target` out, or name a CPU: `tadc list targets`"),
    Wrong(lambda a: not a.limit >= 0, "`--limit {limit:g}` is no number of seconds"),
)  # fmt: skip

_OF_UNITS = (
    Wrong(lambda a: a.prefix is not None and not is_symbol(a.prefix),
          "`--prefix {prefix}`: no name for functions of C",
          "letters, digits and `_`, a letter first, no `__`, and no name that C or its library has"),
    Wrong(lambda a: a.schedule and a.wrt, "`--schedule` does not go with `--emit {emit}` and `--wrt`",
          "a schedule is of one function, and there are several"),
    Wrong(lambda a: a.dump_dir,
          "`--dump-dir` does not go with `--emit {emit}`, which makes several functions"),
)  # fmt: skip


def check_consistency(a: Arguments, command: Command) -> None:
    """Check all that can be known from the command line alone. Raises BadUsage."""
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
    if (a.file is None) == (a.expression is None):
        wrong = "both a FILE and -e TEXT" if a.file else "no program: give a FILE, `-` or -e TEXT"
        help = f"write `{command.example}`" if command.name else "`tadc -h` shows the commands"
        raise BadUsage(wrong, help)
    _ = a.sizes, a.memory_limit_bytes
    if a.wrt is not None and not all(a.wrt.split(",")):
        raise BadUsage("`--wrt` lacks a name", "write `--wrt a,b`, or `--wrt '*'` for all")
    _check_excluded(a)
    if command.name == "uncert":
        _refuse(a, _OF_UNCERTAINTIES)
    elif command.name == "plan":
        _refuse(a, _OF_BLOCKS)
    elif command.name != "inverse":
        _refuse(a, _OF_TUNING if command.name == "tune" else ())
        _refuse(a, _OF_PROGRAMS)
        if a.target == "wasm32" and a.emit is None and (a.output or "").endswith(".wasm"):
            a.emit = "wasm"
        if a.emit:
            _of_target(a)
        _of_units(a)
        if a.mode and a.wrt is None:
            a.wrt = "*"
    check_output(a)


def given(a: Arguments, options: str) -> str:
    """The first of some options that is given, if one is."""
    return next((option for option in options.split(", ") if _is_given(a, option)), "")


_FIELDS = {flag: option.field for option in OPTIONS.values() for flag in option.names}
_DEFAULTS = Arguments()


def _is_given(a: Arguments, option: str) -> bool:
    flag, _, value = option.partition(" ")
    found = getattr(a, _FIELDS[flag])
    return found == value if value else found != getattr(_DEFAULTS, _FIELDS[flag])


def _check_excluded(a: Arguments) -> None:
    for line in EXCLUDED:
        if (one := given(a, line.options)) and (other := given(a, line.others)):
            why = f": {line.why}" if line.why else ""
            raise BadUsage(f"`{one}` does not go with `{other}`{why}", *([line.help] if line.help else []))


def _refuse(a: Arguments, lines: Iterable[Wrong]) -> None:
    for line in lines:
        if line.holds(a):
            raise BadUsage(line.message.format_map(vars(a)), *([line.help] if line.help else []))


def _shows_ir(a: Arguments) -> bool:
    """Whether IR is printed or written."""
    emits = next((stage.suffix == ".mlir" for stage in STAGES if stage.name == a.emit), False)
    return bool(emits or a.is_mlir or a.file == "-" or a.passes is not None or a.prints_ir or a.dump_dir)


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
    wanted = a.target.partition(":")[0]
    if wanted in BACKENDS and wanted not in having:
        *others, last = (f"`{name}`" for name in having)
        of = f"{', '.join(others)} or {last}" if others else last
        raise BadUsage(f"stage `{a.emit}` is of target {of}, not of `{a.target}`")


def _of_units(a: Arguments) -> None:
    """What is said of libraries is said where one is written, and all of it is of all their functions."""
    form = unit_form(a.target, a.emit)
    if form is None:
        if option := given(a, "--prefix, --threads"):
            names = ", ".join(UNIT_FORMS)
            raise BadUsage(f"`{option}` goes with `--emit` of one of {names}, of a target that has it")
        return
    _refuse(a, _OF_UNITS)
    if form.make is None and form.name not in ("h", "js") and not a.output:
        raise BadUsage(f"`--emit {a.emit}` needs `-o FILE`", f"add `-o f{form.suffix}`, or `-o -` for stdout")
