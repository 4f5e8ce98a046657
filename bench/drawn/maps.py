"""Functions of each element, of elements side by side, and other derivatives than gradients."""

from __future__ import annotations

import re
from typing import Any

from bench.drawn.draw import Draw, small
from bench.workloads.derivatives import Jacobian, SecondDerivative, Tangent
from bench.workloads.workload import Workload

#: Functions by how they are written in the language; JAX and PyTorch have those of the same name.
_UNARY = (
    "exp({0}/4)", "sin({0})", "cos({0})", "tanh({0})", "sqrt({0}*{0} + 1)", "log({0}*{0} + 2)", "{0}**2",
    "{0}**3", "1/({0}*{0} + 1)", "sigmoid({0})",
)  # fmt: skip
_BINARY = ("({0} + {1})", "({0} - {1})", "{0}*{1}", "({0} + {1})", "{0}*{1}", "{0}/({1}*{1} + 1)")


def _formula(draw: Draw, depth: int, leaves: tuple[str, ...]) -> str:
    if depth == 0:
        return draw.one(*leaves, f"{draw.random.randint(1, 9) / 4}*x")
    if draw.random.random() < 0.45:
        return draw.one(*_UNARY).format("(" + _formula(draw, depth - 1, leaves) + ")")
    sides = ("(" + _formula(draw, depth - 1, leaves) + ")" for _ in range(2))
    return draw.one(*_BINARY).format(*sides)


def element_wise(draw: Draw) -> Workload:
    """A formula of arrays, element by element; one of them may be transposed or have one axis alone."""
    sizes = {"N": draw.size(100, 1500), "M": draw.size(100, 1500)}
    turned = draw.one(True, False)
    text = _formula(draw, draw.one(2, 3, 4), ("x", "x", "y", "c"))
    if len({*re.findall(r"\b[xyc]\b", text)}) < 3:
        text = f"({text}) + x*y*c"
    reads = {"x": "x[i, j]", "y": "y[j, i]" if turned else "y[i, j]", "c": "c[j]"}
    body = re.sub(r"\b[xyc]\b", lambda found: reads[found[0]], text)
    program = f"""x: f64[N, M]; y: f64[{"M, N" if turned else "N, M"}]; c: f64[M]\nf[i, j] = {body}"""

    def form(library: Any, sigmoid: Any, x: Any, y: Any, c: Any) -> Any:
        names = {name: getattr(library, name) for name in ("exp", "sin", "cos", "tanh", "sqrt", "log")}
        return eval(text, {**names, "sigmoid": sigmoid, "x": x, "y": y.T if turned else y, "c": c})

    peers = {
        "JAX": lambda jax, *given: form(jax.numpy, jax.nn.sigmoid, *given),
        "PyTorch": lambda torch, *given: form(torch, torch.sigmoid, *given),
    }
    return Workload("map", "element-wise formula", program, sizes, small(sizes), peers)


def jacobian(draw: Draw) -> Workload:
    """All partial derivatives of neighbours' functions, of a layer, or of a softmax."""
    kind = draw.one("neighbours", "layer", "softmax")
    if kind == "neighbours":
        reach, sizes = draw.one(1, 2, 3), {"N": draw.size(200, 1500)}
        program = f"x: f64[N + {reach}]\nf[i: N] = sin(x[i])*x[i + {reach}]**2"
        return Jacobian(kind, f"neighbours, {reach} apart", program, sizes, {"N": 5}, {
            "JAX": lambda jax, x: jax.numpy.sin(x[:-reach]) * x[reach:] ** 2,
        })  # fmt: skip
    sizes = {"K": draw.size(100, 700), "D": draw.size(50, 500)}
    value = (
        draw.one("tanh({z})", "1/(1 + exp(-{z}))") if kind == "layer" else "exp({z} - logsumexp{{q}} ({q}))"
    )
    z, q = "sum{d} (a[k, d]*x[d])", "sum{d} (a[q, d]*x[d])"
    program = f"x: f64[D]; a: f64[K, D]\nf[k] = {value.format(z=z, q=q)}"
    tanh = "tanh" in value

    def form(jax: Any, x: Any, a: Any) -> Any:
        if kind == "softmax":
            return jax.nn.softmax(a @ x)
        return jax.numpy.tanh(a @ x) if tanh else jax.nn.sigmoid(a @ x)

    return Jacobian("jacobian", kind, program, sizes, small(sizes), {"JAX": form})


def second(draw: Draw) -> Workload:
    """The Hessian of a loss of a linear model, or of an energy of neighbours."""
    if draw.one(True, False):
        sizes = {"N": draw.size(50, 400), "M": draw.size(200, 2000)}
        name = draw.one("logistic", "Poisson", "Cauchy")
        text = {"logistic": "log1p(exp({z}))", "Poisson": "exp({z})", "Cauchy": "log(1 + {z}**2)"}[name]
        score = "let z[m] = sum{i} (a[m, i]*x[i])"
        program = f"x: f64[N]; a: f64[M, N]\n{score}\nf = sum{{m}} ({text.format(z='z[m]')})"

        def form(jax: Any, x: Any, a: Any) -> Any:
            jnp, z = jax.numpy, a @ x
            each = {"logistic": jax.nn.softplus, "Poisson": jnp.exp, "Cauchy": lambda z: jnp.log(1 + z * z)}
            return each[name](z).sum()

        return SecondDerivative("hessian", name, program, sizes, small(sizes), {"JAX": form})
    sizes = {"N": draw.size(100, 1000)}
    return SecondDerivative(
        "hessian", "chain of springs",
        "x: f64[N]\nf = sum{i: N - 1} ((x[i + 1] - x[i])**2 + cos(x[i + 1]*x[i])) + sum{i} (x[i]**4)/4",
        sizes, {"N": 5},
        {"JAX": _springs},
    )  # fmt: skip


def _springs(jax: Any, x: Any) -> Any:
    return ((x[1:] - x[:-1]) ** 2 + jax.numpy.cos(x[1:] * x[:-1])).sum() + (x**4).sum() / 4


def tangent(draw: Draw) -> Workload:
    """Value and tangent of scores, of a formula, or of distances."""
    kind = draw.one("scores", "distances", "map")
    if kind == "map":
        made = element_wise(draw)
        return Tangent(
            "tangent", made.title, made.program, made.sizes, made.small, {"JAX": made.peers["JAX"]}
        )
    sizes = {"N": draw.size(100, 700), "M": draw.size(100, 700), "D": draw.size(8, 96)}
    scores = kind == "scores"
    body = (
        "let s[i, j] = sum{d} (x[i, d]*y[j, d])\nf[i, j] = exp(s[i, j] - logsumexp{q} (s[i, q]))"
        if scores
        else "f[i, j] = exp(-sum{d} ((x[i, d] - y[j, d])**2)/D)"
    )

    def form(jax: Any, x: Any, y: Any) -> Any:
        if scores:
            return jax.nn.softmax(x @ y.T, -1)
        return jax.numpy.exp(-((x[:, None] - y[None]) ** 2).sum(-1) / x.shape[1])

    return Tangent("tangent", kind, f"x: f64[N, D]; y: f64[M, D]\n{body}", sizes, small(sizes), {"JAX": form})
