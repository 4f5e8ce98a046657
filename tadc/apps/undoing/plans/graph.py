"""A program as a graph of values: which statement makes each, and which values it reads."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import prod

from tadc.toolkit.language import (
    Apply,
    Definition,
    Program,
    Read,
    Select,
    Term,
    having,
    in_text_order,
    shape_at,
    tensors_read,
)
from tadc.toolkit.transforms import needed

#: No tangent goes through these.
FLAT = having("flat")


@dataclass(frozen=True)
class ValuePart:
    """The elements of the value `whole` whose indices in some dimensions are these."""

    whole: str
    at: Mapping[int, int]


@dataclass(frozen=True)
class StatementGraph:
    """The statements through which the outputs depend on the arguments `inputs`.

    A statement is a definition; a value is an argument of `inputs` or what a statement makes, a tensor that
    is whole or not there. A definition that only copies a value is that: statements read the value itself.
    `parameters` are definitions that the statements read and that depend on no input. `parts` are the
    statements that are parts of values, by name.
    """

    program: Program
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    statements: tuple[Definition, ...]
    parameters: tuple[Definition, ...]
    reads: dict[str, tuple[str, ...]]
    parts: Mapping[str, ValuePart] = field(default_factory=dict[str, ValuePart])

    @cached_property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The shape of each tensor of the program."""
        return {name: shape_at(shape, {}) for name, shape in self.program.shapes().items()}

    @cached_property
    def sizes(self) -> dict[str, int]:
        """The number of elements of each value, inputs first, in order."""
        values = (*self.inputs, *(s.name for s in self.statements))
        return {name: prod(self.shapes[name]) for name in values}

    @cached_property
    def parameter_program(self) -> Program:
        """The program of what the statements read that depends on no input."""
        read = tensors_read(s.body for s in self.statements)
        made = [replace(d, is_output=d.name in read) for d in self.parameters]
        return replace(self.program, definitions=needed(made))

    @cached_property
    def readers(self) -> dict[str, tuple[int, ...]]:
        """The statements that read each value, by position."""
        found: dict[str, list[int]] = {name: [] for name in self.sizes}
        for position, statement in enumerate(self.statements):
            for name in self.reads[statement.name]:
                found[name].append(position)
        return {name: tuple(positions) for name, positions in found.items()}

    def element(self, name: str, index: Sequence[int]) -> tuple[str, list[int]]:
        """The value of the program, and its element, that an element of a statement is."""
        if name not in self.parts:
            return name, list(index)
        part, found = self.parts[name], list(index)
        for dimension, place in sorted(part.at.items()):
            found.insert(dimension, place)
        return part.whole, found

    def text(self, name: str) -> str:
        """A value as messages name it; a part of one with its indices, `x[:, 0]`."""
        if name not in self.parts:
            return name
        part = self.parts[name]
        rank = len(self.shapes[name]) + len(part.at)
        return f"{part.whole}[{', '.join(str(part.at.get(n, ':')) for n in range(rank))}]"

    def wholes(self, made: Iterable[Definition]) -> list[Definition]:
        """Definitions by the names of values of the program, each once."""
        found = {self.element(d.name, ())[0]: d for d in made}
        return [replace(d, name=name) for name, d in found.items()]


def graph_of(program: Program, wrt: Sequence[str], parts: Mapping[str, ValuePart]) -> StatementGraph:
    """The graph of a program without size symbols, by the arguments `wrt`; `parts` are those of values."""
    types, shapes, terms = program.types(), program.shapes(), program.terms
    names, known = dict[str, str](), dict[int, Term]()
    active, kept = set(wrt), list[Definition]()
    reads: dict[str, tuple[str, ...]] = {}

    def value(read: Read) -> Term | None:
        return terms.reread(read, names[read.tensor]) if read.tensor in names else None

    for definition in program.definitions:
        if names:
            definition = definition.with_body(terms.with_reads(definition.body, value, known))
        source = _copied(definition)
        if source in active and (types[source], shapes[source]) == (definition.type, definition.shape):
            names[definition.name] = source
            continue
        found = dict.fromkeys(differentiable_reads(definition.body))
        reads[definition.name] = tuple(name for name in found if name in active)
        if reads[definition.name]:
            active.add(definition.name)
        kept.append(definition)
    outputs = tuple(names.get(d.name, d.name) for d in program.outputs)
    left = needed([replace(d, is_output=d.name in outputs) for d in kept])
    statements = tuple(d for d in left if d.name in active)
    parameters = tuple(d for d in left if d.name not in active)
    return StatementGraph(program, tuple(wrt), outputs, statements, parameters, reads, parts)


def differentiable_reads(body: Term) -> list[str]:
    """The tensors that a body reads where a derivative can come through, in order, some twice."""
    return [term.tensor for term in in_text_order(body, differentiable) if isinstance(term, Read)]


def differentiable(term: Term) -> tuple[Term, ...]:
    """The terms directly below through which a derivative can come."""
    if isinstance(term, Apply) and term.function in FLAT:
        return ()
    return (term.then, term.otherwise) if isinstance(term, Select) else term.below


def _copied(definition: Definition) -> str | None:
    body = definition.body
    return body.tensor if isinstance(body, Read) and body.indices == definition.own else None
