"""TAD0402: arguments that a program reads, but only where no derivative comes through."""

from __future__ import annotations

from collections.abc import Iterator

from tadc.frontend.diagnostics import Diagnostic, Label
from tadc.frontend.functions import having
from tadc.frontend.program import Argument, Program
from tadc.frontend.source import Place, Source, Span
from tadc.frontend.terms import Apply, Const, Read, Select, Term, operands

_FLAT = having("flat")
_COMPARED = "compared"


def derivative_doubts(program: Program, derived: Program) -> list[Diagnostic]:
    """Warnings about the derivative of a program: gradients that are 0, and what may be NaN."""
    return [*zero_gradients(program, derived), *derived.doubts]


def zero_gradients(program: Program, derived: Program) -> list[Diagnostic]:
    """A warning for each gradient of `derived` that is the constant 0 though `program` reads the argument."""
    flat = {d.gradient_of for d in derived.outputs if isinstance(d.body, Const) and d.body.value == 0}
    reads: dict[str, list[tuple[Read, str]]] = {}
    if flat:
        for read, around in _reads(program):
            reads.setdefault(read.tensor, []).append((read, around))
    # Of an argument without elements there is nothing to know.
    chosen = [a for a in program.arguments if a.name in flat and a.name in reads and 0 not in a.shape]
    return [_warning(argument, reads[argument.name], program.source) for argument in chosen]


def _reads(program: Program) -> Iterator[tuple[Read, str]]:
    """Every read, with the nearest thing around it that is piecewise constant, or an empty word."""
    seen: set[tuple[int, str]] = set()
    stack: list[tuple[Term, str]] = [(d.body, "") for d in program.definitions]
    while stack:
        term, around = stack.pop()
        if (term.number, around) in seen:
            continue
        seen.add((term.number, around))
        if isinstance(term, Read):
            yield term, around
        elif isinstance(term, Select):
            stack += [
                (term.lhs, _COMPARED),
                (term.rhs, _COMPARED),
                (term.then, around),
                (term.otherwise, around),
            ]
        else:
            inner = term.function if isinstance(term, Apply) and term.function in _FLAT else around
            stack += [(below, inner) for below in operands(term)]


def _warning(argument: Argument, reads: list[tuple[Read, str]], source: Source | None) -> Diagnostic:
    made = Diagnostic(
        "TAD0402",
        f"derivative with respect to `{argument.name}` is zero almost everywhere",
        helps=[f"leave `{argument.name}` out of the arguments to differentiate by"],
        severity="warning",
        source=source,
    )
    place = _span(argument.span, source)
    if place:
        made.primary = Label(place, "its gradient is 0 for all inputs")
    # In the order of the program: the walk above has none.
    spans = {span: around for read, around in reads if (span := _span(read.span, source))}
    for span, around in sorted(spans.items(), key=lambda item: item[0].start)[:1]:
        made.secondary.append(Label(span, _label(around)))
    return made


def _label(around: str) -> str:
    if around == _COMPARED:
        return "only compared, and a choice has no derivative"
    return f"`{around}` is piecewise constant" if around else "read here"


def _span(where: Span | Place | None, source: Source | None) -> Span | None:
    if isinstance(where, Place):
        return source.span_at(where) if source and where.file == source.name else None
    return where if source else None
