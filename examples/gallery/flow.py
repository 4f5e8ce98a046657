# %% [markdown]
# # A normalising flow
# With this page you can learn a density from samples: you write layers that take points to a normal
# distribution, and tadc derives log |det J| and the gradient of the likelihood. Each layer scales and shifts
# a coordinate by small networks of the other one, and swaps the two. Adam fits them to points of two moons.

# %%
from timeit import repeat

import jax
import numpy as np
from matplotlib import pyplot as plt

import tadc

net = "sum{{k}} (a[{0}, {1}, k]*tanh(b[{0}, {1}, k]*{2} + c[{0}, {1}, k]))"
scale, shift = (net.format("l - 1", n, "u[l - 1, n, 0]") for n in (0, 1))
flow = tadc.function(f"""x: f64[N, 2]; a: f64[8, 2, 16]; b: f64[8, 2, 16]; c: f64[8, 2, 16]
let scan{{l}} u[l: 9, n: N, i: 2] = if {{l = 0}} then (x[n, i]) else (
    if {{i = 1}} then (u[l - 1, n, 0]) else (u[l - 1, n, 1]*exp({scale}) + {shift})); z[n, i] = u[8, n, i]""")
inverse = tadc.inverse(flow, "x")
volume = inverse.at({"N": 512}).logabsdet
fit = tadc.function(f"{volume}\nlikelihood = logabsdet - sum{{n: 512, i: 2}} (u[8, n, i]**2)/2")
print(volume, tadc.grad(volume, "a"), sep="\n")

# %%
random = np.random.default_rng(0)
angle, noise = random.uniform(0, 2 * np.pi, 512), random.normal(0, 0.06, (512, 2))
x = np.stack([np.cos(angle), np.sin(angle)], -1) + np.sign(angle - np.pi)[:, None] * [0.5, 0.25] + noise
w = random.standard_normal((3, 8, 2, 16)) * np.reshape([0.1, 1, 1], (3, 1, 1, 1))
gradient, mean, square = tadc.value_and_vjp(fit, ["a", "b", "c"]), 0 * w, 0 * w
for step in range(601):
    _, value, *slope = gradient(x, *w, 0, 1)
    if step in (0, 100, 600):
        print(f"after {step} steps the mean log density is {value / 512 - np.log(2 * np.pi):.1f}")
    mean, square = 0.9 * mean + 0.1 * np.array(slope), 0.99 * square + 0.01 * np.square(slope)
    w += 0.01 * min(1, 3 - step / 200) * mean / np.sqrt(square + 1e-16)

# %%
scale, shift = (net.format("l", n, "v[l + 1, n, 1]") for n in (0, 1))
back = tadc.function(f"""z: f64[N, 2]; a: f64[8, 2, 16]; b: f64[8, 2, 16]; c: f64[8, 2, 16]
let scan{{-l}} v[l: 9, n: N, i: 2] = if {{l = 8}} then (z[n, i]) else (if {{i = 0}} then (v[l + 1, n, 1])
    else ((v[l + 1, n, 0] - {shift})/exp({scale}))); x[n, i] = v[0, n, i]""")
points = np.mgrid[-1.8:1.8:100j, -1.2:1.2:70j].reshape(2, -1).T.copy()
columns = [inverse.jinv((points, *w), np.tile(unit, (7000, 1))) for unit in np.eye(2)]
density = np.exp(-np.sum(flow(points, *w) ** 2, 1) / 2) / abs(np.linalg.det(np.stack(columns, -1)))
figure, axes = plt.subplots(1, 2, figsize=(8, 2.8), layout="constrained")
for n, shown in enumerate((x, back(random.normal(size=x.shape), *w))):
    axes[n].tricontourf(*points.T, density, levels=20, cmap="Blues")
    axes[n].scatter(*shown.T, s=2, color="tab:red")
    axes[n].set(title=("data", "samples")[n], xticks=[], yticks=[], xlim=(-1.8, 1.8), ylim=(-1.2, 1.2))
jax.config.update("jax_enable_x64", True)
nets = lambda u, w: (w[0, :, None] * jax.numpy.tanh(w[1, :, None] * u[:, :1] + w[2, :, None])).sum(-1)
layer = lambda u, w: (jax.numpy.c_[u[:, 1] * jax.numpy.exp((n := nets(u, w))[0]) + n[1], u[:, 0]], n[0].sum())
in_jax = lambda w: (s := jax.lax.scan(layer, x, w.swapaxes(0, 1)))[1].sum() - (s[0] ** 2).sum() / 2
theirs = jax.jit(jax.value_and_grad(in_jax))
assert np.allclose(theirs(w)[1], gradient(x, *w, 0, 1)[2:])
assert np.allclose(back(flow(x, *w), *w), x)
times = {"tadc": min(repeat(lambda: gradient(x, *w, 0, 1), number=1, repeat=30))}
times["JAX"] = min(repeat(lambda: jax.block_until_ready(theirs(w)), number=1, repeat=30))
