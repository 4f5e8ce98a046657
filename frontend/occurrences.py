"""Every name in a program, and what it names: where it is bound, and where else the same thing is named.

Scopes are those of the checker (`frontend/scope.py`): an index hides what else has its name, and all else is
one namespace. Of a text that is wrong, the statements that could be read have names.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

from tadc.frontend import syntax
from tadc.frontend.source import Span
from tadc.frontend.tree import children
from tadc.lattice.late_dataclasses import dataclass


@dataclass(frozen=True)
class NameMeaning:
    """What a name means: an index by where it is bound, all else by its name."""

    name: str
    kind: Literal["tensor", "size", "index", "unknown"]
    #: Of an index, where it is bound.
    bound: Span | None = None


@dataclass(frozen=True)
class Occurrence:
    """A name at a place; `binds` where it is declared, defined or bound there."""

    span: Span
    symbol: NameMeaning
    binds: bool = False


_Scope = Mapping[str, NameMeaning]


def occurrences(module: syntax.Module) -> list[Occurrence]:
    """All names of a program, in the order of their places; those of functions are none."""
    known = _known(module)
    found: dict[Span, Occurrence] = {}
    for statement in (*module.statements, *module.mended):
        for occurrence in _of_statement(statement, known):
            found.setdefault(occurrence.span, occurrence)
    ordered = sorted(found.values(), key=lambda o: o.span.start)
    return list(_first_binds(ordered))


def _known(module: syntax.Module) -> dict[str, NameMeaning]:
    """The tensors, and the sizes, which shapes may introduce."""
    found: dict[str, NameMeaning] = {}
    statements = (*module.statements, *module.mended)
    for statement in statements:
        kind = "size" if isinstance(statement, syntax.SizeDecl) else "tensor"
        found.setdefault(statement.name, NameMeaning(statement.name, kind))
    declared = (s for s in statements if isinstance(s, syntax.Declare))
    for role, node in (pair for statement in declared for pair in _below(statement)):
        if role != "at":
            found.setdefault(node.id, NameMeaning(node.id, "size"))
    return found


def _below(node: syntax.Node) -> Iterator[tuple[str, syntax.Name]]:
    """The names at and below the parts of a declaration, with the parts' roles."""
    for role, part in children(node):
        stack = [part]
        while stack:
            here = stack.pop()
            if isinstance(here, syntax.Name):
                yield role, here
            stack += [below for _, below in children(here)]


def _first_binds(ordered: Sequence[Occurrence]) -> Iterator[Occurrence]:
    """A size that no statement declares is bound where it stands first."""
    bound = {o.symbol for o in ordered if o.binds}
    for occurrence in ordered:
        if occurrence.symbol.kind == "size" and occurrence.symbol not in bound:
            bound.add(occurrence.symbol)
            occurrence = Occurrence(occurrence.span, occurrence.symbol, binds=True)
        yield occurrence


def _of_statement(statement: syntax.Statement, known: _Scope) -> Iterator[Occurrence]:
    yield Occurrence(statement.name_span, known[statement.name], binds=True)
    # Terms can be deep, so this is no recursion.
    stack: list[tuple[syntax.Node, _Scope]] = [(statement, known)]
    while stack:
        node, scope = stack.pop()
        match node:
            case syntax.Name(span=span, id=name):
                yield Occurrence(span, scope.get(name) or NameMeaning(name, "unknown"))
            case syntax.Subscript(name_span=span, tensor=name):
                yield Occurrence(span, scope.get(name) or NameMeaning(name, "unknown"))
            case _:
                pass
        inner = scope
        if isinstance(node, syntax.Define | syntax.ReduceExpr):
            bound = {spec.name: _index(spec) for spec in node.indices}
            yield from (Occurrence(_index(s).bound or s.span, _index(s), binds=True) for s in node.indices)
            inner = {**scope, **bound}
        # Sizes and bounds are outside of what the indices are bound in.
        stack += [(n, scope if role in ("index", "lower", "upper") else inner) for role, n in children(node)]


def _index(spec: syntax.IndexSpec) -> NameMeaning:
    return NameMeaning(spec.name, "index", Span(spec.span.start, spec.span.start + len(spec.name)))
