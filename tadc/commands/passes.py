"""What the command says of passes, and what it loads and prints around them."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager

from tadc.commands.messages import report_text
from tadc.commands.option_parser import BadUsage
from tadc.commands.options import Arguments
from tadc.compiler.plugins import plugins
from tadc.compiler.run_passes import check_names
from tadc.frontend.suggest import did_you_mean
from tadc.passes.catalogue import REGISTRY
from tadc.passes.ir_printing import Printing, printing
from tadc.passes.registry import Pass, PassOption, options_of


@contextmanager
def with_passes(arguments: Arguments) -> Generator[None]:
    """Plug-ins loaded, and IR printed as options say. Raises CompileError (TAD0604, TAD0608)."""
    before, after = frozenset(arguments.print_ir_before), frozenset(arguments.print_ir_after)
    with plugins(arguments.load):
        check_names(sorted(before), "--print-ir-before")
        check_names(sorted(after), "--print-ir-after")
        wanted = Printing(
            before, after, arguments.print_ir_after_all, arguments.print_ir_after_change,
            arguments.generic, arguments.mlir_timing,
        )  # fmt: skip
        with printing(wanted):
            yield
    for name in sorted((before | after) - wanted.met):
        report_text(f"note: pass `{name}` did not run, so there is no IR to print around it")


def named_passes(names: Sequence[str]) -> list[tuple[type[Pass], list[PassOption]]]:
    """Passes with their options, all without names. Raises BadUsage for a name that no pass of ours has."""
    for name in names:
        if name not in REGISTRY:
            helps = did_you_mean(name, REGISTRY)
            more = "those of MLIR: https://mlir.llvm.org/docs/Passes"
            raise BadUsage(f"no pass `{name}` of tadc", *helps, more)
    return [(REGISTRY[name], options_of(REGISTRY[name])) for name in names or REGISTRY]


def described(item: type[Pass], options: Sequence[PassOption]) -> list[str]:
    """A pass in a line, and a line for each option: name, type, default, what it is."""
    lines = [f"{item.argument:20}{item.description}"]
    for option in options:
        default = f"{option.kind} = {option.default or 'none'}"
        lines.append(f"  {option.name:16}  {default:16}  {option.help}")
    return lines
