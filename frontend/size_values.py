"""Values of size symbols, as calls and options give them."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tadc.frontend.diagnostics import CompileError, Diagnostic
from tadc.frontend.extents import SIZE_LIMIT, required_text

if TYPE_CHECKING:
    from tadc.frontend.source import Source
    from tadc.frontend.terms import Domain

SizeValues = dict[str, int]


def checked_sizes(given: Mapping[str, Any]) -> SizeValues:
    """The values as integers, in the order of their names. Raises CompileError with all problems."""
    problems: list[Diagnostic] = []
    values = size_values(dict(sorted(given.items())), problems)
    if problems:
        raise CompileError(problems)
    return values


def needs_values(names: Sequence[str], why: str, source: Source | None) -> CompileError:
    """The error (TAD0212) for what needs values of all sizes: one, for one option gives them."""
    listed = ", ".join(f"`{name}`" for name in names)
    on_line = ",".join(f"{name}=4" for name in names)
    in_python = ", ".join(f"'{name}': 4" for name in names)
    made = Diagnostic(
        "TAD0212",
        f"size {listed} needs a value" if len(names) == 1 else f"sizes {listed} need values",
        notes=[why],
        helps=[f"write `--size {on_line}`, in Python `sizes={{{in_python}}}`"],
        source=source,
    )
    return CompileError([made])


def size_values(given: Mapping[str, Any], problems: list[Diagnostic]) -> SizeValues:
    """The values as integers; what is no size (TAD0508) joins the problems and is left out."""
    values: SizeValues = {}
    for name, value in given.items():
        try:
            size = operator.index(value)
        except TypeError:
            message = f"size `{name}` must be an integer, not {type(value).__name__}"
            problems.append(Diagnostic("TAD0508", message))
            continue
        if 0 <= size < SIZE_LIMIT:
            values[name] = size
        else:
            message = f"size `{name}` cannot be {size}"
            problems.append(Diagnostic("TAD0508", message, notes=["a size is in 0..2**40 - 1"]))
    return values


def values_text(values: Mapping[str, int]) -> str:
    """`N = 3, K = 5`."""
    return ", ".join(f"{name} = {value}" for name, value in values.items())


def refused(problems: list[Diagnostic] | None, values: Mapping[str, int], rows: Domain) -> list[Diagnostic]:
    """The errors (TAD0507) for sizes in an excluded set: what is wrong there, if that is known."""
    found = problems or [Diagnostic("TAD0507", "the program has no meaning at these sizes")]
    for problem in found:
        problem.code = "TAD0507"
        condition = f"they must satisfy {required_text(rows)}"
        problem.notes[:0] = [f"the sizes are {values_text(values)}", condition]
    return found
