"""A program's value by JAX: one lane for every point, gathers for reads, scatters for sums."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import NDArray

from tests.fuzz.forms import Integers
from tests.fuzz.gathering import reduction
from tests.fuzz.lanes import Lanes, below, box, padded
from tests.fuzz.operations import OPERATIONS
from tests.fuzz.tree import Apply, Guard, Literal, Node, Program, Read, Sum, Value

DTYPES = {"f32": jnp.float32, "f64": jnp.float64}


class Flat:
    """Tensors in row-major order, zeros up to a padded size: a Layout of the checks."""

    def encode(self, array: NDArray[np.floating]) -> Array:
        """See Layout."""
        return jnp.asarray(np.pad(array.reshape(-1), (0, padded(array.size) - array.size)))

    def decode(self, array: Array, shape: tuple[int, ...]) -> NDArray[np.floating]:
        """See Layout."""
        return np.asarray(array)[: math.prod(shape)].reshape(shape)


class OutOfRange(Exception):
    """A read outside of its tensor."""


class Evaluator:
    """The function that a program is, on flat tensors.

    Raises OutOfRange at a read that is not in range. What is computed with is said by the methods `numbers`,
    `element`, `apply`, `choose`, `reduce` and `stored`: here, arrays of JAX.
    """

    def __init__(self, program: Program) -> None:
        self.program = program
        self.shapes = program.shapes
        self.types = program.types

    def __call__(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Outputs by name."""
        known = dict(values)
        for definition in self.program.definitions:
            lanes = box(definition.indices, definition.shape)
            value = self._value(definition.body, lanes, known)
            known[definition.name] = self.stored(value, self.types[definition.name])
        return {name: known[name] for name in self.program.outputs}

    def numbers(self, values: NDArray[np.float64]) -> Any:
        """These in the lanes."""
        return jnp.asarray(values)

    def element(self, tensor: Any, address: Integers) -> Any:
        """What is at these places of a tensor."""
        # All in between is f64: closer to the value that is meant than f32 can be.
        return tensor.at[address].get(mode="promise_in_bounds").astype(jnp.float64)

    def apply(self, op: str, operands: Sequence[Any]) -> Any:
        """An operation of OPERATIONS."""
        return OPERATIONS[op].function(*operands)

    def choose(self, taken: NDArray[np.bool_], yes: Any, no: Any) -> Any:
        """One of two in every lane."""
        return jax.lax.select(jnp.asarray(taken), yes, no)

    def reduce(self, kind: str, values: Any, parents: Integers, active: NDArray[np.bool_]) -> Any:
        """What the values of each parent reduce to."""
        return reduction(kind, values, parents, active)

    def stored(self, value: Any, type: str) -> Any:
        """A value as an element of a tensor of this type."""
        return value.astype(DTYPES[type])

    def check_reads(self) -> None:
        """Raise OutOfRange or KeyError where the program reads what is not there."""
        shapes = self.program.arguments.items()
        self({n: jnp.zeros(padded(math.prod(s)), DTYPES[self.types[n]]) for n, s in shapes})

    def _value(self, node: Node, lanes: Lanes, known: Mapping[str, Any]) -> Any:
        match node:
            case Literal(value):
                return self.numbers(np.full(lanes.count, value))
            case Value(form):
                return self.numbers(lanes.form(form).astype(float))
            case Read(tensor, _):
                return self.element(known[tensor], self._address(node, lanes))
            case Apply(op, operands):
                return self.apply(op, [self._value(o, lanes, known) for o in operands])
            case Guard(conditions, then, otherwise):
                taken = lanes.where(conditions)
                yes = self._value(then, lanes.only(taken), known)
                no = self._value(otherwise, lanes.only(lanes.active & ~taken), known)
                return self.choose(taken, yes, no)
            case Sum():
                inner, parents = below(lanes, node)
                body = node.body
                # What is written as one reduction is one: the ties of a maximum are shared by all points.
                while node.style == "joined":
                    assert isinstance(body, Sum)
                    node = body
                    inner, places = below(inner, node)
                    parents, body = np.append(parents, lanes.count)[places], node.body
                return self.reduce(node.kind, self._value(body, inner, known), parents, lanes.active)

    def _address(self, read: Read, lanes: Lanes) -> Integers:
        address = np.zeros(lanes.count, np.int64)
        for form, size in zip(read.indices, self.shapes[read.tensor], strict=True):
            index = lanes.form(form)
            if not ((index >= 0) & (index < size))[lanes.active].all():
                raise OutOfRange(f"{read} with shape {self.shapes[read.tensor]}")
            address = address * size + index
        return np.where(lanes.active, address, 0)
