"""Particles that spread out: the gradient of an energy of densities (SPH), which is written in Python.

The density at each particle is a sum over all, weighted by Wendland's kernel of their distance. A step down
the gradient of the sum of squared densities moves particles to where few are.
"""

import numpy as np

import tadc

N = tadc.size("N")
p, q, c = tadc.indices("p q c")
place = tadc.argument("place", "f64", (N, 2))
reach = tadc.argument("reach", "f64")

distance = tadc.sqrt(1e-12 + tadc.sum({c: 2}, (place[p, c] - place[q, c]) ** 2))
near = tadc.minimum(distance / reach, 2)
weight = 7 / (4 * tadc.pi * reach**2) * (1 - near / 2) ** 4 * (2 * near + 1)
density = tadc.let("density", [p], tadc.sum(q, weight / N))
energy = tadc.define("energy", [], tadc.sum(p, density[p] ** 2) / N)


def main() -> None:
    """Print the energy while particles spread, and the program."""
    print(energy)
    slope = tadc.value_and_grad(energy, "place")
    at = np.random.default_rng(0).uniform(0.4, 0.6, (50, 2))
    for step in range(101):
        value, gradient = slope(at, 0.1)
        if step % 50 == 0:
            print(f"step {step}: energy {value:.3f}")
        at = np.clip(at - 2e-3 * gradient, 0, 1)


if __name__ == "__main__":
    main()
