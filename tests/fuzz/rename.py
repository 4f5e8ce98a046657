"""The same program under other names, chosen to be captured."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace

from tests.fuzz.tree import Apply, Definition, Guard, Literal, Node, Program, Read, Sum, Value

#: What differentiation and printing would call cotangents, gradients, indices of gradients and of sums.
NASTY: Sequence[str] = (
    "df dg dh du dx dy da db dc df_1 dx_1 ddf ddx d_0 x_0 x_1 a_0 a_1 b_0 f_0 f_1 df_0 dx_0 df_1_0 "
    "z0 z1 z2 z3 s0 v0 h h_1 x y f d dd i j k z x_dot f_dot f_0_1 ddf_0 ddx_0 dd_1"
).split()


def renamed(program: Program, rng: random.Random) -> Program:
    """Tensors and indices renamed, each bound index by itself; it may come to shadow another.

    It may also have the name of a definition below.
    """
    wishes = rng.sample(NASTY, len(NASTY))
    names = {name: wishes.pop() for name in program.shapes}
    indices = rng.sample(wishes, min(len(wishes), rng.randint(4, 8)))
    below = [names[d.name] for d in program.definitions]
    definitions = tuple(
        _definition(d, names, [*indices, *below[n + 1 :]], rng) for n, d in enumerate(program.definitions)
    )
    arguments = {names[name]: shape for name, shape in program.arguments.items()}
    return Program(arguments, definitions, frozenset(names[name] for name in program.narrow))


def _definition(
    definition: Definition, tensors: Mapping[str, str], indices: list[str], rng: random.Random
) -> Definition:
    chosen = dict(zip(definition.indices, rng.sample(indices, len(definition.indices)), strict=True))
    return replace(
        definition,
        name=tensors[definition.name],
        indices=tuple(chosen.values()),
        body=_Renaming(tensors, indices, rng).node(definition.body, chosen, ()),
    )


class _Renaming:
    """The renaming of one body."""

    def __init__(self, tensors: Mapping[str, str], indices: list[str], rng: random.Random) -> None:
        self.tensors = tensors
        self.indices = indices
        self.rng = rng

    def node(self, node: Node, names: Mapping[str, str], beside: tuple[str, ...]) -> Node:
        """A node under indices of these new names; `beside` are those bound together with a reduction."""
        match node:
            case Literal():
                return node
            case Value(form):
                return Value(form.renamed(names))
            case Read(tensor, indices):
                return Read(self.tensors[tensor], tuple(form.renamed(names) for form in indices))
            case Apply(_, operands):
                return replace(node, operands=tuple(self.node(o, names, ()) for o in operands))
            case Guard(conditions, then, otherwise):
                return Guard(
                    tuple(c.renamed(names) for c in conditions),
                    self.node(then, names, ()),
                    self.node(otherwise, names, ()),
                )
            case Sum(name, lower, upper, body):
                # A new name must not hide an index that the body speaks of.
                spoken = {names[n] for n in free(body) - {name}}
                own = self.rng.choice(
                    [n for n in self.indices if n not in spoken and n not in beside] or [_new(spoken, beside)]
                )
                joined = (*beside, own) if node.style == "joined" else ()
                return replace(
                    node,
                    name=own,
                    lower=tuple(form.renamed(names) for form in lower),
                    upper=tuple(form.renamed(names) for form in upper),
                    body=self.node(body, {**names, name: own}, joined),
                    where=tuple(c.renamed({**names, name: own}) for c in node.where),
                )


def _new(spoken: set[str], beside: tuple[str, ...]) -> str:
    return next(n for n in (f"z{k}0" for k in range(99)) if n not in spoken and n not in beside)


def free(node: Node) -> set[str]:
    """The indices that a node speaks of and does not bind."""
    match node:
        case Literal():
            return set()
        case Value(form):
            return form.names
        case Read(_, indices):
            return set().union(*(form.names for form in indices))
        case Apply(_, operands):
            return set().union(*(free(operand) for operand in operands))
        case Guard(conditions, then, otherwise):
            sides = (form for c in conditions for form in (c.left, c.right))
            return free(then) | free(otherwise) | set().union(*(form.names for form in sides))
        case Sum(name, lower, upper, body):
            return (free(body) - {name}) | set().union(*(form.names for form in (*lower, *upper)))
