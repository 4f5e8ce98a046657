"""What can be wrong with a program, or with values, that are to be inverted."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING

from tadc.toolkit.language import Definition
from tadc.toolkit.reporting import ArgumentError, CompileError, Diagnostic, Label, Place, Source, Span

if TYPE_CHECKING:
    from tadc.apps.undoing.graph import StatementGraph

#: So many names of values are listed.
_SHOWN = 8


def span_of(where: Span | Place | None, source: Source | None) -> Label | None:
    """The place of a statement in its source, if it has one."""
    if isinstance(where, Place) and source is not None and source.name == where.file:
        where = source.span_at(where)
    return Label(where) if isinstance(where, Span) and source is not None else None


def listed(names: Sequence[str]) -> str:
    """Names in backticks, the first few of many."""
    shown = ", ".join(f"`{name}`" for name in names[:_SHOWN])
    return shown + (f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else "")


def other_width(graph: StatementGraph, inputs: int, outputs: int) -> CompileError:
    """Inputs and outputs of different total size."""
    given = ", ".join(f"`{name}` {graph.sizes[name]}" for name in graph.inputs)
    made = ", ".join(f"`{d.name}` {prod(graph.shapes[d.name])}" for d in graph.program.outputs)
    found = Diagnostic(
        "TAD0910",
        f"a Jacobian of {outputs} outputs by {inputs} inputs has no inverse",
        notes=[f"numbers in: {given or 'none'}", f"numbers out: {made or 'none'}"],
        helps=["name as many inputs with `wrt`, or make a value that is no result a `let`"],
        source=graph.program.source,
    )
    return CompileError([found])


def _singular(graph: StatementGraph, note: str, help: str, first: Definition | None = None) -> CompileError:
    source = graph.program.source
    found = Diagnostic(
        "TAD0911",
        "the Jacobian is singular whatever the values are",
        primary=span_of(first.span, source) if first else None,
        notes=[note],
        helps=[help],
        source=source,
    )
    return CompileError([found])


def cut_too_narrow(graph: StatementGraph, cut: Sequence[str], found: int, wanted: int) -> CompileError:
    """A cut that lets fewer numbers through than there are inputs."""
    made = {s.name: s for s in graph.statements}
    first = next((made[name] for name in cut if name in made), None)
    numbers = f"{found} number{'s' if found != 1 else ''} for {wanted}"
    through = listed(cut) if cut else "no value"
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


def _of_statements(
    code: str,
    message: str,
    source: Source | None,
    made: Sequence[Definition],
    notes: list[str],
    helps: list[str],
) -> Diagnostic:
    """A diagnostic at the first of some statements, in whose message `{}` stands for all."""
    primary = span_of(made[0].span, source) if made else None
    text = message.format(listed([s.name for s in made]))
    return Diagnostic(code, text, primary=primary, notes=notes, helps=helps, source=source)


def singular_step(
    source: Source | None, made: Sequence[Definition], what: str, element: str, value: float
) -> ArgumentError:
    """A pivot that is 0 or no number, in statements that are to be inverted at these arguments."""
    note = _of_pivot(what, element, value)
    message = "{} cannot be inverted at these arguments"
    return ArgumentError([_of_statements("TAD0912", message, source, made, [note], [])])


def near_singular(
    source: Source | None, made: Sequence[Definition], what: str, element: str, value: float
) -> Diagnostic:
    """A pivot that is nearly 0."""
    note, help = _of_pivot(what, element, value), "`check=True` reports the relative residual"
    message = "{} can hardly be inverted at these arguments"
    found = _of_statements("TAD0913", message, source, made, [note], [help])
    found.severity = "warning"
    return found


def _of_pivot(what: str, element: str, value: float) -> str:
    return f"{what} at element {element} is {value!r}" if element else f"{what} is {value!r}"


def too_large(
    source: Source | None, made: Sequence[Definition], kind: str, size: int, needed: int, free: int
) -> ArgumentError:
    """A system that does not fit into memory."""
    notes = [
        f"a {kind} system of {size} numbers takes {needed} bytes, {free} are free",
        "its matrix has no structure that the index maps tell",
    ]
    helps = ["write the step as several definitions, each of which overwrites a part"]
    message = "{} cannot be inverted in the memory of this machine"
    return ArgumentError([_of_statements("TAD0914", message, source, made, notes, helps)])


def no_program(product: str, kind: str, source: Source | None, made: Sequence[Definition]) -> CompileError:
    """A product that no program of the language computes."""
    names = listed([s.name for s in made])
    notes = [f"{names}: {kind}, which is factored with pivots, by LAPACK or NumPy"]
    helps = [
        f"call `{product}` with arrays",
        "for a program, write steps in which each element is made of those before it and of one other",
    ]
    message = f"`{product}` is no program of the language here"
    return CompileError([_of_statements("TAD0915", message, source, made, notes, helps)])
