"""A random program from a seed.

Points are enumerated while a program grows, so that every read is made to be in range where it is
evaluated: an argument is as large as its reads need.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from tests.fuzz.lanes import Lanes, below, box
from tests.fuzz.tree import (
    RELATIONS,
    Apply,
    Definition,
    Form,
    Guard,
    Integers,
    Literal,
    Node,
    Program,
    Read,
    Relation,
    Sum,
    Value,
    children,
    with_child,
)

#: Some are names that derivatives would give.
ARGUMENTS = "a b c x y w df dx da x_0 z0 df_1".split()
DEFINITIONS = "f g h u v t".split()
INDICES = "i j k l m n p q".split()

#: The largest extent of an argument, by rank; and of one whose reads have large coefficients.
EXTENTS, LARGE_EXTENTS = (1, 18, 10, 6), (1, 60, 20, 8)

#: Coefficients of indices, and those of programs that are about them.
COEFFICIENTS, LARGE_COEFFICIENTS = (1, 1, 1, 1, 1, -1, 2, -2, 3), (1, 1, 2, -2, 3, -3, 4, 5, 6, 10)

#: The most points of an output, and of a sum's body.
OUTPUT_POINTS, POINTS = 80, 1200

#: Values are kept below, roughly.
MAGNITUDE = 50.0


def generate(seed: int) -> Program:
    """The program of a seed."""
    return _Generator(random.Random(seed)).program()


class _Generator:
    """A program that grows: extents of arguments, shapes of definitions, and what is read, so far."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.extents: dict[str, list[int]] = {}
        self.shapes: dict[str, tuple[int, ...]] = {}
        self.read: set[str] = set()
        (kind,) = rng.choices(("plain", "maps", "deep"), (5, 3, 2))
        self.depths = {"plain": (2, 3, 3, 4), "maps": (1, 2, 2), "deep": (4, 5, 5)}[kind]
        self.indices_of_a_form = (1, 3, 4, 3) if kind == "maps" else (1, 7, 4, 1)
        self.coefficients = LARGE_COEFFICIENTS if kind == "maps" else COEFFICIENTS
        self.largest = LARGE_EXTENTS if kind == "maps" else EXTENTS

    def program(self) -> Program:
        rng = self.rng
        for name in rng.sample(ARGUMENTS, rng.choice((1, 1, 2, 2, 3))):
            self.extents[name] = [0] * rng.choices((0, 1, 2, 3), (1, 4, 4, 2))[0]
        count = rng.choices((1, 2, 3), (6, 3, 2))[0]
        names = rng.sample(DEFINITIONS, count)
        definitions = [self._definition(name, last=name == names[-1]) for name in names]
        arguments = {name: self._final(extents) for name, extents in self.extents.items()}
        program = Program(arguments, tuple(definitions))
        return replace(program, definitions=tuple(self._restyled(d, program) for d in definitions))

    def _final(self, extents: list[int]) -> tuple[int, ...]:
        """The shape of an argument: what its reads need, or more."""
        if not all(extents):
            return tuple(self.rng.choice((0, 1, 2, 3)) for _ in extents)
        return tuple(size + self.rng.choice((0, 0, 0, 0, 0, 0, 1, 2)) for size in extents)

    def _definition(self, name: str, last: bool) -> Definition:
        rng = self.rng
        shape = [
            rng.choices(range(7), (1, 4, 10, 10, 8, 6, 4))[0] for _ in range(rng.choice((0, 1, 1, 2, 2, 3)))
        ]
        while math.prod(shape) > OUTPUT_POINTS:
            shape[shape.index(max(shape))] -= 1
        indices = rng.sample(INDICES[:5], len(shape))
        lanes = box(indices, shape)
        body = self._body(lanes)
        self.shapes[name] = tuple(shape)
        is_output = last or rng.random() < 0.4
        ranges = "declared" if is_output and rng.random() < 0.2 else "stated"
        return Definition(name, tuple(indices), tuple(shape), body, is_output, ranges)

    def _body(self, lanes: Lanes) -> Node:
        """An expression that reads something, mostly."""
        for attempt in range(4):
            saved = {argument: list(extents) for argument, extents in self.extents.items()}
            body, _ = self.expression(lanes, self.rng.choice(self.depths))
            if attempt == 3 or any(isinstance(node, Read) for node in nodes(body)):
                return body
            self.extents = saved
        raise AssertionError

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
            lambda lanes, _: self._leaf(lanes),
        )
        (kind,) = self.rng.choices(kinds, (9, 6, 7, 4, 1, 2))
        node, size = kind(lanes, depth - 1)
        if size > MAGNITUDE:
            return Apply(self.rng.choice(("sin", "tanh", "atan")), (node,)), 1.5
        return node, size

    def _leaf(self, lanes: Lanes) -> tuple[Node, float]:
        (kind,) = self.rng.choices(("read", "literal", "value"), (17, 2, 2))
        if kind == "value":
            form = self._form(lanes)
            return Value(form), float(np.abs(lanes.form(form)[lanes.active]).max(initial=0))
        if kind == "literal":
            value = round(self.rng.uniform(-2, 2), 2)
            return Literal(value), abs(value)
        return self._read(lanes)

    def _binary(self, lanes: Lanes, depth: int) -> tuple[Node, float]:
        left, x = self.expression(lanes, depth)
        right, y = self.expression(lanes, self.rng.randint(0, depth))
        if self.rng.random() < 0.5:
            left, x, right, y = right, y, left, x
        (op,) = self.rng.choices(("add", "sub", "mul", "div", "max", "min"), (5, 3, 8, 1.5, 0.7, 0.7))
        if op == "div":
            right = Apply("add", (Literal(2.0), Apply("pow2", (right,))))
            return Apply("div", (left, right)), x / 2
        return Apply(op, (left, right)), {"add": x + y, "sub": x + y, "mul": x * y}.get(op, max(x, y))

    def _smooth(self, lanes: Lanes, depth: int) -> tuple[Node, float]:
        node, x = self.expression(lanes, depth)
        op = self.rng.choice(
            "sin cos tanh atan erf sigmoid abs neg pow2 pow2 pow3 exp exp log sqrt".split(),
        )
        match op:
            case "exp" if x > 2:
                return Apply("exp", (Apply("sin", (node,)),)), 3.0
            case "log" | "sqrt":
                square = Apply("pow2", (node,))
                return Apply(op, (Apply("add", (Literal(1.5), square)),)), 1.5 + x
            case _:
                sizes = {"pow2": x**2, "pow3": x**3, "exp": 8.0, "neg": x, "abs": x}
                return Apply(op, (node,)), sizes.get(op, 1.0)

    def _select(self, lanes: Lanes, depth: int) -> tuple[Node, float]:
        # Compared as they are, so that rounding cannot swap the branches.
        left, _ = self._read(lanes)
        right, _ = self.rng.choice(((Literal(0.1), 0), self._read(lanes)))
        yes, x = self.expression(lanes, depth)
        no, y = self.expression(lanes, self.rng.randint(0, depth))
        op = f"select {self.rng.choice(('<', '<=', '>', '>='))}"
        return Apply(op, (left, right, yes, no)), max(x, y)

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
        left = self._form(lanes)
        op = self.rng.choice([*RELATIONS, ">=", "<="])
        if self.rng.random() < 0.5:
            right = self._form(lanes)
            values = lanes.form(left) - lanes.form(right)
            return Relation(op, left, right.shifted(self._attained(values, lanes)))
        return Relation(op, left, Form((), self._attained(lanes.form(left), lanes)))

    def _attained(self, values: Integers, lanes: Lanes) -> int:
        found = values[lanes.active]
        return int(found[self.rng.randrange(len(found))]) if len(found) else self.rng.randint(-2, 2)

    # -- sums -------------------------------------------------------------------------------

    def _sum(self, lanes: Lanes, depth: int) -> tuple[Node, float]:
        node = self._range(lanes)
        inner, _ = below(lanes, node)
        if inner.active.sum() > POINTS:
            return self.expression(lanes, depth)
        if node.style == "size" and self.rng.random() < 0.2:
            again = self._sum_of_size(inner, avoid=node.name)
            innermost, _ = below(inner, again)
            if innermost.active.sum() <= POINTS:
                body, x = self.expression(innermost, depth)
                node = replace(node, style="joined", body=replace(again, body=body))
                return node, x * max(1, innermost.active.sum() / max(1, lanes.active.sum()))
        body, x = self.expression(inner, depth)
        return replace(node, body=body), x * max(1, inner.active.sum() / max(1, lanes.active.sum()))

    def _range(self, lanes: Lanes) -> Sum:
        """A sum with its range, the body still to come."""
        rng = self.rng
        kind = rng.choices(("size", "constant", "affine", "several"), (4, 3, 4, 3))[0]
        if kind == "size":
            return self._sum_of_size(lanes)
        name = self._fresh(lanes)
        empty = Literal(0.0)
        if kind == "constant":
            low = rng.randint(-2, 3)
            return Sum(name, (Form((), low),), (Form((), low + rng.choice((-1, 0, 1, 2, 3, 4))),), empty)
        low, high = Form((), rng.randint(-1, 1)), Form((), rng.randint(2, 5))
        form = self._form(lanes, avoid=name)
        if kind == "affine":
            if rng.random() < 0.5:
                return self._limited(Sum(name, (low,), (form,), empty), lanes)
            return self._limited(Sum(name, (form,), (high,), empty), lanes)
        lower = (low, form) if rng.random() < 0.7 else (low,)
        upper = (high, self._form(lanes, avoid=name).shifted(rng.randint(0, 3)))
        return self._limited(
            Sum(name, lower, upper if len(lower) == 1 or rng.random() < 0.6 else (high,), empty), lanes
        )

    def _limited(self, node: Sum, lanes: Lanes) -> Sum:
        """At most nine terms to a sum."""
        inner, parents = below(lanes, node)
        if np.bincount(parents[inner.active], minlength=1).max(initial=0) > 9:
            return Sum(node.name, (Form((), 0),), (Form((), 3),), node.body)
        return node

    def _sum_of_size(self, lanes: Lanes, avoid: str | None = None) -> Sum:
        size = self.rng.choices((0, 1, 2, 3, 4, 5), (0.3, 1, 3, 4, 3, 2))[0]
        known = [
            e for extents in (*self.extents.values(), *self.shapes.values()) for e in extents if 0 < e < 7
        ]
        if known and self.rng.random() < 0.6:
            size = self.rng.choice(known)
        name = self._fresh(lanes, avoid)
        return Sum(name, (Form((), 0),), (Form((), size - 1),), Literal(0.0), "size")

    def _fresh(self, lanes: Lanes, avoid: str | None = None) -> str:
        """An index for a sum; sometimes one that shadows another."""
        names = [n for n in INDICES if n != avoid and (n not in lanes.env or self.rng.random() < 0.15)]
        return self.rng.choice(names or [n for n in INDICES if n != avoid])

    # -- reads ------------------------------------------------------------------------------

    def _form(self, lanes: Lanes, avoid: str | None = None) -> Form:
        """An affine form of the indices in scope."""
        rng = self.rng
        names = [name for name in lanes.env if name != avoid]
        # The innermost index, which no other read may have used yet, more often.
        weights = [2 if name == names[-1] else 1 for name in names]
        count = min(len(names), rng.choices((0, 1, 2, 3), self.indices_of_a_form)[0])
        chosen: list[str] = []
        while len(chosen) < count:
            (name,) = rng.choices(names, weights)
            if name not in chosen:
                chosen.append(name)
        terms = tuple((name, rng.choice(self.coefficients)) for name in chosen)
        return Form(terms, rng.choice((0, 0, 0, 1, -1, 2)) if not (count == 1 and rng.random() < 0.5) else 0)

    def _read(self, lanes: Lanes) -> tuple[Node, float]:
        rng = self.rng
        tensors = [*self.extents, *self.shapes]
        (tensor,) = rng.choices(tensors, [2 if name in self.read else 6 for name in tensors])
        self.read.add(tensor)
        rank = len(self.extents[tensor] if tensor in self.extents else self.shapes[tensor])
        forms: list[Form] = []
        plain = bool(lanes.env) and rng.random() < 0.35
        for _ in range(rank):
            if plain:
                forms.append(Form(((rng.choice([*lanes.env, list(lanes.env)[-1]]), 1),)))
            else:
                diagonal = forms and rng.random() < 0.15
                forms.append(rng.choice(forms) if diagonal else self._form(lanes))
        if rank and rng.random() < 0.12:
            return self._padded_read(tensor, forms, lanes), 1.0
        if tensor in self.shapes and not self._fits(tensor, forms, lanes):
            return self._padded_read(tensor, forms, lanes), 1.0
        forms = [self._placed(tensor, d, form, lanes) for d, form in enumerate(forms)]
        return Read(tensor, tuple(forms)), 1.0

    def _fits(self, tensor: str, forms: Sequence[Form], lanes: Lanes) -> bool:
        spans = [_span(form, lanes) for form in forms]
        return all(high - low < size for (low, high), size in zip(spans, self.shapes[tensor], strict=True))

    def _placed(self, tensor: str, dimension: int, form: Form, lanes: Lanes) -> Form:
        """The form moved into the range of a dimension, which grows where it may."""
        rng = self.rng
        if not lanes.active.any():
            return form
        low, high = _span(form, lanes)
        if tensor in self.shapes:
            return form.shifted(rng.randint(0, self.shapes[tensor][dimension] - 1 - (high - low)) - low)
        extents = self.extents[tensor]
        if high - low >= self.largest[len(extents)]:
            form = Form((), 0)
            low = high = 0
        # Where nothing needs the constant, mostly leave the form as short as it is.
        slack = rng.choice((0, 0, 0, 1, 2))
        offset = 0 if 0 <= low and high < self.largest[len(extents)] and rng.random() < 0.6 else slack - low
        extents[dimension] = max(extents[dimension], high + offset + 1)
        return form.shifted(offset)

    def _padded_read(self, tensor: str, forms: list[Form], lanes: Lanes) -> Node:
        """A read under the guard that it is in range."""
        conditions: list[Relation] = []
        limits = self.shapes.get(tensor, (4,) * len(forms))
        for form, size in zip(forms, limits, strict=True):
            conditions += [Relation(">=", form, Form((), 0)), Relation("<", form, Form((), size))]
        if tensor in self.extents:
            taken = lanes.only(lanes.where(conditions))
            for dimension, form in enumerate(forms):
                high = _span(form, taken)[1] if taken.active.any() else -1
                self.extents[tensor][dimension] = max(self.extents[tensor][dimension], high + 1)
        return Guard(tuple(conditions), Read(tensor, tuple(forms)), Literal(self.rng.choice((0.0, 0.0, 1.0))))

    # -- ranges that can be inferred --------------------------------------------------------

    def _restyled(self, definition: Definition, program: Program) -> Definition:
        """The same with some of the ranges left to be inferred."""
        body = self._restyled_sums(definition.body, program)
        sizes = zip(definition.indices, definition.shape, strict=True)
        inferable = all(set(alone(body, name, program)) == {size} for name, size in sizes)
        if definition.ranges == "stated" and inferable and self.rng.random() < 0.7:
            return replace(definition, body=body, ranges="inferred")
        return replace(definition, body=body)

    def _restyled_sums(self, node: Node, program: Program) -> Node:
        joined = isinstance(node, Sum) and node.style == "joined"
        for place, child in children(node):
            child = self._restyled_sums(child, program)
            # What is written together with its outer sum stays so.
            if joined and isinstance(child, Sum):
                child = replace(child, style="size")
            node = with_child(node, place, child)
        if isinstance(node, Sum) and node.style == "size":
            size = node.upper[0].constant + 1
            if set(alone(node.body, node.name, program)) == {size} and self.rng.random() < 0.7:
                return replace(node, style="none")
        return node


def nodes(node: Node) -> Iterator[Node]:
    """The node and all below."""
    yield node
    for _, child in children(node):
        yield from nodes(child)


def alone(node: Node, name: str, program: Program) -> Iterator[int]:
    """The sizes of the dimensions that this index reads alone."""
    if isinstance(node, Read):
        sizes = zip(node.indices, program.shapes[node.tensor], strict=True)
        yield from (size for form, size in sizes if form.name == name)
    if isinstance(node, Sum) and node.name == name:
        return
    for _, child in children(node):
        yield from alone(child, name, program)


def _span(form: Form, lanes: Lanes) -> tuple[int, int]:
    """The least and the largest value of a form; (0, 0) where there is no point."""
    values = lanes.form(form)[lanes.active]
    return (int(values.min()), int(values.max())) if len(values) else (0, 0)
