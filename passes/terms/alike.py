"""Definitions that are equal but for the tensors that they read, as those of a network's layers.

    let h1[i] = tanh(x[i] + w1[i])
    let h2[i] = tanh(h1[i] + w2[i])

A rewrite that looks at a body and its ranges alone does the same to both: it is done once, and the other body
is what was made of the first, with other names of tensors.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence

from tadc.frontend.program import Definition, Program
from tadc.frontend.terms import Read, Term, Terms, bottom_up, in_text_order, index_forms, reachable
from tadc.lattice.affine import Affine
from tadc.lattice.late_dataclasses import dataclass, field
from tadc.passes.terms.costs import COMPARED

FEW = COMPARED
"""In programs of fewer definitions none are compared."""

Rewrite = Callable[[Definition], Term]


class RewrittenOnce:
    """A rewrite of the definitions of a program, each a new body, done once for those that are alike."""

    def __init__(self, program: Program, rewrite: Rewrite) -> None:
        self.terms, self.rewrite = program.terms, rewrite
        self.compares = len(program.definitions) >= FEW
        self.known: dict[Hashable, tuple[list[str], Term]] = {}

    def body(self, definition: Definition) -> Term:
        """The new body of a definition."""
        if not self.compares or definition.order is not None:
            return self.rewrite(definition)
        names = _tensors_in_order(definition.body)
        # No program has names that begin so.
        numbered = {name: f"?t{n}" for n, name in enumerate(names)}
        body = with_tensors(self.terms, definition.body, numbered)
        key = (body.number, definition.indices, definition.shape, definition.type)
        found = self.known.get(key)
        if found is None:
            found = self.known[key] = names, self.rewrite(definition)
        before, made = found
        if before == names:
            return made
        count = self.terms.count
        made = with_tensors(self.terms, made, dict(zip(before, names, strict=True)))
        for term in reachable([made]):
            if term.number >= count:
                term.span = definition.span
        return made


@dataclass
class Outlines:
    """Numbers that are equal for terms that differ in their indices alone."""

    known: dict[int, int] = field(default_factory=dict[int, int])
    numbers: dict[tuple[object, ...], int] = field(default_factory=dict[tuple[object, ...], int])

    def of(self, root: Term) -> int:
        """The number of a term."""

        def number(node: Term, below: Sequence[int]) -> int:
            said = (getattr(node, each, None) for each in ("function", "tensor", "relation", "value"))
            return self.numbers.setdefault((type(node), *said, *below), len(self.numbers))

        return bottom_up(root, self.known, number)


def number_of(terms: Terms, term: Term, known: dict[int, int]) -> int:
    """The number of a term under other names of its indices; `known` has what was found."""
    if term.number not in known:
        names: dict[str, None] = {}
        for node in in_text_order(term):
            for form in index_forms(node):
                names.update(dict.fromkeys(sorted(form.variables & term.free)))
        renamed = {name: Affine.var(f"?p{n}") for n, name in enumerate(names)}
        known[term.number] = terms.substitute(term, renamed).number if renamed else term.number
    return known[term.number]


def _tensors_in_order(body: Term) -> list[str]:
    """The tensors that a body reads, in an order that does not depend on their names."""
    return list(dict.fromkeys(term.tensor for term in reachable([body]) if isinstance(term, Read)))


def with_tensors(
    terms: Terms, body: Term, names: Mapping[str, str], known: dict[int, Term] | None = None
) -> Term:
    """The body with other names of tensors; `known` has what was found for the same names."""

    def named(read: Read) -> Term | None:
        return terms.reread(read, names[read.tensor]) if read.tensor in names else None

    return terms.with_reads(body, named, known)
