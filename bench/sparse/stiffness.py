"""Energy, forces and the sparse stiffness matrix of tetrahedra, as steps of Newton's method take them.

Where an element's 144 numbers stand in the matrix is found once, for peers too, where they can use it.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any

import numpy as np

from bench.sparse.particles import PARTICLES
from bench.workloads.workload import Arrays, Prepared, Workload, prange


@cache
def _elements() -> Any:
    """A function of JAX: energy, forces, and an array of 12 x 12 numbers for each element."""
    jax: Any = import_module("jax")
    jax.config.update("jax_enable_x64", True)
    jnp = jax.numpy

    def energy(corners: Any, rest: Any, volume: Any, mu: Any, lam: Any) -> Any:
        f = (corners[1:] - corners[0]).T @ rest
        strain = 0.5 * (f.T @ f - jnp.eye(3, dtype=corners.dtype))
        return volume * (mu * (strain**2).sum() + 0.5 * lam * jnp.trace(strain) ** 2)

    def all_of(tet: Any, rest: Any, volume: Any, x: Any, mu: Any, lam: Any) -> Any:
        given = x[tet], rest, volume, mu, lam
        axes = (0, 0, 0, None, None)
        values, slopes = jax.vmap(jax.value_and_grad(energy), axes)(*given)
        forces = jnp.zeros_like(x).at[tet].add(slopes)
        return values.sum(), forces, jax.vmap(jax.hessian(energy), axes)(*given)

    return jax.jit(all_of)


def _degrees(tet: Any) -> Any:
    """The row of the matrix that each coordinate of each corner is."""
    return (3 * tet[:, :, None] + np.arange(3, dtype=np.int32)).reshape(-1, 12)


def _on_device(tet: Any, rest: Any, volume: Any) -> Arrays:
    jax: Any = import_module("jax")
    jax.config.update("jax_enable_x64", True)
    put = jax.device_put
    degrees = _degrees(tet)
    rows = np.repeat(degrees, 12, axis=1).reshape(-1)
    return put(tet), put(rest), put(volume), rows, np.tile(degrees, 12).reshape(-1)


def _with_jax(tet: Any, rest: Any, volume: Any, rows: Any, columns: Any, x: Any, mu: Any, lam: Any) -> Any:
    energy, forces, blocks = _elements()(tet, rest, volume, x, mu, lam)
    entries = np.asarray(blocks).reshape(-1)
    sparse: Any = import_module("scipy.sparse")
    matrix = sparse.coo_array((entries, (rows, columns)), shape=(x.size, x.size)).tocsr()
    return energy, forces, matrix.data


def _slots(tet: Any) -> Any:
    """Which value of the matrix, in the format CSR, each number of each element is added to, and how many."""
    degrees = _degrees(tet).astype(np.int64)
    cells = degrees[:, :, None] * (1 + degrees.max()) + degrees[:, None, :]
    found, slots = np.unique(cells, return_inverse=True)
    return slots.reshape(cells.shape).astype(np.int32), np.empty(len(found), np.int8)


def _numba(tet: Any, rest: Any, volume: Any, slots: Any, values: Any, x: Any, mu: Any, lam: Any) -> Any:
    """Saint Venant and Kirchhoff's stiffness by hand: the elements in parallel, then what they add."""
    count = len(tet)
    energies, slopes = np.empty(count, x.dtype), np.empty((count, 4, 3), x.dtype)
    blocks = np.empty((count, 4, 3, 4, 3), x.dtype)
    one = x[0, 0] * 0 + 1
    half = one / 2
    m, la = mu[()], lam[()]
    for e in prange(count):
        f, g = np.zeros((3, 3), x.dtype), np.zeros((4, 3), x.dtype)
        for k in range(3):
            for b in range(3):
                g[k + 1, b] = rest[e, k, b]
                g[0, b] -= rest[e, k, b]
                for a in range(3):
                    f[a, b] += (x[tet[e, k + 1], a] - x[tet[e, 0], a]) * rest[e, k, b]
        stress, square, trace = np.empty((3, 3), x.dtype), one * 0, one * 0
        for a in range(3):
            for b in range(3):
                strain = half * (f[0, a] * f[0, b] + f[1, a] * f[1, b] + f[2, a] * f[2, b])
                if a == b:
                    strain -= half
                    trace += strain
                square += strain * strain
                stress[a, b] = 2 * m * strain
        for a in range(3):
            stress[a, a] += la * trace
        v = volume[e]
        energies[e] = v * (m * square + half * la * trace * trace)
        along, pulled = np.zeros((4, 3), x.dtype), np.zeros((4, 3), x.dtype)
        for i in range(4):
            for a in range(3):
                for b in range(3):
                    along[i, a] += f[a, b] * g[i, b]
                    pulled[i, a] += stress[a, b] * g[i, b]
            for a in range(3):
                slopes[e, i, a] = v * (
                    f[a, 0] * pulled[i, 0] + f[a, 1] * pulled[i, 1] + f[a, 2] * pulled[i, 2]
                )
        turned = np.empty((3, 3), x.dtype)
        for a in range(3):
            for b in range(3):
                turned[a, b] = f[a, 0] * f[b, 0] + f[a, 1] * f[b, 1] + f[a, 2] * f[b, 2]
        for i in range(4):
            for j in range(4):
                near = g[i, 0] * g[j, 0] + g[i, 1] * g[j, 1] + g[i, 2] * g[j, 2]
                held = g[i, 0] * pulled[j, 0] + g[i, 1] * pulled[j, 1] + g[i, 2] * pulled[j, 2]
                for a in range(3):
                    for b in range(3):
                        both = m * (turned[a, b] * near + along[j, a] * along[i, b])
                        both += la * along[i, a] * along[j, b]
                        blocks[e, i, a, j, b] = v * (both + held if a == b else both)
    energy, forces, data = one * 0, np.zeros_like(x), np.zeros(len(values), x.dtype)
    for e in range(count):
        energy += energies[e]
        for i in range(4):
            for a in range(3):
                forces[tet[e, i], a] += slopes[e, i, a]
                for j in range(4):
                    for b in range(3):
                        data[slots[e, 3 * i + a, 3 * j + b]] += blocks[e, i, a, j, b]
    return energy, forces, data


(_ELASTICITY,) = (workload for workload in PARTICLES if workload.name == "elasticity")


def _data(sizes: Any) -> Arrays:
    assert _ELASTICITY.data is not None
    return _ELASTICITY.data(sizes)[:-1]


STIFFNESS = (
    Workload(
        "stiffness",
        "energy, forces and sparse stiffness of tetrahedra",
        _ELASTICITY.program,
        {"N": 18**3, "E": 6 * 17**3},
        {"N": 27, "E": 48},
        {
            "SciPy and JAX": Prepared(_with_jax, _on_device),
            "numba": Prepared(_numba, lambda tet, rest, volume: (tet, rest, volume, *_slots(tet))),
        },
        fixed=3,
        data=_data,
        kind="stiffness",
    ),
)
