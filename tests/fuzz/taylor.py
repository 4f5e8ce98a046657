"""A program's derivatives, by any sequence of modes, in Taylor arithmetic.

Each derivative of a chain is a derivative along one more direction: a cotangent of a gradient is a tangent.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

import tadc
from tests.fuzz.evaluate import Evaluator
from tests.fuzz.forms import Integers
from tests.fuzz.gathering import rows_of
from tests.fuzz.jets import Calculus, Jet, Long, product, where
from tests.fuzz.lanes import padded
from tests.fuzz.tree import Program

Array = NDArray[Any]

#: Coefficients of every tensor, by the set of directions and by place.
Parts = Mapping[str, Array]


class Singular(Exception):
    """A derivative that is needed is not finite there."""


class TaylorEvaluator(Evaluator):
    """The function that a program is, on jets."""

    def __init__(self, program: Program, numbers: Long, order: int, active: Collection[str]) -> None:
        super().__init__(program)
        self.calculus = Calculus(numbers)
        self.order = order
        self.active = active

    def outputs(self, parts: Parts) -> dict[str, Array]:
        """The coefficients of outputs; Singular where there are none."""
        jets: dict[str, Jet] = {}
        for name, shape in self.program.arguments.items():
            room = padded(math.prod(shape)) - math.prod(shape)
            wide = np.concatenate([parts[name], np.repeat(parts[name][:, :1], room, axis=1)], axis=1)
            if not math.prod(shape):
                wide = self.calculus.numbers.array(np.zeros((2**self.order, room)))
            jets[name] = self.calculus.jet(wide, active=name in self.active)
        with np.errstate(all="ignore"):
            found = self(jets)
        for name, shape in self.program.outputs.items():
            if found[name].singular[: math.prod(shape)].any():
                raise Singular(name)
        return {name: found[name].parts[:, : math.prod(s)] for name, s in self.program.outputs.items()}

    def numbers(self, values: NDArray[np.float64]) -> Jet:
        """See Evaluator."""
        jet = self.calculus.constant(values, self.order)
        # Of literals such as 0.3 sums are rounded.
        return replace(jet, exact=values * 64 == np.round(values * 64))

    def element(self, tensor: Jet, address: Integers) -> Jet:
        """See Evaluator."""
        return Jet(
            tensor.parts[:, address], *[f[address] for f in (tensor.singular, tensor.active, tensor.exact)]
        )

    def apply(self, op: str, operands: Sequence[Jet]) -> Jet:
        """See Evaluator."""
        return self.calculus.apply(op, operands)

    def choose(self, taken: NDArray[np.bool_], yes: Jet, no: Jet) -> Jet:
        """See Evaluator."""
        return where(taken, yes, no)

    def stored(self, value: Jet, type: str) -> Jet:
        """See Evaluator."""
        return value

    def reduce(self, kind: str, values: Jet, parents: Integers, active: NDArray[np.bool_]) -> Jet:
        """See Evaluator: element by element; an extremum counts its ties."""
        rows, present = rows_of(parents, len(active))
        columns = [(self.element(values, rows[:, c]), present[:, c]) for c in range(rows.shape[1])]
        start = self.calculus.constant(np.full(len(active), 1.0 if kind == "prod" else 0.0), self.order)
        if kind in ("sum", "prod"):
            for each, here in columns:
                start = where(here, start + each if kind == "sum" else start * each, start)
            return start
        if kind == "logsumexp":
            return self._logsumexp(columns, start)
        return self._extremum(1 if kind == "max" else -1, columns, start)

    def _logsumexp(self, columns: Sequence[tuple[Jet, NDArray[np.bool_]]], zero: Jet) -> Jet:
        total = zero
        for each, here in columns:
            total = where(here, total + self.calculus.smooth("exp", each), total)
        return self.calculus.smooth("log", total)

    def _extremum(self, sign: int, columns: Sequence[tuple[Jet, NDArray[np.bool_]]], zero: Jet) -> Jet:
        best, ties, seen, unsure = zero, zero.value, zero.singular, zero.singular
        for each, here in columns:
            mean = best.made(best.parts / np.where(seen, ties, 1))
            first, tie = here & ~seen, here & seen & (each.value == mean.value).astype(bool)
            unsure = unsure | (here & seen & self.calculus.unsure(each, mean))
            wins = here & seen & ~tie & (sign * each.value > sign * mean.value).astype(bool)
            best = where(first | wins, each, where(tie, best + each, best))
            ties = np.where(first | wins, 1, ties + tie)
            seen = seen | here
        return best.made(best.parts / np.where(seen, ties, 1)).marked(unsure | ~seen)


class Chain:
    """A program and its derivatives, each the derivative of the one before."""

    def __init__(self, program: Program, functions: Sequence[tadc.Function], numbers: Long) -> None:
        self.functions = functions
        self.order = len(functions) - 1
        names = {n for f in functions for n in (*f.gradients, *f.tangents)}
        self.evaluator = TaylorEvaluator(program, numbers, self.order, names)
        self.array = numbers.array

    def contracted(self, arrays: Mapping[str, Array], weights: Mapping[str, Array]) -> Any:
        """The sum of the outputs of the last derivative with these weights."""
        parts = {name: self._parts(array) for name, array in arrays.items()}
        cotangents = {name: self._parts(array) for name, array in weights.items()}
        return self._product(self.order, parts, cotangents)[0]

    def _parts(self, array: Array) -> Array:
        parts = self.array(np.zeros((2**self.order, array.size)))
        parts[0] = self.array(array.reshape(-1))
        return parts

    def _product(self, level: int, values: Parts, weights: Parts) -> Array:
        """The outputs of a derivative times weights, summed: a jet's coefficients."""
        if level == 0:
            total = self.array(np.zeros((2**self.order, 1)))
            for name, found in self.evaluator.outputs(values).items():
                total = total + product(found, weights[name]).sum(axis=1, keepdims=True)
            return total[:, 0]
        f, before, bit = self.functions[level], self.functions[level - 1], level - 1
        if f.gradients:
            moved = {n: moved_along(values[n], weights[gradient], bit) for n, gradient in f.gradients.items()}
            inner = {output: values[name] for output, name in f.cotangents.items()}
        else:
            moved = {n: moved_along(values[n], values[dotted], bit) for n, dotted in f.tangents.items()}
            inner = {n: moved_along(weights[f.output_tangents[n]], weights[n], bit) for n in before.outputs}
        return coefficient(self._product(level - 1, {**values, **moved}, inner), bit)


def moved_along(x: Array, direction: Array, bit: int) -> Array:
    """x + e * direction for the e of a bit."""
    found = x.copy()
    for place in range(len(x)):
        if not place >> bit & 1:
            found[place | 1 << bit] = found[place | 1 << bit] + direction[place]
    return found


def coefficient(x: Array, bit: int) -> Array:
    """The factor of the e of a bit."""
    found = x * 0
    for place in range(len(x)):
        if not place >> bit & 1:
            found[place] = x[place | 1 << bit]
    return found
