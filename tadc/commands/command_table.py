"""The commands behind `tadc`, a line each over the table of options; help and completion derive from it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tadc.commands.option_table import OPTIONS, Option
from tadc.lattice.late_dataclasses import dataclass, field

_PROGRAM = "expression size dtype allow error_format"
_DERIVATIVE = "wrt mode values reverse"
_KERNEL = "target opt_level materialize fast_math memory_limit schedule"
_TENSORS = "materialize memory_limit"
_DUMPS = "generic print_ir_before print_ir_after print_ir_after_all print_ir_after_change mlir_timing"
_LOOK = f"time dump_dir {_DUMPS}"
_PIECES = "split_input_file verify_diagnostics"
_UNCERTAIN = "at u corr cov dof method k budget samples seed pieces"
_TUNING = "limit reorder num_threads"
_HELP = "short_help help"


@dataclass(frozen=True)
class Command:
    """A command: `tadc NAME` with these options is `tadc` with what it `sets`, and is done as that.

    Its first word sets the field `word`, those after it `words`, those after the FILE the field `arrays`, and
    `-o`, which it then needs, the field `output`.
    """

    name: str
    group: str
    about: str
    options: str
    example: str
    sets: Mapping[str, Any] = field(default_factory=dict[str, Any])
    word: str = ""
    arrays: str = ""
    words: str = ""
    output: str = ""
    takes_program: bool = True

    @property
    def taken(self) -> list[Option]:
        """Its options, in order."""
        return [OPTIONS[name] for name in self.options.split()]

    @property
    def done(self) -> set[str]:
        """The fields of the options in whose place it stands."""
        return {*self.sets, self.word, self.output}

    @property
    def usage(self) -> str:
        """How it is written."""
        parts = ["tadc", *([self.name] if self.name else [])]
        if self.word:
            word = OPTIONS[self.word]
            parts.append(f"[{word.value}]" if word.optional else word.value)
        if self.words:
            parts.append(f"[{OPTIONS[self.words].value} …]")
        if self.takes_program:
            parts.append("FILE")
        if self.arrays:
            parts.append("[X=FILE …]")
        if self.output:
            parts.append(f"-o {OPTIONS[self.output].value}")
        return " ".join([*parts, *(["[options]"] if self.takes_program else [])])


_ALL = (
    Command("check", "programs", "check a program, and print it with all ranges",
            f"{_PROGRAM} output fix watch {_LOOK} {_PIECES} {_HELP}", "tadc check f.tad"),
    Command("fix", "programs", "do what errors say where nothing else can be meant",
            f"{_PROGRAM} output unsafe {_HELP}", "tadc fix f.tad", {"fix": True}),
    Command("fmt", "programs", "write programs in one style; comments stay",
            f"check_style error_format {_HELP}", "tadc fmt f.tad", words="files", takes_program=False),
    Command("run", "programs", "run a program or its derivative on arrays",
            f"{_PROGRAM} output {_DERIVATIVE} {_KERNEL} counts time {_HELP}",
            "tadc run f.tad x=x.npy w=w.npy -o out.npz", {"run": []}, arrays="run"),
    Command("uncert", "programs", "uncertainties of the outputs",
            f"{_PROGRAM} output {_UNCERTAIN} json time {_HELP}",
            "tadc uncert f.tad --at V=4.999,I=.0197 --u V=3.2e-3,I=9.5e-6"),
    Command("import", "programs", "print a model of ONNX, MLIR or torch.export as a program",
            f"output error_format {_HELP}", "tadc import model.onnx -o model.tad"),
    Command("diff", "derivatives", "print gradients or tangents as a program",
            f"{_PROGRAM} output {_DERIVATIVE} {_TENSORS} {_LOOK} {_PIECES} {_HELP}",
            "tadc diff f.tad --wrt a,d", {"wrt": ["*"]}),
    Command("gradcheck", "derivatives", "gradients against finite differences",
            f"{_PROGRAM} wrt {_TENSORS} fast_math json time {_HELP}",
            "tadc gradcheck f.tad", {"check_gradient": True}, arrays="run"),
    Command("certificate", "derivatives", "why the gradients are exact",
            f"{_PROGRAM} output wrt {_LOOK} {_HELP}",
            "tadc certificate f.tad --wrt d", {"certificate": True}),
    Command("plot", "derivatives", "draw domains, preimages and sums",
            f"{_PROGRAM} output wrt time {_HELP}", "tadc plot f.tad --wrt d -o f.svg", output="plot"),
    Command("stats", "derivatives", "counts of operations, bytes and intermediates",
            f"{_PROGRAM} output wrt {_TENSORS} json time {_DUMPS} {_HELP}",
            "tadc stats f.tad --size N=4096", {"stats": True}),
    Command("inverse", "derivatives", "how products with the inverse Jacobian are computed",
            f"{_PROGRAM} output plan product plot wrt time {_HELP}", "tadc inverse f.tad --plan"),
    Command("plan", "derivatives", "the blocks of a program, and their cost on many workers",
            f"{_PROGRAM} output block workers wrt certificate plot time {_HELP}",
            "tadc plan f.tad --size N=1000000 --workers 100"),
    Command("emit", "the compiler", "print a stage: MLIR, LLVM IR, assembly, PTX, …",
            f"{_PROGRAM} output {_DERIVATIVE} prefix threads {_KERNEL} {_LOOK} {_PIECES} {_HELP}",
            "tadc emit asm f.tad --size N=4096 -o f.s", word="emit"),
    Command("tune", "the compiler", "time schedules on this machine, and keep the fastest",
            f"{_PROGRAM} output {_TUNING} {_DERIVATIVE} {_TENSORS} target opt_level "
            f"fast_math {_HELP}",
            "tadc tune f.tad --size N=1000 --limit 60", arrays="run"),
    Command("passes", "the compiler", "run passes, ours and MLIR's, on a program or on IR",
            f"{_PROGRAM} output load time {_DUMPS} allow_unregistered_dialect {_PIECES} {_HELP}",
            "tadc passes tad-simplify,canonicalize f.mlir", word="passes"),
    Command("bundle", "the compiler", "write GPU kernels to run without the compiler",
            f"{_PROGRAM} output {_DERIVATIVE} {_KERNEL} time {_HELP}",
            "tadc bundle f.tad --target cuda:sm_90 -o kernels", output="bundle"),
    Command("lsp", "programs", "serve an editor by LSP: errors, meanings, names, fixes",
            f"error_format {_HELP}", "tadc lsp", takes_program=False),
    Command("explain", "about", "what an error or a warning means", f"error_format {_HELP}",
            "tadc explain TAD0302", word="explain", takes_program=False),
    Command("list", "about", "the stages, passes, functions or targets", f"load json error_format {_HELP}",
            "tadc list passes tad-reverse-diff", word="list", words="names", takes_program=False),
    Command("cache", "about", "kernels and tuned schedules on disk; `tadc cache clear` removes them",
            f"error_format {_HELP}", "tadc cache clear", word="action", takes_program=False),
    Command("completion", "about", "a script for your shell, which completes commands, options and files",
            f"output error_format {_HELP}",
            'eval "$(tadc completion bash)"', word="shell", takes_program=False),
    Command("help", "about", "these commands, or one of them", f"error_format {_HELP}",
            "tadc help run", word="topic", takes_program=False),
)  # fmt: skip

COMMANDS = {command.name: command for command in _ALL}

#: Options of some commands alone: what the form without a command does not have.
_NOT_FLAT = {
    *_UNCERTAIN.split(), *_TUNING.split(),
    *"block mlir_timing check_style json plan print_ir_after_change product unsafe watch workers".split(),
    "allow_unregistered_dialect",
}  # fmt: skip

#: `tadc FILE [options]`: each command by an option.
FLAT = Command(
    "", "", "compile tensor expressions and their derivatives",
    " ".join(name for name, option in OPTIONS.items() if option.flags and name not in _NOT_FLAT),
    "tadc f.tad --wrt a,d",
)  # fmt: skip
