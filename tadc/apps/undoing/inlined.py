"""Bodies of definitions in the place of reads of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from tadc.apps.undoing.forms import ComponentForm
from tadc.toolkit.language import Definition, Read, Reduce, Term, Terms, operands


def inlined(terms: Terms, root: Term, bodies: Mapping[str, Definition]) -> Term:
    """The term where reads of these tensors are their bodies.

    Sums are opened on the way, so that no index of a body is caught by a sum around it.
    """
    memo: dict[int, Term] = {}
    stack = [root]
    while stack:
        node = stack[-1]
        if node.number in memo:
            stack.pop()
        elif isinstance(node, Reduce):
            binders, domain, body = terms.open(node)
            inner = inlined(terms, body, bodies)
            memo[node.number] = terms.reduce(
                binders, domain, inner, kind=node.kind, hints=node.hints, span=node.span
            )
        elif isinstance(node, Read) and node.tensor in bodies:
            made = bodies[node.tensor]
            memo[node.number] = terms.substitute(
                made.body, dict(zip(made.indices, node.indices, strict=True))
            )
        else:
            waiting = [t for t in operands(node) if t.number not in memo]
            stack += waiting
            if not waiting:
                memo[node.number] = terms.rebuild(node, [memo[t.number] for t in operands(node)])
    return memo[root.number]


def without(terms: Terms, definitions: Iterable[Definition], names: Iterable[str]) -> list[Definition]:
    """The definitions without some of them, which others read no more."""
    gone, bodies, found = set(names), dict[str, Definition](), list[Definition]()
    for definition in definitions:
        made = replace(definition, body=inlined(terms, definition.body, bodies)) if bodies else definition
        if made.name in gone:
            bodies[made.name] = made
        else:
            found.append(made)
    return found


def direct(form: ComponentForm) -> ComponentForm:
    """The form without values in between."""
    between = [d.name for d in form.program.definitions if d.name not in form.new]
    made = without(form.program.terms, form.program.definitions, between)
    return replace(form, program=replace(form.program, definitions=tuple(made)))
