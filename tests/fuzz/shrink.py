"""A smaller program that fails in the same way."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from dataclasses import replace

from tests.fuzz.evaluate import Evaluator, OutOfRange
from tests.fuzz.forms import Form
from tests.fuzz.tree import (
    Apply,
    Definition,
    Guard,
    Literal,
    Node,
    Program,
    Read,
    Sum,
    Value,
    children,
    text,
    with_child,
)


def shrink(program: Program, fails: Callable[[Program], bool], seconds: float = 20.0) -> Program:
    """Take the first smaller program that fails, again and again, for so long."""
    end = time.monotonic() + seconds
    candidates = smaller(program)
    while time.monotonic() < end:
        candidate = next(candidates, None)
        if candidate is None:
            break
        if _is_program(candidate) and fails(candidate):
            program, candidates = candidate, smaller(candidate)
    return program


def smaller(program: Program) -> Iterator[Program]:
    """Programs with one definition, argument, node, condition, bound or size less; the large steps first."""
    definitions = program.definitions
    for k, definition in enumerate(definitions):
        rest = (*definitions[:k], *definitions[k + 1 :])
        if any(d.is_output for d in rest) and not _reads(definition.name, rest):
            yield replace(program, definitions=rest)
    for name in program.arguments:
        if not _reads(name, definitions):
            kept = {n: shape for n, shape in program.arguments.items() if n != name}
            yield replace(program, arguments=kept)
    words = {word for definition in definitions for word in re.findall(r"\w+", text(definition.body))}
    for name in program.arrays.keys() - words:
        yield replace(program, arrays={n: array for n, array in program.arrays.items() if n != name})
    for k, definition in enumerate(definitions):
        for less in _smaller_definitions(definition):
            yield replace(program, definitions=(*definitions[:k], less, *definitions[k + 1 :]))


def _smaller_definitions(definition: Definition) -> Iterator[Definition]:
    # Stated, so that no range hangs on what is taken away.
    definition = replace(
        definition, ranges="stated" if definition.ranges == "inferred" else definition.ranges
    )
    for body in _smaller_nodes(definition.body):
        yield replace(definition, body=body)
    for k, size in enumerate(definition.shape):
        if size > 1:
            yield replace(definition, shape=(*definition.shape[:k], size - 1, *definition.shape[k + 1 :]))


def _smaller_nodes(node: Node) -> Iterator[Node]:
    """The nodes below in place of the node, and the node with less below it."""
    for _, child in children(node):
        yield child
    yield from _with_less(node)
    for place, child in children(node):
        for less in _smaller_nodes(child):
            yield with_child(node, place, less)


def _with_less(node: Node) -> Iterator[Node]:
    match node:
        case Apply() | Value():
            yield Literal(1.5)
        case Guard(conditions):
            for k in range(len(conditions) if len(conditions) > 1 else 0):
                yield replace(node, conditions=(*conditions[:k], *conditions[k + 1 :]))
        case Sum(lower=lower, upper=upper, style=style):
            if node.kind != "sum":
                yield replace(node, kind="sum")
            if style != "bounds" and not node.where:
                yield replace(node, style="bounds")
            for k in range(len(node.where)):
                yield replace(node, where=(*node.where[:k], *node.where[k + 1 :]))
            for k in range(len(lower) if len(lower) > 1 else 0):
                yield replace(node, lower=(*lower[:k], *lower[k + 1 :]))
            for k in range(len(upper) if len(upper) > 1 else 0):
                yield replace(node, upper=(*upper[:k], *upper[k + 1 :]))
        case Read(_, indices):
            for k, form in enumerate(indices):
                if form.terms:
                    yield replace(node, indices=(*indices[:k], Form(form.terms[1:]), *indices[k + 1 :]))
        case Literal():
            return


def _reads(name: str, definitions: tuple[Definition, ...]) -> bool:
    def below(node: Node) -> bool:
        if isinstance(node, Read) and node.tensor == name:
            return True
        return any(below(child) for _, child in children(node))

    return any(below(d.body) for d in definitions)


def _is_program(program: Program) -> bool:
    """Every index is bound, every read in range."""
    try:
        Evaluator(program).check_reads()
    except (OutOfRange, KeyError, AssertionError):
        return False
    return True
