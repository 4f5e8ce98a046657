"""A program's value by JAX: one lane for every point, gathers for reads, scatters for sums."""

from __future__ import annotations

import math

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
from tests.reference.autodiff import Tensors

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

    Raises OutOfRange at a read that is not in range.
    """

    def __init__(self, program: Program) -> None:
        self.program = program
        self.shapes = program.shapes
        self.types = program.types

    def __call__(self, values: Tensors) -> dict[str, Array]:
        """Outputs by name."""
        known = dict(values)
        for definition in self.program.definitions:
            lanes = box(definition.indices, definition.shape)
            value = self._value(definition.body, lanes, known)
            known[definition.name] = value.astype(DTYPES[self.types[definition.name]])
        return {name: known[name] for name in self.program.outputs}

    def check_reads(self) -> None:
        """Raise OutOfRange or KeyError where the program reads what is not there."""
        shapes = self.program.arguments.items()
        self({n: jnp.zeros(padded(math.prod(s)), DTYPES[self.types[n]]) for n, s in shapes})

    def _value(self, node: Node, lanes: Lanes, known: Tensors) -> Array:
        match node:
            case Literal(value):
                return jnp.asarray(np.full(lanes.count, value))
            case Value(form):
                return jnp.asarray(lanes.form(form).astype(float))
            case Read(tensor, _):
                # All in between is f64: closer to the value that is meant than f32 can be.
                return _gather(known[tensor], self._address(node, lanes)).astype(jnp.float64)
            case Apply(op, operands):
                return OPERATIONS[op].function(*[self._value(o, lanes, known) for o in operands])
            case Guard(conditions, then, otherwise):
                taken = lanes.where(conditions)
                yes = self._value(then, lanes.only(taken), known)
                no = self._value(otherwise, lanes.only(lanes.active & ~taken), known)
                return jax.lax.select(jnp.asarray(taken), yes, no)
            case Sum():
                inner, parents = below(lanes, node)
                body = node.body
                # What is written as one reduction is one: the ties of a maximum are shared by all points.
                while node.style == "joined":
                    assert isinstance(body, Sum)
                    node = body
                    inner, places = below(inner, node)
                    parents, body = np.append(parents, lanes.count)[places], node.body
                return reduction(node.kind, self._value(body, inner, known), parents, lanes.active)

    def _address(self, read: Read, lanes: Lanes) -> Integers:
        address = np.zeros(lanes.count, np.int64)
        for form, size in zip(read.indices, self.shapes[read.tensor], strict=True):
            index = lanes.form(form)
            if not ((index >= 0) & (index < size))[lanes.active].all():
                raise OutOfRange(f"{read} with shape {self.shapes[read.tensor]}")
            address = address * size + index
        return np.where(lanes.active, address, 0)


def _gather(values: Array, address: Integers) -> Array:
    return values.at[address].get(mode="promise_in_bounds")
