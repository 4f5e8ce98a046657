"""The types of tensors for which a program states none, by what their values are made of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tadc.frontend.dtypes import COMPUTING, DEFAULT
from tadc.frontend.program import Definition
from tadc.frontend.terms import ElementType, Read, Select, Term, join_types, natural_type, reachable


def type_of_others(definition: Definition) -> ElementType:
    """The type of a checked definition, by what it reads besides itself."""
    reads = _reads(definition.body)
    return join_types(t.type for t in reads if t.tensor != definition.name) or DEFAULT


def type_of_output(body: Term, types: Mapping[str, ElementType]) -> ElementType:
    """What an output is stored as: `f16` of nothing but `f16`; of several types, what is computed with.

    `types` are those of tensors, of one that states none what it would be stored as if it were an output.
    """
    if all(COMPUTING[type] == type for type in types.values()):
        return natural_type(body)
    found = {types[t.tensor] for t in _reads(body)}
    return found.pop() if len(found) == 1 else natural_type(body)


def _reads(body: Term) -> Iterator[Read]:
    """The reads that a value is made of; what is compared says nothing of its type."""

    def below(term: Term) -> tuple[Term, ...]:
        return (term.then, term.otherwise) if isinstance(term, Select) else term.below

    return (term for term in reachable([body], below) if isinstance(term, Read))
