"""Programs of `jax.export` that call kernels: read in this process and in another."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tadc
import tadc.jax
from tadc.jax import xla_kernels as kernels

pytest.importorskip("flatbuffers", reason="jax.export writes files by it")
pytest.importorskip("jax.export", reason="of some versions it asks for absl-py", exc_type=ImportError)

TEXT = "x: f64[N]; w: f64[M]; y[i: N - M + 1] = sum{k} (sin(w[k]) * x[i + k]**2); s = sum{k} (w[k]**2)"
F = tadc.function(TEXT)
X, W = jnp.arange(6.0), jnp.array([1.0, 0.5])

READER = f"""
import pathlib, jax, numpy, tadc, tadc.jax
tadc.jax.register(tadc.function({TEXT!r}))
read = jax.export.deserialize(bytearray(pathlib.Path("program").read_bytes()))
x, w = (numpy.load(name + ".npy") for name in "xw")
for size in SIZES:
    found = read.call(x[:size], w)
    print(*(float(part.sum()) for part in jax.tree.leaves(found)))
print(float(jax.grad(lambda x: sum(part.sum() for part in jax.tree.leaves(read.call(x, w))))(x).sum()))
"""


def read_elsewhere(folder: Path, blob: bytes, sizes: tuple[int, ...]) -> list[list[float]]:
    """The sums of results in a new process, for the first elements of x; that of the gradient at last."""
    (folder / "program").write_bytes(blob)
    np.save(folder / "x", X)
    np.save(folder / "w", W)
    code = READER.replace("SIZES", str(sizes))
    # The flags of these tests are for the newest XLA; others end where they do not know one.
    environment = {name: value for name, value in os.environ.items() if name != "XLA_FLAGS"}
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return [[float(word) for word in line.split()] for line in done.stdout.splitlines()]


def test_a_gradient(tmp_path: Path) -> None:
    gradient = jax.grad(lambda x, w: F.jax(x, w).y.sum())
    blob = bytes(tadc.jax.export(jax.jit(gradient))(X, W).serialize(vjp_order=1))
    expected = gradient(X, W)
    np.testing.assert_array_equal(jax.export.deserialize(bytearray(blob)).call(X, W), expected)
    second = jax.grad(lambda x: gradient(x, W).sum())(X).sum()
    found = read_elsewhere(tmp_path, blob, (6,))
    np.testing.assert_allclose(found, [[float(expected.sum())], [float(second)]], rtol=1e-12)


def test_all_sizes(tmp_path: Path) -> None:
    (n,) = jax.export.symbolic_shape("n")
    shapes = [jax.ShapeDtypeStruct(shape, jnp.float64) for shape in ((n + 2,), (2,))]
    exported = tadc.jax.export(jax.jit(F.jax))(*shapes)
    assert str(exported.out_avals[0].shape) == "(n + 1,)"
    blob = bytes(exported.serialize(vjp_order=1))
    found = read_elsewhere(tmp_path, blob, (6, 4, 3))
    expected = [[float(part.sum()) for part in F.jax(X[:size], W)] for size in (6, 4, 3)]
    gradient = jax.grad(lambda x: F.jax(x, W).y.sum())(X).sum()
    np.testing.assert_allclose(found[0], expected[0])
    np.testing.assert_allclose(found[1], expected[1])
    np.testing.assert_allclose(found[2], expected[2])
    np.testing.assert_allclose(found[3], [float(gradient)])


def test_a_program_that_cannot_be_compiled_is_an_error_of_xla(monkeypatch: pytest.MonkeyPatch) -> None:
    """As it is where a program was written by a later version of tadc."""
    f = tadc.function("x: f64[N]; y[i] = 0.0625*x[i]").jax
    f(X)
    monkeypatch.setattr(kernels, "_text_of", lambda _: '{"program": "x: f64[", "stored": [null, null]}')
    monkeypatch.setattr(kernels.KERNELS, "_address", lambda *_: 0)
    exported = tadc.jax.export(jax.jit(f))(X)
    monkeypatch.undo()
    with pytest.raises(Exception, match="the program of a call cannot be compiled") as caught:
        exported.call(X)
    assert "TAD0" in str(caught.value)
