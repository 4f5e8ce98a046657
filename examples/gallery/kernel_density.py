# %% [markdown]
# # Kernel density and MMD
# With this page you can choose the width of a density estimate, and give points the distribution of others.

# %%
from timeit import repeat

import jax
import numpy as np
from matplotlib import pyplot as plt
from scipy import optimize

import tadc

density = tadc.function("""
z: f64[G, 2]; y: f64[300, 2]; p: f64  # places; a sample; precision of the kernel
density[g] = p / (300 * pi) * sum{n} (exp(-p * sum{d} ((z[g, d] - y[n, d])**2)))
""")
surprise = tadc.function("""
y: f64[300, 2]; p: f64  # each point is seen by the others, not by itself
let near[n] = sum{m: 300} (exp(-p * sum{d} ((y[n, d] - y[m, d])**2))) - 1
surprise = -sum{n} (log(p / (299 * pi) * near[n])) / 300
""")
mmd = tadc.function("""
x: f64[300, 2]; y: f64[300, 2]; p: f64
mmd = sum{n: 300, m: 300} (exp(-p * sum{d} ((x[n, d] - x[m, d])**2))
    - 2 * exp(-p * sum{d} ((x[n, d] - y[m, d])**2)) + exp(-p * sum{d} ((y[n, d] - y[m, d])**2))) / 300**2
""")
print(tadc.grad(mmd, "x"))

# %%
jax.config.update("jax_enable_x64", True)
random, turn = np.random.default_rng(0), np.linspace(0, np.pi, 150)
moons = np.append(np.cos(turn), 1 - np.cos(turn)), np.append(np.sin(turn), 0.5 - np.sin(turn))
y = np.stack(moons, axis=1) + random.normal(scale=0.08, size=(300, 2))
start = random.normal((0.5, 0.25), 0.3, (300, 2))
(p,) = optimize.minimize(tadc.flat(surprise, "p", y=y), [5.0], jac=True, bounds=[(1, 1000)]).x
q, x, ours = p / 32, start, tadc.value_and_grad(mmd, "x")  # a wider kernel pulls from farther away
for _ in range(1000):
    x = x - 500 / q * ours(x, y, q)[1]
before, after = np.sqrt([mmd(start, y, q), mmd(x, y, q)])
print(f"width {(2 * p) ** -0.5:.3f}; MMD {before:.2f} before, {after:.4f} after")


def in_jax(x):
    xx, xy, yy = (((a[:, None] - b) ** 2).sum(2) for a, b in ((x, x), (x, y), (y, y)))
    return (jax.numpy.exp(-q * xx) - 2 * jax.numpy.exp(-q * xy) + jax.numpy.exp(-q * yy)).mean()


theirs = jax.jit(jax.value_and_grad(in_jax))
assert np.allclose(ours(x, y, q)[1], theirs(x)[1], atol=1e-12)
assert after < before / 100
figure, axes = plt.subplots(1, 3, figsize=(9, 2.6), layout="constrained")
grid = np.mgrid[-1.5:2.5:100j, -1.2:1.7:60j]
for axis, points, title in zip(axes, (y, start, x), ("sample", "before", "after"), strict=True):
    axis.contourf(*grid, density(grid.reshape(2, -1).T, y, p).reshape(100, 60), levels=12, cmap="Blues")
    axis.scatter(*points.T, s=4, color="tab:red")
    axis.set(title=title, xticks=[], yticks=[], xlim=(-1.5, 2.5), ylim=(-1.2, 1.7))
times = {"tadc": min(repeat(lambda: ours(x, y, q), number=1, repeat=50))}
times["JAX"] = min(repeat(lambda: jax.block_until_ready(theirs(x)), number=1, repeat=50))
