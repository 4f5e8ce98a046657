"""Ranges left to be inferred, where the language can."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

from tests.fuzz.forms import Form, Lookup
from tests.fuzz.tree import Definition, Node, Program, Read, Sum, children, forms_in, with_child

#: An extent; a form where it hangs on size symbols.
Size: TypeAlias = int | Form
Shapes: TypeAlias = Mapping[str, Sequence[Size]]

#: How often a range that can be inferred is not stated.
INFERRED = 0.7


def as_size(form: Form) -> Size:
    """A form as an extent."""
    return form if form.terms else form.constant


def restyled(program: Program, rng: random.Random) -> Program:
    """The same program with some of its ranges not stated."""
    definitions = tuple(_definition(d, program, rng) for d in program.definitions)
    return replace(program, definitions=definitions)


def _definition(definition: Definition, program: Program, rng: random.Random) -> Definition:
    body = with_inferred_sums(definition.body, program.shapes, rng)
    inferred = is_inferable(definition.indices, definition.shape, body, program.shapes)
    if definition.ranges == "stated" and inferred and rng.random() < INFERRED:
        return replace(definition, body=body, ranges="inferred")
    return replace(definition, body=body)


def is_inferable(indices: Sequence[str], shape: Sequence[Size], body: Node, shapes: Shapes) -> bool:
    """Whether what a definition reads tells the range of every index."""
    return all(set(_alone(body, name, shapes)) == {n} for name, n in zip(indices, shape, strict=True))


def with_inferred_sums(node: Node, shapes: Shapes, rng: random.Random) -> Node:
    """The node with some of the ranges of sums not stated."""
    joined = isinstance(node, Sum) and node.style == "joined"
    for place, child in children(node):
        child = with_inferred_sums(child, shapes, rng)
        # What is written together with its outer sum states its size, too.
        if joined and isinstance(child, Sum):
            child = replace(child, style="size")
        node = with_child(node, place, child)
    if isinstance(node, Sum) and node.style == "size":
        size = as_size(node.upper[0].shifted(1))
        # What a condition says of its index is beside the body.
        beside = replace(node, name="")
        if set(_alone(beside, node.name, shapes)) == {size} and rng.random() < INFERRED:
            return replace(node, style="none")
    return node


def _alone(node: Node, name: str, shapes: Shapes) -> Iterator[Size]:
    """The sizes of the dimensions that this index reads alone."""
    for tensor, indices in _read(node):
        sizes = zip(indices, shapes[tensor], strict=True)
        yield from (size for form, size in sizes if form.name == name)
    if isinstance(node, Sum) and node.name == name:
        return
    for _, child in children(node):
        yield from _alone(child, name, shapes)


def _read(node: Node) -> Iterator[tuple[str, Sequence[Form]]]:
    """What a node reads itself: an element of a tensor, and elements of index arrays in its forms."""
    if isinstance(node, Read):
        yield node.tensor, node.indices
    for form in forms_in(node):
        yield from _looked_up(form)


def _looked_up(form: Form) -> Iterator[tuple[str, Sequence[Form]]]:
    for atom, _ in form.terms:
        if isinstance(atom, Lookup):
            yield atom.array, atom.parts
        if not isinstance(atom, str):
            for part in atom.parts:
                yield from _looked_up(part)
