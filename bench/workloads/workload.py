"""What a workload is: a program, sizes, and the same function for each peer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np

import tadc
from tadc.frontend.extents import shape_at

# Looked up by name: the types are checked with numba and without it.
prange: Any = import_module("numba").prange if find_spec("numba") else range

__all__ = ["Arrays", "Derivative", "Form", "Prepared", "Workload", "in_type", "prange"]

Arrays = tuple[Any, ...]
Form = Callable[..., Any]
Derivative = tuple[tadc.Function, str, tuple[str, ...]]
"""A function, the mode of its derivative and by what."""


@dataclass(frozen=True)
class Prepared:
    """A form of a peer, of other arrays than the index arrays: what is made of them once, and not timed."""

    form: Form
    prepare: Callable[..., Arrays]

    def __call__(self, *arrays: Any) -> Any:
        """The form."""
        return self.form(*arrays)


@dataclass(frozen=True)
class Workload:
    """A program with one output, and the same function in other hands.

    `peers` has a form for each contender, of the arguments in the order of the program:
    - "JAX" and "PyTorch" take their package first and return the value; they differentiate it themselves.
      "JAX, tuned" and "PyTorch, tuned" are the same, written for speed.
    - "KeOps" takes its package first too, and PyTorch's tensors.
    - "NumPy" and "numba" take the cotangent last and return the value and all gradients.
      A form for numba is a function that numba can compile.
    """

    name: str
    title: str
    program: str
    """In f64."""
    sizes: Mapping[str, int]
    small: Mapping[str, int]
    """Sizes for tests."""
    peers: Mapping[str, Form]
    absent: Mapping[str, str] = field(default_factory=dict[str, str])
    """Why a peer has no form here."""
    fixed: int = 0
    """So many arguments, the first, have no derivative: index arrays, and what is known with them."""
    data: Callable[[Mapping[str, int]], Arrays] | None = None
    """Arguments and the cotangent, if they are not any numbers."""
    kind: str = "gradients"
    """`gradients`, or `hessian`: no cotangent then, and the Hessian alone is the result; or `stiffness`: no
    cotangent either, and the results are the value, and the gradient and the values of the sparse Hessian by
    the first argument that has a derivative. Peers other than tadc compute these themselves then."""

    def text(self, dtype: str) -> str:
        """The program in an element type."""
        return self.program.replace("f64", dtype)

    def function(self, dtype: str, sizes: Mapping[str, int]) -> tadc.Function:
        """The value at given sizes."""
        return tadc.function(self.text(dtype), self.name, sizes=sizes)

    def differentiated(self, dtype: str, sizes: Mapping[str, int]) -> Derivative:
        """What is timed."""
        f = self.function(dtype, sizes)
        return f, "value-and-vjp", f.inputs[self.fixed :]

    def derivative(self, dtype: str, sizes: Mapping[str, int]) -> tadc.Function:
        """Value and all gradients."""
        f, mode, wrt = self.differentiated(dtype, sizes)
        return tadc.vjp(f, wrt) if mode == "vjp" else tadc.value_and_vjp(f, wrt)

    def inputs(self, sizes: Mapping[str, int]) -> Arrays:
        """Random arguments, the cotangent last, in f32: they are the same numbers in both types."""
        if self.data:
            return self.data(sizes)
        program = self.function("f32", sizes).program
        shapes = [shape_at(a.shape, {}) for a in program.arguments]
        if self.kind == "gradients":
            (output,) = program.outputs
            shapes.append(shape_at(output.shape, {}))
        random = np.random.default_rng(0)
        return tuple(random.uniform(-0.5, 0.5, shape).astype(np.float32) for shape in shapes)

    def arguments(self, inputs: Arrays) -> Arrays:
        """What the derivative takes, of `inputs`."""
        return inputs

    def reference(self, inputs: Arrays) -> Arrays:
        """Value and all gradients in f64."""
        found = self.peers["NumPy"](*(np.asarray(a, np.float64) for a in inputs))
        return found if isinstance(found, tuple) else (found,)


def in_type(inputs: Arrays, dtype: str) -> Arrays:
    """Arguments, those that are floating numbers in an element type; the others cannot be written to."""
    kind = dtype.replace("f", "float")
    made = tuple(x.astype(kind) if np.issubdtype(x.dtype, np.floating) else x.copy() for x in inputs)
    for x in made:
        x.flags.writeable = np.issubdtype(x.dtype, np.floating)
    return made
