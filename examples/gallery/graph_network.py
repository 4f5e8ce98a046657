# %% [markdown]
# # A graph network
# With this page you can train a network on a graph where few nodes have a label. A small network guesses by
# place, and a recurrence spreads guesses along edges (Gasteiger and others, Predict then propagate, 2019).
# The gradient is a recurrence too, along the reversed edges.

# %%
import timeit

import jax
import numpy as np
from matplotlib import pyplot as plt
from scipy import optimize, spatial

import tadc

network = """
src: index[E] in N; dst: index[E] in N; near: f64[E]; x: f64[N, F]; w: f64[F, H]; v: f64[H, C]
let guess[n, c] = sum{h} (v[h, c] * tanh(sum{f} (w[f, h] * x[n, f])))
let scan{t} y[t: 60, n: N, c: C] = if {t = 0} then (guess[n, c]) else (
    0.02*guess[n, c] + 0.98*sum{e: dst[e] = n} (near[e] * y[t - 1, src[e], c]))
"""
labels = """known: index[L] in N; label: index[L] in C
loss = sum{l} (logsumexp{c} (y[59, known[l], c]) - y[59, known[l], label[l]]) / L"""
classify, loss = tadc.function(network + "score[n: N, c: C] = y[59, n, c]"), tadc.function(network + labels)
print(tadc.grad(loss, wrt=["w", "v"]))

# %% [markdown]
# The nodes form three arms, with five labels each; a node has edges with the six nearest nodes.

# %%
random, arm, turn = np.random.default_rng(0), np.arange(300) // 100, np.tile(np.linspace(0.3, 1, 100), 3)
spiral = turn * np.exp(2j * np.pi * (turn + arm / 3))
x = np.stack([spiral.real, spiral.imag], 1) + random.normal(size=(300, 2)) / 60
src, dst = spatial.distance.cdist(x, x).argsort(1)[:, 1:7].ravel(), np.repeat(np.arange(300), 6)
src, dst, known = np.append(src, dst), np.append(dst, src), np.arange(10, 300, 20)
graph = {"src": src, "dst": dst, "near": 1 / np.bincount(dst)[dst], "x": np.insert(x, 2, 1, axis=1)}
flat = tadc.flat(loss, ["w", "v"], **graph, known=known, label=arm[known], H=16, C=3)
start = random.normal(size=16 * 6)
best = optimize.minimize(flat, start, jac=True, method="L-BFGS-B").x
found = classify(**graph, **flat.unpack(best)).argmax(1)
assert (found == arm).all()

# %%
jax.config.update("jax_enable_x64", True)
guess = lambda w: jax.numpy.tanh(graph["x"] @ w[:48].reshape(3, 16)) @ w[48:].reshape(16, 3)
edges = lambda y: jax.ops.segment_sum(graph["near"][:, None] * y[src], dst, 300)
spread = lambda g: jax.lax.scan(lambda y, _: (0.02 * g + 0.98 * edges(y), None), g, length=59)[0]
in_jax = lambda w: -jax.nn.log_softmax(spread(guess(w))[known])[np.arange(15), arm[known]].mean()
slope = jax.jit(jax.value_and_grad(in_jax))
assert np.allclose(slope(start)[1], flat(start)[1])
ways = {"tadc": lambda: flat(start), "JAX": lambda: jax.block_until_ready(slope(start))}
times = {name: min(timeit.repeat(way, number=1, repeat=10)) for name, way in ways.items()}
figure, axis = plt.subplots(figsize=(5, 4.4), layout="constrained")
axis.plot(*np.insert(x[[src, dst]], 2, np.nan, 0).transpose(2, 1, 0).reshape(2, -1), "lightgrey", zorder=0)
axis.scatter(*x.T, c=found, s=12, cmap="brg")
axis.scatter(*x[known].T, c=arm[known], s=80, edgecolor="black", cmap="brg")
axis.set_axis_off()
