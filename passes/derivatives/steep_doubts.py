"""TAD0412: products that are NaN where a factor is 0 and a slope infinite, since nothing tells what they
are."""

from __future__ import annotations

from collections.abc import Iterable

from tadc.frontend.diagnostics import Diagnostic, Label
from tadc.frontend.source import Place, Source, Span
from tadc.frontend.terms import Apply


def steep_doubts(unresolved: Iterable[Apply], source: Source | None) -> tuple[Diagnostic, ...]:
    """A warning for each function of a program with such a slope."""
    return tuple(_doubt(node, source) for node in unresolved)


def _doubt(node: Apply, source: Source | None) -> Diagnostic:
    message = f"the derivative may be NaN where the slope of `{node.function}` is infinite"
    note = "it is multiplied by something that may be 0 at the same points, and 0 times infinity is NaN"
    label = "has a slope that is infinite somewhere"
    if node.function == "safe":
        message, label = "the derivative may be NaN where a root or an absolute value is 0", "may be 0"
        note = "what stands beside it may be 0 at the same points, and nothing tells how they change together"
    made = Diagnostic(
        "TAD0412",
        message,
        notes=[note],
        helps=["write what the product is without that function, or choose the value there by `select`"],
        severity="warning",
        source=source,
    )
    where = node.span
    if isinstance(where, Place):
        where = source.span_at(where) if source and where.file == source.name else None
    if isinstance(where, Span) and source:
        made.primary = Label(where, label)
    return made
