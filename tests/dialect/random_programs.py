"""Random typed programs: every node, any index form, no proof that a read is in range."""

from __future__ import annotations

import random
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from tadc.frontend.extents import shape_at
from tadc.frontend.functions import REDUCTIONS
from tadc.frontend.program import Argument, Definition, Program
from tadc.frontend.terms import Term, Terms
from tadc.lattice.affine import Affine, Constraint, box

UNARY = ("exp", "sin", "neg", "abs", "sigmoid", "relu", "sign", "sqrt")
BINARY = ("add", "sub", "mul", "div", "max", "min", "mod", "pow", "atan2")
RELATIONS = ("=", "!=", "<", "<=", ">", ">=")
LITERALS = (0, 1, 2, -1, 0.5, -0.0, 7, float("inf"))

Tensor = tuple[str, str, tuple[int, ...]]


def random_program(
    seed: int,
    *,
    functions: Collection[str] = (*UNARY, *BINARY),
    types: Sequence[str] = ("f32", "f64"),
    literals: Sequence[float] = LITERALS,
    depth: int = 5,
    index_arrays: int = 0,
) -> Program:
    """A program; the same for the same seed. Forms have elements of some index arrays, if there are any."""
    unary = [f for f in UNARY if f in functions]
    binary = [f for f in BINARY if f in functions]
    return _Maker(random.Random(seed), unary, binary, types, literals).program(depth, index_arrays)


@dataclass
class _Maker:
    random: random.Random
    unary: Sequence[str]
    binary: Sequence[str]
    types: Sequence[str]
    literals: Sequence[float]
    terms: Terms = field(default_factory=Terms)
    index_arrays: Sequence[Argument] = ()

    def program(self, depth: int, index_arrays: int) -> Program:
        draw = self.random
        self.index_arrays = [
            Argument(name, "i32", self.shape(2), below=draw.randint(1, 4)) for name in "pqr"[:index_arrays]
        ]
        names = "abcd"[: draw.randint(1, 4)]
        arguments = [Argument(n, draw.choice(self.types), self.shape(3)) for n in names]
        tensors: list[Tensor] = [(a.name, a.type, shape_at(a.shape, {})) for a in arguments]
        definitions: list[Definition] = []
        for name in "fgh"[: draw.randint(1, 3)]:
            shape, kind = self.shape(2), draw.choice(self.types)
            indices = tuple("ij"[: len(shape)])
            body = self.term(indices, tensors, draw.randint(1, depth))
            is_output = name == "f" or draw.random() < 0.7
            definitions.append(Definition(name, kind, shape, indices, body, is_output))
            tensors.append((name, kind, shape))
        return Program((*self.index_arrays, *arguments), tuple(definitions), self.terms)

    def shape(self, most: int) -> tuple[int, ...]:
        return tuple(self.random.randint(1, 4) for _ in range(self.random.randint(0, most)))

    def form(self, scope: Sequence[str]) -> Affine:
        draw = self.random
        form = Affine.const(draw.randint(-3, 3))
        for name in draw.sample(scope, min(len(scope), draw.randint(0, 2))):
            form = form + Affine.var(name) * draw.choice([1, 1, -1, 2, -3])
        if self.index_arrays and draw.random() < 0.5:
            array = draw.choice(self.index_arrays)
            form = form + array.lookup(self.form(scope) for _ in array.shape) * draw.choice([1, 1, -1, 2])
        if draw.random() < 0.25:
            divisor = draw.randint(2, 4)
            form = form + form.floordiv(divisor) if draw.random() < 0.5 else form.mod(divisor)
        return form

    def rows(self, scope: Sequence[str]) -> list[Constraint]:
        count = self.random.randint(1, 3)
        rows = [Constraint(self.form(scope), self.random.random() < 0.3) for _ in range(count)]
        return [row for row in rows if not row.form.is_constant]  # those that hold are not read back

    def term(self, scope: Sequence[str], tensors: Sequence[Tensor], depth: int) -> Term:
        draw, terms = self.random, self.terms

        def below(inner: Sequence[str] = scope) -> Term:
            return self.term(inner, tensors, depth - 1)

        kind = draw.choice("leaf unary binary binary power sum sum guard select".split()) if depth else "leaf"
        match kind:
            case "unary":
                return terms.apply(draw.choice(self.unary), [below()])
            case "binary":
                left = below()
                return terms.apply(draw.choice(self.binary), [left, left if draw.random() < 0.2 else below()])
            case "power" if "pow" in self.binary:
                return terms.apply("pow", [below(), terms.const(draw.choice([2, 3, -1, 0]))])
            case "sum":
                binders = [terms.fresh() for _ in range(draw.randint(1, 2))]
                inner = [*scope, *binders]
                rows = [*box(binders, [draw.randint(0, 4) for _ in binders]), *self.rows(inner)]
                hints = draw.sample("klm", len(binders))
                reduction = "sum" if draw.random() < 0.6 else draw.choice(list(REDUCTIONS))
                rows = rows[: draw.randint(1, 6)]
                return terms.reduce(binders, rows, below(inner), kind=reduction, hints=hints)
            case "guard":
                return terms.guard(self.rows(scope), below(), below())
            case "select":
                return terms.select(draw.choice(RELATIONS), below(), below(), below(), below())
            case _:
                return self.leaf(scope, tensors)

    def leaf(self, scope: Sequence[str], tensors: Sequence[Tensor]) -> Term:
        match self.random.choice("read read read literal index".split()):
            case "read":
                name, kind, shape = self.random.choice(tensors)
                return self.terms.read(name, [self.form(scope) for _ in shape], kind)
            case "literal":
                return self.terms.const(self.random.choice(self.literals))
            case _:
                return self.terms.index(self.form(scope))
