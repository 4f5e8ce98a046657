# %% [markdown]
# # A flow around a body
# With this page you can map a flow's sensitivity to each cell of a channel, by a lattice Boltzmann method.

# %%
from timeit import repeat

import jax
import numpy as np
from jax import numpy as jnp
from matplotlib import pyplot as plt

import tadc

flux = tadc.function("""
solid: f64[48, 24]; w: f64[3]  # 0 where the fluid flows, 1 where it bounces back; weights
# c = 0: particles that moved by a - 1 and b - 1; c = 1: their mass and momentum; c = 2: after collisions
let scan{3*t + c} f[t: 201, c: 3, a: 3, b: 3, i: 48, j: 24] = if {t = 0} then (w[a] * w[b]) else (
    if {c = 0} then (f[t - 1, 2, a, b, (i - a + 1) % 48, (j - b + 1) % 24]) else (if {c = 1} then (
        if {a = 0} then (sum{p: 3, q: 3} (f[t, 0, p, q, i, j])) else (
        if {a = 1} then (1e-4 + sum{p: 3, q: 3} ((p - 1) * f[t, 0, p, q, i, j])) else (
            sum{p: 3, q: 3} ((q - 1) * f[t, 0, p, q, i, j]))))
    else (solid[i, j] * f[t, 0, 2 - a, 2 - b, i, j] + (1 - solid[i, j]) * (
        0.2 * f[t, 0, a, b, i, j] + 0.8 * w[a] * w[b] * (f[t, 1, 0, 0, i, j]
            + 3 * ((a - 1) * f[t, 1, 1, 0, i, j] + (b - 1) * f[t, 1, 2, 0, i, j])
            + 4.5 * ((a - 1) * f[t, 1, 1, 0, i, j] + (b - 1) * f[t, 1, 2, 0, i, j])**2
            - 1.5 * (f[t, 1, 1, 0, i, j]**2 + f[t, 1, 2, 0, i, j]**2))))))
flux = sum{i, j, a, b} ((a - 1) * f[200, 2, a, b, i, j])
""")
print(tadc.grad(flux, "solid"))


# %%
def in_jax(solid):
    def step(f, _):
        f = jnp.stack([jnp.roll(f[a], a - 1, axis=1) for a in range(3)])
        f = jnp.stack([jnp.roll(f[:, b], b - 1, axis=2) for b in range(3)], axis=1)
        mass, p, q = f.sum((0, 1)), 1e-4 + (f[2] - f[0]).sum(0), (f[:, 2] - f[:, 0]).sum(0)
        along = move[:, None, None, None] * p + move[:, None, None] * q
        even = mass + 3 * along + 4.5 * along**2 - 1.5 * (p**2 + q**2)
        return solid * f[::-1, ::-1] + (1 - solid) * (0.2 * f + 0.8 * weight * even), None

    last = jax.lax.scan(step, weight * jnp.ones((3, 3, 48, 24)), length=200)[0]
    return (last[2] - last[0]).sum()


jax.config.update("jax_enable_x64", True)
(x, y), move, w = np.mgrid[:48, :24], np.array([-1, 0, 1]), np.array([1, 4, 1]) / 6
weight = np.outer(w, w)[:, :, None, None]
solid = 1.0 * (((x - 16) ** 2 + (y - 11.5) ** 2 < 16) | (y == 0) | (y == 23))
ours, theirs = tadc.value_and_grad(flux, "solid"), jax.jit(jax.value_and_grad(in_jax))
value, slope = ours(solid, w)
assert np.allclose(slope, theirs(solid)[1], rtol=1e-9, atol=1e-12)
sand = 0.01 * (slope < 0.999 * slope.min())
print(f"change by sand {flux(solid + sand, w) - value:.3f}; by the slopes {(slope * sand).sum():.3f}")
figure, axis = plt.subplots(figsize=(9, 4.2), layout="constrained")
figure.colorbar(axis.imshow(np.where(solid == 1, np.nan, slope).T), label="change of the flux")
axis.set(xticks=[], yticks=[], facecolor="lightgrey")
times = {"tadc": min(repeat(lambda: ours(solid, w), number=1, repeat=10))}
times["JAX"] = min(repeat(lambda: jax.block_until_ready(theirs(solid)), number=1, repeat=10))
