"""Recurrences along rows, whose lanes are rows: steps are written out, and read and stored by rows."""

from __future__ import annotations

import numpy as np
import pytest

import tadc

PROGRAM = """x: TYPE[N]; z: TYPE[N, K]
scan{k} t[i: N, k: K] = if {k = 0} then (z[i, 0]) else (
    if {k = 1} then (x[i]) else (2*x[i]*t[i, k - 1] - t[i, k - 2] + z[i, k]))"""


def _values(x: np.ndarray, z: np.ndarray) -> np.ndarray:
    t = z.copy()
    t[:, 1] = x
    for k in range(2, z.shape[1]):
        t[:, k] = 2 * x * t[:, k - 1] - t[:, k - 2] + z[:, k]
    return t


def _gradients(x: np.ndarray, t: np.ndarray, dt: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    dz, dx = dt.copy(), np.zeros_like(x)
    for k in range(t.shape[1] - 1, 1, -1):
        dx += 2 * dz[:, k] * t[:, k - 1]
        dz[:, k - 1] += 2 * x * dz[:, k]
        dz[:, k - 2] -= dz[:, k]
    dx += dz[:, 1]
    dz[:, 1] = 0
    return dx, dz


@pytest.mark.parametrize("target", ["cpu", "cpu:x86-64-v3"])
@pytest.mark.parametrize("type", ["f64", "f32"])
@pytest.mark.parametrize("steps", [16, 3, 9, 21, 32, 47])
def test_rows_of_steps(steps: int, type: str, target: str) -> None:
    count = 20_011
    f = tadc.function(PROGRAM.replace("TYPE", type), sizes={"N": count, "K": steps})
    g = tadc.value_and_vjp(f)
    random, float_type = np.random.default_rng(steps), type.replace("f", "float")
    x, z, dt = (
        random.uniform(-1, 1, shape).astype(float_type)
        for shape in ((count,), (count, steps), (count, steps))
    )
    lowered = g.lower(target=target)
    assert "transpose" in lowered.schedule
    if steps <= 32:
        assert "vector.scatter" not in lowered.as_text("loops")
    found = tadc.compile(g, target=target)(x, z, dt)
    plainly = tadc.compile(g, target=target, schedule="map t\nmap dt_1")(x, z, dt)
    for one, other in zip(found, plainly, strict=True):
        np.testing.assert_array_equal(one, other)
    if type == "f64":
        t = _values(x, z)
        dx, dz = _gradients(x, t, dt)
        for one, other in zip(found, (t, dx, dz), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-9)


def test_steps_stay_in_order() -> None:
    f = tadc.function(PROGRAM.replace("TYPE", "f64"), sizes={"N": 40, "K": 12})
    tadc.compile(f, schedule="map t split k 5 rest -> k0, k1 unroll k1 interleave k1")
    for steps in ("split k 5 overlap -> k0, k1", "jam k", "split k 5 rest -> k0, k1 reorder k1, k0"):
        with pytest.raises(tadc.CompileError, match="another order"):
            tadc.compile(f, schedule=f"map t {steps}")
