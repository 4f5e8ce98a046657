"""Random programs whose derivatives have factors that are exactly 0, or branches not taken that are infinite.

Inputs are small whole numbers, or halves. Some arguments are positive: of these there are roots, logarithms,
quotients and powers, less what they are at a whole number.
"""

from __future__ import annotations

import random
import zlib

import numpy as np
from numpy.typing import NDArray

from tests.fuzz.forms import Form, Relation
from tests.fuzz.formulas import letters, tree
from tests.fuzz.generate import Generator
from tests.fuzz.lanes import Lanes
from tests.fuzz.tree import Apply, Guard, Literal, Node, Program, Read, Value

#: Arguments that are positive; the values of these and of others.
POSITIVE = {"a", "b", "c"}
POSITIVE_VALUES, VALUES = (1.0, 1.0, 1.0, 2.0, 4.0, 0.5), (0.0, 0.0, 0.0, 1.0, -1.0, 2.0)

#: Residuals: what they are of a positive p and q, and of any x.
OF_POSITIVE = (
    "sqrt(p) - 1",
    "sqrt(p) - 2",
    "cbrt(p) - 1",
    "log(p)",
    "log2(p) - 1",
    "log10(p)",
    "1/p - 1",
    "1/p - 0.5",
    "p**-2 - 1",
    "p/q - 1",
    "x/p",
    "p**x - 1",
    "p**x",
    "p**0.5 - 1",
    "p**1.5",
    "p**(-q)",
    "atan2(x, p)",
    "atan2(p, x)",
    "x % p",
    "acosh(p + 1)",
    "acosh(1 + p/2)",
    "safe(x, 1/p)",
    "sqrt(p*q) - p",
    "log(p/q)",
    "log1p(p - 1)",
    "(p - q)/(p + q)",
)
OF_ANY = (
    "x",
    "x**0",
    "x**1",
    "x**2",
    "x**3",
    "x**4 - x",
    "x**2 - 1",
    "x - 1",
    "x*y",
    "x - y",
    "asin(x*0.25)",
    "acos(x*0.25)",
    "asin(x**2*0.125)",
    "atanh(x*0.25)",
    "atanh(x**2*0.125)",
    "log1p(x*0.25)",
    "log1p(x**2)",
    "expm1(x)",
    "exp(x) - 1",
    "exp2(x) - 1",
    "tan(x*0.5)",
    "sinh(x)",
    "cosh(x) - 1",
    "tanh(x)",
    "asinh(x)",
    "atan(x)",
    "erf(x)",
    "erfc(x) - 1",
    "sin(x)",
    "cos(x) - 1",
    "sigmoid(x) - 0.5",
    "abs(x)",
    "relu(x)",
    "sign(x)*y",
    "floor(x*0.5)*y",
    "ceil(x*0.5)*x",
    "sqrt(1 + x**2) - 1",
    "cbrt(1 + x**2) - 1",
    "1/(1 + x**2) - 1",
    "x/(1 + y**2)",
    "log(1 + x**2)",
    "(1 + x**2)**y - 1",
    "(2 + x**2)**(x*y)",
    "acosh(2 + x**2)",
    "max(x, y)",
    "min(x, y)",
    "max(x, 0)",
    "min(x**2, y)",
)
#: Also at singular points: there some derivatives exist, some do not.
AT_THE_EDGE = (
    "sqrt(x**2)",
    "abs(x)**1.5",
    "abs(x)**2.5",
    "abs(x)**3.5",
    "abs(x)**(p + 2)",
    "x/y",
    "x**-1",
    "cbrt(x)",
    "sqrt(abs(x))",
    "log(abs(x))",
    "asin(x)",
    "acosh(p)",
    "acosh(q)",
    "atan2(x, y)",
)

#: Choices by values, and by an index i, of which the other branch is infinite or no number at some points.
BRANCHES = (
    "select(x > 0, sqrt(x), y)",
    "select(x > 0, log(x), 0)",
    "select(x != 0, y/x, 1)",
    "select(x = 0, y, (exp(x) - 1)/x)",
    "select(x < 1, sqrt(1 - x), x)",
    "select(x <= 0, x, x**1.5)",
    "select(x > 0, x**y, x*y)",
    "select(x >= 1, acosh(x + 1), atanh(x*0.25))",
    "select(abs(x) < 1, asin(x), y)",
    "select(abs(x) < 1, atanh(x), x)",
    "select(x > 0, 1/sqrt(x), select(y > 0, 1/y, y))",
    "select(x = 0, 0, x*log(abs(x)))",
    "select(x != 0, x**-2, x**2)",
    "select(x != y, (x**2 - y**2)/(x - y), 2*x)",
    "select(x > 0, log1p(-1 + x), y)",
    "select(x != 0, exp(-1/x**2), 0)",
    "select(x**2 + y**2 > 0, sqrt(x**2 + y**2), 0)",
    "select(x**2 + y**2 > 0, x*y/(x**2 + y**2), 0)",
    "select(x > 0, cbrt(x), x)*y",
)
GUARDED = (
    ("x/i", "y"),
    ("sqrt(x/i)*p", "x*y"),
    ("log(i)*x", "y**2"),
    ("p/i**2", "0"),
    ("x*i**-1", "0"),
    ("p**(1/i)", "p"),
    ("log(p*i)", "x"),
)


class Special(Generator):
    """A program of residuals; with `branches` also of choices between them and what is infinite."""

    def __init__(self, rng: random.Random, branches: bool) -> None:
        super().__init__(rng, small=True)
        self.branches = branches
        self.output_points, self.points = 6, 36
        self.reads.largest = (1, 6, 3, 2)

    def expression(self, lanes: Lanes, depth: int) -> tuple[Node, float]:
        """As before, but residuals, powers of them, and choices."""
        rng = self.rng
        if depth and rng.random() < 0.25:
            node, size = self.expression(lanes, depth - 1)
            op = rng.choice(("pow2", "pow2", "pow2", "pow3", "sin", "tanh", "expm1", "cos"))
            return (Apply(op, (node,)), 1.5) if size < 4 or op in ("sin", "tanh", "cos") else (node, size)
        if self.branches and rng.random() < 0.35:
            return self._choice(lanes), 3.0
        return super().expression(lanes, depth)

    def _leaf(self, lanes: Lanes) -> tuple[Node, float]:
        rng = self.rng
        if rng.random() < 0.15:
            value = rng.choice((0.0, 1.0, 2.0, -1.0, 0.5))
            return Literal(value), abs(value)
        if rng.random() < 0.2:
            return self.reads.read(lanes), 1.0
        node = self._residual(lanes)
        form = rng.choice(("alone", "square", "square", "product", "cube"))
        if form == "product":
            return Apply("mul", (node, self._residual(lanes))), 4.0
        return (node, 2.0) if form == "alone" else (Apply(f"pow{2 if form == 'square' else 3}", (node,)), 4.0)

    def _residual(self, lanes: Lanes) -> Node:
        formulas = self.rng.choices((OF_POSITIVE, OF_ANY, AT_THE_EDGE), (6, 4, 1))[0]
        return self._formula(self.rng.choice(formulas), lanes)

    def _smooth(self, lanes: Lanes, depth: int) -> tuple[Node, float]:
        return self._leaf(lanes)

    def _remainder(self, lanes: Lanes, depth: int) -> tuple[Node, float]:
        return self._leaf(lanes)

    def _choice(self, lanes: Lanes) -> Node:
        rng = self.rng
        if lanes.env and rng.random() < 0.4:
            then, otherwise = rng.choice(GUARDED)
            name = rng.choice(list(lanes.env))
            form = Form(((name, 1),), -rng.choice((0, 0, 1)))
            condition = Relation(rng.choice((">", ">", "!=")), form, Form(()))
            taken = lanes.where([condition])
            inside = self._formula(then, lanes.only(taken), form)
            outside = self._formula(otherwise, lanes.only(lanes.active & ~taken))
            return Guard((condition,), inside, outside)
        return self._formula(rng.choice(BRANCHES), lanes)

    def _formula(self, formula: str, lanes: Lanes, i: Form | None = None) -> Node:
        """A formula's tree, with reads in place of its letters: of p and q those of what is positive."""
        values: dict[str, Node] = {"i": Value(i)} if i else {}
        for letter in letters(formula):
            if letter != "i":
                values[letter] = self._positive(lanes) if letter in "pq" else self.reads.read(lanes)
        return tree(formula, values)

    def _positive(self, lanes: Lanes) -> Node:
        for _ in range(6):
            node = self.reads.read(lanes)
            if isinstance(node, Read) and node.tensor in POSITIVE & self.reads.extents.keys():
                return node
        return Apply("add", (Literal(1.0), Apply("pow2", (self.reads.read(lanes),))))


def inputs(program: Program, seed: int) -> dict[str, NDArray[np.float64]]:
    """Values of the arguments, of some the same everywhere; none depend on what other arguments are."""
    found: dict[str, NDArray[np.float64]] = {}
    for name, shape in program.arguments.items():
        rng = np.random.default_rng([seed, zlib.crc32(name.encode())])
        values = POSITIVE_VALUES if name in POSITIVE else VALUES
        alike = rng.random() < 0.4
        found[name] = np.broadcast_to(rng.choice(values, () if alike else shape), shape).copy()
    return found
