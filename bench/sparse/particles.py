"""Energies: of tetrahedra that are deformed, and of atoms that are near each other."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.sparse.drawing import Drawn, Floats, Integers
from bench.workloads.workload import Arrays, Workload


def grid(n: int) -> Integers:
    """All places of a cube of n^3, in order."""
    return np.stack(np.meshgrid(*[np.arange(n, dtype=np.int32)] * 3, indexing="ij"), -1).reshape(-1, 3)


def tetrahedra(n: int) -> Integers:
    """Corners of tetrahedra, six in each cube between n^3 places (Kuhn's), by their number in `grid(n)`."""
    ways = [np.eye(3, dtype=int)[list(order)] for order in itertools.permutations(range(3))]
    paths = np.array([np.vstack([np.zeros((1, 3), int), np.cumsum(way, 0)]) for way in ways])
    corners = grid(n - 1)[:, None, None] + paths
    return (corners @ np.array([n * n, n, 1])).reshape(-1, 4).astype(np.int32)


def _number(value: float) -> Floats:
    return np.array(value, np.float32)


def _elastic_data(sizes: Mapping[str, int]) -> Arrays:
    """A grid of unit cubes that is shaken a little."""
    n = round(sizes["N"] ** (1 / 3))
    corners, places = tetrahedra(n), grid(n).astype(np.float32)
    edges = np.moveaxis(places[corners[:, 1:]] - places[corners[:, :1]], 1, 2)
    rest, volumes = np.linalg.inv(edges), np.abs(np.linalg.det(edges)) / 6
    x = places + 0.4 * Drawn().floats(*places.shape)
    return corners, rest, volumes, x, _number(0.7), _number(1.3), _number(1)


def _elastic_jax(jax: Any, tet: Any, rest: Any, volume: Any, x: Any, mu: Any, lam: Any) -> Any:
    corners = x[tet]
    edges = (corners[:, 1:] - corners[:, :1]).swapaxes(1, 2)
    f = edges @ rest
    strain = 0.5 * (f.swapaxes(1, 2) @ f - jax.numpy.eye(3, dtype=x.dtype))
    trace = strain[:, 0, 0] + strain[:, 1, 1] + strain[:, 2, 2]
    return (volume * (mu * (strain**2).sum((1, 2)) + 0.5 * lam * trace**2)).sum()


def _elastic_torch(torch: Any, tet: Any, rest: Any, volume: Any, x: Any, mu: Any, lam: Any) -> Any:
    corners = x[tet]
    edges = (corners[:, 1:] - corners[:, :1]).transpose(1, 2)
    f = edges @ rest
    strain = 0.5 * (f.transpose(1, 2) @ f - torch.eye(3, dtype=x.dtype))
    trace = strain[:, 0, 0] + strain[:, 1, 1] + strain[:, 2, 2]
    return (volume * (mu * (strain**2).sum((1, 2)) + 0.5 * lam * trace**2)).sum()


def _elastic_numba(tet: Any, rest: Any, volume: Any, x: Any, mu: Any, lam: Any, de: Any) -> Arrays:
    slopes = np.zeros_like(x)
    energy = by_mu = by_lam = x[0, 0] * 0
    f, strain = np.empty((3, 3), x.dtype), np.empty((3, 3), x.dtype)
    stress, by_f = np.empty((3, 3), x.dtype), np.empty((3, 3), x.dtype)
    for e in range(len(tet)):
        for a in range(3):
            for b in range(3):
                f[a, b] = 0
                for k in range(3):
                    f[a, b] += (x[tet[e, k + 1], a] - x[tet[e, 0], a]) * rest[e, k, b]
        square = trace = x[0, 0] * 0
        for a in range(3):
            for b in range(3):
                strain[a, b] = 0.5 * (f[0, a] * f[0, b] + f[1, a] * f[1, b] + f[2, a] * f[2, b])
                if a == b:
                    strain[a, b] -= 0.5
                    trace += strain[a, b]
                square += strain[a, b] * strain[a, b]
        energy += volume[e] * (mu[()] * square + 0.5 * lam[()] * trace * trace)
        by_mu += volume[e] * square
        by_lam += 0.5 * volume[e] * trace * trace
        scale = de[()] * volume[e]
        for a in range(3):
            for b in range(3):
                stress[a, b] = scale * 2 * mu[()] * strain[a, b]
            stress[a, a] += scale * lam[()] * trace
        for a in range(3):
            for b in range(3):
                by_f[a, b] = f[a, 0] * stress[0, b] + f[a, 1] * stress[1, b] + f[a, 2] * stress[2, b]
        for k in range(3):
            for a in range(3):
                force = x[0, 0] * 0
                for b in range(3):
                    force += by_f[a, b] * rest[e, k, b]
                slopes[tet[e, k + 1], a] += force
                slopes[tet[e, 0], a] -= force
    return energy, slopes, de[()] * by_mu, de[()] * by_lam


#: Up to which distance atoms of a lattice are neighbours, and how far its places are from each other.
NEAR, APART = 2.5, 1.1


def neighbours(n: int) -> tuple[Integers, Integers]:
    """All pairs of places in `grid(n)` that are near, each once."""
    reach = grid(7) - 3
    steps = [s for s in reach if 0 < s @ s <= NEAR**2 and tuple(s) > (0, 0, 0)]
    places, pairs = grid(n), list[NDArray[np.intp]]()
    for step in steps:
        inside = ((places + step >= 0) & (places + step < n)).all(1)
        first = np.flatnonzero(inside)
        pairs.append(np.stack([first, first + step @ np.array([n * n, n, 1])]))
    i, j = np.concatenate(pairs, 1)
    order = np.lexsort((j, i))
    return i[order].astype(np.int32), j[order].astype(np.int32)


def _atoms_data(sizes: Mapping[str, int]) -> Arrays:
    n = round(sizes["N"] ** (1 / 3))
    x = APART * (grid(n) + 0.2 * Drawn().floats(n**3, 3)).astype(np.float32)
    return (*neighbours(n), x.astype(np.float32), _number(0.8), _number(0.9), _number(1))


def _atoms_jax(jax: Any, i: Any, j: Any, x: Any, sigma: Any, epsilon: Any) -> Any:
    q = sigma**2 / ((x[i] - x[j]) ** 2).sum(1)
    return (4 * epsilon * (q**6 - q**3)).sum()


def _atoms_torch(torch: Any, i: Any, j: Any, x: Any, sigma: Any, epsilon: Any) -> Any:
    return _atoms_jax(None, i, j, x, sigma, epsilon)


def _atoms_numba(i: Any, j: Any, x: Any, sigma: Any, epsilon: Any, de: Any) -> Arrays:
    slopes, energy, by_q = np.zeros_like(x), x[0, 0] * 0, x[0, 0] * 0
    for p in range(len(i)):
        t0, t1, t2 = x[i[p], 0] - x[j[p], 0], x[i[p], 1] - x[j[p], 1], x[i[p], 2] - x[j[p], 2]
        r = 1 / (t0 * t0 + t1 * t1 + t2 * t2)
        q = sigma[()] * sigma[()] * r
        cube = q * q * q
        energy += cube * cube - cube
        by_q += 6 * cube * cube - 3 * cube
        s = -8 * de[()] * epsilon[()] * (6 * cube * cube - 3 * cube) * r
        slopes[i[p], 0] += s * t0
        slopes[i[p], 1] += s * t1
        slopes[i[p], 2] += s * t2
        slopes[j[p], 0] -= s * t0
        slopes[j[p], 1] -= s * t1
        slopes[j[p], 2] -= s * t2
    energy *= 4
    by_sigma = 8 * de[()] * epsilon[()] * by_q / sigma[()]
    return energy * epsilon[()], slopes, by_sigma, de[()] * energy


PARTICLES = (
    Workload(
        "elasticity",
        "energy of tetrahedra (Saint Venant-Kirchhoff)",
        """tet: index[E, 4] in N
rest: f64[E, 3, 3]
volume: f64[E]
x: f64[N, 3]
mu: f64
lam: f64
let f[e, a: 3, b: 3] = sum{k: 3} ((x[tet[e, k + 1], a] - x[tet[e, 0], a])*rest[e, k, b])
let s[e, a: 3, b: 3] = 0.5*(sum{k: 3} (f[e, k, a]*f[e, k, b]) - if {a = b} then (1) else (0))
energy = sum{e} (volume[e]*(mu*sum{a: 3, b: 3} (s[e, a, b]**2) + 0.5*lam*(sum{a: 3} (s[e, a, a]))**2))""",
        {"N": 24**3, "E": 6 * 23**3},
        {"N": 27, "E": 48},
        {"JAX": _elastic_jax, "PyTorch": _elastic_torch, "numba": _elastic_numba},
        fixed=3,
        data=_elastic_data,
    ),
    Workload(
        "lennard-jones",
        "energy of atoms with a list of neighbours",
        """i: index[P] in N
j: index[P] in N
x: f64[N, 3]
sigma: f64
epsilon: f64
energy = sum{p} (4*epsilon*((sigma**2 / sum{k: 3} ((x[i[p], k] - x[j[p], k])**2))**6
    - (sigma**2 / sum{k: 3} ((x[i[p], k] - x[j[p], k])**2))**3))""",
        {"N": 22**3, "P": 371_508},
        {"N": 27, "P": 305},
        {"JAX": _atoms_jax, "PyTorch": _atoms_torch, "numba": _atoms_numba},
        fixed=2,
        data=_atoms_data,
    ),
)
