"""What can be wrong with a program, or with values, that are to be inverted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tadc.toolkit.language import Definition
from tadc.toolkit.reporting import ArgumentError, CompileError, Diagnostic, Label, Place, Source, Span

if TYPE_CHECKING:
    from tadc.apps.undoing.graph import Graph

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


def other_width(graph: Graph, inputs: int, outputs: int) -> CompileError:
    """Inputs and outputs of different total size."""
    program = graph.program
    given = ", ".join(f"`{name}` {graph.sizes[name]}" for name in graph.inputs)
    made = ", ".join(f"`{d.name}` {_elements(graph, d)}" for d in program.outputs)
    found = Diagnostic(
        "TAD0910",
        f"a Jacobian of {outputs} outputs by {inputs} inputs has no inverse",
        notes=[f"numbers in: {given or 'none'}", f"numbers out: {made or 'none'}"],
        helps=["name as many inputs with `wrt`, or make a value that is no result a `let`"],
        source=program.source,
    )
    return CompileError([found])


def _elements(graph: Graph, definition: Definition) -> int:
    return graph.sizes.get(graph.names.get(definition.name, definition.name), 0) or _count(
        graph.shapes[definition.name]
    )


def _count(shape: Sequence[int]) -> int:
    total = 1
    for size in shape:
        total *= size
    return total


def cut_too_narrow(graph: Graph, cut: Sequence[str], found: int, wanted: int) -> CompileError:
    """A cut that lets fewer numbers through than there are inputs."""
    made = {s.name: s for s in graph.statements}
    first = next((made[name] for name in cut if name in made), None)
    source = graph.program.source
    through = listed(cut) if cut else "no value"
    return CompileError(
        [
            Diagnostic(
                "TAD0911",
                "the Jacobian is singular whatever the values are",
                primary=span_of(first.span, source) if first else None,
                notes=[
                    f"every path from inputs to outputs goes through {through}: "
                    f"{found} number{'s' if found != 1 else ''} for {wanted}"
                ],
                helps=["let more of what the inputs hold come through to the outputs"],
                source=source,
            )
        ]
    )


def repeated_output(graph: Graph, first: str, second: str) -> CompileError:
    """Two outputs that are one value."""
    found = Diagnostic(
        "TAD0911",
        "the Jacobian is singular whatever the values are",
        notes=[f"the outputs `{first}` and `{second}` are the same value"],
        helps=["leave out one of them, or make it a `let`"],
        source=graph.program.source,
    )
    return CompileError([found])


def constant_output(graph: Graph, name: str) -> CompileError:
    """An output that depends on no input."""
    found = Diagnostic(
        "TAD0911",
        "the Jacobian is singular whatever the values are",
        notes=[f"the output `{name}` depends on none of {listed(graph.inputs)}"],
        helps=[f"make `{name}` a `let`, or name its inputs with `wrt`"],
        source=graph.program.source,
    )
    return CompileError([found])


def singular_step(
    source: Source | None, statements: Sequence[Definition], what: str, element: str, value: float
) -> ArgumentError:
    """A pivot that is 0 or no number, in statements that are to be inverted at these arguments."""
    message = f"{listed([s.name for s in statements])} cannot be inverted at these arguments"
    return ArgumentError([_pivot("TAD0912", message, source, statements, what, element, value)])


def near_singular(
    source: Source | None, statements: Sequence[Definition], what: str, element: str, value: float
) -> Diagnostic:
    """A pivot that is nearly 0."""
    message = f"{listed([s.name for s in statements])} can hardly be inverted at these arguments"
    found = _pivot("TAD0913", message, source, statements, what, element, value)
    found.severity = "warning"
    found.helps.append("`check=True` reports the relative residual")
    return found


def _pivot(
    code: str,
    message: str,
    source: Source | None,
    statements: Sequence[Definition],
    what: str,
    element: str,
    value: float,
) -> Diagnostic:
    primary = span_of(statements[0].span, source) if statements else None
    note = f"{what} at element {element} is {value!r}" if element else f"{what} is {value!r}"
    return Diagnostic(code, message, primary=primary, notes=[note], source=source)


def too_large(
    source: Source | None, statements: Sequence[Definition], kind: str, size: int, needed: int, free: int
) -> ArgumentError:
    """A system that does not fit into memory."""
    notes = [
        f"a {kind} system of {size} numbers takes {needed} bytes, {free} are free",
        "its matrix has no structure that the index maps tell",
    ]
    found = Diagnostic(
        "TAD0914",
        f"{listed([s.name for s in statements])} cannot be inverted in the memory of this machine",
        primary=span_of(statements[0].span, source),
        notes=notes,
        helps=["write the step as several definitions, each of which overwrites a part"],
        source=source,
    )
    return ArgumentError([found])


def no_program(product: str, kind: str, source: Source | None, made: Sequence[Definition]) -> CompileError:
    """A product that no program of the language computes."""
    names = [s.name for s in made]
    note = f"{listed(names)}: {kind}, which is factored with pivots, by LAPACK or NumPy"
    found = Diagnostic(
        "TAD0915",
        f"`{product}` is no program of the language here",
        primary=span_of(made[0].span, source) if made else None,
        notes=[note],
        helps=[
            f"call `{product}` with arrays",
            "for a program, write steps in which each element is made of those before it and of one other",
        ],
        source=source,
    )
    return CompileError([found])
