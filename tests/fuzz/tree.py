"""Programs as trees, and as text of the language."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import TypeAlias

from tests.fuzz.forms import Form, Integers, Relation
from tests.fuzz.operations import OPERATIONS


@dataclass(frozen=True)
class Literal:
    """A number."""

    value: float


@dataclass(frozen=True)
class Value:
    """A form as a number."""

    form: Form


@dataclass(frozen=True)
class Read:
    """An element of a tensor."""

    tensor: str
    indices: tuple[Form, ...]


@dataclass(frozen=True)
class Apply:
    """An operation of OPERATIONS."""

    op: str
    operands: tuple[Node, ...]


@dataclass(frozen=True)
class Guard:
    """A choice by indices."""

    conditions: tuple[Relation, ...]
    then: Node
    otherwise: Node


@dataclass(frozen=True)
class Sum:
    """The sum, or another reduction, over max(lower) <= name <= min(upper) where the conditions hold.

    `style` is how the range is written: `bounds`, `size` (from 0), `none` (inferred), or `joined`: by size,
    together with the sum that is its body. Those with conditions are written by size, or inferred.
    """

    name: str
    lower: tuple[Form, ...]
    upper: tuple[Form, ...]
    body: Node
    style: str = "bounds"
    kind: str = "sum"
    where: tuple[Relation, ...] = ()


Node: TypeAlias = Literal | Value | Read | Apply | Guard | Sum


@dataclass(frozen=True)
class Definition:
    """`name[indices] = body`; `ranges` says how they are written: `stated`, `declared` or `inferred`.

    `type` is that of its elements where it is stated, else empty.
    """

    name: str
    indices: tuple[str, ...]
    shape: tuple[int, ...]
    body: Node
    is_output: bool
    ranges: str = "stated"
    type: str = ""


@dataclass(frozen=True)
class IndexArray:
    """An argument of indices from 0 to `below` - 1, and its elements."""

    shape: tuple[Form, ...]
    below: Form
    values: Integers = field(compare=False, repr=False)
    increasing: bool = False

    def declaration(self, name: str) -> str:
        """As an argument of this name."""
        shape = f"[{', '.join(map(str, self.shape))}]" if self.shape else ""
        return f"{name}: index{shape} in {self.below}{' increasing' if self.increasing else ''}"


@dataclass(frozen=True)
class Program:
    """Arguments with their shapes, and definitions in order; `narrow` are the arguments of type f32.

    `arrays` are arguments too, those of indices.
    """

    arguments: Mapping[str, tuple[int, ...]]
    definitions: tuple[Definition, ...]
    narrow: frozenset[str] = frozenset()
    arrays: Mapping[str, IndexArray] = field(default_factory=dict[str, IndexArray])

    @property
    def outputs(self) -> dict[str, tuple[int, ...]]:
        """Outputs with their shapes."""
        return {d.name: d.shape for d in self.definitions if d.is_output}

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """All tensors."""
        return {**self.arguments, **{d.name: d.shape for d in self.definitions}}

    @property
    def types(self) -> dict[str, str]:
        """The element type of every tensor."""
        types = {name: "f32" if name in self.narrow else "f64" for name in self.arguments}
        for definition in self.definitions:
            types[definition.name] = definition.type or _type(definition.body, types) or "f64"
        return types

    def __str__(self) -> str:
        types = self.types
        lines = [array.declaration(name) for name, array in self.arrays.items()]
        lines += [_declaration(name, shape, types[name]) for name, shape in self.arguments.items()]
        for definition in self.definitions:
            lines += _definition(definition, types[definition.name])
        return "\n".join(lines) + "\n"


def _type(node: Node, types: Mapping[str, str]) -> str:
    """The wider type of what is read; empty where nothing is."""
    if isinstance(node, Read):
        return types[node.tensor]
    # What a select compares has no part in its value.
    compared = (0, 1) if isinstance(node, Apply) and node.op.startswith("select") else ()
    return max([_type(child, types) for place, child in children(node) if place not in compared], default="")


def children(node: Node) -> Iterator[tuple[str | int, Node]]:
    """The nodes directly below, each with its place: a field's name or an operand's number."""
    if isinstance(node, Apply):
        yield from enumerate(node.operands)
    elif isinstance(node, Guard | Sum):
        for place in fields(node):
            child = getattr(node, place.name)
            if isinstance(child, Node):
                yield place.name, child


def forms_in(node: Node) -> Iterator[Form]:
    """The index forms of a node itself."""
    match node:
        case Value(form):
            yield form
        case Read(_, indices):
            yield from indices
        case Guard(conditions):
            yield from (side for c in conditions for side in (c.left, c.right))
        case Sum(_, lower, upper):
            yield from (*lower, *upper)
            yield from (side for c in node.where for side in (c.left, c.right))
        case Literal() | Apply():
            return


def nodes(node: Node) -> Iterator[Node]:
    """The node and all below."""
    yield node
    for _, child in children(node):
        yield from nodes(child)


def with_child(node: Node, place: str | int, child: Node) -> Node:
    """The node with another child at a place."""
    if isinstance(node, Apply):
        operands = list(node.operands)
        operands[int(place)] = child
        return replace(node, operands=tuple(operands))
    return replace(node, **{str(place): child})


def text(node: Node, needs: int = 0) -> str:
    """A node of the language, in parentheses if it binds less tightly than needed."""
    match node:
        case Literal(value):
            return f"({value!r})" if value < 0 else repr(value)
        case Value(form):
            return f"({form})" if form.name is None else str(form)
        case Read(tensor, indices):
            return f"{tensor}[{', '.join(map(str, indices))}]" if indices else tensor
        case Guard(conditions, then, otherwise):
            return f"if {{{' and '.join(map(str, conditions))}}} then ({text(then)}) else ({text(otherwise)})"
        case Sum():
            return _sum(node)
        case Apply(op, operands):
            operation = OPERATIONS[op]
            parts = [text(o, n) for o, n in zip(operands, operation.needs, strict=True)]
            whole = operation.text.format(*parts)
            return f"({whole})" if operation.binds < needs else whole


def _sum(node: Sum) -> str:
    if node.style == "bounds":
        bounds = _bound("_", "max", node.lower) + _bound("^", "min", node.upper)
        return f"{node.kind}{{{node.name}}}{bounds} ({text(node.body)})"
    specs = [_spec(node)]
    while node.style == "joined":
        assert isinstance(node.body, Sum)
        node = node.body
        specs.append(_spec(node))
    where = f": {' and '.join(map(str, node.where))}" if node.where else ""
    return f"{node.kind}{{{', '.join(specs)}{where}}} ({text(node.body)})"


def _spec(node: Sum) -> str:
    return node.name if node.style == "none" else f"{node.name}: {node.upper[0].shifted(1)}"


def _bound(mark: str, function: str, forms: tuple[Form, ...]) -> str:
    form, *others = forms
    if others:
        return f"{mark}({function} [{'; '.join(map(str, forms))}])"
    return f"{mark}({form})" if form.terms else f"{mark}{form}"


def _declaration(name: str, shape: tuple[int, ...], type: str) -> str:
    return f"{name}: {type}[{', '.join(map(str, shape))}]" if shape else f"{name}: {type}"


def _definition(definition: Definition, type: str) -> list[str]:
    lines: list[str] = []
    specs = list(definition.indices)
    if definition.ranges == "declared":
        lines.append(_declaration(definition.name, definition.shape, type))
    elif definition.ranges == "stated":
        specs = [f"{name}: {size}" for name, size in zip(specs, definition.shape, strict=True)]
    head = f"{definition.name}[{', '.join(specs)}]" if specs else definition.name
    let = "" if definition.is_output else "let "
    return [*lines, f"{let}{head} = {text(definition.body)}"]
