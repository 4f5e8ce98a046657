"""Random nests that have all that a nest can, and need not make sense, to be printed and read back.

A field that has a default gets a random value by its type, so that one that is added shows in the text, or is
missed.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import MISSING, fields
from typing import Any, TypeVar, get_args

from tadc.frontend.functions import REDUCTIONS
from tadc.frontend.terms import Domain
from tadc.lattice.affine import Affine, Constraint
from tadc.passes.maps.map import (
    Applied,
    Ask,
    Block,
    Choice,
    Constant,
    Fold,
    IndexNumber,
    Let,
    Load,
    TensorDecl,
    Type,
)
from tadc.passes.nest.nest import (
    At,
    Body,
    Bound,
    Compute,
    Either,
    Extreme,
    For,
    If,
    Kind,
    Know,
    Nest,
    Space,
    Stage,
    Statement,
    Store,
)

T = TypeVar("T")

NAMES = ("i", "j", "N", "M", "to", "k_1")
TYPES = ("f32", "f64")
FUNCTIONS = {"add": 2, "div": 2, "mod": 2, "pow": 2, "neg": 1, "exp": 1, "max": 2, "safe": 2, "arith.remf": 2}


def random_nest(seed: int) -> Nest:
    """A nest by its seed."""
    return _Maker(random.Random(seed)).nest()


class _Maker:
    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.count = 0
        self.tensors: list[TensorDecl] = []
        #: The values that stand above, with their types.
        self.above: dict[str, Type] = {}

    def made(self, made: Callable[..., T], /, **given: Any) -> T:
        """An instance with these fields, and random ones where others have a default."""
        for field in fields(made):  # pyright: ignore[reportArgumentType]
            has_default = field.default is not MISSING or field.default_factory is not MISSING
            if field.compare and field.name not in given and has_default:
                given[field.name] = self.by_type(str(field.type))
        return made(**given)

    def by_type(self, type: str) -> Any:
        """A random value of a type."""
        rng = self.rng
        makers: dict[str, Callable[[], Any]] = {
            "bool": lambda: rng.random() < 0.5,
            "int": lambda: rng.choice([1, 1, 2, 8]),
            "Domain": lambda: self.rows() if rng.random() < 0.5 else (),
            "tuple[int, ...]": lambda: tuple(rng.randint(1, 40) for _ in range(rng.randrange(3))),
            "Body": lambda: self.body(1),
            "str": lambda: rng.choice(["", *REDUCTIONS]),
            "tuple[str, ...]": lambda: self.several(lambda: f"%{rng.randint(0, 9)}", 2),
            "tuple[Affine, Affine] | None": lambda: rng.choice([None, (self.form(), self.form())]),
        }
        return makers[type]()

    def several(self, make: Callable[[], T], most: int, least: int = 0) -> tuple[T, ...]:
        return tuple(make() for _ in range(self.rng.randint(least, most)))

    # -- forms ---------------------------------------------------------------------------------

    def form(self) -> Affine:
        rng, found = self.rng, Affine.const(self.rng.randint(-9, 9))
        for _ in range(rng.randint(0, 3)):
            atom = Affine.var(rng.choice(NAMES)) * rng.choice([1, 1, -1, 2, -3, 32])
            kind = rng.random()
            if kind < 0.2:
                atom = (atom + rng.randint(-5, 5)).floordiv(rng.randint(2, 6)) * rng.choice([1, -2])
            elif kind < 0.35:
                atom = (atom + Affine.var(rng.choice(NAMES))).mod(rng.randint(2, 6)) * rng.choice([1, -1])
            found += atom
        return found

    def rows(self) -> Domain:
        return self.several(lambda: Constraint(self.form(), self.rng.random() < 0.3), 4, 1)

    def bound(self) -> Bound:
        kind = self.rng.random()
        if kind < 0.6:
            return self.form()
        if kind < 0.8:
            return Extreme("min" if kind < 0.7 else "max", self.several(self.form, 3, 1))
        return Either(self.rows() if kind < 0.95 else (), self.form(), self.form())

    # -- values --------------------------------------------------------------------------------

    def let(self, depth: int) -> Let:
        kind = self.rng.random()
        if kind < 0.1:
            return Let((), self.made(Ask, tensor=self.tensor().name, at=self.several(self.form, 3)))
        value = self.block_value(depth) if kind < 0.4 and depth else self.plain()
        count = self.rng.choice([1, 1, 2]) if isinstance(value, Fold) else 1
        self.count += count
        names = tuple(f"%{self.count - n}" for n in range(count))
        self.above |= dict.fromkeys(names, value.type)
        return Let(names, value)

    def plain(self) -> Constant | IndexNumber | Load | Applied:
        rng = self.rng
        kind, type = rng.randrange(7), rng.choice(TYPES)
        if kind == 0:
            return Constant(rng.choice([0.0, 1.5, -2.0, 1e-30, math.inf, -math.inf, 3e17]), type)
        if kind == 1:
            return IndexNumber(self.form(), type)
        if kind == 2 or not self.above:
            return Load(self.tensor().name, self.several(self.form, 3), type)
        one = rng.choice(list(self.above))
        if kind == 3:
            return Applied("powi", (one,), type, rng.randint(-3, 9))
        if kind == 4:
            relation = rng.choice(["=", "!=", "<", "<=", ">", ">=", "cmpf 14"])
            return Applied(relation, (one, rng.choice(list(self.above))), "i1")
        if kind == 5:
            three = (one, *(rng.choice(list(self.above)) for _ in range(2)))
            return Applied("choose", three, type)
        function = rng.choice([*FUNCTIONS, "convert"])
        operands = (one, *(rng.choice(list(self.above)) for _ in range(FUNCTIONS.get(function, 1) - 1)))
        return Applied(function, operands, type)

    def block_value(self, depth: int) -> Choice | Fold:
        rng, type = self.rng, self.rng.choice(TYPES)
        if rng.random() < 0.4:
            return Choice(self.rows(), self.block(depth - 1), self.block(depth - 1), type)
        indices = self.several(lambda: rng.choice(NAMES), 3)
        rows = self.rows() if rng.random() < 0.8 else ()
        kind = rng.choice(list(REDUCTIONS))
        loop = rng.choice(["seq", "unroll", "jam", "lane", "thread"]) if indices else "seq"
        first = self.several(lambda: rng.choice(list(self.above)), 2) if self.above else ()
        body, parts = self.block(depth - 1), tuple(self.rows() for _ in range(rng.choice((0, 0, 2, 3))))
        return self.made(
            Fold, kind=kind, indices=indices, rows=rows, body=body, type=type, loop=loop,
            parts=parts, first=first, when=rng.choice(["", *self.above]),
        )  # fmt: skip

    def block(self, depth: int) -> Block:
        outer = dict(self.above)
        lets = self.several(lambda: self.let(depth), 3)
        if not self.above:
            self.count += 1
            lets += (Let((f"%{self.count}",), Constant(1.0, "f32")),)
            self.above[f"%{self.count}"] = "f32"
        gives = self.several(lambda: self.rng.choice(list(self.above)), 2, 1)
        self.above = outer
        return Block(lets, gives)

    # -- statements ----------------------------------------------------------------------------

    def tensor(self) -> TensorDecl:
        return self.rng.choice(self.tensors)

    def new_tensor(self) -> TensorDecl:
        name = f"{self.rng.choice(['x', 'out', 'for', 'streams', 'nest', 'sizes'])}{len(self.tensors) or ''}"
        found = TensorDecl(name, self.rng.choice(TYPES), self.several(self.form, 3))
        self.tensors.append(found)
        return found

    def compute(self) -> Compute:
        self.above = {}
        lets = self.several(lambda: self.let(2), 4)
        values = list(self.above)
        stores: tuple[Store, ...] = ()
        if values:
            stores = self.several(
                lambda: self.made(
                    Store,
                    tensor=self.tensor().name,
                    at=self.several(self.form, 3),
                    value=self.rng.choice(values),
                ),
                3,
            )
        gives = tuple(store.value for store in stores)
        if values and self.rng.random() < 0.3:
            gives = self.several(lambda: self.rng.choice(values), 2, 1)
        return self.made(Compute, block=Block(lets, gives), stores=stores)

    def statement(self, depth: int) -> Statement:
        rng = self.rng
        kind = rng.randrange(3 if depth == 0 else 5)
        if kind == 0:
            return At(rng.choice(NAMES), self.bound()) if rng.random() < 0.7 else Know(self.rows())
        if kind == 1:
            return Stage(self.new_tensor(), rng.choice(get_args(Space)))
        if kind == 2:
            return self.compute()
        if kind == 3:
            return self.made(If, rows=self.rows() if rng.random() < 0.9 else (), then=self.body(depth - 1))
        ends = {"start": self.bound(), "stop": self.bound(), "step": rng.choice([1, 1, 4])}
        loop_kind = rng.choice(get_args(Kind))
        return self.made(For, index=rng.choice(NAMES), kind=loop_kind, body=self.body(depth - 1), **ends)

    def body(self, depth: int) -> Body:
        return self.several(lambda: self.statement(depth), 3)

    def nest(self) -> Nest:
        rng = self.rng
        for _ in range(rng.randint(1, 4)):
            self.new_tensor()
        tensors = tuple(self.tensors)
        computed = [tensor.name for tensor in tensors if rng.random() < 0.5]
        if rng.random() < 0.3:
            rng.shuffle(computed)
        return Nest(
            "f",
            tensors,
            self.several(lambda: rng.choice(NAMES), 2),
            self.several(lambda: rng.choice(NAMES), 2),
            self.rows() if rng.random() < 0.6 else (),
            tuple(computed),
            self.body(3),
        )
