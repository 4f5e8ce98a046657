"""What the tests of native code share: a program, its reference, and compilers that are here."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tadc.cli

#: Moving averages by weights, over a norm: scratch, symbolic sizes, sizes that are excluded; `int` and
#: `double` are words of C.
CONV = """x: f64[N]
int: f64[K]
double[i: N - K + 1] = tanh(sum{k} (int[k] * x[i + k])) / (1 + sum{m: N} (x[m]**2))
"""

N, K = 1000, 5


def conv(x: jax.Array, w: jax.Array) -> jax.Array:
    """The same by JAX."""
    return jnp.tanh(jnp.correlate(x, w, "valid")) / (1 + jnp.sum(x**2))


def arrays() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Arguments and a cotangent, as the programs in C fill theirs."""
    return (
        np.array([(i * 37 % 101 - 50) / 64 for i in range(N)]),
        np.array([(i + 1) / 8 for i in range(K)]),
        np.array([(i * 13 % 29) / 16 for i in range(N - K + 1)]),
    )


def wanted() -> np.ndarray:
    """The value and both gradients, one after the other."""
    with jax.enable_x64(True):
        x, w, dy = map(jnp.asarray, arrays())
        value, pull = jax.vjp(conv, x, w)
        return np.concatenate([value, *pull(dy)])


def compiler(name: str) -> str:
    """A program of this machine; skips the test where there is none."""
    found = shutil.which(name)
    if found is None:
        pytest.skip(f"no {name} in PATH")
    return found


def write(folder: Path, *emitted: str, more: tuple[str, ...] = ()) -> None:
    """Write forms of `CONV` and its gradients, `conv.*`, to a folder."""
    program = folder / "conv.tad"
    program.write_text(CONV)
    suffixes = {"obj": ".o", "lib": ".a", "so": ".so", "h": ".h"}
    for form in emitted:
        words = ["emit", form, program, "--wrt", "*", "--prefix", "conv", *more]
        assert tadc.cli.main([*map(str, words), "-o", str(folder / f"conv{suffixes[form]}")]) == 0


def run(folder: Path, *command: str) -> subprocess.CompletedProcess[bytes]:
    """Run a command in a folder, which must succeed."""
    done = subprocess.run(command, cwd=folder, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return done


def numbers(printed: bytes) -> np.ndarray:
    """Numbers, one in a line."""
    return np.array(
        [float.fromhex(line) if "0x" in line else float(line) for line in printed.decode().split()]
    )
