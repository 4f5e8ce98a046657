"""Layers of networks, put together at random: a norm, a matrix, a function, a residual; attention; losses."""

from __future__ import annotations

from typing import Any

from bench.drawn.draw import Draw, small
from bench.workloads.workload import Workload

#: Functions of a number: as text in some spellings, in JAX, in PyTorch.
_FUNCTIONS: dict[str, tuple[tuple[str, ...], str, str]] = {
    "relu": (("relu({x})", "max(0, {x})", "select({x} > 0, {x}, 0)"), "relu", "relu"),
    "silu": (("{x}*sigmoid({x})", "{x}/(1 + exp(-{x}))"), "silu", "silu"),
    "tanh": (("tanh({x})", "2/(1 + exp(-2*{x})) - 1"), "tanh", "tanh"),
    "softplus": (("log1p(exp({x}))", "log(1 + exp({x}))"), "softplus", "softplus"),
    "sigmoid": (("sigmoid({x})", "1/(1 + exp(-{x}))", "0.5*(1 + tanh({x}/2))"), "sigmoid", "sigmoid"),
    "elu": (
        ("select({x} > 0, {x}, exp({x}) - 1)", "max(0, {x}) + expm1(min(0, {x}))"), "elu", "elu"
    ),
}  # fmt: skip

#: Norms of rows of x[n, k] by a mean m, a variance v and a scale s; the last is called s in each.
_NORMS = {
    "layer": (
        """let m[n] = sum{k} (x[n, k])/K
let v[n] = sum{k} ((x[n, k] - m[n])**2)/K
let y[n, k] = (x[n, k] - m[n])/sqrt(v[n] + 1e-5)*g[k]""",
        """let c[n, k] = x[n, k] - sum{q} (x[n, q])/K
let r[n] = (sum{k} (c[n, k]*c[n, k])/K + 1e-5)**-0.5
let y[n, k] = c[n, k]*r[n]*g[k]""",
    ),
    "rms": (
        """let r[n] = 1/sqrt(sum{k} (x[n, k]**2)/K + 1e-5)
let y[n, k] = x[n, k]*r[n]*g[k]""",
        "let y[n, k] = g[k]*x[n, k]/sqrt(1e-5 + sum{q} (x[n, q]*x[n, q]/K))",
    ),
    "batch": (
        """let m[k] = sum{n} (x[n, k])/N
let v[k] = sum{n} (x[n, k]**2)/N - m[k]**2
let y[n, k] = g[k]*(x[n, k] - m[k])/sqrt(v[k] + 1e-5)""",
        """let m[k] = sum{n} (x[n, k]/N)
let v[k] = sum{n} ((x[n, k] - m[k])**2/N)
let y[n, k] = (x[n, k] - m[k])*(v[k] + 1e-5)**-0.5*g[k]""",
    ),
    "none": ("let y[n, k] = x[n, k]*g[k]",),
}


def _normed(library: Any, norm: str, x: Any, g: Any) -> Any:
    """In either library."""
    axis = {"layer": 1, "rms": 1, "batch": 0}.get(norm)
    if axis is None:
        return x * g
    c = x if norm == "rms" else x - x.mean(axis, keepdims=True)
    return c / library.sqrt((c * c).mean(axis, keepdims=True) + 1e-5) * g


def layer(draw: Draw) -> Workload:
    """A norm, a matrix that stands as it is or transposed, a function, and perhaps a residual."""
    norm, name = draw.one(*_NORMS), draw.one(*_FUNCTIONS)
    spellings, in_jax, in_torch = _FUNCTIONS[name]
    across, residual = draw.one(True, False), draw.one(True, False)
    sizes = {"N": draw.size(64, 1500), "K": draw.size(32, 512)}
    if not residual:
        sizes["M"] = draw.size(32, 512)
    out = "K" if residual else "M"
    weights, read = (f"{out}, K", "w[j, k]") if across else (f"K, {out}", "w[k, j]")
    value = draw.one(*spellings).format(x="z[n, j]")
    program = f"""x: f64[N, K]; g: f64[K]; w: f64[{weights}]; b: f64[{out}]
{draw.one(*_NORMS[norm])}
let z[n, j] = sum{{k}} (y[n, k]*{read}) + b[j]
f[n, j] = {f"x[n, j] + ({value})" if residual else value}"""

    def form(library: Any, function: Any, x: Any, g: Any, w: Any, b: Any) -> Any:
        y = function(_normed(library, norm, x, g) @ (w.T if across else w) + b)
        return x + y if residual else y

    def jax_form(jax: Any, *given: Any) -> Any:
        return form(jax.numpy, getattr(jax.nn, in_jax, None) or getattr(jax.numpy, in_jax), *given)

    def torch_form(torch: Any, *given: Any) -> Any:
        return form(torch, getattr(torch.nn.functional, in_torch), *given)

    title = f"{norm} norm, {name}{', residual' if residual else ''}"
    return Workload("layer", title, program, sizes, small(sizes), {"JAX": jax_form, "PyTorch": torch_form})


def attention(draw: Draw) -> Workload:
    """Attention of some heads, causal or to all, with axes in any of the usual orders."""
    causal, heads_first = draw.one(True, False), draw.one(True, False)
    sizes = {"H": draw.size(2, 16), "T": draw.size(64, 512), "D": draw.one(16, 24, 32, 64)}
    shape, row = ("H, T, D", "h, {}, {}") if heads_first else ("T, H, D", "{}, h, {}")
    q, k, v, f = (name + "[" + row + "]" for name in "qkvf")
    last, places = ("^i", "_0") if causal else ("", "")
    bounds = f"{{j}}{places}{last}" if causal else "{j: T}"
    scores = f"sum{{d}} ({q.format('i', 'd')}*{k.format('j', 'd')})/sqrt(D)"
    first = f"""let s[h, i: T, j: T] = {scores}
let l[h, i: T] = logsumexp{bounds} (s[h, i, j])
{f.format("i: T", "d")} = sum{bounds} (exp(s[h, i, j] - l[h, i])*{v.format("j", "d")})"""
    second = f"""let s[h, i: T, j: T] = {scores}
let m[h, i: T] = max{bounds} (s[h, i, j])
let e[h, i: T, j: T] = exp(s[h, i, j] - m[h, i])
{f.format("i: T", "d")} = sum{bounds} (e[h, i, j]*{v.format("j", "d")})/sum{bounds} (e[h, i, j])"""
    declared = "; ".join(f"{name}: f64[{shape}]" for name in "qkv")
    program = f"{declared}\n{draw.one(first, second)}"

    def jax_form(jax: Any, q: Any, k: Any, v: Any) -> Any:
        jnp = jax.numpy
        q, k, v = (a if heads_first else a.swapaxes(0, 1) for a in (q, k, v))
        s = jnp.einsum("hid,hjd->hij", q, k) / q.shape[-1] ** 0.5
        if causal:
            s = jnp.where(jnp.tri(s.shape[1], dtype=bool), s, -jnp.inf)
        o = jnp.einsum("hij,hjd->hid", jax.nn.softmax(s, -1), v)
        return o if heads_first else o.swapaxes(0, 1)

    def torch_form(torch: Any, q: Any, k: Any, v: Any) -> Any:
        q, k, v = ((a if heads_first else a.transpose(0, 1))[None] for a in (q, k, v))
        o = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal)[0]
        return o if heads_first else o.transpose(0, 1)

    title = f"attention{', causal' if causal else ''}"
    return Workload(
        "attention", title, program, sizes, small(sizes), {"JAX": jax_form, "PyTorch": torch_form}
    )


def loss(draw: Draw) -> Workload:
    """A loss of a matrix of scores and a matrix of what should be."""
    sizes = {"N": draw.size(64, 4000), "K": draw.size(8, 1000)}
    name = draw.one("cross entropy", "Huber", "hinge", "Gaussian", "entropy")
    program = "x: f64[N, K]; y: f64[N, K]\n" + {
        "cross entropy": draw.one(
            "f = sum{n} (logsumexp{k} (x[n, k])*sum{k} (y[n, k]) - sum{k} (y[n, k]*x[n, k]))/N",
            "let p[n, k] = x[n, k] - logsumexp{q} (x[n, q])\nf = -sum{n, k} (y[n, k]*p[n, k])/N",
        ),
        "Huber": draw.one(
            "f = sum{n, k} (sqrt(1 + (x[n, k] - y[n, k])**2) - 1)/N",
            "let d[n, k] = (x[n, k] - y[n, k])**2 + 1\nf = sum{n} (sum{k} (d[n, k]**0.5 - 1)/N)",
        ),
        "hinge": draw.one(
            "f = sum{n, k} (max(0, 1 - x[n, k]*y[n, k])**2)/N",
            "f = sum{n} (sum{k} (relu(1 - y[n, k]*x[n, k])*relu(1 - y[n, k]*x[n, k])))/N",
        ),
        "Gaussian": draw.one(
            "f = sum{n, k} (x[n, k] + (y[n, k]/exp(x[n, k]))**2)/N",
            "f = sum{n} (sum{k} (x[n, k] + y[n, k]*y[n, k]*exp(-2*x[n, k]))/N)",
        ),
        "entropy": draw.one(
            "let p[n, k] = exp(x[n, k])/sum{q} (exp(x[n, q]))\n"
            "f = -sum{n, k} (p[n, k]*log(p[n, k])*y[n, k])/N",
            "let l[n, k] = x[n, k] - logsumexp{q} (x[n, q])\nf = -sum{n, k} (exp(l[n, k])*l[n, k]*y[n, k]/N)",
        ),
    }[name]  # fmt: skip

    def form(library: Any, special: Any, x: Any, y: Any) -> Any:
        if name in ("cross entropy", "entropy"):
            p = special.log_softmax(x, -1)
            return -((y * p) if name == "cross entropy" else y * p * library.exp(p)).sum() / len(x)
        if name == "Huber":
            return (library.sqrt(1 + (x - y) ** 2) - 1).sum() / len(x)
        if name == "hinge":
            return (special.relu(1 - x * y) ** 2).sum() / len(x)
        return (x + (y * library.exp(-x)) ** 2).sum() / len(x)

    peers = {
        "JAX": lambda jax, *given: form(jax.numpy, jax.nn, *given),
        "PyTorch": lambda torch, *given: form(torch, torch.nn.functional, *given),
    }
    return Workload("loss", name, program, sizes, small(sizes), peers)
