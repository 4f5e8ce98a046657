# %% [markdown]
# # An uncertainty budget
# With this page you can state the uncertainty of a calibration, and see each input's share. A gauge
# block is compared with a standard of known length: example H.1 of the GUM. Lengths are in nanometres.

# %%
import numpy as np
from matplotlib import pyplot as plt
from scipy import stats

import tadc

block = tadc.function("""
standard: f64    # length of the standard at 20 °C, from its certificate
difference: f64  # between the lengths of both, measured
alpha: f64       # thermal expansion of the standard
theta: f64       # its temperature, above 20 °C
delta: f64       # expansion of the block minus that of the standard
tau: f64         # temperature of the block minus that of the standard
length = standard + difference - standard * (delta * theta + alpha * tau)
""")
print(tadc.grad(block))

# %% [markdown]
# Each slope times the standard uncertainty of its input is a line of the budget. The expanded uncertainty
# follows from the effective degrees of freedom.

# %%
at = {"standard": 50_000_623, "difference": 215, "alpha": 11.5e-6, "theta": -0.1, "delta": 0, "tau": 0}
u = {"standard": 25, "difference": 9.7, "alpha": 1.2e-6, "theta": 0.41, "delta": 0.58e-6, "tau": 0.029}
dof = {"standard": 18, "difference": 25.6, "delta": 50, "tau": 2}
first = tadc.propagate(block, at, u=u, dof=dof)
expanded = stats.t.ppf(0.995, np.floor(first.dof["length"])) * first.u["length"]
print(first.budget)
print(f"{first.value['length']:.0f} nm, u = {first.u['length']:.0f} nm, U(99 %) = {expanded:.0f} nm")

# %% [markdown]
# `alpha` and `theta` have slope 0 here, so first order omits the products of two deviations.
# Monte Carlo includes them; the GUM's 34 nm include second-order terms (H.1.7).

# %%
random = np.random.default_rng(0)
draws = {name: random.normal(at[name], u[name], 200_000) for name in at}
lengths = tadc.batched(block)(**draws) - first.value["length"]
print(f"standard deviation of {lengths.size:,} draws: {lengths.std():.0f} nm")
assert [round(x) for x in (first.u["length"], expanded, lengths.std())] == [32, 93, 34]  # as in the GUM

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
rows = first.budget["length"][::-1]
left.barh([row.quantity for row in rows], [abs(row.contribution) for row in rows], color="tab:blue")
left.set(title="budget", xlabel="contribution in nm")
right.hist(lengths, bins=120, range=(-130, 130), density=True, color="lightgrey", label="Monte Carlo")
x = np.linspace(-130, 130, 200)
right.plot(x, stats.norm.pdf(x, 0, first.u["length"]), color="tab:red", label="first order")
right.set(title="length minus its estimate", xlabel="nm", yticks=[])
right.legend(frameon=False)
