"""Bodies of definitions in the place of reads of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from tadc.apps.undoing.plans.forms import ComponentForm
from tadc.toolkit.language import Definition, Read, Reduce, Term, Terms, bottom_up


def inlined(terms: Terms, root: Term, bodies: Mapping[str, Definition]) -> Term:
    """The term where reads of these tensors are their bodies.

    Sums are opened on the way, so that no index of a body is caught by a sum around it.
    """

    def value(node: Term, below: list[Term]) -> Term:
        if isinstance(node, Reduce):
            binders, domain, body = terms.open(node)
            return terms.reduce_like(node, binders, domain, inlined(terms, body, bodies))
        if isinstance(node, Read) and node.tensor in bodies:
            made = bodies[node.tensor]
            return terms.substitute(made.body, made.at(node.indices))
        return terms.rebuild(node, below)

    return bottom_up(root, {}, value, lambda node: () if isinstance(node, Reduce) else node.below)


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
