"""A random program from a seed.

Points are enumerated while a program grows, so that every read is made to be in range where it is
evaluated: an argument is as large as its reads need.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from tests.fuzz.forms import RELATIONS, Form, Integers, Relation
from tests.fuzz.lanes import Lanes, below, box
from tests.fuzz.reads import Reads
from tests.fuzz.rename import renamed
from tests.fuzz.restyle import restyled
from tests.fuzz.styles import PLAIN, Style
from tests.fuzz.tree import Apply, Definition, Guard, Literal, Node, Program, Read, Sum, Value, nodes

ARGUMENTS = "a b c x y w".split()
DEFINITIONS = "f g h u v t".split()
INDICES = "i j k l m n p q".split()

#: Functions of one value, those that grow fast, and those that need a positive value.
GROWING = "exp sinh cosh exp2 expm1".split()
POSITIVE = "log sqrt log1p cbrt pow-1 pow-2".split()
SMOOTH = "sin cos tanh atan erf sigmoid asinh abs neg pow2 pow2 pow2 pow3 pow3 pow5 exp exp".split()
SMOOTH += GROWING + POSITIVE

#: Functions of two values of which one is kept positive.
DIVIDING = "div atan2 pow".split()

#: The most points of an output, and of a sum's body; the same of small programs.
OUTPUT_POINTS, POINTS = 80, 1200
SMALL_OUTPUT_POINTS, SMALL_POINTS = 16, 120

#: How deep expressions are, by the kind of program.
DEPTHS = {"plain": (2, 3, 3, 4), "maps": (1, 2, 2), "deep": (4, 5, 5)}
SMALL_DEPTHS = {"plain": (1, 2, 2, 2, 3), "maps": (1, 1, 2), "deep": (3,)}

#: Reductions, and how often each is chosen where it can be.
KINDS = {"sum": 12, "max": 2, "min": 2, "prod": 2, "logsumexp": 2}

#: Values are kept below, roughly.
MAGNITUDE = 50.0


def generate(seed: int, *, small: bool = False, renaming: bool = True, style: Style = PLAIN) -> Program:
    """The program of a seed; a small one is cheap to differentiate three times.

    With `renaming` most have names that derivatives would give, and indices that shadow others.
    """
    rng = random.Random(seed)
    program = Generator(rng, small, style).program()
    return renamed(program, rng) if renaming and rng.random() < 0.7 else program


class Generator:
    """A program that grows, expression by expression."""

    def __init__(self, rng: random.Random, small: bool, style: Style = PLAIN) -> None:
        self.rng = rng
        self.style = style
        (kind,) = rng.choices(("plain", "maps", "deep"), (5, 3, 2))
        self.depths = (SMALL_DEPTHS if small else DEPTHS)[kind]
        self.output_points = SMALL_OUTPUT_POINTS if small else OUTPUT_POINTS
        self.points = SMALL_POINTS if small else POINTS
        self.reads = Reads(rng, style, large=kind == "maps")

    def program(self) -> Program:
        rng = self.rng
        for name in rng.sample(ARGUMENTS, rng.choice((1, 1, 2, 2, 3))):
            self.reads.extents[name] = [0] * rng.choices((0, 1, 2, 3), (1, 4, 4, 2))[0]
        names = rng.sample(DEFINITIONS, rng.choices((1, 2, 3), (6, 3, 2))[0])
        definitions = tuple(self._definition(name, last=name == names[-1]) for name in names)
        arguments = self.reads.arguments()
        narrow = frozenset[str]()
        if rng.random() < self.style.narrow:
            narrow = frozenset(n for n in arguments if rng.random() < 0.6)
        return restyled(Program(arguments, definitions, narrow), rng)

    def _definition(self, name: str, last: bool) -> Definition:
        rng = self.rng
        rank = rng.choice((0, 1, 1, 2, 2, 3))
        shape = rng.choices(range(len(self.style.extents)), self.style.extents, k=rank)
        while math.prod(shape) > self.output_points:
            shape[shape.index(max(shape))] -= 1
        indices = rng.sample(INDICES[:5], rank)
        body = self.body(box(indices, shape))
        self.reads.shapes[name] = tuple(shape)
        is_output = last or rng.random() < 0.4
        ranges = "declared" if is_output and rng.random() < 0.2 else "stated"
        return Definition(name, tuple(indices), tuple(shape), body, is_output, ranges)

    def body(self, lanes: Lanes) -> Node:
        """The body of a definition with these points; it reads something."""
        body, _ = self.expression(lanes, self.rng.choice(self.depths))
        if not any(isinstance(node, Read) for node in nodes(body)):
            body = Apply("mul", (body, self.reads.read(lanes)))
        return body

    # -- expressions: a node, and about how large its values get ----------------------------

    def expression(self, lanes: Lanes, depth: int) -> tuple[Node, float]:
        if depth == 0:
            return self._leaf(lanes)
        kinds: tuple[Callable[[Lanes, int], tuple[Node, float]], ...] = (
            self._binary,
            self._smooth,
            self._sum,
            self._guard,
            self._select,
            self._remainder,
            lambda lanes, _: self._leaf(lanes),
        )
        (kind,) = self.rng.choices(kinds, (9, 6, 7, 4, 1.5, 0.5, 2))
        node, size = kind(lanes, depth - 1)
        if size > MAGNITUDE:
            return Apply(self.rng.choice(("sin", "tanh", "atan")), (node,)), 1.5
        return node, size

    def _leaf(self, lanes: Lanes) -> tuple[Node, float]:
        (kind,) = self.rng.choices(("read", "literal", "value"), (17, 2, 2))
        if kind == "value":
            form = self.reads.form(lanes)
            return Value(form), float(np.abs(lanes.form(form)[lanes.active]).max(initial=0))
        if kind == "literal":
            value = round(self.rng.uniform(-2, 2), 2)
            return Literal(value), abs(value)
        return self.reads.read(lanes), 1.0

    def _binary(self, lanes: Lanes, depth: int) -> tuple[Node, float]:
        left, x = self.expression(lanes, depth)
        right, y = self.expression(lanes, self.rng.randint(0, depth))
        if self.rng.random() < 0.5:
            left, x, right, y = right, y, left, x
        (op,) = self.rng.choices(
            ("add", "sub", "mul", *DIVIDING, "max", "min"), (10, 6, 16, 3, 1, 1, 1.4, 1.4)
        )
        if op in DIVIDING:
            positive = Apply("add", (Literal(2.0), Apply("pow2", (right,))))
            if op == "pow":
                return Apply(op, (positive, Apply("sin", (left,)))), 2 + y**2
            return Apply(op, (left, positive)), x
        return Apply(op, (left, right)), {"add": x + y, "sub": x + y, "mul": x * y}.get(op, max(x, y))

    def _smooth(self, lanes: Lanes, depth: int) -> tuple[Node, float]:
        node, x = self.expression(lanes, depth)
        op = self.rng.choice(SMOOTH)
        if op in POSITIVE:
            square = Apply("pow2", (node,))
            return Apply(op, (Apply("add", (Literal(1.5), square)),)), 1.5 + x
        if op in GROWING and x > 2:
            return Apply(op, (Apply("sin", (node,)),)), 3.0
        sizes = {"pow2": x**2, "pow3": x**3, "pow5": x**5, "neg": x, "abs": x, "asinh": x}
        return Apply(op, (node,)), sizes.get(op, 8.0 if op in GROWING else 1.0)

    def _select(self, lanes: Lanes, depth: int) -> tuple[Node, float]:
        # Compared as they are, so that rounding cannot swap the branches.
        left = self.reads.read(lanes)
        right = self.reads.read(lanes) if self.rng.random() < 0.5 else Literal(0.1)
        yes, x = self.expression(lanes, depth)
        no, y = self.expression(lanes, self.rng.randint(0, depth))
        op = f"select {self.rng.choice(tuple(RELATIONS))}"
        return Apply(op, (left, right, yes, no)), max(x, y)

    def _remainder(self, lanes: Lanes, depth: int) -> tuple[Node, float]:
        # Of what is read as it is, so that rounding cannot move it over a step.
        divisor = self.rng.choice((0.3, 0.7, -0.3))
        remainder = Apply("mod", (self.reads.read(lanes), Literal(divisor)))
        node, x = self.expression(lanes, depth)
        return Apply("mul", (remainder, node)), x

    def _guard(self, lanes: Lanes, depth: int) -> tuple[Node, float]:
        conditions: list[Relation] = []
        taken = lanes.active
        for _ in range(self.rng.choice((1, 1, 2, 2, 3))):
            conditions.append(self._relation(lanes.only(taken)))
            taken = lanes.where(conditions)
        then, x = self.expression(lanes.only(taken), depth)
        if self.rng.random() < 0.4:
            return Guard(tuple(conditions), then, Literal(0.0)), x
        otherwise, y = self.expression(lanes.only(lanes.active & ~taken), self.rng.randint(0, depth))
        return Guard(tuple(conditions), then, otherwise), max(x, y)

    def _relation(self, lanes: Lanes) -> Relation:
        """A relation that holds somewhere, mostly."""
        left = self.reads.form(lanes)
        op = self.rng.choice([*RELATIONS, ">=", "<="])
        if self.rng.random() < 0.5:
            right = self.reads.form(lanes)
            values = lanes.form(left) - lanes.form(right)
            return Relation(op, left, right.shifted(self._attained(values, lanes)))
        return Relation(op, left, Form((), self._attained(lanes.form(left), lanes)))

    def _attained(self, values: Integers, lanes: Lanes) -> int:
        found = values[lanes.active]
        return int(found[self.rng.randrange(len(found))]) if len(found) else self.rng.randint(-2, 2)

    # -- sums -------------------------------------------------------------------------------

    def _sum(self, lanes: Lanes, depth: int) -> tuple[Node, float]:
        node = self._range(lanes)
        inner, parents = below(lanes, node)
        if inner.active.sum() > self.points:
            return self.expression(lanes, depth)
        node = replace(node, kind=self._kind(lanes, parents))
        if node.style == "size" and self.rng.random() < (0.2 if node.kind == "sum" else 0.6):
            again = replace(self.sum_of_size(inner, avoid=node.name), kind=node.kind)
            innermost, places = below(inner, again)
            every = np.append(parents, lanes.count)[places]
            if innermost.active.sum() <= self.points and node.kind in self._possible(lanes, every):
                body, x = self.expression(innermost, depth)
                node = replace(node, style="joined", body=replace(again, body=body))
                return node, self._reduced(node.kind, x, lanes, every)
        body, x = self.expression(inner, depth)
        if node.style == "size" and self.rng.random() < 0.8:
            body = Apply("mul", (self.reads.read(inner, alone=node.name), body))
        return replace(node, body=body), self._reduced(node.kind, x, lanes, parents)

    def _kind(self, lanes: Lanes, parents: Integers) -> str:
        kinds = self._possible(lanes, parents)
        return self.rng.choices(kinds, [KINDS[kind] for kind in kinds])[0]

    def _possible(self, lanes: Lanes, parents: Integers) -> list[str]:
        """The reductions that stay finite and moderate over these points."""
        counts = np.bincount(parents, minlength=lanes.count)[: lanes.count][lanes.active]
        kinds = ["sum"]
        kinds += ["prod"] if counts.max(initial=0) <= 4 else []
        return [*kinds, "max", "min", "logsumexp"] if counts.min(initial=1) > 0 else kinds

    def _reduced(self, kind: str, size: float, lanes: Lanes, parents: Integers) -> float:
        """About how large a reduction of values of this size gets."""
        most = int(np.bincount(parents, minlength=lanes.count)[: lanes.count].max(initial=0))
        sizes = {"sum": size * max(1, most), "prod": max(1.0, size**most), "logsumexp": size + 3}
        return sizes.get(kind, size)

    def _range(self, lanes: Lanes) -> Sum:
        """A sum with its range, the body still to come."""
        rng = self.rng
        kind = rng.choices(("size", "constant", "affine", "several"), self.style.ranges)[0]
        if kind == "size":
            return self.sum_of_size(lanes)
        name = self.fresh(lanes)
        empty = Literal(0.0)
        if kind == "constant":
            low = rng.randint(-2, 3)
            return Sum(name, (Form((), low),), (Form((), low + rng.choice((-1, 0, 1, 2, 3, 4))),), empty)
        low, high = Form((), rng.randint(-1, 1)), Form((), rng.randint(2, 5))
        form = self.reads.form(lanes, avoid=name)
        if kind == "affine":
            if rng.random() < 0.5:
                return self._limited(Sum(name, (low,), (form,), empty), lanes)
            return self._limited(Sum(name, (form,), (high,), empty), lanes)
        lower = (low, form) if rng.random() < 0.7 else (low,)
        upper = (high, self.reads.form(lanes, avoid=name).shifted(rng.randint(0, 3)))
        return self._limited(
            Sum(name, lower, upper if len(lower) == 1 or rng.random() < 0.6 else (high,), empty), lanes
        )

    def _limited(self, node: Sum, lanes: Lanes) -> Sum:
        """At most nine terms to a sum."""
        inner, parents = below(lanes, node)
        if np.bincount(parents[inner.active], minlength=1).max(initial=0) > 9:
            return Sum(node.name, (Form((), 0),), (Form((), 3),), node.body)
        return node

    def sum_of_size(self, lanes: Lanes, avoid: str | None = None) -> Sum:
        """A sum over a number of points from 0, the body still to come."""
        size = self.rng.choices(range(len(self.style.sums)), self.style.sums)[0]
        known = self.reads.sizes()
        if known and self.rng.random() < 0.6:
            size = self.rng.choice(known)
        name = self.fresh(lanes, avoid)
        return Sum(name, (Form((), 0),), (Form((), size - 1),), Literal(0.0), "size")

    def fresh(self, lanes: Lanes, avoid: str | None = None) -> str:
        """An index for a sum; sometimes one that shadows another."""
        names = [n for n in INDICES if n != avoid and (n not in lanes.env or self.rng.random() < 0.3)]
        return self.rng.choice(names or [n for n in INDICES if n != avoid])
