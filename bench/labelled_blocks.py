"""The same programs with xarray: NumPy's functions, and shifts, of arrays in Dask's chunks.

What goes along with the batch is `apply_ufunc(dask="parallelized")`, which asks for no word about chunks; of
halos it knows nothing, so that a stencil is a sum of shifted arrays.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import numpy as np


def plate(a: Mapping[str, Any]) -> Any:
    """A step of heat on a plate, whose rim stays."""
    u = a["u"]
    near = u.shift(i=1) + u.shift(i=-1) + u.shift(j=1) + u.shift(j=-1) - 4 * u
    return (u + 0.2 * near).fillna(u)


def attention(a: Mapping[str, Any]) -> Any:
    """Of each head."""

    def own(q: Any, k: Any, v: Any) -> Any:
        s = q @ k.swapaxes(-1, -2)
        p = np.exp(s - s.max(-1, keepdims=True))
        return p / p.sum(-1, keepdims=True) @ v

    return _parallelized(own, a, ["i", "d"], q=["i", "d"], k=["i", "d"], v=["i", "d"])


def kernel_sum(a: Mapping[str, Any]) -> Any:
    """Of each point."""

    def own(x: Any, y: Any, b: Any) -> Any:
        return np.exp(-((x[..., None, :] - y) ** 2).sum(-1)) @ b

    return _parallelized(own, a, [], x=["d"], y=["j", "d"], b=["j"])


def mttkrp(a: Mapping[str, Any]) -> Any:
    """Of each row."""

    def own(t: Any, b: Any, c: Any) -> Any:
        return np.einsum("...jk,jr,kr->...r", t, b, c, optimize=True)

    return _parallelized(own, a, ["r"], t=["j", "k"], b=["j", "r"], c=["k", "r"])


def _parallelized(f: Any, arrays: Mapping[str, Any], out: list[str], **core: list[str]) -> Any:
    xarray: Any = import_module("xarray")

    return xarray.apply_ufunc(
        f,
        *(arrays[name] for name in core),
        input_core_dims=list(core.values()),
        output_core_dims=[out],
        dask="parallelized",
        output_dtypes=[np.float32],
    )
