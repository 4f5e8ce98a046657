"""What can be wrong with a program, or with values, that are to be inverted."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING

from tadc.toolkit.language import Definition
from tadc.toolkit.reporting import ArgumentError, CompileError, Diagnostic, Label, Place, Source, Span

if TYPE_CHECKING:
    from tadc.apps.undoing.plans.graph import StatementGraph

#: So many names of values are listed.
_SHOWN = 8


def listed(names: Sequence[str]) -> str:
    """Names in backticks, the first few of many."""
    shown = ", ".join(f"`{name}`" for name in names[:_SHOWN])
    return shown + (f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else "")


def _of_statements(
    code: str, source: Source | None, made: Sequence[Definition], message: str, notes: list[str], *helps: str
) -> Diagnostic:
    """A diagnostic at the first of some statements, in whose message `{}` stands for all."""
    where = made[0].span if made else None
    if isinstance(where, Place) and source is not None and source.name == where.file:
        where = source.span_at(where)
    primary = Label(where) if isinstance(where, Span) and source is not None else None
    text = message.format(listed([s.name for s in made]))
    return Diagnostic(code, text, primary=primary, notes=notes, helps=[*helps], source=source)


def other_width(graph: StatementGraph, inputs: int, outputs: int) -> CompileError:
    """Inputs and outputs of different total size."""
    given = ", ".join(f"`{name}` {graph.sizes[name]}" for name in graph.inputs)
    made = ", ".join(f"`{d.name}` {prod(graph.shapes[d.name])}" for d in graph.program.outputs)
    message = f"a Jacobian of {outputs} outputs by {inputs} inputs has no inverse"
    notes = [f"numbers in: {given or 'none'}", f"numbers out: {made or 'none'}"]
    help = "name as many inputs with `wrt`, or make a value that is no result a `let`"
    return CompileError([_of_statements("TAD0910", graph.program.source, [], message, notes, help)])


def _singular(graph: StatementGraph, note: str, help: str, first: Sequence[Definition] = ()) -> CompileError:
    message = "the Jacobian is singular whatever the values are"
    return CompileError([_of_statements("TAD0911", graph.program.source, first, message, [note], help)])


def cut_too_narrow(graph: StatementGraph, cut: Sequence[str], found: int, wanted: int) -> CompileError:
    """A cut that lets fewer numbers through than there are inputs."""
    made = {s.name: s for s in graph.statements}
    first = [made[name] for name in cut if name in made and made[name].span][:1]
    numbers = f"{found} number{'s' if found != 1 else ''} for {wanted}"
    through = listed([graph.text(name) for name in cut]) if cut else "no value"
    note = f"every path from inputs to outputs goes through {through}: {numbers}"
    return _singular(graph, note, "let more of what the inputs hold come through to the outputs", first)


def repeated_output(graph: StatementGraph, first: str, second: str) -> CompileError:
    """Two outputs that are one value."""
    note = f"the outputs `{first}` and `{second}` are the same value"
    return _singular(graph, note, "leave out one of them, or make it a `let`")


def constant_output(graph: StatementGraph, name: str) -> CompileError:
    """An output that depends on no input."""
    note = f"the output `{name}` depends on none of {listed(graph.inputs)}"
    return _singular(graph, note, f"make `{name}` a `let`, or name its inputs with `wrt`")


def bad_pivot(
    source: Source | None, made: Sequence[Definition], what: str, value: float, *, is_zero: bool
) -> Diagnostic:
    """A pivot that is 0 or no number, or nearly 0, in statements that are to be inverted."""
    note = f"{what} is {value!r}"
    if is_zero:
        message = "{} cannot be inverted at these arguments"
        return _of_statements("TAD0912", source, made, message, [note])
    message, help = (
        "{} can hardly be inverted at these arguments",
        "`check=True` reports the relative residual",
    )
    found = _of_statements("TAD0913", source, made, message, [note], help)
    found.severity = "warning"
    return found


def too_large(
    source: Source | None, made: Sequence[Definition], kind: str, size: int, needed: int, free: int
) -> ArgumentError:
    """A system that does not fit into memory."""
    message = "{} cannot be inverted in the memory of this machine"
    note = f"a {kind} system of {size} numbers takes {needed} bytes, {free} are free"
    notes = [note, "its matrix has no structure that the index maps tell"]
    help = "write the step as several definitions, each of which overwrites a part"
    return ArgumentError([_of_statements("TAD0914", source, made, message, notes, help)])


def no_program(product: str, kind: str, source: Source | None, made: Sequence[Definition]) -> CompileError:
    """A product that no program of the language computes."""
    message = f"`{product}` is no program of the language here"
    note = f"{listed([s.name for s in made])}: {kind}, which is factored with pivots, by LAPACK or NumPy"
    helps = (
        f"call `{product}` with arrays",
        "for a program, write steps in which each element is made of those before it and of one other",
    )
    return CompileError([_of_statements("TAD0915", source, made, message, [note], *helps)])
