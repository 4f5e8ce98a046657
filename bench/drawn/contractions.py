"""Products of arrays, summed over what they share: their axes stand in any order."""

from __future__ import annotations

from typing import Any

import numpy as np

from bench.drawn.draw import Draw, small
from bench.workloads.workload import Arrays, Form, Workload

#: Indices of the factors, of the result, and of sums; the most operations are 2 * 10**8.
_PATTERNS = (
    ("ik", "kj", "ij"),
    ("ik", "kj", "ij"),
    ("bik", "bkj", "bij"),
    ("ikl", "klj", "ij"),
    ("ik", "kjl", "ijl"),
    ("ik", "k", "i"),
    ("bi", "bj", "bij"),
    ("ijk", "jr", "kr", "ir"),
    ("ij", "jk", "kl", "il"),
    ("abc", "ai", "bj", "ijc"),
    ("ij", "i", "j", "i"),
)
_MOST = 1e8


def contraction(draw: Draw) -> Workload:
    """A contraction of two to four arrays."""
    *factors, out = draw.one(*_PATTERNS)
    names = sorted({*"".join(factors)})
    sizes = {name.upper(): draw.size(8, 800) for name in names}
    while np.prod([float(n) for n in sizes.values()]) > _MOST:
        largest = max(sizes, key=lambda name: sizes[name])
        sizes[largest] = max(4, sizes[largest] * 2 // 3)
    axes = ["".join(draw.order(factor).split(", ")) for factor in (*factors, out)]
    arrays = "uvwx"[: len(factors)]
    declared = "; ".join(
        f"{array}: f64[{', '.join(own.upper())}]" for array, own in zip(arrays, axes, strict=False)
    )
    reads = [f"{array}[{', '.join(own)}]" for array, own in zip(arrays, axes, strict=False)]
    summed = [name for name in names if name not in out]
    term = "*".join(draw.random.sample(reads, len(reads)))
    body = f"sum{{{draw.order(summed)}}} ({term})" if summed else term
    program = f"{declared}\nf[{', '.join(axes[-1])}] = {body}"
    what = ",".join(axes[:-1]) + "->" + axes[-1]
    peers: dict[str, Form] = {
        "JAX": lambda jax, *given: jax.numpy.einsum(what, *given, optimize=True),
        "PyTorch": lambda torch, *given: torch.einsum(what, *given),
        "NumPy": lambda *given: _closed(what, *given),
    }
    return Workload("contraction", what, program, sizes, small(sizes), peers)


def _closed(what: str, *given: Any) -> Arrays:
    """Value and all gradients: each is a contraction of the others and the cotangent."""
    *arrays, cotangent = given
    factors, out = what.split("->")
    axes = factors.split(",")
    found = [np.einsum(what, *arrays, optimize=True)]
    for place, own in enumerate(axes):
        others = [n for n in range(len(axes)) if n != place]
        spelled = ",".join([*(axes[n] for n in others), out]) + "->" + own
        found.append(np.einsum(spelled, *(arrays[n] for n in others), cotangent, optimize=True))
    return tuple(found)
