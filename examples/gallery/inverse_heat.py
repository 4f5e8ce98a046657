# %% [markdown]
# # An inverse heat problem
# With this page you can find the conductivity of each cell of a plate from its temperatures over time.

# %%
from timeit import repeat

import jax
import numpy as np
from jax import numpy as jnp
from matplotlib import pyplot as plt
from scipy import optimize

import tadc

jax.config.update("jax_enable_x64", True)
loss = tadc.function("""
c: f64[24, 24]; start: f64[24, 24]; seen: f64[60, 24, 24]  # conductivity; temperatures at first and later
let scan{t} u[t: 61, i: 24, j: 24] = if {t = 0} then (start[i, j]) else (u[t - 1, i, j]
    + if {i >= 1} then ((c[i, j] + c[i - 1, j]) * (u[t - 1, i - 1, j] - u[t - 1, i, j])) else (0)
    + if {i <= 22} then ((c[i, j] + c[i + 1, j]) * (u[t - 1, i + 1, j] - u[t - 1, i, j])) else (0)
    + if {j >= 1} then ((c[i, j] + c[i, j - 1]) * (u[t - 1, i, j - 1] - u[t - 1, i, j])) else (0)
    + if {j <= 22} then ((c[i, j] + c[i, j + 1]) * (u[t - 1, i, j + 1] - u[t - 1, i, j])) else (0))
let rough[i: 23, j: 23] = sqrt(1e-6 + (c[i + 1, j] - c[i, j])**2 + (c[i, j + 1] - c[i, j])**2)
loss = sum{t: 60, i, j} ((u[t + 1, i, j] - seen[t, i, j])**2) + 0.01 * sum{i, j} (rough[i, j])
""")
print(tadc.grad(loss, "c"))


# %%
# The gradient is a recurrence that runs back in time. JAX simulates the camera, and has the same gradient.
def in_jax(c, seen):
    def spread(u, _):
        down, right = (c[1:] + c[:-1]) * jnp.diff(u, axis=0), (c[:, 1:] + c[:, :-1]) * jnp.diff(u, axis=1)
        new = u + jnp.diff(down, axis=0, prepend=0, append=0) + jnp.diff(right, prepend=0, append=0)
        return new, new

    off = jax.lax.scan(spread, start, length=60)[1] - seen
    rough = 1e-6 + jnp.diff(c, axis=0)[:, :-1] ** 2 + jnp.diff(c, axis=1)[:-1] ** 2
    return (off**2).sum() + 0.01 * jnp.sqrt(rough).sum(), off


x, y = np.meshgrid(np.arange(24), np.arange(24), indexing="ij")
true = np.where((x - 8) ** 2 + (y - 9) ** 2 < 20, 0.02, np.where((x > 13) & (y > 11) & (y < 20), 0.1, 0.06))
start = np.exp(-((x - 6) ** 2 + (y - 17) ** 2) / 20) + np.exp(-((x - 16) ** 2 + (y - 7) ** 2) / 20)
seen = in_jax(true, 0)[1] + np.random.default_rng(0).normal(scale=0.005, size=(60, 24, 24))
fit, even = tadc.flat(loss, {"c": true}, start=start, seen=seen), np.full(576, 0.06)
c = optimize.minimize(fit, even, jac=True, bounds=[(0, 0.12)] * 576).x.reshape(24, 24)
error = np.linalg.norm(c - true) / np.linalg.norm(0.06 - true)
print(f"error of the conductivity: {100 * error:.0f} % of how much it varies")
ours, theirs = tadc.value_and_grad(loss, "c"), jax.jit(jax.value_and_grad(in_jax, has_aux=True))
assert error < 0.25
assert np.allclose(ours(c, start, seen)[1], theirs(c, seen)[1], atol=1e-10)
figure, axes = plt.subplots(1, 4, figsize=(9, 2.5), layout="constrained")
shown = {"heated": (start, 1), "after 60 steps": (seen[-1], 0.5), "found": (c, 0.1), "true": (true, 0.1)}
for axis, (title, (values, most)) in zip(axes, shown.items(), strict=True):
    axis.imshow(values, vmin=0, vmax=most)
    axis.set(title=title, xticks=[], yticks=[])
times = {"tadc": min(repeat(lambda: ours(c, start, seen), number=1, repeat=50))}
times["JAX"] = min(repeat(lambda: jax.block_until_ready(theirs(c, seen)), number=1, repeat=50))
