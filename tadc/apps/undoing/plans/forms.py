"""Components under names of their own, so that equal ones are one form and share what is compiled."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import prod
from typing import Any

from tadc.apps.undoing.plans.components import Component
from tadc.apps.undoing.plans.graph import StatementGraph
from tadc.toolkit.language import (
    Affine,
    Apply,
    Argument,
    Const,
    Definition,
    Program,
    Read,
    Reduce,
    Term,
    Terms,
    bottom_up,
    in_text_order,
    index_forms,
    operands,
    shape_at,
    tensors_read,
    type_in,
)
from tadc.toolkit.transforms import with_arrays


@dataclass(frozen=True, eq=False)
class ComponentForm:
    """A component as a program: of values that die, that stay and of parameters, in this order, to all it
    makes.

    Its definitions are `n0`, `n1`, … for what is new and stays, `h0`, `h1`, … for what is only in between.
    """

    program: Program
    dying: tuple[str, ...]
    kept: tuple[str, ...]
    parameters: tuple[str, ...]
    new: tuple[str, ...]
    #: New values that read themselves: their names, by those that stand for what they read.
    earlier: dict[str, str] = field(default_factory=dict[str, str])

    @cached_property
    def steps(self) -> Program:
        """The program of one step: a value that reads itself reads an argument instead.

        With `y = F(x, y)` read so, dy = F_x dx + F_y dy, and F_x takes what dies to what is new.
        """
        if not self.earlier:
            return self.program
        terms, stands = self.program.terms, {new: name for name, new in self.earlier.items()}
        arguments = [Argument(name, self.types[new], self.shapes[new]) for name, new in self.earlier.items()]
        made = [
            replace(d, order=None, body=moved(d.body, terms, {d.name: stands[d.name]}))
            if d.name in stands
            else d
            for d in self.program.definitions
        ]
        return replace(self.program, arguments=(*self.program.arguments, *arguments), definitions=tuple(made))

    @cached_property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The shape of each tensor."""
        found = {name: shape_at(shape, {}) for name, shape in self.program.shapes().items()}
        return found | {name: found[new] for name, new in self.earlier.items()}

    @cached_property
    def types(self) -> dict[str, str]:
        """The element type of each tensor."""
        found = dict(self.program.types())
        return found | {name: found[new] for name, new in self.earlier.items()}

    @cached_property
    def size(self) -> int:
        """The numbers that die, and as many that are new."""
        return self.elements(self.dying)

    def elements(self, names: Iterable[str]) -> int:
        """How many numbers tensors hold."""
        return sum(prod(self.shapes[name]) for name in names)


class Forms:
    """The forms of a program's components."""

    def __init__(self, graph: StatementGraph) -> None:
        self.graph = graph
        self.terms = Terms()
        self.types = graph.program.types()
        self.made: dict[Any, ComponentForm] = {}

    def of(self, component: Component) -> tuple[ComponentForm, dict[str, str]]:
        """The form of a component; by each name of a tensor there the name in the program."""
        graph = self.graph
        statements = [graph.statements[position] for position in component.statements]
        names = {name: f"d{n}" for n, name in enumerate(component.dying)}
        names |= {name: f"s{n}" for n, name in enumerate(component.kept)}
        names |= {name: f"n{n}" for n, name in enumerate(component.new)}
        between = [s.name for s in statements if s.name not in names]
        names |= {name: f"h{n}" for n, name in enumerate(between)}
        parameters = [name for name in _read(statements) if name not in names]
        names |= {name: f"p{n}" for n, name in enumerate(parameters)}
        made = [self._renamed(s, names, s.name in component.new) for s in statements]
        arrays = graph.program.index_arrays()
        arguments = [
            replace(arrays[name], name=names[name], span=None)
            if name in arrays
            else Argument(names[name], self.types[name], graph.shapes[name])
            for name in (*component.dying, *component.kept, *parameters)
        ]
        key = (tuple(arguments), tuple((d.name, d.type, d.shape, d.body.number) for d in made))
        form = self.made.get(key)
        if form is None:
            program = Program(tuple(arguments), tuple(hoisted(made, self.terms, graph.shapes)), self.terms)
            dying, kept, others, new = (
                tuple(names[name] for name in group)
                for group in (component.dying, component.kept, parameters, component.new)
            )
            itself = [d.name for d in made if d.name in new and d.name in tensors_read([d.body])]
            earlier = {f"e{n}": name for n, name in enumerate(itself)}
            form = self.made[key] = ComponentForm(program, dying, kept, others, new, earlier)
        own_names = {own: name for name, own in names.items()}
        return form, own_names | {name: own_names[new] for name, new in form.earlier.items()}

    def _renamed(self, statement: Definition, names: Mapping[str, str], is_new: bool) -> Definition:
        made = moved_definition(statement, self.terms, names)
        shape = self.graph.shapes[statement.name]
        return replace(made, shape=shape, is_output=is_new, cotangent_of="", pattern=None)


def _read(statements: Sequence[Definition]) -> list[str]:
    """The tensors that statements read, in a fixed order, each once."""
    found: list[str] = []
    for term in (term for statement in statements for term in in_text_order(statement.body)):
        found += [term.tensor] if isinstance(term, Read) else []
        found += [lookup.array for form in index_forms(term) for lookup in form.lookups()]
    return list(dict.fromkeys(found))


def positions(
    form: ComponentForm, names: Sequence[str], interleaved: bool, batch: int = 0
) -> dict[str, tuple[int, int, int]]:
    """The place of each tensor's elements among all: of the first, and the step; row-major within one.

    The third number counts the elements of a tensor. Those of the first `batch` dimensions are left out.
    """
    found: dict[str, tuple[int, int, int]] = {}
    start = 0
    for name in names:
        count = prod(form.shapes[name][batch:])
        found[name] = (len(found), len(names), count) if interleaved else (start, 1, count)
        start += count
    return found


def flat(shape: Sequence[int], forms: Sequence[Affine]) -> Affine:
    """The place of an element in row-major order."""
    place = Affine.const(0)
    for extent, form in zip(shape, forms, strict=True):
        place = place * extent + form
    return place


def moved(
    root: Term, terms: Terms, tensors: Mapping[str, str], indices: Mapping[str, Affine] | None = None
) -> Term:
    """The term in another table, with other names of tensors and forms in the place of free indices."""
    spoken = indices or {}

    def form_of(form: Affine) -> Affine:
        return with_arrays(form.substitute(spoken), tensors)

    def value(node: Term, below: list[Term]) -> Term:
        if isinstance(node, Read):
            name = tensors.get(node.tensor, node.tensor)
            return terms.reread(node, name, list(map(form_of, node.indices)))
        return terms.const(node.value) if isinstance(node, Const) else terms.rebuild(node, below, form_of)

    return bottom_up(root, {}, value)


def moved_definition(
    definition: Definition, terms: Terms, names: Mapping[str, str], indices: Sequence[str] | None = None
) -> Definition:
    """A definition that is no result in another table, under other names, with indices i0, i1, … or these."""
    chosen = tuple(f"i{n}" for n in range(len(definition.indices))) if indices is None else tuple(indices)
    spoken = {a: Affine.var(b) for a, b in zip(definition.indices, chosen, strict=True)}
    return replace(
        definition,
        name=names.get(definition.name, definition.name),
        indices=chosen,
        body=moved(definition.body, terms, names, spoken),
        order=definition.order and definition.order.substitute(spoken),
        is_output=False,
        gradient_of="",
        tangent_of="",
        span=None,
    )


def hoisted(
    definitions: Sequence[Definition], terms: Terms, shapes: Mapping[str, tuple[int, ...]]
) -> list[Definition]:
    """The definitions with sums that depend on fewer indices as values of their own.

    Through such a value few numbers pass: it is where a Jacobian is of low rank.
    """
    found: list[Definition] = []
    count = sum(d.name.startswith("h") for d in definitions)
    for definition in definitions:
        extents = dict(zip(definition.indices, definition.shape, strict=True))
        replaced: dict[int, Term] = {}
        reads_itself = definition.order is not None
        stack = [definition.body]
        while stack:
            term = stack.pop()
            if term.number in replaced:
                continue
            if isinstance(term, Reduce) and term.free < set(extents) and not reads_itself:
                indices = tuple(i for i in extents if i in term.free)
                name, type = f"h{count}", type_in(term, definition.type)
                count += 1
                shape = tuple(extents[i] for i in indices)
                found.append(Definition(name, type, shape, indices, term, is_output=False))
                replaced[term.number] = terms.read(name, [Affine.var(i) for i in indices], type)
            elif isinstance(term, Apply):  # the operands of others may not be computed everywhere
                stack += operands(term)
        if replaced:
            body = bottom_up(definition.body, replaced, terms.rebuild)
            definition = replace(definition, body=body)
        found.append(definition)
    return found
