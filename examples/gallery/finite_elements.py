# %% [markdown]
# # Nonlinear finite elements
# With this page you can solve a nonlinear equation on a mesh by Newton's method: you write the energy, and
# tadc computes its gradient and its sparse Hessian. The energy is the area of a soap film in a wire frame, on
# triangles where it is flat. For this frame the film is known (Scherk, 1834), and so is the error.

# %%
import timeit

import jax
import numpy as np
from matplotlib import pyplot as plt
from scipy import sparse, spatial
from scipy.sparse.linalg import spsolve

import tadc

film = tadc.function("""
corner: index[T, 3] in N; slope: f64[T, 3, 2]; content: f64[T]; u: f64[N]
let g[t, c] = sum{k} (slope[t, k, c] * u[corner[t, k]])
area = sum{t} (content[t] * sqrt(1 + sum{c: 2} (g[t, c]**2)))
""")
gradient, hessian = tadc.grad(film, wrt="u"), tadc.hessian(film, wrt="u")
print(gradient)

# %% [markdown]
# A mesh of 1,600 nodes: `slope[t, k]` is the gradient of the hat function, 1 at corner k of triangle t and
# 0 at its other corners. Newton's method moves the nodes inside the frame, straight up and down.

# %%
side, shift = np.linspace(-1.3, 1.3, 40), np.random.default_rng(0).uniform(-0.015, 0.015, (2, 38, 38))
points = np.reshape(np.meshgrid(side, side) + np.pad(shift, [(0, 0), (1, 1), (1, 1)]), (2, -1)).T
exact, inside = np.log(np.cos(points)) @ [1, -1], (abs(points) < 1.3).all(1)
corner = spatial.Delaunay(points).simplices
linear = np.concatenate([np.ones((len(corner), 3, 1)), points[corner]], 2)  # 1, x and y at the three corners
slope, content = np.linalg.inv(linear)[:, 1:].transpose(0, 2, 1).copy(), abs(np.linalg.det(linear)) / 2
mesh = {"corner": tadc.relation(corner, len(points)), "slope": slope, "content": content}
u = np.where(inside, 0, exact)
while abs(force := gradient(u=u, **mesh)[inside]).max() > 1e-10:
    print(f"largest force on a node: {abs(force).max():.1e}")
    u[inside] -= spsolve(hessian.toscipy(u=u, **mesh)[inside][:, inside].tocsc(), force)
print(f"largest error: {(error := abs(u - exact).max()):.1e}")
assert error < 1e-2

# %% [markdown]
# JAX gets the energy of one triangle; SciPy adds the Hessians of all triangles.

# %%
jax.config.update("jax_enable_x64", True)
blocks = jax.jit(jax.vmap(jax.hessian(lambda u, g, a: a * jax.numpy.sqrt(1 + ((u @ g) ** 2).sum()))))
place = np.repeat(corner, 3, axis=1).ravel(), np.tile(corner, 3).ravel()
in_jax = lambda: sparse.coo_array((np.ravel(blocks(u[corner], slope, content)), place)).tocsr()
assert abs(in_jax() - hessian.toscipy(u=u, **mesh)).max() < 1e-12
ways = {"tadc": lambda: hessian.toscipy(u=u, **mesh), "JAX and SciPy": in_jax}
times = {name: min(timeit.repeat(way, number=1, repeat=10)) for name, way in ways.items()}
figure = plt.figure(figsize=(6, 4))
axis = figure.add_subplot(projection="3d", position=(-0.15, -0.2, 1.3, 1.4))
axis.plot_trisurf(*points.T, u, triangles=corner, cmap="viridis", linewidth=0, antialiased=False)
axis.set_axis_off()
