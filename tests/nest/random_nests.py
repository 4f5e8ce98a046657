"""Random small maps, their plain nests, and how a nest that was made of one is compared with it.

    sample = random_sample(seed)
    assert_same(sample, primitive(sample.nest))

Maps have one to three indices, some extents of which are sizes; they read at affine subscripts, in places
only under a guard, fold over ranges that move with the indices, in one fold or in two in each other, and give
one to three results. All reads are in range for all sizes from 1 up.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tadc.frontend.diagnostics import CompileError
from tadc.frontend.terms import Domain
from tadc.lattice.affine import ZERO, Affine, Constraint, box
from tadc.passes.maps.map import (
    Applied,
    Block,
    Choice,
    Constant,
    Fold,
    IndexNumber,
    Let,
    Load,
    Map,
    MapFunction,
    TensorDecl,
    Value,
)
from tadc.passes.nest.interpret import Run, interpret
from tadc.passes.nest.nest import Nest
from tadc.passes.nest.nest_text import nest_text
from tadc.passes.nest.nest_verifier import verify
from tadc.passes.nest.plain import plain_nest

Arrays = Mapping[str, NDArray[np.generic]]

SIZES = ("N", "M")
BINARY = ("add", "sub", "mul", "add", "mul", "max", "min")
UNARY = ("neg", "abs", "relu", "tanh", "sigmoid")
FOLDS = ("sum", "sum", "sum", "prod", "max", "min")


@dataclass(frozen=True)
class Sample:
    """A map of one function, its plain nest, and values of the sizes to try it at."""

    function: MapFunction
    nest: Nest
    sizes: tuple[dict[str, int], ...]
    seed: int

    @property
    def map(self) -> Map:
        """The only map."""
        return self.function.maps[0]

    def arrays(self, sizes: Mapping[str, int]) -> Arrays:
        """Numbers of many magnitudes for the arguments, so that sums in another order differ."""
        rng = np.random.default_rng(self.seed)
        found: dict[str, NDArray[np.generic]] = {}
        for tensor in self.function.arguments:
            shape = tuple(extent.evaluate(sizes) for extent in tensor.shape)
            numbers = rng.uniform(-1, 1, shape) * np.exp2(rng.integers(-6, 7, shape))
            found[tensor.name] = numbers.astype({"f32": np.float32, "f64": np.float64}[tensor.type])
        return found

    def run(self, nest: Nest, sizes: Mapping[str, int], ranges: Mapping[str, int] | None = None) -> Run:
        """A nest on the sample's arrays."""
        return interpret(nest, self.arrays(sizes), {**sizes, **(ranges or {})})


def assert_same(sample: Sample, nest: Nest, *, bits: bool = True, reads_more: bool = False) -> None:
    """That a nest is right, and computes what the sample's does, bit by bit, of the same elements.

    One that stages a box around what is read may read more.
    """
    assert [str(CompileError([found])) for found in verify(nest)] == []
    for sizes in sample.sizes:
        expected, found = sample.run(sample.nest, sizes), sample.run(nest, sizes)
        shown = f"{nest_text(sample.nest)}\n{nest_text(nest)}\nat {sizes}, seed {sample.seed}"
        assert found.unwritten == {}, shown
        assert set(found.reads) >= set(expected.reads), shown
        assert reads_more or set(found.reads) == set(expected.reads), shown
        assert set(found.writes) == set(expected.writes), shown
        for name, array in expected.results.items():
            if bits:
                assert found.results[name].tobytes() == array.tobytes(), f"{name} of {shown}"
            else:
                np.testing.assert_allclose(found.results[name], array, rtol=1e-4, err_msg=shown)


def random_sample(seed: int, *, rank: int | None = None, type: str | None = None) -> Sample:
    """A random map with its nest; with so many indices and of a type, where these are given."""
    return _Maker(random.Random(seed)).sample(seed, rank, type)


class _Maker:
    """A map on its way; `lets` are of the block at hand, `inside` the indices there, with their extents."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.tensors: list[TensorDecl] = []
        self.count = self.folds = 0
        self.inside: dict[str, Affine] = {}
        self.lets: list[Let] = []

    def sample(self, seed: int, rank: int | None, type: str | None) -> Sample:
        rng = self.rng
        self.type = type or rng.choice(["f32", "f32", "f64"])
        rank = rng.choice([1, 2, 2, 3]) if rank is None else rank
        indices = tuple("ijl"[:rank])
        extents = tuple(self.extent(12 if rank < 3 else 6) for _ in indices)
        self.inside = dict(zip(indices, extents, strict=True))
        values = [self.value(2) for _ in range(rng.choice([1, 1, 2, 3]))]
        body = Block(tuple(self.lets), tuple(values))
        results = tuple(TensorDecl(name, self.type, extents) for name in ("c", "d", "e")[: len(values)])
        known = tuple(Constraint(Affine.var(size) - 1) for size in SIZES)
        found = Map(results, indices, extents, body)
        names = tuple(tensor.name for tensor in results)
        function = MapFunction("f", tuple(self.tensors), SIZES, (found,), names, known)
        tries = [{size: n for size in SIZES} for n in (1, 2)]
        tries.append({size: rng.randrange(3, 10) for size in SIZES})
        return Sample(function, plain_nest(function, found), tuple(tries), seed)

    def extent(self, most: int) -> Affine:
        """A number, or a form of a size."""
        rng = self.rng
        if rng.random() < 0.4:
            return Affine.var(rng.choice(SIZES)) + rng.choice([0, 0, 0, 1, 3])
        return Affine.const(rng.randrange(1, most + 1))

    # -- values --------------------------------------------------------------------------------

    def let(self, value: Value) -> str:
        self.count += 1
        name = f"%{self.count}"
        self.lets.append(Let((name,), value))
        return name

    def value(self, depth: int) -> str:
        """The name of a new value of the block at hand."""
        rng = self.rng
        kind = rng.random()
        if depth == 0 or kind < 0.1:
            return self.let(self.leaf())
        if kind < 0.4:
            return self.let(
                Applied(rng.choice(BINARY), (self.value(depth - 1), self.value(depth - 1)), self.type)
            )
        if kind < 0.45:
            return self.let(Applied(rng.choice(UNARY), (self.value(depth - 1),), self.type))
        if kind < 0.5:
            return self.let(Applied("powi", (self.value(depth - 1),), self.type, rng.choice([2, 3])))
        if kind < 0.55:
            left, right = self.value(depth - 1), self.value(0)
            test = self.let(Applied(rng.choice(["<", ">=", "!="]), (left, right), "i1"))
            return self.let(Applied("choose", (test, left, right), self.type))
        if kind < 0.65:
            return self.guarded(depth)
        return self.fold(depth)

    def leaf(self) -> Value:
        """A read that is in range, or a number."""
        rng = self.rng
        if rng.random() < 0.08:
            return Constant(rng.choice([0.5, 2.0, -1.0]), self.type)
        if rng.random() < 0.08:
            return IndexNumber(self.form(), self.type)
        return self.read([self.form() for _ in range(rng.choice([1, 1, 2, 2, 3]))])

    def form(self) -> Affine:
        """A subscript: an index, or a sum of some with small factors."""
        rng, indices = self.rng, list(self.inside)
        found = Affine.var(rng.choice(indices)) if indices else ZERO
        if indices and rng.random() < 0.4:
            other = Affine.var(rng.choice(indices)) * rng.choice([1, 1, -1, 3])
            found = found * rng.choice([1, 1, 2, -1]) + other
        return found + rng.choice([0, 0, 0, 1, 2])

    def read(self, forms: Sequence[Affine]) -> Load:
        """A read of a new tensor that is just large enough, or of one that was read so before."""
        at: list[Affine] = []
        shape: list[Affine] = []
        for form in forms:
            low = sum((-k * (self.inside[str(i)] - 1) for i, k in form.terms if k < 0), ZERO)
            high = sum((k * (self.inside[str(i)] - 1) for i, k in form.terms if k > 0), ZERO)
            at.append(form + low)
            shape.append(high + low + form.constant + 1)
        alike = [t for t in self.tensors if t.shape == tuple(shape)]
        if not alike or self.rng.random() < 0.5:
            alike = [TensorDecl(f"x{len(self.tensors)}", self.type, tuple(shape))]
            self.tensors += alike
        return Load(self.rng.choice(alike).name, tuple(at), self.type)

    def block(self, depth: int, results: int = 1) -> Block:
        """A block of its own."""
        outer, self.lets = self.lets, []
        values = tuple(self.value(depth) for _ in range(results))
        found, self.lets = Block(tuple(self.lets), values), outer
        return found

    def guarded(self, depth: int) -> str:
        """A read that is in range where its guard holds, or another condition."""
        rng = self.rng
        if rng.random() < 0.3 or not self.inside:
            rows: Domain = (Constraint(self.form() - rng.randrange(4), rng.random() < 0.2),)
            return self.let(Choice(rows, self.block(depth - 1), self.block(0), self.type))
        forms = [self.form() - rng.randrange(3) for _ in range(rng.choice([1, 2]))]
        tensor = TensorDecl(f"x{len(self.tensors)}", self.type, tuple(self.extent(6) for _ in forms))
        self.tensors.append(tensor)
        rows = tuple(
            row
            for form, extent in zip(forms, tensor.shape, strict=True)
            for row in (Constraint(form), Constraint(extent - 1 - form))
        )
        outer, self.lets = self.lets, []
        name = self.let(Load(tensor.name, tuple(forms), self.type))
        then, self.lets = Block(tuple(self.lets), (name,)), outer
        return self.let(Choice(rows, then, self.block(0), self.type))

    def fold(self, depth: int) -> str:
        """A reduction over one or two indices, in a box that may be cut by bounds that move."""
        rng = self.rng
        names = [f"k{self.folds + n}" for n in range(rng.choice([1, 1, 2]))]
        self.folds += len(names)
        extents = [self.extent(6) for _ in names]
        outer = dict(self.inside)
        rows = list(box(names, extents))
        if rng.random() < 0.4 and outer:
            first, index = Affine.var(names[0]), Affine.var(rng.choice(list(outer)))
            rows += rng.choice(
                [
                    [Constraint(index - first)],
                    [Constraint(first - index)],
                    [Constraint(first - index + 2), Constraint(index + 2 - first)],
                    [Constraint((first - index) * 2 - 1)],
                ]
            )
        if len(names) == 2 and rng.random() < 0.4:
            rows.append(Constraint(Affine.var(names[0]) - Affine.var(names[1])))
        self.inside |= dict(zip(names, extents, strict=True))
        results = 2 if rng.random() < 0.15 else 1
        body = self.block(depth - 1, results)
        self.inside = outer
        kind = rng.choice(FOLDS)
        self.count += results
        made = tuple(f"%{self.count - n}" for n in range(results))
        self.lets.append(Let(made, Fold(kind, tuple(names), tuple(rows), body, self.type)))
        return made[0] if results == 1 else self.let(Applied("add", made, self.type))
