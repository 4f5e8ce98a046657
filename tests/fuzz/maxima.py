"""Maxima and minima over computed values, of a random program, to any order in any mix of modes, against JAX.

A third of the programs takes small integers and computes with them exactly: there are many ties, and in the
reference the elements that tie do tie. The others take random numbers; there only what is one value written
twice ties, and every way to share its derivative is the same.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from math import prod

import jax
import numpy as np
from jax import Array
from numpy.typing import NDArray

import tadc
from tests.fuzz.compare import Skipped
from tests.fuzz.evaluate import Evaluator, Flat, OutOfRange
from tests.fuzz.forms import Form
from tests.fuzz.generate import Generator
from tests.fuzz.lanes import Lanes
from tests.fuzz.sized import Sized
from tests.fuzz.sized_compare import REFUSED
from tests.fuzz.sized_tree import SizedDefinition, SizedProgram, plus
from tests.fuzz.styles import PLAIN
from tests.fuzz.tree import Apply, Literal, Node, Program, Read, Sum
from tests.reference.autodiff import Function

Arrays = Mapping[str, NDArray[np.floating]]
LAYOUT = Flat()

#: Values are kept below: f32 holds integers up to 2**24.
LARGEST = 2.0**14

#: The largest input.
INPUT = 3

#: Operations of two values, and of one, and how often each is chosen; JAX has another slope of abs at 0.
BINARY = {"add": 6, "sub": 3, "mul": 9, "max": 4, "min": 4}
UNARY = {"neg": 2, "pow2": 2, "pow3": 1}
REDUCTIONS = {"sum": 8, "max": 4, "min": 4}


class _Maxima(Generator):
    """Programs of sums, products, maxima and minima, exact on integers."""

    def expression(self, lanes: Lanes, depth: int) -> tuple[Node, float]:
        if depth == 0:
            return self._leaf(lanes)
        kinds = (self._binary, self._unary, self._sum, self._guard, lambda lanes, _: self._leaf(lanes))
        (kind,) = self.rng.choices(kinds, (8, 2, 9, 2, 1))
        node, size = kind(lanes, depth - 1)
        return (node, size) if size <= LARGEST else self._leaf(lanes)

    def _leaf(self, lanes: Lanes) -> tuple[Node, float]:
        if self.rng.random() < 0.08:
            value = float(self.rng.randint(-2, 2))
            return Literal(value), abs(value)
        return self.reads.read(lanes), float(INPUT)

    def _binary(self, lanes: Lanes, depth: int) -> tuple[Node, float]:
        (left, x), (right, y) = self.expression(lanes, depth), self.expression(lanes, depth)
        (op,) = self.rng.choices(tuple(BINARY), tuple(BINARY.values()))
        sizes = {"add": x + y, "sub": x + y, "mul": x * y}
        return Apply(op, (left, right)), sizes.get(op, max(x, y))

    def _unary(self, lanes: Lanes, depth: int) -> tuple[Node, float]:
        node, x = self.expression(lanes, depth)
        (op,) = self.rng.choices(tuple(UNARY), tuple(UNARY.values()))
        return Apply(op, (node,)), {"pow2": x**2, "pow3": x**3}.get(op, x)

    def _kind(self, lanes: Lanes, parents: NDArray[np.int64]) -> str:
        kinds = [kind for kind in self._possible(lanes, parents) if kind in REDUCTIONS]
        return self.rng.choices(kinds, [REDUCTIONS[kind] for kind in kinds])[0]


class _SizedMaxima(_Maxima, Sized):
    """The same with size symbols."""


#: Numbers of points; of several loops, each with a tail.
POINTS = (2, 3, 7, 16, 18, 37, 61)


class _Wide:
    """Extrema over sums of products of many points: loops of vectors, of tiles, each rounding its way."""

    def __init__(self, rng: random.Random, small: bool) -> None:
        self.rng, self.most = rng, 2000 if small else 30000
        self.sizes = {name: rng.choice(POINTS[: 5 if small else 7]) for name in "NMK"}
        self.tensors: dict[tuple[Form, ...], list[str]] = {}
        self.arguments: dict[str, tuple[Form, ...]] = {}
        self.names = iter("ijklmnpqrstuv")

    def program(self) -> SizedProgram:
        """The program, over size symbols."""
        ranges: dict[str, Form] = {}
        for _ in range(self.rng.choice((0, 1, 1, 2))):
            self.range(ranges)
        body = self.extremum(ranges)
        for _ in range(self.rng.choice((0, 0, 1))):
            other = self.extremum(ranges) if self.rng.random() < 0.5 else self.computed(ranges)
            body = Apply(self.rng.choice(("max", "min", "add", "mul")), (body, other))
        made = SizedDefinition("f", tuple(ranges), tuple(ranges.values()), body, True, "stated")
        return SizedProgram(tuple(self.sizes), self.arguments, (made,))

    def range(self, ranges: dict[str, Form]) -> str:
        """A new index, over a size."""
        name = next(self.names)
        ranges[name] = Form(((self.rng.choice(tuple(self.sizes)), 1),), self.rng.choice((0, 0, 0, 1, -1)))
        return name

    def reduced(self, kind: str, ranges: dict[str, Form], body: Callable[[dict[str, Form]], Node]) -> Node:
        """A reduction over a new index, or only the body where there would be too many points."""
        inner = dict(ranges)
        name = self.range(inner)
        if prod(int(form.at(self.sizes, 0)) for form in inner.values()) > self.most:
            return body(ranges)
        return Sum(name, (Form(()),), (inner[name].shifted(-1),), body(inner), "size", kind)

    def extremum(self, ranges: dict[str, Form]) -> Node:
        """An extremum of sums, or of extrema."""
        body = self.extremum if self.rng.random() < 0.25 and len(ranges) < 3 else self.computed
        return self.reduced(self.rng.choice(("max", "min")), ranges, body)

    def computed(self, ranges: dict[str, Form]) -> Node:
        """A sum of products, of sums in them too, or products alone."""
        if self.rng.random() < 0.2:
            return self.product(ranges)
        if self.rng.random() < 0.25:
            both = lambda inner: Apply("mul", (self.product(inner), self.computed(inner)))  # noqa: E731
            return self.reduced("sum", ranges, both)
        return self.reduced("sum", ranges, self.product)

    def product(self, ranges: dict[str, Form]) -> Node:
        """A product of elements, and of sums of two."""
        factors = [self.factor(ranges) for _ in range(self.rng.choice((1, 2, 2, 3, 4)))]
        return reduce(lambda left, right: Apply("mul", (left, right)), factors)

    def factor(self, ranges: dict[str, Form]) -> Node:
        op = self.rng.choice(("", "", "", "add", "sub"))
        return Apply(op, (self.read(ranges), self.read(ranges))) if op else self.read(ranges)

    def read(self, ranges: dict[str, Form]) -> Read:
        """An element at some of the indices, of a tensor of the shape that this needs."""
        rng = self.rng
        chosen = rng.sample(sorted(ranges), min(len(ranges), rng.choice((1, 2, 2, 3))))
        # The newest index mostly, or a sum would be one of equal addends.
        chosen = list(dict.fromkeys([*chosen, *list(ranges)[-1:]])) if rng.random() < 0.7 else chosen
        forms = [(Form(((name, 1),)), ranges[name]) for name in chosen]
        while len(forms) > 1 and rng.random() < 0.5:
            (one, size), (other, more) = forms.pop(), forms.pop()
            forms.append((plus(one, other), plus(size, more)))
        shape = tuple(size for _, size in forms)
        names = self.tensors.setdefault(shape, [])
        if not names or (len(names) < 2 and rng.random() < 0.5):
            names.append(f"x{len(self.arguments)}")
            self.arguments[names[-1]] = shape
        return Read(rng.choice(names), tuple(form for form, _ in forms))


def generate(seed: int, *, small: bool = False) -> tuple[str, Program, dict[str, int]]:
    """The text of the program of a seed, the program with numbers for its sizes, and these."""
    rng = random.Random(seed)
    if seed % 4 > 1:
        wide = _Wide(rng, small)
        sized = wide.program()
        program, text = sized.at(wide.sizes), str(sized)
        if rng.random() < 0.3:
            program, text = replace(program, narrow=frozenset(program.arguments)), text.replace("f64", "f32")
        return text, program, wide.sizes
    if seed % 4:
        program = _Maxima(rng, small).program()
        return str(program), program, {}
    sizes = {"N": rng.choice((2, 3, 4, 5)), "M": rng.choice((1, 2, 3, 4))}
    sized = _SizedMaxima(rng, small, [sizes], PLAIN).sized_program()
    return str(sized), sized.at(sizes), sizes


def failure(seed: int, order: int) -> str | None:
    """What is wrong with the program of a seed; None if nothing is."""
    text, program, sizes = generate(seed, small=order > 1)
    rng = random.Random(seed)
    modes = tuple(rng.choice(("vjp", "jvp")) for _ in range(order))
    try:
        Evaluator(program).check_reads()
    except OutOfRange:
        raise Skipped from None  # A few reads are put one further than they fit.
    try:
        compare(text, program, sizes, modes, seed)
    # Whatever the compiler raises is what is looked for.
    except Exception as error:
        codes = {d.code for d in error.diagnostics} if isinstance(error, tadc.CompileError) else {"bug"}
        if sizes and codes <= REFUSED:
            raise Skipped from None
        return f"seed {seed}, modes {modes}, sizes {sizes}\n{type(error).__name__}: {error}\n\n{text}"
    return None


def compare(text: str, program: Program, sizes: Mapping[str, int], modes: Sequence[str], seed: int) -> None:
    """Assert derivatives along directions, by these modes, the first of the program first."""
    rng = np.random.default_rng(seed)
    types, exact, fast = program.types, seed % 3 == 0, seed % 5 == 0

    def drawn(shape: tuple[int, ...], type: str) -> NDArray[np.floating]:
        values = rng.integers(-INPUT, INPUT, shape, endpoint=True) if exact else rng.uniform(-1, 1, shape)
        return np.asarray(values, type.replace("f", "float"))

    inputs = {name: drawn(shape, types[name]) for name, shape in program.arguments.items()}
    directions = [{name: drawn(x.shape, types[name]) for name, x in inputs.items()} for _ in modes]
    weights = {name: drawn(shape, types[name]) for name, shape in program.outputs.items()}
    want, size = expected(Evaluator(program), inputs, directions, weights)
    got = contraction(tadc.function(text), inputs, directions, weights, modes, sizes, fast)
    limit = (1e-3 if "f32" in types.values() else 1e-9) * (1 + size)
    assert abs(got - want) <= limit, f"{got}, not {want}, of addends up to {size}"


def expected(
    reference: Function, inputs: Arrays, directions: Sequence[Arrays], weights: Arrays
) -> tuple[float, float]:
    """The derivative along all directions, weighted and added up, by JAX; and the largest addend."""

    def along(function: Function, direction: dict[str, Array]) -> Function:
        return lambda x: jax.jvp(function, (x,), (direction,))[1]

    for direction in directions:
        reference = along(reference, {name: LAYOUT.encode(v) for name, v in direction.items()})
    found = reference({name: LAYOUT.encode(x) for name, x in inputs.items()})
    addends = [np.asarray(found[name], float)[: w.size] * w.reshape(-1) for name, w in weights.items()]
    return sum(float(a.sum()) for a in addends), max(float(np.abs(a).max(initial=0)) for a in addends)


def contraction(
    function: tadc.Function,
    inputs: Arrays,
    directions: Sequence[Arrays],
    weights: Arrays,
    modes: Sequence[str],
    sizes: Mapping[str, int],
    fast: bool,
    fixed: Mapping[str, NDArray[np.integer]] | None = None,
) -> float:
    """The same by the compiler: a jvp takes a direction as tangent, a vjp's gradients are weighted by it.

    `fixed` are the index arrays.
    """
    arrays, wanted = {**inputs, **(fixed or {})}, dict(weights)
    zeros = {name: np.zeros_like(w) for name, w in weights.items()}
    for mode, direction in zip(modes, directions, strict=True):
        if mode == "jvp":
            function = tadc.jvp(function, wrt=list(inputs))
            arrays |= {tangent: direction[name] for name, tangent in function.tangents.items()}
            wanted = {function.output_tangents[name]: w for name, w in wanted.items()}
            zeros |= {function.output_tangents[name]: zero for name, zero in zeros.items()}
        else:
            function = tadc.vjp(function, wrt=list(inputs))
            arrays |= {name: wanted.get(of, zeros[of]) for of, name in function.cotangents.items()}
            wanted = {function.gradients[name]: v for name, v in direction.items()}
            zeros = {name: np.zeros_like(v) for name, v in wanted.items()}
    unbound = {name: sizes[name] for name in function.program.unbound_sizes()}
    compiled = tadc.compile(function, fast_math=fast)
    found = compiled(**{name: arrays[name] for name in function.inputs}, **unbound)
    results = found if len(function.outputs) > 1 else (found,)
    named = dict(zip(function.outputs, results, strict=True))
    return sum(float(np.sum(np.asarray(named[name], float) * w)) for name, w in wanted.items())
