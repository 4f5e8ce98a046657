# %% [markdown]
# # The mean of warped time series
# With this page you can average series whose peaks come early or late. Soft dynamic time warping (Cuturi and
# Blondel, 2017) compares two series by all monotone alignments: a recurrence over the diagonals of a table,
# whose gradient is a backward recurrence. L-BFGS finds the mean series.

# %%
import timeit

import jax
import jax.numpy as jnp
import numpy as np
from matplotlib import pyplot as plt
from scipy import optimize

import tadc

distance = tadc.function("""
x: f64[S, M]; z: f64[N]; gamma: f64
let scan{i + j} r[s: S, i: N, j: M] = (z[i] - x[s, j])**2 / gamma + if {i + j >= 1} then (
    -logsumexp{a: 2, b: 2: a + b >= 1 and a <= i and b <= j} (-r[s, i - a, j - b])) else (0)
mean = gamma * sum{s} (r[s, N - 1, M - 1]) / S
""")
print(tadc.grad(distance, wrt="z"))

# %%
time = np.linspace(0, 1, 80) ** np.linspace(0.5, 2, 10)[:, None]  # of ten series, early and late
x = np.exp(-(((time - 0.4) / 0.06) ** 2)) - 0.7 * np.exp(-(((time - 0.65) / 0.05) ** 2))
x += 0.02 * np.random.default_rng(0).normal(size=x.shape)
loss = tadc.flat(distance, "z", x=x, gamma=0.05, N=80)
usual = x.mean(0)
z = optimize.minimize(loss, usual, jac=True, method="L-BFGS-B", options={"maxiter": 100}).x
print(f"highest peak: {usual.max():.2f} of the usual mean, {z.max():.2f} of this one")
assert usual.max() < 0.5 < 0.9 < z.max() < 1.1

# %%
jax.config.update("jax_enable_x64", True)
i, wall = jnp.arange(80), jnp.full((10, 80), 1e9)
moved = lambda r: jnp.insert(r[:, :-1], 0, 1e9, axis=1)
cost = lambda z, j: jnp.where((j >= 0) & (j < 80), (z - jnp.asarray(x)[:, j % 80]) ** 2 / 0.05, 1e9)


def step(z, before, r, k):
    soft = jax.nn.logsumexp(-jnp.stack([moved(before), moved(r), r]), 0)
    return (r, cost(z, k - i) - soft), None


start = lambda z: (wall, jnp.where(i == 0, cost(z, -i), 1e9))  # two diagonals, each series in a row
scanned = lambda z: jax.lax.scan(lambda last, k: step(z, *last, k), start(z), jnp.arange(1, 159))[0][1]
slope = jax.jit(jax.value_and_grad(lambda z: 0.05 * scanned(z)[:, -1].mean()))
assert np.allclose(slope(usual)[1], loss(usual)[1])
ways = {"tadc": lambda: loss(z), "JAX": lambda: jax.block_until_ready(slope(z))}
times = {name: min(timeit.repeat(way, number=1, repeat=10)) for name, way in ways.items()}
figure, axis = plt.subplots(figsize=(7, 3.2), layout="constrained")
axis.plot(x.T, color="lightgrey")
axis.plot(usual, "tab:orange", label="usual mean")
axis.plot(z, "tab:blue", label="mean by soft DTW")
axis.legend(frameon=False)
