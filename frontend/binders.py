"""Rules for a list of indices that are bound together."""

from __future__ import annotations

from collections.abc import Sequence

from tadc.frontend import syntax
from tadc.frontend.report import Reporter, error
from tadc.frontend.scope import ProgramNames
from tadc.frontend.source import Span


def check_binders(
    specs: Sequence[syntax.IndexSpec],
    names: ProgramNames,
    reporter: Reporter,
    owner: str,
    *,
    on_left: bool = False,
) -> bool:
    """Report indices that repeat or would hide a tensor or size; tell whether there are none.

    `owner` is the tensor that is defined; they stand on its left, or else in a sum.
    """
    first: dict[str, Span] = {}
    legal = True
    for spec in specs:
        name, span = spec.name, name_span(spec)
        site = names.hidden(name, owner)
        if name in first:
            legal = False
            where = "on the left" if on_left else "in one sum"
            helps = [_diagonal(specs, spec, owner)] if on_left else []
            message = f"index `{name}` appears twice {where}"
            secondary = [(first[name], "first use")]
            reporter.add(error("TAD0203", message, span, "second use", secondary=secondary, helps=helps))
        elif site:
            legal = False
            message = f"index `{name}` has the name of a {site.kind}"
            helps = ["choose another name: tensors, sizes and indices share one namespace"]
            secondary = [(site.span, f"a {site.kind}")]
            reporter.add(error("TAD0207", message, span, secondary=secondary, helps=helps))
        first.setdefault(name, span)
    return legal


def name_span(spec: syntax.IndexSpec) -> Span:
    """Where the name of an index stands, its stated size left out."""
    return Span(spec.span.start, spec.span.start + len(spec.name))


def _diagonal(specs: Sequence[syntax.IndexSpec], repeated: syntax.IndexSpec, owner: str) -> str:
    """How to write `f[i, i]`."""
    taken = {spec.name for spec in specs}
    name = (
        next(letter for letter in "jklmnpqrstuvwxyzabcdefghio" if letter not in taken)
        if len(taken) < 26
        else "j0"
    )
    written = [name if spec is repeated else spec.name for spec in specs]
    condition = f"{repeated.name} - {name} = 0"
    return f"for a diagonal write `{owner}[{', '.join(written)}] = if {{{condition}}} then (…) else (0)`"
