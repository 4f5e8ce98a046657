"""What is told to users: diagnostics with a place and a help, checks of arguments, tables."""

from tadc.caller.boundary import (
    checked_choice,
    checked_function,
    checked_mapping,
    checked_number,
    checked_sizes_given,
    leaving,
    public,
    shown_value,
    usage,
)
from tadc.caller.pictures import COLORS, GREY, INK, picture_of
from tadc.caller.showing import ShownAsTables, tables_html, tables_latex
from tadc.caller.warn_caller import warn_of
from tadc.frontend.diagnostics import ArgumentError, CompileError, CompileWarning, Diagnostic, Label
from tadc.frontend.forks import new_rlock
from tadc.frontend.packages import VERSION, imported, install_command, missing_package
from tadc.frontend.source import Place, Source, Span
from tadc.frontend.suggest import did_you_mean
from tadc.frontend.wording import counted

__all__ = [
    "COLORS", "GREY", "INK", "VERSION", "ArgumentError", "CompileError", "CompileWarning", "Diagnostic",
    "Label", "Place", "ShownAsTables", "Source", "Span", "checked_choice", "checked_function",
    "checked_mapping", "checked_number", "checked_sizes_given", "counted", "did_you_mean", "imported",
    "install_command", "leaving", "missing_package", "new_rlock", "picture_of", "public", "shown_value",
    "tables_html", "tables_latex", "usage", "warn_of",
]  # fmt: skip
