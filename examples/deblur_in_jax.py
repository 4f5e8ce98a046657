"""The loss of the photograph of `deblur.py` in JAX, to compare with."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

Image = NDArray[np.float64]
Blur = Callable[[jax.Array, jax.Array], jax.Array]


def by_convolution(photo: jax.Array, kernel: jax.Array) -> jax.Array:
    """As the program says it."""
    return jax.lax.conv(photo[None, None], kernel[None, None], (1, 1), "VALID")[0, 0]


def by_fourier(photo: jax.Array, kernel: jax.Array) -> jax.Array:
    """With fewer operations, and errors of the size of the largest pixel's rounding."""
    return jax.scipy.signal.fftconvolve(photo, kernel[::-1, ::-1], mode="valid")


#: By what they are called.
WAYS: dict[str, Blur] = {"lax.conv": by_convolution, "fftconvolve": by_fourier}


def value_and_grad(
    blur: Blur, kernel: Image, seen: Image, weight: float
) -> Callable[[Image], tuple[float, Image]]:
    """The value and the gradient at a photograph, compiled at the first call."""
    jax.config.update("jax_enable_x64", True)

    def loss(photo: jax.Array) -> jax.Array:
        off = blur(photo, jnp.asarray(kernel)) - seen
        down, right = photo[1:, :-1] - photo[:-1, :-1], photo[:-1, 1:] - photo[:-1, :-1]
        slope = jnp.sqrt(1e-4 + down**2 + right**2)
        return (off**2).sum() / 2 + weight * slope.sum()

    compiled = jax.jit(jax.value_and_grad(loss))

    def call(photo: Image) -> tuple[float, Image]:
        value, gradient = compiled(photo)
        return float(value), np.asarray(gradient)

    return call
