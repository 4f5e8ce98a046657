# %% [markdown]
# # A shaken photograph
# With this page you can sharpen a picture that a known blur and noise have spoilt, by gradient descent.

# %%
from timeit import repeat

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.cbook import get_sample_data
from scipy import optimize, signal

import tadc

loss = tadc.function("""
photo: f64[140, 140]
kernel: f64[13, 13]
seen: f64[128, 128]
let off[i, j] = sum{u, v} (kernel[u, v] * photo[i + u, j + v]) - seen[i, j]
let slope[i: 139, j: 139] = sqrt(
    1e-4 + (photo[i + 1, j] - photo[i, j])**2 + (photo[i, j + 1] - photo[i, j])**2)
loss = sum{i, j} (off[i, j]**2) / 2 + 0.0003 * sum{i, j} (slope[i, j])
""")
print(tadc.grad(loss, "photo"))

# %%
# The camera is simulated: a shaking hand draws the kernel, and each pixel has noise of one grey level.
time, place = np.linspace(0, 1, 400), np.arange(13)[:, None]
down, right = 8.5 - 3.5 * time + 1.8 * np.cos(6 * time), 2.8 + 5 * time + 1.6 * np.sin(5 * time)
path = np.exp(-((place - down) ** 2) / 0.72) @ np.exp(-((place - right) ** 2) / 0.72).T
kernel = path / path.sum()
colours = plt.imread(str(get_sample_data("grace_hopper.jpg", asfileobj=False)))
picture = colours[40:320:2, 116:396:2] @ [0.299, 0.587, 0.114] / 255
noise = np.random.default_rng(0).normal(scale=0.004, size=(128, 128))
seen = signal.correlate2d(picture, kernel, "valid") + noise
start = np.pad(seen, 6, mode="edge")
fit = tadc.flat(loss, {"photo": start}, kernel=kernel, seen=seen)
found = optimize.minimize(fit, start.ravel(), jac=True, method="L-BFGS-B", tol=1e-4)
sharp = found.x.reshape(140, 140)
before, after = (-10 * np.log10(np.mean((x - picture)[12:-12, 12:-12] ** 2)) for x in (start, sharp))
print(f"peak signal-to-noise ratio: {before:.0f} dB before, {after:.0f} dB after")
assert after > before + 8
figure, axes = plt.subplots(1, 3, figsize=(9, 3.2), layout="constrained")
for axis, shown, title in zip(axes, (start, sharp, picture), ("seen", "sharpened", "true"), strict=True):
    axis.imshow(shown, cmap="gray")
    axis.set(title=title, xticks=[], yticks=[])

# %%
import jax

jax.config.update("jax_enable_x64", True)
off = lambda x: jax.scipy.signal.fftconvolve(x, kernel[::-1, ::-1], "valid") - seen
slopes = lambda x: (x[1:, :-1] - x[:-1, :-1], x[:-1, 1:] - x[:-1, :-1])
length = lambda x: jax.numpy.sqrt(1e-4 + slopes(x)[0] ** 2 + slopes(x)[1] ** 2)
in_jax = lambda x: (off(x) ** 2).sum() / 2 + 0.0003 * length(x).sum()
ours, theirs = tadc.value_and_grad(loss, "photo"), jax.jit(jax.value_and_grad(in_jax))
assert np.allclose(ours(sharp, kernel, seen)[1], theirs(sharp)[1], atol=1e-12)
times = {"tadc": min(repeat(lambda: ours(sharp, kernel, seen), number=1, repeat=50))}
times["JAX, by FFT"] = min(repeat(lambda: jax.block_until_ready(theirs(sharp)), number=1, repeat=50))
