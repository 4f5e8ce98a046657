"""Ranges left to be inferred, where the language can."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace

from tests.fuzz.tree import Definition, Node, Program, Read, Sum, children, with_child

#: How often a range that can be inferred is not stated.
INFERRED = 0.7


def restyled(program: Program, rng: random.Random) -> Program:
    """The same program with some of its ranges not stated."""
    definitions = tuple(_definition(d, program, rng) for d in program.definitions)
    return replace(program, definitions=definitions)


def _definition(definition: Definition, program: Program, rng: random.Random) -> Definition:
    definition = replace(definition, body=_sums(definition.body, program, rng))
    sizes = zip(definition.indices, definition.shape, strict=True)
    inferable = all(set(_alone(definition.body, name, program)) == {size} for name, size in sizes)
    if definition.ranges == "stated" and inferable and rng.random() < INFERRED:
        return replace(definition, ranges="inferred")
    return definition


def _sums(node: Node, program: Program, rng: random.Random) -> Node:
    joined = isinstance(node, Sum) and node.style == "joined"
    for place, child in children(node):
        child = _sums(child, program, rng)
        # What is written together with its outer sum states its size, too.
        if joined and isinstance(child, Sum):
            child = replace(child, style="size")
        node = with_child(node, place, child)
    if isinstance(node, Sum) and node.style == "size":
        size = node.upper[0].constant + 1
        if set(_alone(node.body, node.name, program)) == {size} and rng.random() < INFERRED:
            return replace(node, style="none")
    return node


def _alone(node: Node, name: str, program: Program) -> Iterator[int]:
    """The sizes of the dimensions that this index reads alone."""
    if isinstance(node, Read):
        sizes = zip(node.indices, program.shapes[node.tensor], strict=True)
        yield from (size for form, size in sizes if form.name == name)
    if isinstance(node, Sum) and node.name == name:
        return
    for _, child in children(node):
        yield from _alone(child, name, program)
