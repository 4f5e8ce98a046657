"""All options of the command, a line each: parsing, help and completion derive from this table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tadc.backend.target import BACKENDS, UNIT_FORMS
from tadc.commands.messages import FORMATS
from tadc.commands.option_parser import OptionParser, file_name
from tadc.compiler.all_stages import STAGE_NAMES
from tadc.compiler.compile_options import MATERIALIZE
from tadc.compiler.reversals import REVERSALS
from tadc.lattice.late_dataclasses import dataclass

SHELLS = ("bash", "zsh", "fish")
METHODS = ("gum", "worst", "interval", "mc")
THREADS = ("none", "host", "pool")
EMITTED = tuple(dict.fromkeys((*STAGE_NAMES, *UNIT_FORMS)))
LISTS = ("stages", "passes", "functions", "targets")


@dataclass(frozen=True)
class Option:
    """An option: the field of `Arguments` that it sets, its flags, its value, and what it is about.

    Without a `value` it is a flag that is on or off. `several` says how several values are split (see
    `several.py`); then `words` allows more of them to follow, each a word. `files` are the suffixes of files
    that completion offers, `*` for all, and `/` for folders.
    """

    field: str
    flags: str
    value: str
    about: str
    several: str = ""
    words: str = ""
    choices: tuple[Any, ...] = ()
    type: Callable[[str], Any] = str
    files: str = ""
    optional: bool = False

    @property
    def names(self) -> list[str]:
        """The flags; none of what only stands as a word of a command."""
        return self.flags.split()

    def add_to(self, parser: OptionParser) -> None:
        """Add it to a parser."""
        settings: dict[str, Any] = {"dest": self.field}
        if not self.value:
            settings["action"] = "store_true"
        elif self.several:
            settings |= {"action": "extend", "nargs": self.words or 1}
        else:
            settings["type"] = file_name if self.files else self.type
            if self.choices:
                settings["choices"] = self.choices
            if self.optional:
                settings |= {"nargs": "?", "const": ""}
        parser.add_argument(*self.names, **settings)


_ALL = (
    Option("expression", "-e", "TEXT", "a program on the command line instead of FILE"),
    Option("size", "--size", "N=4", "compile for these values of size symbols", several="values"),
    Option("dtype", "--dtype", "T=f32", "the types of type parameters", several="values"),
    Option("wrt", "--wrt", "A,B", "differentiate by these arguments (`*`: all)", several="names"),
    Option("mode", "--mode", "M", "vjp (default): gradients from cotangents; jvp: value and tangents",
           choices=("vjp", "jvp")),
    Option("values", "--values", "", "with --wrt: the outputs as well as the gradients"),
    Option("emit", "--emit", "STAGE", f"print a stage (`--list stages`), or write {', '.join(UNIT_FORMS)}",
           choices=EMITTED),
    Option("prefix", "--prefix", "NAME", "of obj, lib, so, h and wasm: the prefix of function names"),
    Option("threads", "--threads", "T",
           "of these: none (default), host: `tadc_parallel`, or pool: its own",
           choices=THREADS),
    Option("target", "--target", "T", f"{', '.join(BACKENDS)} (default: cpu), or as in cuda:sm_90"),
    Option("output", "-o", "FILE", "where to write; `-` is stdout", files="*"),
    Option("run", "--run", "X=FILE",
           "run on arrays by name: X=x.npy, X=3.5, X=all.npz (its X), X=all.npz:Y",
           several="values", words="*", files="npy npz"),
    Option("bundle", "--bundle", "DIR", "write GPU kernels to run without the compiler", files="/"),
    Option("check_gradient", "--check-gradient", "", "compare gradients with finite differences"),
    Option("certificate", "--certificate", "", "why each gradient is exact (-o FILE.json: as JSON)"),
    Option("stats", "--stats", "", "operations, bytes, temporaries with gradients (-o FILE.json)"),
    Option("plot", "--plot", "FILE", "draw domains, preimages and sums (.svg, .png, .pdf)",
           files="svg png pdf"),
    Option("passes", "--passes", "PIPELINE", "run passes, ours and MLIR's: 'tad-simplify,canonicalize'"),
    Option("load", "--load", "FILE.py", "a Python file that registers your own passes", several="names",
           files="py"),
    Option("print_ir_before", "--print-ir-before", "PASS", "the IR before a pass, to stderr",
           several="names"),
    Option("print_ir_after", "--print-ir-after", "PASS", "the IR after a pass, to stderr",
           several="names"),
    Option("print_ir_after_all", "--print-ir-after-all", "", "the IR after every pass, to stderr"),
    Option("print_ir_after_change", "--print-ir-after-change", "",
           "the IR after every pass that changes it, to stderr"),
    Option("mlir_timing", "--mlir-timing", "", "the time of each pass, to stderr, as MLIR reports it"),
    Option("generic", "--generic", "", "all IR in MLIR's generic form"),
    Option("allow_unregistered_dialect", "--allow-unregistered-dialect", "",
           "also read operations of unknown dialects"),
    Option("split_input_file", "--split-input-file", "", "each piece between `// -----` by itself"),
    Option("verify_diagnostics", "--verify-diagnostics", "",
           "compare diagnostics with `// expected-error@+1 {{text}}`"),
    Option("dump_dir", "--dump-dir", "DIR", "write every stage to a folder", files="/"),
    Option("time", "--time", "", "the time of every stage, to stderr"),
    Option("counts", "--counts", "",
           "with --target emulated: bytes and instructions of each launch, to stderr"),
    Option("opt_level", "--opt-level", "N", "of LLVM: 0 to 3 (3)", choices=(0, 1, 2, 3), type=int),
    Option("materialize", "--materialize", "MODE",
           "store values that would be recomputed: auto, always, never", choices=MATERIALIZE),
    Option("fast_math", "--fast-math", "",
           "let sums be reordered, products and sums fused, exp err by 5 ulp"),
    Option("schedule", "--schedule", "FILE", "the schedule of loops, as `--emit schedule` prints it",
           files="sched"),
    Option("memory_limit", "--memory-limit", "BYTES",
           "largest intermediate to store, such as 64M; others are recomputed"),
    Option("reverse", "--reverse", "HOW",
           "gradients of recurrences: store states, or invert the steps", choices=tuple(REVERSALS)),
    Option("limit", "--limit", "SECONDS", "time limit for trying schedules (30)", type=float),
    Option("reorder", "--reorder", "", "also try schedules that change the order of sums"),
    Option("num_threads", "--num-threads", "N", "threads of a call (TADC_NUM_THREADS)", type=int),
    Option("at", "--at", "V=5,I=.02", "values of the inputs: numbers, or arrays as in V=v.npy",
           several="values", words="+"),
    Option("u", "--u", "V=.003", "standard uncertainties; an input without is exact",
           several="values", words="+"),
    Option("corr", "--corr", "V,I=-.36", "correlations", several="pairs", words="+"),
    Option("cov", "--cov", "V,I=-1e-8", "covariances; V,V=1e-5 is a variance", several="pairs", words="+"),
    Option("dof", "--dof", "V=5", "degrees of freedom (default: infinite)", several="values", words="+"),
    Option("method", "--method", "M",
           "gum: first order, JCGM 100 (default); worst: largest errors in place of --u, linear, no bound; "
           "interval: largest errors, bounds that always hold; mc: Monte Carlo, JCGM 101", choices=METHODS),
    Option("k", "--k", "2", "expanded uncertainty U = k u", type=float),
    Option("budget", "--budget", "", "the contribution of each input"),
    Option("samples", "--samples", "200000", "of --method mc", type=int),
    Option("seed", "--seed", "0", "of --method mc", type=int),
    Option("pieces", "--pieces", "1", "of --method interval: cut the inputs, for tighter bounds", type=int),
    Option("block", "--block", "i=1000", "lengths of blocks along indices (default: one block a worker)"),
    Option("workers", "--workers", "N", "how many workers there are (1)", type=int),
    Option("plan", "--plan", "", "the components, what each overwrites, its class, its cost (default)"),
    Option("product", "--product", "P", "the program of a product: jinv, jinvT or logabsdet",
           choices=("jinv", "jinvT", "logabsdet")),
    Option("fix", "--fix", "", "apply the safe fixes of errors, and write the file"),
    Option("unsafe", "--unsafe", "", "make edits that are guesses too: a name that looks like another"),
    Option("check_style", "--check", "", "write nothing, and list files in another style"),
    Option("watch", "--watch", "", "check again whenever the file changes, until Ctrl-C"),
    Option("list", "--list", "WHAT", "stages, passes, functions, or targets: what runs here, and why not",
           choices=LISTS),
    Option("explain", "--explain", "CODE", "about a code such as TAD0302, or all codes", optional=True),
    Option("shell", "", "SHELL", "bash, zsh or fish", choices=SHELLS),
    Option("action", "", "ACTION", "clear: remove them", choices=("show", "clear"), optional=True),
    Option("names", "", "NAME", "of passes, which are shown alone"),
    Option("files", "", "FILE", "programs, folders of them, or `-`: stdin to stdout"),
    Option("topic", "", "COMMAND", "a command to explain", optional=True),
    Option("allow", "--allow -A", "CODE", "turn off a warning, such as TAD0402", several="names"),
    Option("error_format", "--error-format", "F", "human (default), or json: one object a line on stderr",
           choices=FORMATS),
    Option("json", "--json", "", "the result as JSON"),
    Option("short_help", "-h", "", ""),
    Option("help", "--help", "", "this text (-h: the commands)"),
    Option("version", "--version", "", "the version"),
)  # fmt: skip

OPTIONS = {option.field: option for option in _ALL}
