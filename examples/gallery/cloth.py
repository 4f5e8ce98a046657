# %% [markdown]
# # A hanging cloth
# With this page you can find where a net of springs comes to rest: you write its energy, and tadc computes
# gradient and sparse Hessian for Newton's method. The cloth starts flat, is held at its corners, and hangs by
# its weight; spring e joins the nodes `i[e]` and `j[e]`.

# %%
import timeit

import jax
import numpy as np
from matplotlib import pyplot as plt
from scipy import sparse
from scipy.sparse.linalg import spsolve

import tadc

cloth = tadc.function("""
i: index[E] in N; j: index[E] in N; rest: f64[E]; x: f64[N, 3]
let length[e] = norm{c: 3} (x[i[e], c] - x[j[e], c])
energy = sum{e} ((length[e] - rest[e])**2) + sum{n} (x[n, 2]) / N
""")
gradient, hessian = tadc.value_and_grad(cloth, wrt="x"), tadc.hessian(cloth, wrt="x")
print(tadc.grad(cloth, wrt="x"))

# %% [markdown]
# Springs are threads and diagonals of a square net. A shift of the Hessian makes each step go downhill.

# %%
side, node, corners = np.linspace(0, 1, 25), np.arange(625).reshape(25, 25), [0, 24, 600, 624]
ends = [(node[1:], node[:-1]), (node[:, 1:], node[:, :-1])]  # threads
ends += [(node[1:, 1:], node[:-1, :-1]), (node[1:, :-1], node[:-1, 1:])]  # and diagonals
i, j = (np.concatenate([pair[k].ravel() for pair in ends]) for k in (0, 1))
x = np.stack([*np.meshgrid(side, side), 0 * node], -1).reshape(-1, 3)
rest = 0.97 * np.linalg.norm(x[i] - x[j], axis=1)
net = {"i": tadc.relation(i, 625), "j": tadc.relation(j, 625), "rest": rest}
free = np.delete(np.arange(3 * 625).reshape(625, 3), corners, 0).ravel()
shift, (energy, slope) = 1.0, gradient(x=x, **net)
while abs(force := slope.flat[free]).max() > 1e-9:
    matrix = hessian.toscipy(x=x, **net)[free][:, free] + shift * sparse.eye_array(len(free))
    new = x.copy()
    new.flat[free] -= spsolve(matrix.tocsc(), force)
    new_energy, new_slope = gradient(x=new, **net)
    shift *= 4
    if new_energy < energy + 1e-14:
        x, energy, slope, shift = new, new_energy, new_slope, shift / 16
print(f"energy {energy:.6f}, lowest node {x[:, 2].min():.4f}")

# %%
jax.config.update("jax_enable_x64", True)
far = lambda x: jax.numpy.linalg.norm(x[i] - x[j], axis=1)
in_jax = jax.jit(jax.value_and_grad(lambda x: ((far(x) - rest) ** 2).sum() + x[:, 2].mean()))
assert np.allclose(in_jax(x)[1], slope, rtol=0, atol=1e-12)
ways = {"tadc": lambda: gradient(x=x, **net), "JAX": lambda: jax.block_until_ready(in_jax(x))}
times = {name: min(timeit.repeat(way, number=1, repeat=30)) for name, way in ways.items()}
figure = plt.figure(figsize=(6, 3.4))
axis = figure.add_subplot(projection="3d", position=(0, -0.2, 1, 1.3))
axis.plot_surface(*x.reshape(25, 25, 3).transpose(2, 0, 1), rstride=1, cstride=1, cmap="viridis")
axis.scatter(*x[corners].T, color="black", s=20, depthshade=False)
axis.set_axis_off()
