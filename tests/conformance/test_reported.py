"""Programs of public reports of wrong gradients, where they were wrong, against differences in many digits.

Each row names the report. Where a formula is 0 / 0 at the point, the reference is taken next to it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

import tadc
from tests.reference.limits import MP, Differences


@dataclass(frozen=True)
class Report:
    """A program with the one output f, where it is looked at, and the same function by mpmath."""

    name: str
    program: str
    function: Callable[..., Any]
    at: Mapping[str, Any]
    wrt: tuple[str, ...]
    order: int = 3
    aside: bool = False
    sizes: Mapping[str, int] = field(default_factory=dict[str, int])

    def check(self) -> None:
        """Assert the value, the gradient, the Hessian and third derivatives along a vector."""
        given = dict(self.at)
        f = tadc.function(self.program)
        known = Differences(self.function, self.at, self.wrt, self.aside)
        along = np.cos(np.arange(len(known.slots))).tolist()
        given |= {name + "_dot": part for name, part in self.parts(along).items()}
        same: dict[str, Any] = {"rtol": 1e-9, "atol": 1e-9, "err_msg": self.name}
        np.testing.assert_allclose(self.flat(f, given), [float(known.value())], **same)
        g = tadc.grad(f, wrt=self.wrt)
        np.testing.assert_allclose(self.flat(g, given), known.gradient(), **same)
        if self.order > 1:
            h = tadc.hvp(f, wrt=self.wrt)
            np.testing.assert_allclose(self.flat(h, given), known.hessian_times(along), **same)
        if self.order > 2:
            t = tadc.vjp(tadc.hvp(f, wrt=self.wrt), wrt=self.wrt)
            given |= {
                c: given[name + "_dot"] for name, c in zip(self.wrt, t.cotangents.values(), strict=True)
            }
            np.testing.assert_allclose(self.flat(t, given), known.third_times(along), **same)

    def parts(self, along: Sequence[float]) -> dict[str, Any]:
        """A vector of all elements as arrays."""
        shapes = [np.shape(self.at[name]) for name in self.wrt]
        ends = np.cumsum([int(np.prod(shape)) for shape in shapes])
        pieces = np.split(np.asarray(along), ends[:-1])
        return {name: x.reshape(s) for name, x, s in zip(self.wrt, pieces, shapes, strict=True)}

    def flat(self, f: tadc.Function, given: Mapping[str, Any]) -> Any:
        """All that a function returns, one after another."""
        found = f(**{name: given[name] for name in f.inputs}, **self.sizes)
        return np.concatenate([np.ravel(x) for x in (found if len(f.outputs) > 1 else [found])])


def length(x: Any) -> Any:
    """The Euclidean norm."""
    return MP.sqrt(sum(v**2 for v in np.ravel(x)))


def quaternion_log(q: Any) -> Any:
    """An axis and angle, weighed."""
    n = length(q[1:])
    return 2 * (MP.atan(n / q[0]) / n) * (q[1] + 2 * q[2] - q[3] / 2)


def rotation(v: Any) -> Any:
    """The quaternion of an axis and angle, weighed."""
    t = length(v)
    return MP.cos(t / 2) + MP.sin(t / 2) / t * (2 * v[0] - v[1] + 3 * v[2])


def lennard_jones(x: Any) -> Any:
    """Of pairs, with a core and a cutoff."""

    def energy(r: Any) -> Any:
        s = 1 / r**6
        near, far = 3 - MP.mpf(1.5) * r**2, 2 * s * (s / 2 - 1) + (r - MP.mpf(2.5)) / 8
        return MP.mpf(0) if r > 2.5 else far if r > 0.75 else near

    pairs = [(i, j) for i in range(len(x)) for j in range(len(x)) if i != j]
    return sum(energy(length(x[i] - x[j])) for i, j in pairs) / 2 + len(x) * MP.mpf(1.5)


def coulomb(x: Any, q: Any, keep: Any) -> Any:
    """Of pairs that are kept."""
    pairs = [(i, j) for i in range(len(x)) for j in range(len(x)) if keep[i, j]]
    return sum(q[i] * q[j] / length(x[i] - x[j]) for i, j in pairs)


def products(x: Any, to: Any, w: Any) -> Any:
    """Weighed products of the elements that go to each place."""
    total = MP.mpf(0)
    for n, weight in enumerate(w):
        total += weight * MP.fprod([v for v, t in zip(x, to, strict=True) if t == n])
    return total


def cumulative(x: Any) -> Any:
    """Weighed products of the first elements."""
    return sum((i + 1) * MP.fprod(x[: i + 1]) for i in range(len(x)))


def deviations(x: Any) -> Any:
    """The first group is constant, the third has one element."""
    return MP.sqrt((x[2] - x[3]) ** 2 / 2) + 0 * x[0]


def convolution(w: Any, x: Any) -> Any:
    """Of a graph of four nodes, of which none goes to the last, by the degrees of both ends."""
    edges = list(zip((0, 1, 2, 1, 1), (1, 2, 1, 2, 0), w, strict=True))
    degree = [sum(c for _, t, c in edges if t == n) for n in range(3)]
    y = [sum(c * x[s] / MP.sqrt(degree[s] * degree[n]) for s, t, c in edges if t == n) for n in range(3)]
    return sum(v**2 for v in y)


def bend(x: Any) -> Any:
    """The square of how far an angle is from a half turn."""
    u, v = x[0] - x[1], x[2] - x[1]
    return (MP.acos(sum(u * v) / (length(u) * length(v))) - MP.pi) ** 2


def torsion(x: Any) -> Any:
    """The square of a dihedral angle."""
    b = x[1:] - x[:-1]
    n, m = (
        np.array([u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]])
        for u, v in ((b[0], b[1]), (b[1], b[2]))
    )
    return MP.atan2(length(b[1]) * sum(b[0] * m), sum(n * m)) ** 2


def great_circle(p: Any) -> Any:
    """The square of the distance of two places on a sphere."""
    (a, b), (c, d) = p
    h = MP.sin((c - a) / 2) ** 2 + MP.cos(a) * MP.cos(c) * MP.sin((d - b) / 2) ** 2
    return 4 * MP.asin(MP.sqrt(h)) ** 2


def poincare(x: Any, y: Any) -> Any:
    """The square of the distance in the hyperbolic disk."""
    u, v, w = (sum(t**2) for t in (x - y, x, y))
    return MP.acosh(1 + 2 * u / ((1 - v) * (1 - w))) ** 2


def matern(x: Any, scale: Any) -> Any:
    """Weighed entries of a Matérn 5/2 kernel."""
    total = MP.mpf(0)
    for i, u in enumerate(x):
        for j, v in enumerate(x):
            r = MP.sqrt(5) * length(u - v) / scale
            total += (i + 1) * (j + 2) * (1 + r + r**2 / 3) * MP.exp(-r)
    return total


def polynomial(c: Any, x: Any) -> Any:
    """The sum of squares of a polynomial at some places."""
    return sum((c[0] + sum(a * v**i for i, a in enumerate(c) if i)) ** 2 for v in x)


def softmax_of_kept(s: Any, keep: Any, v: Any) -> Any:
    """The square of an average by a row of which something is kept."""
    e = [MP.exp(t) for t, k in zip(s[0], keep[0], strict=True) if k]
    return (sum(t * u for t, u in zip(e, v, strict=True)) / sum(e)) ** 2


REPORTS = [
    Report(
        "kornia 4237, axis and angle of a quaternion at -2 times the identity",
        """
        q: f64[4]
        let n = norm{c: 3} (q[c + 1])
        f = select(n > 0, 2*atan2(n, q[0])/n, 2/q[0])*(q[1] + 2*q[2] - 0.5*q[3])
        """,
        quaternion_log,
        {"q": [-2.0, 0, 0, 0]},
        ("q",),
        order=1,
        aside=True,
    ),
    Report(
        "kornia 3949, quaternion of no rotation",
        """
        v: f64[3]
        let t = norm{c} (v[c])
        f = cos(t/2) + select(t > 0, sin(t/2)/t, 0.5)*(2*v[0] - v[1] + 3*v[2])
        """,
        rotation,
        {"v": [0.0, 0, 0]},
        ("v",),
        order=2,
        aside=True,
    ),
    Report(
        "pytorch 80770, xlogy where x is 0",
        "x: f64[3]; y: f64[3]; f = sum{i} (x[i]*log(y[i]))",
        lambda x, y: sum(a * MP.log(b) for a, b in zip(x, y, strict=True)),
        {"x": [0.0, 0, 2], "y": [2.0, 0.5, 3]},
        ("x", "y"),
    ),
    Report(
        "autograd 802, a root in the branch that is not taken",
        "x: f64[3]; f = sum{i} (select(x[i] >= 0, x[i]**2, sqrt(-x[i])))",
        lambda x: x[0] ** 2 + MP.sqrt(-x[1]) + x[2] ** 2,
        {"x": [1.0, -4, 2]},
        ("x",),
    ),
    Report(
        "jax 5798, a definition that is no number where it is not taken",
        """
        x: f64[3]
        z: f64
        let s[i] = sqrt(x[i])
        let a[i] = log(x[i])*z + s[i]*z
        f = sum{i} (select(x[i] > 0, a[i], 0))
        """,
        lambda x, z: z * (MP.log(x[0]) + MP.sqrt(x[0])),
        {"x": [2.0, -1, 0], "z": 0.7},
        ("x", "z"),
        order=2,
    ),
    Report(
        "jax 18562, the Hessian of a pair potential, with distances to itself",
        """
        x: f64[N, 2]
        let r[i: N, j: N] = sqrt(sum{c} ((x[i, c] - x[j, c])**2))
        f = sum{i, j} (select(r[i, j] > 2.5, 0, select(r[i, j] > 0.75,
            2*(1/r[i, j])**6*(0.5*(1/r[i, j])**6 - 1) + (r[i, j] - 2.5)/8, 3 - 1.5*r[i, j]**2)))/2
        """,
        lennard_jones,
        {"x": [[0.0, 0], [1.1, 0.3], [0.2, 0.5]]},
        ("x",),
        order=2,
    ),
    Report(
        "jax 654, Coulomb energy with a mask",
        """
        x: f64[N, 3]
        q: f64[N]
        keep: f64[N, N]
        let d[i: N, j: N] = norm{c} (x[i, c] - x[j, c])
        f = sum{i, j} (select(keep[i, j] > 0, q[i]*q[j]/d[i, j], 0))
        """,
        coulomb,
        {
            "x": [[0.1, 0.2, 0], [1, 0, 0.3], [0, 1.2, 0.5]],
            "q": [1.0, -0.5, 2],
            "keep": 1 - np.eye(3),
        },
        ("x", "q"),
        order=2,
    ),
    Report(
        "pytorch 196702, products over groups with zeros",
        "x: f64[E]; to: index[E] in N; w: f64[N]; f = sum{n} (w[n]*prod{e: to[e] = n} (x[e]))",
        products,
        {"x": [0.0, 2, 0, 3, 5, 0], "to": np.array([0, 0, 1, 1, 2, 1]), "w": [1.0, 2, 3, 4]},
        ("x", "w"),
    ),
    Report(
        "tensorflow 119430, cumulative products with zeros",
        """
        x: f64[N]
        let scan{i} y[i: N] = if {i = 0} then (x[0]) else (y[i - 1]*x[i])
        f = sum{i} ((i + 1)*y[i])
        """,
        cumulative,
        {"x": [2.0, 0, 0, 3]},
        ("x",),
    ),
    Report(
        "pytorch 169263, greatest elements of groups, one of them empty",
        """
        size N
        x: f64[E]
        to: index[E] in N
        let m[n: N] = max{e: to[e] = n} (x[e])
        let count[n: N] = sum{e: to[e] = n} (1)
        f = sum{n} (select(count[n] > 0, m[n]**2, 0))
        """,
        lambda x, to: x[1] ** 2 + x[2] ** 2,
        {"x": [1.0, 3, 2, -1], "to": np.array([0, 0, 2, 2])},
        ("x",),
        order=2,
        sizes={"N": 4},
    ),
    Report(
        "klay 17, log(1 - exp(x)) from tiny to large x",
        "x: f64[N]; f = sum{i} (select(x[i] > -0.69, log(-expm1(x[i])), log1p(-exp(x[i]))))",
        lambda x: sum(MP.log(-MP.expm1(v)) for v in x),
        {"x": [-0.01, -0.5, -1, -100, -1000]},
        ("x",),
        order=2,
    ),
    Report(
        "pytorch 4320, a function of the deviation of what is constant",
        """
        x: f64[N]
        let mean = sum{i} (x[i])/N
        let s = sqrt(sum{i} ((x[i] - mean)**2)/(N - 1))
        f = s*tanh(s) + 2*x[0]
        """,
        lambda x: (lambda s: s * MP.tanh(s))(MP.sqrt(sum((v - sum(x) / 3) ** 2 for v in x) / 2)) + 2 * x[0],
        {"x": [1.5, 1.5, 1.5]},
        ("x",),
        order=2,
        aside=True,
    ),
    Report(
        "pytorch_scatter, deviations of groups",
        """
        size N
        x: f64[E]
        of: index[E] in N
        let c[n: N] = max(sum{e: of[e] = n} (1), 1)
        let m[n: N] = sum{e: of[e] = n} (x[e])/c[n]
        f = sum{n} (sqrt(sum{e: of[e] = n} ((x[e] - m[n])**2)/max(c[n] - 1, 1)))
        """,
        lambda x, of: deviations(x),
        {"x": [1.0, 1, 2, 5, 3.5], "of": np.array([0, 0, 1, 1, 2])},
        ("x",),
        order=2,
        sizes={"N": 4},
    ),
    Report(
        "pytorch_geometric 61, degrees to the power -1/2 with a lonely node",
        """
        size N
        src: index[E] in N
        dst: index[E] in N
        w: f64[E]
        x: f64[N]
        let degree[n: N] = sum{e: dst[e] = n} (w[e])
        let r[n: N] = select(degree[n] > 0, degree[n]**-0.5, 0)
        let y[n: N] = sum{e: dst[e] = n} (r[src[e]]*w[e]*r[n]*x[src[e]])
        f = sum{n} (y[n]**2)
        """,
        lambda src, dst, w, x: convolution(w, x),
        {
            "src": np.array([0, 1, 2, 1, 1]),
            "dst": np.array([1, 2, 1, 2, 0]),
            "w": [0.9, 0.6, 0.7, 0.8, 0.5],
            "x": [1.0, -2, 0.5, 3],
        },
        ("w", "x"),
        order=2,
        sizes={"N": 4},
    ),
    Report(
        "openmm 4888, three atoms in a line",
        """
        x: f64[3, 3]
        let u[c: 3] = x[0, c] - x[1, c]
        let v[c: 3] = x[2, c] - x[1, c]
        f = (acos(sum{c} (u[c]*v[c])/(norm{c} (u[c])*norm{c} (v[c]))) - pi)**2
        """,
        bend,
        {"x": [[-1.0, 0, 0], [0, 0, 0], [1.5, 0, 0]]},
        ("x",),
        order=2,
        aside=True,
    ),
    Report(
        "timemachine 935, three atoms in a line, by the arc tangent",
        """
        x: f64[3, 3]
        let u[c: 3] = x[0, c] - x[1, c]
        let v[c: 3] = x[2, c] - x[1, c]
        let w[c: 3] = if {c = 0} then (u[1]*v[2] - u[2]*v[1]) else (
            if {c = 1} then (u[2]*v[0] - u[0]*v[2]) else (u[0]*v[1] - u[1]*v[0]))
        f = (atan2(norm{c} (w[c]), sum{c} (u[c]*v[c])) - pi)**2
        """,
        bend,
        {"x": [[-1.0, 0, 0], [0, 0, 0], [1.5, 0, 0]]},
        ("x",),
        order=2,
        aside=True,
    ),
    Report(
        "q2mm 249, four atoms in a plane",
        """
        x: f64[4, 3]
        let b[k: 3, c: 3] = x[k + 1, c] - x[k, c]
        let n[k: 2, c: 3] = if {c = 0} then (b[k, 1]*b[k + 1, 2] - b[k, 2]*b[k + 1, 1]) else (
            if {c = 1} then (b[k, 2]*b[k + 1, 0] - b[k, 0]*b[k + 1, 2]) else (
                b[k, 0]*b[k + 1, 1] - b[k, 1]*b[k + 1, 0]))
        f = acos(sum{c} (n[0, c]*n[1, c])/(norm{c} (n[0, c])*norm{c} (n[1, c])))**2
        """,
        torsion,
        {"x": [[0.0, 1, 0], [0, 0, 0], [1.25, 0, 0], [1.5, 1, 0]]},
        ("x",),
        order=2,
        aside=True,
    ),
    Report(
        "scikit-learn, great circle from a place to itself",
        """
        p: f64[2, 2]
        let h = sin((p[1, 0] - p[0, 0])/2)**2 + cos(p[0, 0])*cos(p[1, 0])*sin((p[1, 1] - p[0, 1])/2)**2
        f = (2*asin(sqrt(h)))**2
        """,
        great_circle,
        {"p": [[0.5, 1], [0.5, 1]]},
        ("p",),
        order=2,
        aside=True,
    ),
    Report(
        "umap 207, the same point of the hyperbolic disk twice",
        """
        x: f64[2]
        y: f64[2]
        let d = 2*sum{i} ((x[i] - y[i])**2)/((1 - sum{i} (x[i]**2))*(1 - sum{i} (y[i]**2)))
        f = acosh(1 + d)**2
        """,
        poincare,
        {"x": [0.25, 0.5], "y": [0.25, 0.5]},
        ("x", "y"),
        order=2,
        aside=True,
    ),
    Report(
        "KernelFunctions.jl 517, Matérn 5/2 of points that are equal",
        """
        x: f64[N, 2]
        scale: f64
        let r[i: N, j: N] = sqrt(5*sum{c} ((x[i, c] - x[j, c])**2))/scale
        f = sum{i, j} ((i + 1)*(j + 2)*(1 + r[i, j] + r[i, j]**2/3)*exp(-r[i, j]))
        """,
        matern,
        {"x": [[0.0, 0], [1, 0.5], [1, 0.5]], "scale": 0.75},
        ("x", "scale"),
        order=2,
        aside=True,
    ),
    Report(
        "tensorflow 22048, a short vector that is not clipped",
        "x: f64[3]; let n = norm{i} (x[i]); f = sum{i} ((i + 1)*x[i]*min(1, 1/n)) + sum{i} (x[i]/max(n, 1))",
        lambda x: sum((i + 2) * v for i, v in enumerate(x)),
        {"x": [0.0, 0, 0]},
        ("x",),
        order=2,
        aside=True,
    ),
    Report(
        "optax 1267, focal loss where a prediction is certain",
        """
        z: f64
        y: f64
        g: f64
        let p = sigmoid(z)
        f = (max(z, 0) - z*y + log1p(exp(-abs(z))))*(1 - p*y - (1 - p)*(1 - y))**g
        """,
        lambda z, y, g: 0 * z,
        {"z": 1000.0, "y": 1.0, "g": 2.0},
        ("z",),
        order=2,
    ),
    Report(
        "drake 23862, powers with the exponents 0, 1, 2 of 0",
        "c: f64[4]; x: f64[2]; f = sum{k} (sum{i} (c[i]*x[k]**i)**2)",
        polynomial,
        {"c": [1.0, 2, 3, 4], "x": [0.0, -0.5]},
        ("c", "x"),
    ),
    Report(
        "pytorch 41508, attention with a row of which nothing is kept",
        """
        s: f64[T, T]
        keep: f64[T, T]
        v: f64[T]
        let z[i] = sum{j} (keep[i, j]*exp(s[i, j]))
        let y[i: T] = select(z[i] > 0, sum{j} (keep[i, j]*exp(s[i, j])*v[j])/z[i], 0)
        f = sum{i} (y[i]**2)
        """,
        softmax_of_kept,
        {"s": [[0.3, -1], [2, 0.5]], "keep": [[1.0, 1], [0, 0]], "v": [1.5, -0.5]},
        ("s", "v"),
        order=2,
    ),
]


@pytest.mark.parametrize("report", REPORTS, ids=lambda report: report.name)
def test_reported(report: Report) -> None:
    """At the point of the report."""
    report.check()
