"""A program against its reference: the value and every gradient, order by order."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import NDArray

import tadc
from tests.reference.autodiff import Function, pullback

Arrays: TypeAlias = Mapping[str, NDArray[np.floating]]

#: Step and tolerance of central differences in f64.
STEP, DIFFERENCE_TOLERANCE = 1e-5, 1e-5


class Layout(Protocol):
    """How the reference holds a tensor."""

    def encode(self, array: NDArray[np.floating]) -> Array:
        """The reference's form of an array."""
        ...

    def decode(self, array: Array, shape: tuple[int, ...]) -> NDArray[np.floating]:
        """The array of this shape that the reference holds."""
        ...


class Dense:
    """As it is."""

    def encode(self, array: NDArray[np.floating]) -> Array:
        """See Layout."""
        return jnp.asarray(array)

    def decode(self, array: Array, shape: tuple[int, ...]) -> NDArray[np.floating]:
        """See Layout."""
        assert array.shape == shape
        return np.asarray(array)


def check(
    program: str,
    reference: Function,
    inputs: Arrays,
    *,
    order: int = 1,
    wrt: str | Sequence[str] | None = None,
    reprinted: int | None = None,
    differences: bool = False,
    together: bool = False,
    tolerance: float = 1e-9,
    layout: Layout | None = None,
    shapes: Mapping[str, tuple[int, ...]] | None = None,
    compiled: bool = True,
    seed: int = 0,
) -> None:
    """Assert that a program and its derivatives up to `order` compute what `reference` does.

    Order n is `vjp` applied n times, with respect to `wrt` (None: every input that is no index array, the
    cotangents included). Every derivative up to order `reprinted` (None: `order`) is also printed and read
    back; its text is compared, and of the last of them the values.
    `differences` compares the first gradients to central differences of the program's own value;
    `together` compares the value and the first gradients of one unit. `shapes` are those of the
    program's outputs, by default the reference's own. `compiled` runs each order of the reference
    as one XLA computation.
    """
    layout = layout or Dense()
    reprinted = order if reprinted is None else reprinted
    rng = np.random.default_rng(seed)
    arrays = dict(inputs)
    encoded = {name: layout.encode(array) for name, array in arrays.items()}
    function = tadc.function(program)
    shapes = shapes or {name: array.shape for name, array in jax.eval_shape(reference, encoded).items()}
    expected: dict[str, NDArray[np.floating]] = {}
    for level in range(order + 1):
        value, known = function, expected
        if level:
            function, reference = _differentiate(value, reference, wrt)
            shapes = {gradient: arrays[name].shape for name, gradient in function.gradients.items()}
            for output, name in function.cotangents.items():
                assert name not in arrays, f"the cotangent {name} takes the name of an input"
                arrays[name] = rng.uniform(-1, 1, known[output].shape).astype(known[output].dtype)
                encoded[name] = layout.encode(arrays[name])
        found = (jax.jit(reference) if compiled else reference)(encoded)
        expected = {name: layout.decode(array, shapes[name]) for name, array in found.items()}
        values = _compare(function, arrays, expected, tolerance, f"order {level}")
        if 1 <= level <= reprinted:
            again = _reprinted(function, f"order {level}, reprinted")
            if level == reprinted:
                narrowest = max([float(np.finfo(value.dtype).eps) for value in values.values()], default=0.0)
                _compare(again, arrays, values, 4096 * narrowest, f"order {level}, reprinted")
        if level == 1 and together:
            both = tadc.value_and_vjp(value, wrt=wrt)
            _compare(both, arrays, known | expected, tolerance, "value and gradients")
        if level == 1 and differences:
            _compare_to_differences(value, function, arrays)


def _differentiate(
    function: tadc.Function, reference: Function, wrt: str | Sequence[str] | None
) -> tuple[tadc.Function, Function]:
    """Both sides' derivative."""
    derivative = tadc.vjp(function, wrt=wrt)
    indices = {argument.name for argument in function.program.arguments if argument.is_index_array}
    inputs = tuple(name for name in function.inputs if name not in indices)
    asked = inputs if wrt is None else (wrt,) if isinstance(wrt, str) else tuple(wrt)
    assert set(derivative.gradients) == set(asked)
    assert set(derivative.cotangents) == set(function.outputs)
    assert set(derivative.outputs) == set(derivative.gradients.values())
    assert set(derivative.inputs) == {*function.inputs, *derivative.cotangents.values()}
    return derivative, pullback(reference, derivative.cotangents, derivative.gradients)


def _call(function: tadc.Function, arrays: Arrays) -> dict[str, NDArray[np.floating]]:
    """Outputs by name. One output comes as the array itself, several as a named tuple in order."""
    result = function(**arrays)
    names = tuple(function.outputs)
    if len(names) == 1:
        return {names[0]: np.asarray(result)}
    assert tuple(result._fields) == names
    return {name: np.asarray(getattr(result, name)) for name in names}


def _compare(
    function: tadc.Function, arrays: Arrays, expected: Arrays, tolerance: float, place: str
) -> dict[str, NDArray[np.floating]]:
    """Assert that the function's values are those expected; return them."""
    found = _call(function, {name: arrays[name] for name in function.inputs})
    assert set(found) == set(expected), place
    for name, want in expected.items():
        assert_close(found[name], want, tolerance, lambda name=name: f"{place}, {name} of\n{function}")
    return found


def _reprinted(function: tadc.Function, place: str) -> tadc.Function:
    """The printed program, read again; asserts that it has the same names and prints the same."""
    text = str(function)
    again = tadc.function(text)
    assert again.inputs == function.inputs, f"{place}\n{text}"
    assert again.outputs == function.outputs, f"{place}\n{text}"
    assert str(again) == text, f"{place}\n{text}"
    return again


def assert_close(
    got: NDArray[np.floating],
    want: NDArray[np.floating],
    tolerance: float,
    describe: Callable[[], str],
) -> None:
    """Assert the same shape, the same type and |error| <= tolerance * (1 + max |want|)."""
    assert got.shape == want.shape, f"shape {got.shape}, not {want.shape}: {describe()}"
    assert got.dtype == want.dtype, f"type {got.dtype}, not {want.dtype}: {describe()}"
    if not want.size:
        return
    assert np.isfinite(want).all(), f"the reference itself is not finite: {describe()}"
    error = np.abs(got - want)
    limit = tolerance * (1 + np.abs(want).max())
    # A NaN is not below the limit.
    if not (error <= limit).all():
        worst = np.unravel_index(np.argmax(np.where(np.isnan(error), np.inf, error)), error.shape)
        point = ", ".join(str(int(p)) for p in worst)
        raise AssertionError(f"at [{point}]: {got[worst]!r}, not {want[worst]!r}: {describe()}")


def _compare_to_differences(value: tadc.Function, derivative: tadc.Function, arrays: Arrays) -> None:
    """Assert that gradients are within DIFFERENCE_TOLERANCE of central differences of the program's value."""
    gradients = _call(derivative, arrays)
    primal = {name: arrays[name] for name in value.inputs}
    for name, gradient in derivative.gradients.items():
        want = np.empty_like(arrays[name])
        for point in np.ndindex(want.shape):
            slope = 0.0
            for side in (1, -1):
                moved = arrays[name].copy()
                moved[point] += side * STEP
                outputs = _call(value, {**primal, name: moved})
                for output, cotangent in derivative.cotangents.items():
                    slope += side * float(np.sum(outputs[output] * arrays[cotangent]))
            want[point] = slope / (2 * STEP)
        assert_close(
            gradients[gradient],
            want,
            DIFFERENCE_TOLERANCE,
            lambda gradient=gradient: f"{gradient} against central differences\n{derivative}",
        )
