"""Comparisons of inverse modes with dense solutions, and of all four modes with each other."""

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import tadc
from tests.inversion.programs import Case

Array = Any


def flat(arrays: Any) -> Array:
    found = arrays if isinstance(arrays, tuple) else (arrays,)
    return np.concatenate([np.ravel(a) for a in found])


def parted(vector: Array, shapes: Sequence[tuple[int, ...]]) -> tuple[Array, ...]:
    ends = np.cumsum([int(np.prod(shape)) for shape in shapes])
    return tuple(
        part.reshape(shape) for part, shape in zip(np.split(vector, ends[:-1].tolist()), shapes, strict=True)
    )


def dense_by_jax(case: Case, f: tadc.Function, arguments: Sequence[Array]) -> Array:
    """The Jacobian of all outputs by the inputs `wrt`, in order."""
    places = [f.inputs.index(name) for name in case.wrt]
    shapes = [np.shape(arguments[n]) for n in places]

    def of_vector(vector: Any) -> Any:
        given = list(arguments)
        ends = np.cumsum([int(np.prod(shape)) for shape in shapes]).tolist()
        for place, part, shape in zip(places, jnp.split(vector, ends[:-1]), shapes, strict=True):
            given[place] = part.reshape(shape)
        return jnp.concatenate([jnp.ravel(a) for a in case.function(*given)])

    return np.asarray(jax.jit(jax.jacfwd(of_vector))(flat(tuple(arguments[n] for n in places))))


def close(found: Array, expected: Array, tolerance: float) -> None:
    assert np.linalg.norm(found - expected) <= tolerance * np.linalg.norm(expected)


def compare(
    inverse: Any, arguments: Sequence[Array], jacobian: Array, tolerance: float = 1e-9, seed: int = 0
) -> None:
    """Both products and the determinant against a dense solution, and the residuals."""
    random = np.random.default_rng(seed)
    f = inverse.function
    ins = [np.shape(arguments[f.inputs.index(name)]) for name in inverse.wrt]
    outs = [np.shape(a) for a in _results(f, arguments)]
    v, w = random.standard_normal(len(jacobian)), random.standard_normal(len(jacobian))
    kind = np.result_type(*arguments)
    given, given_t = (tuple(a.astype(kind) for a in parted(*each)) for each in ((v, outs), (w, ins)))
    x, residual = inverse.jinv(arguments, given, check=True)
    z, residual_t = inverse.jinvT(arguments, given_t, check=True)
    close(flat(x), np.linalg.solve(jacobian, v), tolerance)
    close(flat(z), np.linalg.solve(jacobian.T, w), tolerance)
    # A residual is of the size of the rounding in J x.
    size = np.linalg.norm(jacobian)
    assert residual <= tolerance * max(1.0, size * np.linalg.norm(flat(x)) / np.linalg.norm(v))
    assert residual_t <= tolerance * max(1.0, size * np.linalg.norm(flat(z)) / np.linalg.norm(w))
    close(np.array([w @ flat(x)]), np.array([flat(z) @ v]), tolerance * (1 + abs(w) @ abs(flat(x))) * 10)
    sign_free = np.linalg.slogdet(jacobian)[1]
    np.testing.assert_allclose(inverse.logabsdet(arguments), sign_free, rtol=tolerance, atol=tolerance)


def _results(f: tadc.Function, arguments: Sequence[Array]) -> tuple[Array, ...]:
    found = f(*arguments)
    return found if isinstance(found, tuple) else (found,)


def compare_case(case: Case, arguments: Sequence[Array], tolerance: float = 1e-9) -> Any:
    """The same of a case, against JAX; the inverse."""
    f = tadc.function(case.text)
    inverse = tadc.inverse(f, case.wrt)
    compare(inverse, arguments, dense_by_jax(case, f, arguments), tolerance)
    return inverse
