# %% [markdown]
# # Orbits and masses
# With this page you can find the masses of a star and two planets from their mutual perturbations.

# %%
from timeit import repeat

import jax
import numpy as np
from matplotlib import pyplot as plt
from scipy import optimize

import tadc

off = tadc.function("""
mass: f64[3]; start: f64[2, 2, 2]; seen: f64[40, 2, 2]  # velocities and places of the planets at first; later
let scan{2*t + c} u[t: 401, c: 2, b: 3, d: 2] = if {t = 0 and b = 0} then (0) else (
    if {t = 0} then (start[c, b - 1, d]) else (u[t - 1, c, b, d] + 0.02 * (
        if {c = 1} then (u[t, 0, b, d]) else (sum{k: 3} (mass[k] * (u[t - 1, 1, k, d] - u[t - 1, 1, b, d]) * (
            1e-6 + sum{e: 2} ((u[t - 1, 1, k, e] - u[t - 1, 1, b, e])**2))**(-1.5))))))
off[s: 40, b: 2, d: 2] = u[10 * (s + 1), 1, b + 1, d] - u[10 * (s + 1), 1, 0, d] - seen[s, b, d]
""")
print(tadc.vjp(off, "mass"))


# %%
# JAX simulates what is seen, in steps of leapfrog, and has the same Jacobian of the residuals.
def pull(mass, place):
    apart = place - place[:, None]
    return (apart * mass[:, None] / (1e-6 + (apart**2).sum(2, keepdims=True)) ** 1.5).sum(1)


def in_jax(x):
    def step(state, _):
        velocity = state[0] + 0.02 * pull(x[:3], state[1])
        place = state[1] + 0.02 * velocity
        return (velocity, place), place[1:] - place[0]

    first = jax.numpy.insert(x[3:].reshape(2, 2, 2), 0, 0, axis=1)
    return jax.lax.scan(step, tuple(first), length=400)[1][9::10]


jax.config.update("jax_enable_x64", True)
mass, start = np.array([1, 0.02, 0.01]), np.array([[[0, 1], [-0.75, 0]], [[1, 0], [0, 1.8]]])
seen = in_jax(np.append(mass, start)) + np.random.default_rng(0).normal(scale=0.002, size=(40, 2, 2))
fit = tadc.flat(off, {"mass": mass, "start": start}, seen=seen)
guess = np.append([1, 0, 0], start + 0.01)
best, _ = optimize.leastsq(fit, guess, Dfun=fit.jac)
u = 0.002 * np.sqrt(np.diag(np.linalg.inv(fit.jac(best).T @ fit.jac(best))))[:3]
print("masses", best[:3].round(4), "with standard uncertainties", u.round(4))
assert (abs(best[:3] - mass) < 3 * u).all()
theirs = jax.jit(jax.jacfwd(in_jax))
assert np.allclose(fit.jac(best), theirs(best).reshape(160, 11), rtol=1e-9, atol=1e-9)
figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
for axis, x, title in zip(axes, (guess, best), ("guess", "fit"), strict=True):
    axis.plot(*seen.reshape(80, 2).T, ".", color="black")
    axis.plot(*np.moveaxis(fit(x).reshape(40, 2, 2) + seen, 2, 0))
    axis.set(title=title, aspect="equal", xlim=(-2.2, 2.2), ylim=(-2.2, 2.2))
times = {"tadc": min(repeat(lambda: fit.jac(guess), number=1, repeat=50))}
times["JAX"] = min(repeat(lambda: jax.block_until_ready(theirs(guess)), number=1, repeat=50))
