"""The options of the command: names, help, and errors that say what exists."""

from __future__ import annotations

import argparse
import re
from dataclasses import dataclass

from tadc.commands.files import Sink
from tadc.commands.messages import FORMATS
from tadc.commands.option_parser import OptionParser, UsageError, file_name, sizes_of
from tadc.driver import STAGE_NAMES, STAGES
from tadc.frontend.codes import CODES, WARNINGS
from tadc.stages import MATERIALIZE

SHORT_HELP = """\
tadc: compile tensor expressions and their derivatives

  tadc f.tad                              check, and print the program
  tadc f.tad --wrt a,d                    print the gradients as programs
  tadc f.tad --emit STAGE -o -            print a stage of the compiler
  tadc f.tad --run a=a.npy -o out.npz     run it on arrays
  tadc f.tad --wrt a --run a=a.npy df=df.npy -o out.npz
  tadc f.tad --size N=4096 --emit asm     for one value of a size symbol
  tadc f.tad --target cuda --run a=a.npy  run it on a GPU (`--target emulated`: without one)
  tadc f.tad --check-gradient             gradients against finite differences
  tadc f.tad --wrt d --certificate        why the gradients are exact
  tadc f.tad --size N=4096 --stats        operations, bytes and temporaries, counted
  tadc uncert f.tad --at x=2 --u x=.1     uncertainties of the outputs
  tadc inverse f.tad --plan               how the Jacobian is inverted
  tadc -e 'x: f64[8]; f[i: 3, j: 4] = exp(x[i + j])'
  tadc cache                              kernels on disk; `tadc cache clear` removes them

`tadc --help` explains all options.
"""

EPILOG = """\
FILE is a program (.tad), IR of any stage (.mlir), or `-` for stdin.
`tadc cache`: the kernels on disk; `tadc uncert`: uncertainties; `tadc inverse`: inverse Jacobians.
exit codes: 0 done, 1 wrong program or array, 2 wrong usage, 70 bug of the compiler, 130 interrupted
"""


@dataclass
class Arguments:
    """The command line, parsed."""

    file: str | None
    expression: str | None
    wrt: str | None
    size: list[str] | None
    values: bool
    mode: str | None
    target: str
    emit: str | None
    output: str | None
    run: list[str] | None
    bundle: str | None
    check_gradient: bool
    certificate: bool
    stats: bool
    plot: str | None
    passes: str | None
    load: list[str]
    print_ir_before: list[str]
    print_ir_after: list[str]
    print_ir_after_all: bool
    generic: bool
    split_input_file: bool
    verify_diagnostics: bool
    dump_dir: str | None
    time: bool
    opt_level: int
    materialize: str
    fast_math: bool
    memory_limit: str | None
    list: str | None
    explain: str | None
    allow: list[str]
    error_format: str

    @property
    def wrt_names(self) -> tuple[str, ...] | None:
        """The arguments that `--wrt` names; None is all of them."""
        return None if self.wrt in (None, "*") else tuple(self.wrt.replace(" ", "").split(","))

    @property
    def sizes(self) -> tuple[tuple[str, int], ...]:
        """The values that `--size` gives. Raises UsageError."""
        return tuple(sizes_of(self.size or ()).items())

    @property
    def memory_limit_bytes(self) -> int | None:
        """The bytes that `--memory-limit` gives. Raises UsageError."""
        if self.memory_limit is None:
            return None
        found = re.fullmatch(r"(\d+)([KMG]?)", self.memory_limit, re.ASCII)
        if found is None:
            raise UsageError(
                f"`--memory-limit {self.memory_limit}` is no number of bytes", "write `--memory-limit 64M`"
            )
        return int(found[1]) * 1024 ** " KMG".index(found[2] or " ")

    @property
    def prints_ir(self) -> bool:
        """Whether IR is printed between passes."""
        return bool(self.print_ir_before or self.print_ir_after or self.print_ir_after_all)

    @property
    def is_mlir(self) -> bool:
        """Whether the input is IR."""
        return bool(self.file and self.file.endswith(".mlir"))


def _layout(prog: str) -> argparse.HelpFormatter:
    return argparse.RawDescriptionHelpFormatter(prog, max_help_position=26, width=98)


def make_parser() -> OptionParser:
    """The parser of the command line."""
    p = OptionParser(
        "`tadc --help` explains all options",
        prog="tadc",
        epilog=EPILOG,
        description="Compile tensor expressions and their derivatives.",
        usage="tadc [FILE | -e TEXT] [options]",
        formatter_class=_layout,
    )
    add = p.add_argument
    # The last lines say what it is.
    add("file", type=file_name, nargs="?", metavar="FILE", help=argparse.SUPPRESS)
    add("-e", dest="expression", metavar="TEXT", help="a program on the command line")
    add("--wrt", metavar="A,B", help="differentiate by these arguments (`*`: all)")
    add("--mode", choices=("vjp", "jvp"), metavar="M",
        help="vjp (default): gradients from cotangents; jvp: value and tangents")  # fmt: skip
    add("--size", action="append", metavar="N=4", help="compile for this value of a size symbol")
    add("--values", action="store_true", help="with --wrt: the outputs as well as the gradients")
    add("--emit", choices=STAGE_NAMES, metavar="STAGE", help=f"print a stage: {' '.join(STAGE_NAMES)}")
    add("--target", default="cpu", metavar="T", help="cpu (default), cuda, emulated, or as in cuda:sm_90")
    add("-o", type=file_name, dest="output", metavar="FILE", help="where to write; `-` is stdout")
    add(
        "--run",
        nargs="*",
        metavar="X=FILE",
        help="run on arrays by name: X=x.npy, X=all.npz (its array X), X=all.npz:Y, X=3.5",
    )
    add("--bundle", type=file_name, metavar="DIR", help="write kernels of a GPU to run without the compiler")
    add("--check-gradient", action="store_true", help="random inputs against finite differences")
    add("--certificate", action="store_true", help="why each gradient is exact (-o FILE.json: as JSON)")
    add("--stats", action="store_true", help="operations, bytes, temporaries with gradients (-o FILE.json)")
    add("--plot", type=file_name, metavar="FILE", help="draw domains, preimages and sums (.svg, .png, .pdf)")
    add("--passes", metavar="PIPELINE", help="run passes, ours and MLIR's: 'tad-simplify,canonicalize'")
    add("--load", action="append", default=[], metavar="FILE.py", help="passes of one's own, for --passes")
    add("--print-ir-before", action="append", default=[], metavar="PASS", help="the IR before a pass")
    add("--print-ir-after", action="append", default=[], metavar="PASS", help="the IR after a pass")
    add("--print-ir-after-all", action="store_true", help="the IR after every pass, to stderr")
    add("--generic", action="store_true", help="all IR in MLIR's generic form")
    add("--split-input-file", action="store_true", help="the pieces between `// -----`, each by itself")
    add("--verify-diagnostics", action="store_true", help="against `// expected-error@+1 {{text}}`")
    add("--dump-dir", type=file_name, metavar="DIR", help="write every stage to a folder")
    add("--time", action="store_true", help="the time of every stage, to stderr")
    add("--opt-level", type=int, choices=(0, 1, 2, 3), default=3, metavar="N", help="of LLVM: 0 to 3 (3)")
    add("--materialize", choices=MATERIALIZE, default="auto", metavar="MODE",
        help="tensors for what would be computed again: auto, always, never")  # fmt: skip
    add("--fast-math", action="store_true",
        help="let sums be reordered, products and sums fused, exp and tanh err by 5 ulp")  # fmt: skip
    add("--memory-limit", metavar="BYTES",
        help="of such a tensor, as in 64M (default: what the largest has)")  # fmt: skip
    add(
        "--list",
        choices=("stages", "passes", "functions", "targets"),
        metavar="WHAT",
        help="stages, passes, functions, or targets: what runs here, and why not",
    )
    add("--explain", nargs="?", const="", metavar="CODE", help="about a code such as TAD0302, or all codes")
    add("--allow", "-A", action="append", default=[], metavar="CODE", help="leave out a warning, as TAD0402")
    add("--error-format", choices=FORMATS, default="human", metavar="F",
        help="human (default), or json: one object a line on stderr")  # fmt: skip
    add("-h", dest="short_help", action="store_true", help=argparse.SUPPRESS)
    add("--help", action="store_true", help="this text (-h: a few examples)")
    add("--version", action="store_true", help="the version")
    return p


def parse_arguments(argv: list[str]) -> Arguments | None:
    """Read the command line; None where help or the version was all that was asked for.

    Raises UsageError, and CompileError where stdout cannot be written.
    """
    parser = make_parser()
    found = vars(parser.parse_args(argv))
    short, long, version = (found.pop(k) for k in ("short_help", "help", "version"))
    if version:
        from tadc import __version__

        Sink("-").write(f"tadc {__version__}")
        return None
    if long or short or not argv:
        Sink("-").write(parser.format_help() if long else SHORT_HELP)
        return None
    arguments = Arguments(**found)
    _consistent(arguments)
    if arguments.mode and arguments.wrt is None:
        arguments.wrt = "*"
    return arguments


def _consistent(a: Arguments) -> None:
    """Options that exclude or need each other."""
    a.allow = [code.upper() for code in a.allow]
    for code in a.allow:
        if code not in WARNINGS:
            what = "is an error and stays one" if code in CODES else "is no code"
            raise UsageError(f"`--allow {code}`: `{code}` {what}", f"the warnings are {', '.join(WARNINGS)}")
    if a.list or a.explain is not None:
        if a.file or a.expression:
            raise UsageError(f"`{'--list' if a.list else '--explain'}` takes no program")
        return
    prints = {
        "--time": a.time,
        "--print-ir-before": a.print_ir_before,
        "--print-ir-after": a.print_ir_after,
        "--print-ir-after-all": a.print_ir_after_all,
    }
    other = next((name for name, given in prints.items() if given), None)
    if a.error_format == "json" and other:
        raise UsageError(
            f"`{other}` does not go with `--error-format json`: both write to stderr",
            "`--dump-dir DIR` writes every stage to a file",
        )
    if (a.file is None) == (a.expression is None):
        wrong = "both a FILE and -e TEXT" if a.file else "no program: give a FILE, `-` or -e TEXT"
        raise UsageError(wrong, "`tadc -h` shows examples")
    if a.emit and (a.run is not None or a.check_gradient):
        raise UsageError("`--emit` does not go with `--run` or `--check-gradient`")
    if a.bundle is not None and (a.emit or a.output or a.run is not None or a.check_gradient):
        raise UsageError("`--bundle` does not go with `--emit`, `--run`, `--check-gradient` or `-o`")
    _certificate_alone(a)
    _text_only(a)
    if a.values and (a.mode == "jvp" or not (a.wrt or a.mode)):
        raise UsageError("`--values` goes with `--wrt` or `--mode vjp`; `--mode jvp` returns them anyway")
    if a.mode == "jvp" and (a.check_gradient or a.certificate or a.plot is not None or a.stats):
        raise UsageError("`--mode jvp` has no gradient to check, explain or count", "leave `--mode` out")
    if a.wrt is not None and not all(a.wrt.split(",")):
        raise UsageError("`--wrt` lacks a name", "write `--wrt a,b`, or `--wrt '*'` for all")
    if a.passes is not None and (a.emit or a.wrt or a.mode):
        raise UsageError(
            "`--passes` goes without `--emit`, `--wrt` and `--mode`",
            "name the passes: `--passes 'tad-reverse-diff{wrt=a},tad-cancel-deltas'`",
        )
    _ = a.sizes, a.memory_limit_bytes
    if a.check_gradient and a.output:
        raise UsageError("`--check-gradient` prints a table, it takes no `-o`")
    if a.emit:
        cuda = a.target != "cpu"
        for stage in STAGES:
            only_cuda = stage.name in ("gpu", "nvvm", "ptx", "cubin")
            only_cpu = stage.name in ("loops", "llvm-dialect", "asm")
            if stage.name == a.emit and ((only_cuda and not cuda) or (only_cpu and cuda)):
                wanted = "cuda (as in `--target cuda:sm_90`)" if only_cuda else "cpu"
                raise UsageError(f"stage `{a.emit}` is of target {wanted}, not of `{a.target}`")


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
            raise UsageError(f"`{asked}` does not go with `{option}`")


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
            raise UsageError(f"`{asked}` does not go with `{option}`")
    if asked == "--plot" and a.output:
        raise UsageError("`--plot` takes no `-o`", "add `--certificate` to write that too")


__all__ = ["Arguments", "parse_arguments"]
