"""Programs with size symbols as trees, as text, and with numbers in place of the symbols."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from tests.fuzz.forms import Atom, Division, Form, Relation
from tests.fuzz.tree import (
    Definition,
    Guard,
    IndexArray,
    Node,
    Program,
    Read,
    Sum,
    Value,
    children,
    text,
    with_child,
)

#: Values of size symbols.
Sizes: TypeAlias = Mapping[str, int]


@dataclass(frozen=True)
class SizedDefinition:
    """A definition whose extents are forms of sizes; its fields are those of Definition."""

    name: str
    indices: tuple[str, ...]
    shape: tuple[Form, ...]
    body: Node
    is_output: bool
    ranges: str = "stated"

    def at(self, sizes: Sizes) -> Definition:
        """The definition with numbers in place of the sizes."""
        body = body_at(self.body, sizes)
        return Definition(
            self.name, self.indices, extents(self.shape, sizes), body, self.is_output, self.ranges
        )


@dataclass(frozen=True)
class SizedProgram:
    """A program over size symbols."""

    sizes: tuple[str, ...]
    arguments: Mapping[str, tuple[Form, ...]]
    definitions: tuple[SizedDefinition, ...]
    arrays: Mapping[str, IndexArray] = field(default_factory=dict[str, IndexArray])

    def at(self, sizes: Sizes) -> Program:
        """The program with numbers in place of the sizes."""
        arguments = {name: extents(shape, sizes) for name, shape in self.arguments.items()}
        arrays = {
            name: replace(
                array,
                shape=tuple(form_at(form, sizes) for form in array.shape),
                below=form_at(array.below, sizes),
            )
            for name, array in self.arrays.items()
        }
        return Program(arguments, tuple(d.at(sizes) for d in self.definitions), arrays=arrays)

    def is_shaped(self, sizes: Sizes) -> bool:
        """Whether no extent is negative at these sizes."""
        shapes = [*self.arguments.values(), *(d.shape for d in self.definitions)]
        return all(n >= 0 for shape in shapes for n in extents(shape, sizes))

    def __str__(self) -> str:
        shapes = [*self.arguments.values(), *(array.shape for array in self.arrays.values())]
        told = {form.terms[0][0] for shape in shapes for form in shape if len(form.terms) == 1}
        lines = [f"size {name}" for name in self.sizes if name not in told]
        lines += [array.declaration(name) for name, array in self.arrays.items()]
        lines += [_declaration(name, shape) for name, shape in self.arguments.items()]
        for definition in self.definitions:
            lines += _definition(definition)
        return "\n".join(lines) + "\n"


def extents(shape: tuple[Form, ...], sizes: Sizes) -> tuple[int, ...]:
    """A shape where the symbols have these values."""
    return tuple(int(form.at(sizes, 0)) for form in shape)


def plus(left: Form, right: Form) -> Form:
    """The sum of two forms."""
    found: dict[Atom, int] = {}
    for atom, c in (*left.terms, *right.terms):
        found[atom] = found.get(atom, 0) + c
    return Form(tuple((a, c) for a, c in found.items() if c), left.constant + right.constant)


def form_at(form: Form, sizes: Sizes) -> Form:
    """The form with numbers in place of the sizes."""
    found = Form((), form.constant)
    for atom, c in form.terms:
        if isinstance(atom, str):
            found = plus(found, Form((), c * sizes[atom]) if atom in sizes else Form(((atom, c),)))
            continue
        atom = atom.over(tuple(form_at(part, sizes) for part in atom.parts))
        known = isinstance(atom, Division) and not atom.numerator.terms
        found = plus(found, Form((), c * atom.at({}, 0)) if known else Form(((atom, c),)))
    return found


def body_at(node: Node, sizes: Sizes) -> Node:
    """The node with numbers in place of the sizes."""

    def forms(found: tuple[Form, ...]) -> tuple[Form, ...]:
        return tuple(form_at(form, sizes) for form in found)

    def relations(found: tuple[Relation, ...]) -> tuple[Relation, ...]:
        return tuple(Relation(c.op, form_at(c.left, sizes), form_at(c.right, sizes)) for c in found)

    for place, child in children(node):
        node = with_child(node, place, body_at(child, sizes))
    match node:
        case Value(form):
            return Value(form_at(form, sizes))
        case Read(tensor, indices):
            return Read(tensor, forms(indices))
        case Guard(conditions):
            return replace(node, conditions=relations(conditions))
        case Sum(_, lower, upper):
            return replace(node, lower=forms(lower), upper=forms(upper), where=relations(node.where))
        case _:
            return node


def _declaration(name: str, shape: tuple[Form, ...]) -> str:
    return f"{name}: f64[{', '.join(map(str, shape))}]" if shape else f"{name}: f64"


def _definition(definition: SizedDefinition) -> list[str]:
    lines: list[str] = []
    specs = list(definition.indices)
    if definition.ranges == "declared":
        lines.append(_declaration(definition.name, definition.shape))
    elif definition.ranges == "stated":
        specs = [f"{name}: {size}" for name, size in zip(specs, definition.shape, strict=True)]
    head = f"{definition.name}[{', '.join(specs)}]" if specs else definition.name
    let = "" if definition.is_output else "let "
    return [*lines, f"{let}{head} = {text(definition.body)}"]
