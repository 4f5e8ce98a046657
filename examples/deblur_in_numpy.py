"""The loss of the photograph of `deblur.py` in NumPy, with its gradient by hand, to compare with."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Image = NDArray[np.float64]


def correlate(picture: Image, kernel: Image) -> Image:
    """The sum over a window of the picture at each position; faster so than as a product of matrices."""
    windows = np.lib.stride_tricks.sliding_window_view(picture, kernel.shape)
    return np.einsum("ijuv,uv->ij", windows, kernel)


def value_and_grad(kernel: Image, seen: Image, weight: float) -> Callable[[Image], tuple[float, Image]]:
    """The value and the gradient at a photograph."""
    turned = np.ascontiguousarray(kernel[::-1, ::-1])
    rim = [(size - 1, size - 1) for size in kernel.shape]

    def call(photo: Image) -> tuple[float, Image]:
        off = correlate(photo, kernel) - seen
        down, right = photo[1:, :-1] - photo[:-1, :-1], photo[:-1, 1:] - photo[:-1, :-1]
        slope = np.sqrt(1e-4 + down**2 + right**2)
        gradient = correlate(np.pad(off, rim), turned)
        by_down, by_right = weight * down / slope, weight * right / slope
        gradient[1:, :-1] += by_down
        gradient[:-1, 1:] += by_right
        gradient[:-1, :-1] -= by_down + by_right
        return float((off**2).sum() / 2 + weight * slope.sum()), gradient

    return call
