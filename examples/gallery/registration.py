# %% [markdown]
# # Registration of two images
# With this page you can find the smooth deformation that carries one image onto another. A coarse grid `g` of
# displacements moves the pixels; between pixels, the image is bilinear in its cell from `row` and `col` on.

# %%
import timeit

import jax
import numpy as np
from jax.scipy.ndimage import map_coordinates
from matplotlib import pyplot as plt
from scipy import optimize

import tadc

warp = tadc.function("""
row: index[P, Q] in P - 1; col: index[P, Q] in Q - 1
moving: f64[P, Q]; fixed: f64[P, Q]; bump: f64[P, K]; g: f64[2, K, K]
let half[c, i, b: K] = sum{a} (bump[i, a] * g[c, a, b])
let y[i: P, j: Q] = i - row[i, j] + sum{b} (half[0, i, b] * bump[j, b])
let x[i: P, j: Q] = j - col[i, j] + sum{b} (half[1, i, b] * bump[j, b])
let moved[i, j] = sum{a: 2, b: 2} (
    (1 - a + (2*a - 1)*y[i, j]) * (1 - b + (2*b - 1)*x[i, j]) * moving[row[i, j] + a, col[i, j] + b])
loss = sum{i, j} ((moved[i, j] - fixed[i, j])**2) + 0.01*sum{c, a, b} (g[c, a, b]**2)
""")
print(tadc.grad(warp, wrt="g"))

# %% [markdown]
# Here `fixed` is `moving` with pixels shifted by up to four. Cells are found before each call, in NumPy.

# %%
at = np.stack(np.meshgrid(np.arange(96.0), np.arange(96.0), indexing="ij"))
pattern = lambda y, x: (1 + np.cos(y / 3) * np.cos(x / 3)) / (1 + np.exp(np.hypot(y - 48, x - 48) - 32))
shift = np.stack([4 * np.sin(at[1] / 15), 3 * np.cos(at[0] / 12)])
images = {"moving": pattern(*at), "fixed": pattern(*(at + shift))}
bump = np.exp(-(np.subtract.outer(np.linspace(0, 9, 96), np.arange(10)) ** 2))
places = lambda v: at + bump @ v.reshape(2, 10, 10) @ bump.T
cells = lambda v: dict(zip(["row", "col"], np.clip(places(v), 0, 94).astype(int), strict=True))
start = np.zeros(200)
flat = tadc.flat(warp, {"g": start.reshape(2, 10, 10)}, **images, bump=bump, **cells(start))
loss = lambda v: flat(v, **cells(v))
v = optimize.minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": 30}).x
error = abs(places(v) - at - shift)[:, images["fixed"] > 0.1].mean()
print(f"mean error of the shift: {error:.2f} pixels")
assert error < 0.05

# %%
jax.config.update("jax_enable_x64", True)
moved = lambda v: map_coordinates(jax.numpy.asarray(images["moving"]), list(places(v)), 1)
cost = lambda v: ((moved(v) - images["fixed"]) ** 2).sum() + 0.01 * (v**2).sum()
in_jax = jax.jit(jax.value_and_grad(cost))
assert np.allclose(in_jax(v / 2)[1], loss(v / 2)[1])
ways = {"tadc": lambda: loss(v), "JAX": lambda: jax.block_until_ready(in_jax(v))}
times = {name: min(timeit.repeat(way, number=1, repeat=20)) for name, way in ways.items()}
figure, axes = plt.subplots(1, 4, figsize=(10, 2.8), layout="constrained")
shown = {**images, "moved": moved(v), "difference": abs(images["fixed"] - moved(v))}
for axis, (title, image) in zip(axes, shown.items(), strict=True):
    axis.imshow(image, cmap="gray", vmin=0, vmax=2)
    axis.set(title=title, xticks=[], yticks=[])
