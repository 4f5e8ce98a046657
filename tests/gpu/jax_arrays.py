"""`python -m tests.gpu.jax_arrays`: arrays of JAX on a GPU, in a process: other tests keep JAX to the CPU."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

import numpy as np

import tadc

PROGRAM = "x: f64[N]; w: f64[K]; y[i: N - K + 1] = sum{k} (x[i + k] * w[k])"
#: Takes some milliseconds, in which memory could be used again.
SLOW = "x: f32[N]; y[i] = sum{k: 4000} (sin(x[i] + k))"
COUNT = 1 << 20


def check_values(jax: Any) -> None:
    """Arrays of JAX come in and go out."""
    random = np.random.default_rng(0)
    x, w = random.uniform(size=5000), random.uniform(size=9)
    f = tadc.function(PROGRAM)
    for _ in range(3):
        found: Any = f(jax.device_put(x), jax.device_put(w))
        assert isinstance(found, jax.Array)
        assert found.device.platform == "gpu"
        np.testing.assert_allclose(np.asarray(found), np.correlate(x, w), rtol=1e-12)
        np.testing.assert_allclose(np.asarray(2 * found + 1), 2 * np.correlate(x, w) + 1, rtol=1e-12)


def check_lives(jax: Any) -> None:
    """An argument that nothing refers to any more is not overwritten before it is read; nor is a result."""
    jnp, f = jax.numpy, tadc.function(SLOW)
    makes = jax.jit(lambda n: jnp.zeros(COUNT, jnp.float32) + n)
    wrong: list[int] = []
    for turn in range(40):
        y = f(makes(float(turn)))
        others = [makes(-5.0 * n) for n in range(6)]
        total = jnp.sum(y)
        del y
        more = [makes(7.0 * n) for n in range(6)]
        expected = COUNT * np.sin(turn + np.arange(4000)).sum()
        if abs(float(total) - expected) > 1e-3 * COUNT:
            wrong.append(turn)
        del others, more
    assert not wrong, f"wrong in turns {wrong}"


def main() -> int:
    """Run all; what is wrong raises."""
    jax: Any = import_module("jax")
    jax.config.update("jax_enable_x64", True)
    if all(device.platform == "cpu" for device in jax.devices()):
        print("JAX finds no GPU")
        return 77
    check_values(jax)
    check_lives(jax)
    print("agree")
    return 0


if __name__ == "__main__":
    sys.exit(main())
