"""Kernels in three spellings each: a physicist's, a machine-learning person's and a compiler's."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jax import Array
from jax.scipy.special import logsumexp


@dataclass(frozen=True)
class Kernel:
    """Texts that mean the same, the same in JAX, sizes to count operations for, and the least argument."""

    name: str
    sizes: str
    reference: Callable[..., Array]
    arguments: str
    texts: tuple[str, str, str]
    low: float = -1.0

    @property
    def programs(self) -> list[str]:
        """The texts with their arguments."""
        return [f"{self.arguments}\n{text}" for text in self.texts]

    def at(self, least: int | None = None) -> dict[str, int]:
        """The sizes, or small ones."""
        pairs = (item.split("=") for item in self.sizes.split())
        return {name: int(value) if least is None else min(int(value), least + n)
                for n, (name, value) in enumerate(pairs)}  # fmt: skip


def squares(x: Array, y: Array) -> Array:
    """The squares of the distances of all pairs of rows."""
    return ((x[:, None, :] - y[None, :, :]) ** 2).sum(-1)


def _force(x: Array, m: Array) -> Array:
    d = x[None, :, :] - x[:, None, :]
    return (m[None, :, None] * d * (1e-3 + (d**2).sum(-1))[:, :, None] ** -1.5).sum(1)


def _cosine(x: Array, y: Array) -> Array:
    return (x / jnp.linalg.norm(x, axis=1)[:, None]) @ (y / jnp.linalg.norm(y, axis=1)[:, None]).T


def _pool(x: Array) -> Array:
    return jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (3, 3), (2, 2), "VALID")


def _layernorm(x: Array, g: Array, b: Array) -> Array:
    return (x - x.mean(1)[:, None]) / jnp.sqrt(x.var(1) + 1e-5)[:, None] * g + b


def _conv(x: Array, w: Array) -> Array:
    n, m = x.shape[0] - 2, x.shape[1] - 2
    return sum((w[p, q] * x[p : p + n, q : q + m] for p in range(3) for q in range(3)), jnp.zeros((n, m)))


def _attention(q: Array, k: Array, v: Array) -> Array:
    return jax.nn.softmax(q @ k.T / 4, 1) @ v


def _groupnorm(x: Array) -> Array:
    y = x.reshape(x.shape[0], -1, 4)
    return ((y - y.mean(2)[:, :, None]) / jnp.sqrt(y.var(2)[:, :, None] + 1e-5)).reshape(x.shape)


def _batchnorm(x: Array, g: Array, b: Array) -> Array:
    return g * (x - x.mean(0)) / jnp.sqrt(x.var(0) + 1e-5) + b


def _mixture(x: Array, m: Array, s: Array, w: Array) -> Array:
    z = (x[:, None] - m) / s
    return logsumexp(jnp.log(w) - jnp.log(s) - z**2 / 2, axis=1).sum()


def _focal(x: Array, y: Array) -> Array:
    p = jax.nn.sigmoid(x)
    return -(y * (1 - p) ** 2 * jnp.log(p)).sum()


def _coulomb(x: Array, q: Array) -> Array:
    return (q[:, None] * q / jnp.sqrt(squares(x, x) + 0.01)).sum()


def _student(x: Array, y: Array) -> Array:
    w = 1 + squares(x, y)
    return -jnp.log(1 / w / w.sum())


def _lennard(x: Array) -> Array:
    s = 1 / (0.1 + squares(x, x)) ** 3
    return (s * s - s).sum()


def _yukawa(x: Array, q: Array) -> Array:
    r = jnp.sqrt(1e-2 + squares(x, x))
    return (q[:, None] * q * jnp.exp(-r) / r).sum()


def _huber(r: Array) -> Array:
    return jnp.where(abs(r) <= 1, r**2 / 2, abs(r) - 0.5)


def _blur(x: Array, s: Array) -> Array:
    w = jnp.exp(-((jnp.arange(5) - 2.0) ** 2) / (2 * s**2))
    w = w / w.sum()
    n, m = x.shape[0] - 4, x.shape[1] - 4
    return sum((w[p] * w[q] * x[p : p + n, q : q + m] for p in range(5) for q in range(5)), jnp.zeros((n, m)))


_X3 = "x: f64[N, 3]"
_XM = "x: f64[N, M]"
_X = "x: f64[N]"

KERNELS = (
    Kernel("force", "N=300", _force, f"{_X3}; m: f64[N]", (
        """let r2[i: N, j: N] = 1e-3 + sum{c} ((x[i, c] - x[j, c])**2)
        f[i, c: 3] = sum{j} (m[j]*(x[j, c] - x[i, c])/(r2[i, j]*sqrt(r2[i, j])))""",
        "f[i, c: 3] = sum{j} (m[j]*(x[j, c] - x[i, c])*(1e-3 + sum{d} ((x[i, d] - x[j, d])**2))**-1.5)",
        """let q[i: N, j: N] = 1/sqrt(1e-3 + sum{c} ((x[i, c] - x[j, c])**2))
        f[i, c: 3] = sum{j} (m[j]*(x[j, c] - x[i, c])*q[i, j]**3)""")),
    Kernel("lennard", "N=300", _lennard, _X3, (
        """let r2[i: N, j: N] = 1e-1 + sum{c} ((x[i, c] - x[j, c])**2)
        e = sum{i, j} (1/r2[i, j]**6 - 1/r2[i, j]**3)""",
        """let r[i: N, j: N] = sqrt(1e-1 + sum{c} ((x[i, c] - x[j, c])**2))
        e = sum{i, j} ((1/r[i, j])**12 - (1/r[i, j])**6)""",
        """let s[i: N, j: N] = 1/(1e-1 + sum{c} ((x[i, c] - x[j, c])**2))**3
        e = sum{i, j} (s[i, j]*(s[i, j] - 1))""")),
    Kernel("yukawa", "N=300", _yukawa, f"{_X3}; q: f64[N]", (
        """let r[i: N, j: N] = sqrt(1e-2 + sum{c} ((x[i, c] - x[j, c])**2))
        e = sum{i, j} (q[i]*q[j]*exp(-r[i, j])/r[i, j])""",
        """let s[i: N, j: N] = 1e-2 + sum{c} ((x[i, c] - x[j, c])**2)
        e = sum{i, j} (q[i]*q[j]*exp(-sqrt(s[i, j]))*s[i, j]**-0.5)""",
        """let r[i: N, j: N] = sqrt(1e-2 + sum{c} ((x[i, c] - x[j, c])**2))
        e = sum{i} (q[i]*sum{j} (q[j]/(r[i, j]*exp(r[i, j]))))""")),
    Kernel("coulomb", "N=300", _coulomb, f"{_X3}; q: f64[N]", (
        "e = sum{i, j} (q[i]*q[j]/sqrt(sum{c} ((x[i, c] - x[j, c])**2) + 0.1**2))",
        """let d2[i: N, j: N] = sum{c} ((x[i, c] - x[j, c])*(x[i, c] - x[j, c]))
        e = sum{i, j} (q[i]*(d2[i, j] + 0.01)**-0.5*q[j])""",
        """let s[i: N, j: N] = sqrt(0.01 + sum{c} ((x[j, c] - x[i, c])**2))
        e = sum{i} (q[i]*sum{j} (q[j]*(1/s[i, j])))""")),
    Kernel("morse", "N=300", lambda x: ((1 - jnp.exp(1 - jnp.sqrt(squares(x, x) + 0.1))) ** 2).sum(), _X3, (
        """let r[i: N, j: N] = sqrt(sum{c} ((x[i, c] - x[j, c])**2) + 0.1)
        e = sum{i, j} ((1 - exp(-(r[i, j] - 1)))**2)""",
        """let b[i: N, j: N] = 1 - exp(1 - (sum{c} ((x[i, c] - x[j, c])**2) + 0.1)**0.5)
        e = sum{i, j} (b[i, j]*b[i, j])""",
        """let r[i: N, j: N] = sqrt(sum{c} ((x[i, c] - x[j, c])*(x[i, c] - x[j, c])) + 0.1)
        e = sum{i, j} ((1 - 1/exp(r[i, j] - 1))**2)""")),
    Kernel("softmax", "N=400 M=300", lambda x: jax.nn.softmax(x, 1), _XM, (
        """let m[i: N] = max{j} (x[i, j])
        let e[i: N, j: M] = exp(x[i, j] - m[i])
        f[i, j] = e[i, j]/sum{k} (e[i, k])""",
        "f[i, j] = exp(x[i, j] - logsumexp{k} (x[i, k]))",
        "f[i, j] = exp(x[i, j] - max{k} (x[i, k]))/sum{k} (exp(x[i, k] - max{l} (x[i, l])))")),
    Kernel("cross entropy", "N=400 M=300", lambda x, y: -(y * jax.nn.log_softmax(x, 1)).sum(),
           f"{_XM}; y: f64[N, M]", (
        "l = -sum{i, j} (y[i, j]*log(exp(x[i, j])/sum{k} (exp(x[i, k]))))",
        """let z[i: N] = logsumexp{k} (x[i, k])
        l = sum{i, j} (y[i, j]*(z[i] - x[i, j]))""",
        """let m[i: N] = max{k} (x[i, k])
        let z[i: N] = log(sum{k} (exp(x[i, k] - m[i])))
        l = -sum{i, j} (y[i, j]*(x[i, j] - m[i] - z[i]))""")),
    Kernel("layernorm", "N=400 M=300", _layernorm, f"{_XM}; g: f64[M]; b: f64[M]", (
        """let mu[i: N] = sum{j} (x[i, j])/M
        let v[i: N] = sum{j} ((x[i, j] - mu[i])**2)/M
        f[i, j] = (x[i, j] - mu[i])/sqrt(v[i] + 1e-5)*g[j] + b[j]""",
        """let c[i: N, j: M] = x[i, j] - sum{k} (x[i, k])/M
        let s[i: N] = (sum{j} (c[i, j]*c[i, j])/M + 1e-5)**-0.5
        f[i, j] = g[j]*(c[i, j]*s[i]) + b[j]""",
        """let mu[i: N] = sum{j} (x[i, j]/M)
        let v[i: N] = sum{j} ((x[i, j] - mu[i])*(x[i, j] - mu[i])/M)
        let r[i: N] = 1/sqrt(1e-5 + v[i])
        f[i, j] = (x[i, j] - mu[i])*r[i]*g[j] + b[j]""")),
    Kernel("group norm", "N=100 M=50", _groupnorm, "x: f64[N, 4*M]", (
        """let mu[i: N, g: M] = sum{c: 4} (x[i, 4*g + c])/4
        let s[i: N, g: M] = sqrt(sum{c: 4} ((x[i, 4*g + c] - mu[i, g])**2)/4 + 1e-5)
        f[i: N, j: 4*M] = (x[i, j] - mu[i, j//4])/s[i, j//4]""",
        """let mu[i: N, g: M] = 0.25*sum{c: 4} (x[i, 4*g + c])
        let r[i: N, g: M] = (0.25*sum{c: 4} ((x[i, 4*g + c] - mu[i, g])**2) + 1e-5)**-0.5
        f[i: N, j: 4*M] = (x[i, j] - mu[i, j//4])*r[i, j//4]""",
        """let mu[i: N, g: M] = sum{c: 4} (x[i, 4*g + c]/4)
        let v[i: N, g: M] = sum{c: 4} ((x[i, 4*g + c] - mu[i, g])*(x[i, 4*g + c] - mu[i, g])/4)
        let r[i: N, g: M] = 1/sqrt(v[i, g] + 1e-5)
        f[i: N, j: 4*M] = r[i, j//4]*(x[i, j] - mu[i, j//4])""")),
    Kernel("batch norm", "N=400 M=300", _batchnorm, f"{_XM}; g: f64[M]; b: f64[M]", (
        """let mu[j: M] = sum{i} (x[i, j])/N
        let s[j: M] = sqrt(sum{i} ((x[i, j] - mu[j])**2)/N + 1e-5)
        f[i, j] = g[j]*(x[i, j] - mu[j])/s[j] + b[j]""",
        """let mu[j: M] = sum{i} (x[i, j])/N
        let r[j: M] = (sum{i} ((x[i, j] - mu[j])**2)/N + 1e-5)**-0.5
        f[i, j] = (x[i, j] - mu[j])*r[j]*g[j] + b[j]""",
        """let mu[j: M] = sum{i} (x[i, j]/N)
        let a[j: M] = g[j]/sqrt(sum{i} ((x[i, j] - mu[j])*(x[i, j] - mu[j])/N) + 1e-5)
        f[i, j] = a[j]*(x[i, j] - mu[j]) + b[j]""")),
    Kernel("rms norm", "N=400 M=300", lambda x, g: x / jnp.sqrt((x**2).mean(1) + 1e-6)[:, None] * g,
           f"{_XM}; g: f64[M]", (
        "f[i, j] = x[i, j]/sqrt(sum{k} (x[i, k]**2)/M + 1e-6)*g[j]",
        """let r[i: N] = (sum{k} (x[i, k]*x[i, k]/M) + 1e-6)**-0.5
        f[i, j] = x[i, j]*r[i]*g[j]""",
        """let s[i: N] = sqrt(1e-6 + sum{k} (x[i, k]**2)/M)
        f[i, j] = g[j]*(x[i, j]/s[i])""")),
    Kernel("norm", "N=300 D=8", lambda x: x / jnp.sqrt((x**2).sum(1) + 1e-6)[:, None], "x: f64[N, D]", (
        "f[i, d] = x[i, d]/sqrt(sum{e} (x[i, e]**2) + 1e-6)",
        "f[i, d] = x[i, d]*(sum{e} (x[i, e]*x[i, e]) + 1e-6)**-0.5",
        """let n[i: N] = sqrt(1e-6 + sum{e} (x[i, e]**2))
        f[i, d] = x[i, d]/n[i]""")),
    Kernel("cosine", "N=300 M=200 D=6", _cosine, "x: f64[N, D]; y: f64[M, D]", (
        "f[i, j] = sum{d} (x[i, d]*y[j, d])/sqrt(sum{d} (x[i, d]**2)*sum{d} (y[j, d]**2))",
        """let nx[i: N] = sqrt(sum{d} (x[i, d]**2))
        let ny[j: M] = sqrt(sum{d} (y[j, d]**2))
        f[i, j] = sum{d} (x[i, d]/nx[i]*(y[j, d]/ny[j]))""",
        """let nx[i: N] = sum{d} (x[i, d]**2)**-0.5
        let ny[j: M] = sum{d} (y[j, d]**2)**-0.5
        f[i, j] = nx[i]*sum{d} (x[i, d]*y[j, d])*ny[j]""")),
    Kernel("pairs", "N=300 M=200 D=6", lambda x, y, w: jnp.exp(-squares(x, y) / 2) @ w,
           "x: f64[N, D]; y: f64[M, D]; w: f64[M]", (
        "f[i] = sum{j} (w[j]*exp(-sum{d} ((x[i, d] - y[j, d])**2)/2))",
        """let d2[i: N, j: M] = sum{d} ((x[i, d] - y[j, d])*(x[i, d] - y[j, d]))
        let k[i: N, j: M] = exp(-0.5*d2[i, j])
        f[i] = sum{j} (k[i, j]*w[j])""",
        "f[i] = sum{j} (w[j]/exp(sum{d} ((y[j, d] - x[i, d])**2)*0.5))")),
    Kernel("rbf", "N=300 M=200 D=6", lambda x, y, s: jnp.exp(-squares(x / s, y / s) / 2),
           "x: f64[N, D]; y: f64[M, D]; s: f64[D]", (
        "k[i, j] = exp(-sum{d} ((x[i, d] - y[j, d])**2/(2*s[d]**2)))",
        "k[i, j] = exp(-0.5*sum{d} (((x[i, d] - y[j, d])/s[d])**2))",
        """let w[d: D] = 1/s[d]
        k[i, j] = exp(-sum{d} (((x[i, d] - y[j, d])*w[d])**2)/2)"""), 0.5),
    Kernel("lorentzian", "N=300 M=200", lambda x, m, g, a: (a * g**2 / ((x[:, None] - m) ** 2 + g**2)).sum(1),
           f"{_X}; m: f64[M]; g: f64[M]; a: f64[M]", (
        "f[i: N] = sum{j} (a[j]*g[j]**2/((x[i] - m[j])**2 + g[j]**2))",
        "f[i: N] = sum{j} (a[j]*g[j]*g[j]*((x[i] - m[j])**2 + g[j]**2)**-1)",
        """let d[i: N, j: M] = (x[i] - m[j])*(x[i] - m[j]) + g[j]*g[j]
        f[i] = sum{j} (a[j]*(g[j]*g[j]/d[i, j]))"""), 0.3),
    Kernel("student", "N=300 D=2", _student,
           "x: f64[N, D]; y: f64[N, D]", (
        """let w[i: N, j: N] = 1/(1 + sum{d} ((x[i, d] - y[j, d])**2))
        let z = sum{i, j} (1/w[i, j])
        f[i, j] = -log(w[i, j]/z)""",
        """let w[i: N, j: N] = (1 + sum{d} ((x[i, d] - y[j, d])**2))**-1
        let z = sum{i, j} (w[i, j]**-1)
        f[i, j] = -log(w[i, j]*(1/z))""",
        """let w[i: N, j: N] = 1 + sum{d} ((x[i, d] - y[j, d])*(x[i, d] - y[j, d]))
        let z = sum{i, j} (w[i, j])
        f[i, j] = -log(1/w[i, j]/z)""")),
    Kernel("gravity on a grid", "N=300 M=200",
           lambda x, y, m: -(m / jnp.sqrt((x[:, None] - y) ** 2 + 0.05) ** 3).sum(1),
           "x: f64[N]; y: f64[M]; m: f64[M]", (
        "f[i: N] = -sum{j} (m[j]/sqrt((x[i] - y[j])**2 + 0.05)**3)",
        "f[i: N] = -sum{j} (m[j]*((x[i] - y[j])**2 + 0.05)**-1.5)",
        """let r[i: N, j: M] = sqrt((x[i] - y[j])*(x[i] - y[j]) + 0.05)
        f[i] = -sum{j} (m[j]/(r[i, j]*r[i, j]*r[i, j]))""")),
    Kernel("mixture", "N=300 M=20", _mixture, f"{_X}; m: f64[M]; s: f64[M]; w: f64[M]", (
        "l = sum{i} (log(sum{j} (w[j]/s[j]*exp(-(x[i] - m[j])**2/(2*s[j]**2)))))",
        """let z[i: N, j: M] = (x[i] - m[j])/s[j]
        l = sum{i} (log(sum{j} (w[j]*exp(-0.5*z[i, j]*z[i, j])/s[j])))""",
        """let p[j: M] = 1/s[j]
        l = sum{i} (log(sum{j} (w[j]*p[j]*exp(-0.5*((x[i] - m[j])*p[j])**2))))"""), 0.3),
    Kernel("likelihood", "N=300 M=200", lambda x, m, s: (((x - m) / s) ** 2 / 2 + jnp.log(s)).sum(),
           f"{_XM}; m: f64[M]; s: f64[M]", (
        "l = sum{i, j} ((x[i, j] - m[j])**2/(2*s[j]**2) + log(s[j]))",
        "l = 0.5*sum{i, j} (((x[i, j] - m[j])/s[j])**2) + N*sum{j} (log(s[j]))",
        """let p[j: M] = 1/(s[j]*s[j])
        l = sum{i, j} ((x[i, j] - m[j])*(x[i, j] - m[j])*p[j]/2) + N*sum{j} (log(s[j]))"""), 0.3),
    Kernel("hill", "N=10000", lambda x, k: x**2 / (k**2 + x**2), f"{_X}; k: f64", (
        "f[i] = x[i]**2/(k**2 + x[i]**2)",
        "f[i] = x[i]*x[i]*(k*k + x[i]*x[i])**-1",
        "f[i] = x[i]**2*(1/(x[i]**2 + k**2))"), 0.3),
    Kernel("sigmoid", "N=10000", jax.nn.sigmoid, _X, (
        "f[i] = 1/(1 + exp(-x[i]))", "f[i] = exp(x[i])/(1 + exp(x[i]))", "f[i] = (1 + exp(-x[i]))**-1")),
    Kernel("swish", "N=10000", lambda x: x * jax.nn.sigmoid(x), _X, (
        "f[i] = x[i]/(1 + exp(-x[i]))", "f[i] = x[i]*sigmoid(x[i])", "f[i] = x[i]*(1/(1 + exp(-x[i])))")),
    Kernel("mish", "N=10000", lambda x: x * jnp.tanh(jnp.log1p(jnp.exp(x))), _X, (
        "f[i] = x[i]*tanh(log(1 + exp(x[i])))", "f[i] = x[i]*tanh(log1p(exp(x[i])))",
        "let s[i: N] = log(exp(x[i]) + 1)\nf[i] = tanh(s[i])*x[i]")),
    Kernel("gelu", "N=10000", lambda x: 0.5 * x * (1 + jnp.tanh(0.7978845608 * (x + 0.044715 * x**3))), _X, (
        "f[i] = 0.5*x[i]*(1 + tanh(0.7978845608*(x[i] + 0.044715*x[i]**3)))",
        "f[i] = x[i]*(1 + tanh(0.7978845608*x[i]*(1 + 0.044715*x[i]*x[i])))/2",
        """let u[i: N] = 0.7978845608*(x[i] + 0.044715*x[i]*x[i]*x[i])
        f[i] = x[i]/2 + x[i]/2*tanh(u[i])""")),
    Kernel("gelu by erf", "N=10000", lambda x: jax.nn.gelu(x, approximate=False), _X, (
        "f[i] = 0.5*x[i]*(1 + erf(x[i]/sqrt(2)))", "f[i] = x[i]*(1 + erf(x[i]*2**-0.5))/2",
        "f[i] = x[i]*0.5*(1 + erf(0.7071067811865476*x[i]))")),
    Kernel("focal", "N=10000", _focal, f"{_X}; y: f64[N]", (
        """let p[i: N] = 1/(1 + exp(-x[i]))
        l = -sum{i} (y[i]*(1 - p[i])**2*log(p[i]))""",
        """let p[i: N] = sigmoid(x[i])
        l = sum{i} (-y[i]*(1 - p[i])*(1 - p[i])*log(p[i]))""",
        """let p[i: N] = exp(x[i])/(1 + exp(x[i]))
        l = -sum{i} ((1 - p[i])**2*y[i]*log(p[i]))""")),
    Kernel("von mises", "N=300 M=200",
           lambda x, m, k: (jnp.exp(k * jnp.cos(x[:, None] - m)) / jnp.exp(k)).sum(1),
           f"{_X}; m: f64[M]; k: f64[M]", (
        "f[i: N] = sum{j} (exp(k[j]*cos(x[i] - m[j]))/exp(k[j]))",
        "f[i: N] = sum{j} (exp(k[j]*cos(x[i] - m[j]))*exp(-k[j]))",
        """let c[j: M] = 1/exp(k[j])
        f[i: N] = sum{j} (c[j]*exp(k[j]*cos(x[i] - m[j])))""")),
    Kernel("distance to a sphere", "N=10000 D=3", lambda x, c: jnp.sqrt(((x - c) ** 2).sum(1) + 1e-9) - 1,
           "x: f64[N, D]; c: f64[D]", (
        "f[i] = sqrt(sum{d} ((x[i, d] - c[d])**2) + 1e-9) - 1",
        "f[i] = (sum{d} ((x[i, d] - c[d])*(x[i, d] - c[d])) + 1e-9)**0.5 - 1",
        """let s[i: N] = sum{d} ((c[d] - x[i, d])**2) + 1e-9
        f[i] = s[i]/sqrt(s[i]) - 1""")),
    Kernel("conv", "N=64 M=64", _conv, "x: f64[N + 2, M + 2]; w: f64[3, 3]", (
        "f[i: N, j: M] = sum{p, q} (w[p, q]*x[i + p, j + q])",
        "f[i: N, j: M] = sum{p} (sum{q} (x[i + p, j + q]*w[p, q]))",
        """let s[p: 3, i: N, j: M] = sum{q} (x[i + p, j + q]*w[p, q])
        f[i, j] = sum{p} (s[p, i, j])""")),
    Kernel("pool", "N=100 M=100", _pool, "x: f64[2*N + 1, 2*M + 1]", (
        "f[i: N, j: M] = max{p: 3} (max{q: 3} (x[2*i + p, 2*j + q]))",
        """let r[i: 2*N + 1, j: M] = max{q: 3} (x[i, 2*j + q])
        f[i: N, j] = max{p: 3} (r[2*i + p, j])""",
        "f[i: N, j: M] = max{p: 3, q: 3} (x[2*i + p, 2*j + q])")),
    Kernel("mse", "N=200 M=100", lambda a, x, y: ((a @ x - y) ** 2).mean(),
           "a: f64[N, M]; x: f64[M]; y: f64[N]", (
        "l = sum{i} ((sum{j} (a[i, j]*x[j]) - y[i])**2)/N",
        """let r[i: N] = sum{j} (a[i, j]*x[j]) - y[i]
        l = sum{i} (r[i]*r[i]/N)""",
        """let p[i: N] = sum{j} (a[i, j]*x[j])
        l = 1/N*sum{i} ((y[i] - p[i])**2)""")),
    Kernel("attention", "N=64 M=80 D=16", _attention, "q: f64[N, D]; k: f64[M, D]; v: f64[M, D]", (
        """let s[i: N, j: M] = sum{d} (q[i, d]*k[j, d])/4
        let e[i: N, j: M] = exp(s[i, j] - max{l} (s[i, l]))
        o[i, d] = sum{j} (e[i, j]*v[j, d])/sum{j} (e[i, j])""",
        """let s[i: N, j: M] = sum{d} (q[i, d]/4*k[j, d])
        let p[i: N, j: M] = exp(s[i, j] - logsumexp{l} (s[i, l]))
        o[i, d] = sum{j} (p[i, j]*v[j, d])""",
        """let s[i: N, j: M] = sum{d} (q[i, d]*k[j, d])*0.25
        let e[i: N, j: M] = exp(s[i, j] - max{l} (s[i, l]))
        let p[i: N, j: M] = e[i, j]/sum{l} (e[i, l])
        o[i, d] = sum{j} (p[i, j]*v[j, d])""")),
    Kernel("huber", "N=10000", lambda x, y: _huber(x - y).sum(), f"{_X}; y: f64[N]", (
        """let r[i: N] = x[i] - y[i]
        l = sum{i} (select(abs(r[i]) <= 1, r[i]**2/2, abs(r[i]) - 1/2))""",
        "l = sum{i} (select(abs(x[i] - y[i]) <= 1, 0.5*(x[i] - y[i])*(x[i] - y[i]), abs(x[i] - y[i]) - 0.5))",
        """let a[i: N] = abs(y[i] - x[i])
        l = sum{i} (select(a[i] <= 1, 0.5*a[i]**2, a[i] - 0.5))""")),
    Kernel("blur", "N=60 M=60", _blur, "x: f64[N + 4, M + 4]; s: f64", (
        """let w[k: 5] = exp(-(k - 2)**2/(2*s**2))
        f[i: N, j: M] = sum{p, q} (w[p]*w[q]*x[i + p, j + q])/sum{p, q} (w[p]*w[q])""",
        """let w[k: 5] = exp(-(k - 2)*(k - 2)/(2*s*s))
        let v[k: 5] = w[k]/sum{l} (w[l])
        let r[i: N + 4, j: M] = sum{q} (v[q]*x[i, j + q])
        f[i: N, j] = sum{p} (v[p]*r[i + p, j])""",
        """let w[k: 5] = exp(-0.5*((k - 2)/s)**2)
        let z = sum{k} (w[k])
        f[i: N, j: M] = sum{p} (w[p]/z*sum{q} (w[q]/z*x[i + p, j + q]))"""), 0.3),
    Kernel("contrastive", "N=100 D=16",
           lambda x, y: -jnp.diag(jax.nn.log_softmax(x @ y.T / 0.1, 1)).mean(),
           "x: f64[N, D]; y: f64[N, D]", (
        """let s[i: N, j: N] = sum{d} (x[i, d]*y[j, d])/0.1
        l = -sum{i} (log(exp(s[i, i])/sum{j} (exp(s[i, j]))))/N""",
        """let s[i: N, j: N] = 10*sum{d} (x[i, d]*y[j, d])
        l = sum{i} (logsumexp{j} (s[i, j]) - s[i, i])/N""",
        """let s[i: N, j: N] = sum{d} (x[i, d]*y[j, d])/0.1
        let m[i: N] = max{j} (s[i, j])
        l = 1/N*sum{i} (m[i] + log(sum{j} (exp(s[i, j] - m[i]))) - s[i, i])""")),
    Kernel("binary cross entropy", "N=10000",
           lambda x, y: -(y * jax.nn.log_sigmoid(x) + (1 - y) * jax.nn.log_sigmoid(-x)).sum(),
           f"{_X}; y: f64[N]", (
        """let p[i: N] = 1/(1 + exp(-x[i]))
        l = -sum{i} (y[i]*log(p[i]) + (1 - y[i])*log(1 - p[i]))""",
        "l = -sum{i} (y[i]*log(sigmoid(x[i])) + (1 - y[i])*log(1 - sigmoid(x[i])))",
        """let e[i: N] = exp(-x[i])
        let p[i: N] = 1/(1 + e[i])
        l = -sum{i} (log(1 - p[i]) + y[i]*(log(p[i]) - log(1 - p[i])))""")),
    Kernel("cosine loss", "N=300 D=16", lambda x, y: (1 - jnp.diag(_cosine(x, y))).sum(),
           "x: f64[N, D]; y: f64[N, D]", (
        """l = sum{i} (1 - sum{d} (x[i, d]*y[i, d])
            /(sqrt(sum{d} (x[i, d]**2))*sqrt(sum{d} (y[i, d]**2))))""",
        """let a[i: N] = sum{d} (x[i, d]*x[i, d])
        let b[i: N] = sum{d} (y[i, d]*y[i, d])
        l = N - sum{i} (sum{d} (x[i, d]*y[i, d])/sqrt(a[i]*b[i]))""",
        """let u[i: N, d: D] = x[i, d]/sqrt(sum{e} (x[i, e]**2))
        let v[i: N, d: D] = y[i, d]/sqrt(sum{e} (y[i, e]**2))
        l = sum{i} (1 - sum{d} (u[i, d]*v[i, d]))""")),
    Kernel("hyperbolic tangent", "N=10000", jnp.tanh, _X, (
        "f[i] = (exp(x[i]) - exp(-x[i]))/(exp(x[i]) + exp(-x[i]))",
        "f[i] = (exp(2*x[i]) - 1)/(exp(2*x[i]) + 1)", "f[i] = tanh(x[i])")),
    Kernel("gaussian likelihood", "N=5000",
           lambda m, s, y: (jnp.log(s) + ((y - m) / s) ** 2 / 2).sum(), "m: f64[N]; s: f64[N]; y: f64[N]", (
        "l = sum{i} (log(s[i]) + (y[i] - m[i])**2/(2*s[i]**2))",
        """let z[i: N] = (y[i] - m[i])/s[i]
        l = sum{i} (0.5*z[i]*z[i] + log(s[i]))""",
        """let p[i: N] = 1/s[i]
        l = sum{i} (0.5*((m[i] - y[i])*p[i])**2 - log(p[i]))"""), 0.3),
    Kernel("logistic regression", "N=300 D=20",
           lambda x, w, y: jnp.log1p(jnp.exp(-y * (x @ w))).sum(), "x: f64[N, D]; w: f64[D]; y: f64[N]", (
        "l = sum{i} (log(1 + exp(-y[i]*sum{d} (x[i, d]*w[d]))))",
        """let z[i: N] = sum{d} (x[i, d]*w[d])
        l = sum{i} (log1p(exp(-(y[i]*z[i]))))""",
        """let z[i: N] = sum{d} (w[d]*x[i, d])
        l = -sum{i} (log(1/(1 + exp(-y[i]*z[i]))))""")),
)  # fmt: skip
