"""Sums over pairs of points, by laws of their distance that are drawn; by hand in numba too."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np

from bench.drawn.draw import Draw, small
from bench.workloads.workload import Arrays, Form, Workload, prange


@dataclass(frozen=True)
class Law:
    """A function of a squared distance r > 0: texts, by a library's functions, with its slope by hand."""

    texts: tuple[str, ...]
    plain: Callable[[Any, Any], Any]
    by_hand: Callable[[Any, Any], tuple[Any, Any]]


# A literal would make a double of an f32: `one` has the type of the points.
def _gauss(r: Any, one: Any) -> tuple[Any, Any]:
    e = math.exp(-r)
    return e, -e


def _cauchy(r: Any, one: Any) -> tuple[Any, Any]:
    q = one / (one + r)
    return q, -q * q


def _coulomb(r: Any, one: Any) -> tuple[Any, Any]:
    q = one / math.sqrt(r)
    return q, -q * q * q / (one + one)


def _cubic(r: Any, one: Any) -> tuple[Any, Any]:
    q = one / math.sqrt(r)
    return q * q * q, -(one + one / (one + one)) * q * q * q * q * q


def _yukawa(r: Any, one: Any) -> tuple[Any, Any]:
    q = one / math.sqrt(r)
    e = math.exp(-r * q) * q
    return e, -e * (one + q) * q / (one + one)


def _lennard(r: Any, one: Any) -> tuple[Any, Any]:
    q = one / r
    p = q * q * q
    three = one + one + one
    return p * p - p, three * (p - (p + p) * p) * q


def _logarithm(r: Any, one: Any) -> tuple[Any, Any]:
    return math.log(r), one / r


def _matern(r: Any, one: Any) -> tuple[Any, Any]:
    three = one + one + one
    s = math.sqrt(three * r)
    e = math.exp(-s)
    return (one + s) * e, -three / (one + one) * e


def _multiquadric(r: Any, one: Any) -> tuple[Any, Any]:
    s = math.sqrt(one + r)
    return s, one / (s + s)


LAWS = {
    "Gauss": Law(("exp(-{r})", "1/exp({r})"), lambda np, r: np.exp(-r), _gauss),
    "Cauchy": Law(("1/(1 + {r})", "(1 + {r})**-1"), lambda np, r: 1 / (1 + r), _cauchy),
    "Coulomb": Law(("1/sqrt({r})", "{r}**-0.5", "sqrt({r})/{r}"), lambda np, r: 1 / np.sqrt(r), _coulomb),
    "cubic": Law(
        ("1/({r}*sqrt({r}))", "{r}**-1.5", "(1/sqrt({r}))**3"), lambda np, r: 1 / (r * np.sqrt(r)), _cubic
    ),
    "Yukawa": Law(
        ("exp(-sqrt({r}))/sqrt({r})", "{r}**-0.5*exp(-{r}**0.5)", "1/(sqrt({r})*exp(sqrt({r})))"),
        lambda np, r: np.exp(-np.sqrt(r)) / np.sqrt(r), _yukawa,
    ),
    "Lennard-Jones": Law(
        ("(1/{r}**6 - 1/{r}**3)", "(1/{r})**3*((1/{r})**3 - 1)", "({r}**-6 - {r}**-3)"),
        lambda np, r: 1 / r**6 - 1 / r**3, _lennard,
    ),
    "logarithm": Law(("log({r})", "2*log(sqrt({r}))"), lambda np, r: np.log(r), _logarithm),
    "Matern": Law(
        ("(1 + sqrt(3*{r}))*exp(-sqrt(3*{r}))", "(1 + sqrt(3)*sqrt({r}))/exp(sqrt(3)*sqrt({r}))"),
        lambda np, r: (1 + np.sqrt(3 * r)) * np.exp(-np.sqrt(3 * r)), _matern,
    ),
    "multiquadric": Law(("sqrt(1 + {r})", "(1 + {r})**0.5"), lambda np, r: np.sqrt(1 + r), _multiquadric),
}  # fmt: skip


def kernel_sum(draw: Draw) -> Workload:
    """f[i] = sum over j of w[j] times a law of the distance between x[i] and y[j], or a force along it."""
    name, force = draw.one(*LAWS), draw.one(False, False, True)
    law, sizes = (
        LAWS[name],
        {"N": draw.size(300, 3000), "M": draw.size(300, 3000), "D": draw.one(1, 2, 3, 3, 5)},
    )
    while sizes["N"] * sizes["M"] > 4e6:
        sizes["N"] //= 2
    sizes["D"] = max(sizes["D"], 2)
    squares = draw.one("(x[i, e] - y[j, e])**2", "(y[j, e] - x[i, e])*(y[j, e] - x[i, e])")
    distance = draw.one(f"sum{{e}} ({squares}) + 0.05", f"0.05 + sum{{e}} ({squares})")
    value, before = law_text(draw, law, distance)
    head, vector = ("f[i, d]", "*(y[j, d] - x[i, d])") if force else ("f[i]", "")
    term = draw.one(f"w[j]*{value}{vector}", f"({value}*w[j]){vector}")
    program = f"x: f64[N, D]; y: f64[M, D]; w: f64[M]\n{before}{head} = sum{{j}} ({term})"

    def form(library: Any, x: Any, y: Any, w: Any) -> Any:
        u = y[None] - x[:, None]
        k = law.plain(library, (u * u).sum(-1) + 0.05) * w
        return (k[:, :, None] * u).sum(1) if force else k.sum(1)

    peers: dict[str, Form] = {
        "JAX": lambda jax, *given: form(jax.numpy, *given),
        "PyTorch": lambda torch, *given: form(torch, *given),
    }
    if not force:
        peers["numba"] = _by_hand(law.by_hand)
    title = f"{name}{', forces' if force else ''}, {sizes['D']} dimensions"
    return Workload("pairs", title, program, sizes, small(sizes), peers)


def law_text(draw: Draw, law: Law, distance: str) -> tuple[str, str]:
    """A law of a distance: as a tensor, or where it stands; with what stands before."""
    text = draw.one(*law.texts)
    way = draw.one("distance", "law", "inline")
    if way == "inline":
        return text.format(r=f"({distance})"), ""
    if way == "distance":
        return text.format(r="r[i, j]"), f"let r[i, j] = {distance}\n"
    return "k[i, j]", f"let r[i, j] = {distance}\nlet k[i, j] = {text.format(r='r[i, j]')}\n"


def _by_hand(law: Callable[[Any, Any], tuple[Any, Any]]) -> Form:
    """Two sweeps over pairs, each result gathered."""

    def compiled(function: Callable[..., Any]) -> Any:
        return import_module("numba").njit(function, fastmath=True) if find_spec("numba") else function

    inner = compiled(law)

    def swept(point: Any, others: Any, weights: Any, own: Any, slopes: Any) -> Any:
        """The sum over others for a point, which has this weight of its own; its slopes are stored."""
        one = point.dtype.type(1)
        total, soft, twice = weights[0] * 0, point.dtype.type(0.05), point.dtype.type(2)
        for d in range(len(point)):
            slopes[d] = total
        for j in range(len(others)):
            r = soft
            for d in range(len(point)):
                r += (others[j, d] - point[d]) ** 2
            k, slope = inner(r, one)
            total += weights[j] * k
            s = twice * slope * weights[j] * own
            for d in range(len(point)):
                slopes[d] -= s * (others[j, d] - point[d])
        return total

    sweep = compiled(swept)

    def kernel(x: Any, y: Any, w: Any, df: Any) -> Arrays:
        f, dx, dy, dw = np.empty_like(df), np.empty_like(x), np.empty_like(y), np.empty_like(w)
        for i in prange(len(x)):
            f[i] = sweep(x[i], y, w, df[i], dx[i])
        for j in prange(len(y)):
            dw[j] = sweep(y[j], x, df, w[j], dy[j])
        return f, dx, dy, dw

    return kernel
