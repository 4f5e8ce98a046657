"""Losses, likelihoods and kernels in three spellings each, written down before any was counted."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import Array
from jax.scipy.special import gammaln

from tests.conformance.spelled_kernels import Kernel, squares


def _matern(x: Array, y: Array, s: Array) -> Array:
    a = jnp.sqrt(5.0) * jnp.sqrt(squares(x, y) + 1e-6) / s
    return (1 + a + a**2 / 3) * jnp.exp(-a)


def _squash(s: Array) -> Array:
    n = (s**2).sum(1) + 1e-6
    return s * (n / (1 + n) / jnp.sqrt(n))[:, None]


def _dice(x: Array, t: Array) -> Array:
    p = jax.nn.sigmoid(x)
    return 1 - (2 * (p * t).sum() + 1) / (p.sum() + t.sum() + 1)


_X = "x: f64[N]"

LOSSES = (
    Kernel("kl divergence", "N=10000", lambda p, q: (p*jnp.log(p/q)).sum(), "p: f64[N]; q: f64[N]", (
        "l = sum{i} (p[i]*log(p[i]/q[i]))",
        "l = sum{i} (p[i]*(log(p[i]) - log(q[i])))",
        "l = sum{i} (p[i]*log(p[i])) - sum{i} (p[i]*log(q[i]))"), 0.2),
    Kernel("entropy", "N=10000", lambda p: -(p*jnp.log(p)).sum(), "p: f64[N]", (
        "h = -sum{i} (p[i]*log(p[i]))",
        "h = sum{i} (p[i]*log(1/p[i]))",
        """let l[i: N] = log(p[i])
        h = -sum{i} (l[i]*p[i])"""), 0.2),
    Kernel("softmax kl", "N=300 M=200",
           lambda x, y: (jax.nn.softmax(x, 1)*(jax.nn.log_softmax(x, 1) - jax.nn.log_softmax(y, 1))).sum(),
           "x: f64[N, M]; y: f64[N, M]", (
        """let p[i: N, j: M] = exp(x[i, j])/sum{k} (exp(x[i, k]))
        let q[i: N, j: M] = exp(y[i, j])/sum{k} (exp(y[i, k]))
        l = sum{i, j} (p[i, j]*log(p[i, j]/q[i, j]))""",
        """let a[i: N, j: M] = x[i, j] - logsumexp{k} (x[i, k])
        let b[i: N, j: M] = y[i, j] - logsumexp{k} (y[i, k])
        l = sum{i, j} (exp(a[i, j])*(a[i, j] - b[i, j]))""",
        """let mx[i: N] = max{k} (x[i, k])
        let my[i: N] = max{k} (y[i, k])
        let p[i: N, j: M] = exp(x[i, j] - mx[i])/sum{k} (exp(x[i, k] - mx[i]))
        let q[i: N, j: M] = exp(y[i, j] - my[i])/sum{k} (exp(y[i, k] - my[i]))
        l = sum{i, j} (p[i, j]*(log(p[i, j]) - log(q[i, j])))""")),
    Kernel("rational", "N=10000", lambda x, a, b, c: (a + b*x)/(1 + c*x**2),
           "x: f64[N]; a: f64; b: f64; c: f64", (
        "f[i] = (a + b*x[i])/(1 + c*x[i]**2)",
        "f[i] = (a + b*x[i])*(1 + c*x[i]*x[i])**-1",
        """let q[i: N] = 1/(1 + x[i]*x[i]*c)
        f[i] = a*q[i] + b*x[i]*q[i]"""), 0.2),
    Kernel("pade", "N=10000", lambda x: x*(15 + x**2)/(15 + 6*x**2), _X, (
        "f[i] = x[i]*(15 + x[i]**2)/(15 + 6*x[i]**2)",
        """let s[i: N] = x[i]*x[i]
        f[i] = x[i]*(s[i] + 15)/(6*s[i] + 15)""",
        "f[i] = (15*x[i] + x[i]**3)*(1/(15 + 6*x[i]*x[i]))")),
    Kernel("rational quadratic", "N=300 M=200 D=3", lambda x, y, a, s: (1 + squares(x, y)/(2*a*s**2))**-a,
           "x: f64[N, D]; y: f64[M, D]; a: f64; s: f64", (
        "k[i, j] = (1 + sum{d} ((x[i, d] - y[j, d])**2)/(2*a*s**2))**(-a)",
        "k[i, j] = 1/(1 + sum{d} (((x[i, d] - y[j, d])/s)**2)/(2*a))**a",
        """let d2[i: N, j: M] = sum{d} ((x[i, d] - y[j, d])*(x[i, d] - y[j, d]))/(s*s)
        k[i, j] = exp(-a*log(1 + 0.5*d2[i, j]/a))"""), 0.3),
    Kernel("log-cosh", "N=10000", lambda x, y: jnp.log(jnp.cosh(x - y)).sum(), "x: f64[N]; y: f64[N]", (
        "l = sum{i} (log(cosh(x[i] - y[i])))",
        """let r[i: N] = x[i] - y[i]
        l = sum{i} (r[i] + log(1 + exp(-2*r[i])) - log(2))""",
        """let r[i: N] = x[i] - y[i]
        l = sum{i} (log((exp(r[i]) + exp(-r[i]))/2))""")),
    Kernel("cauchy loss", "N=10000", lambda x, y, c: jnp.log1p(((x - y)/c)**2).sum(),
           "x: f64[N]; y: f64[N]; c: f64", (
        "l = sum{i} (log(1 + ((x[i] - y[i])/c)**2))",
        """let r[i: N] = x[i] - y[i]
        l = sum{i} (log1p(r[i]*r[i]/(c*c)))""",
        "l = -sum{i} (log(1/(1 + (x[i] - y[i])**2/c**2)))"), 0.3),
    Kernel("charbonnier", "N=10000", lambda x, y, c: (c**2*(jnp.sqrt(1 + ((x - y)/c)**2) - 1)).sum(),
           "x: f64[N]; y: f64[N]; c: f64", (
        "l = sum{i} (c**2*(sqrt(1 + ((x[i] - y[i])/c)**2) - 1))",
        """let z[i: N] = (x[i] - y[i])/c
        l = c*c*sum{i} ((1 + z[i]*z[i])**0.5 - 1)""",
        """let r[i: N] = x[i] - y[i]
        l = sum{i} (c**2*sqrt(1 + r[i]**2/c**2) - c**2)"""), 0.3),
    Kernel("geman-mcclure", "N=10000", lambda x, y, c: ((x - y)**2/(c**2 + (x - y)**2)).sum(),
           "x: f64[N]; y: f64[N]; c: f64", (
        "l = sum{i} ((x[i] - y[i])**2/(c**2 + (x[i] - y[i])**2))",
        """let s[i: N] = (x[i] - y[i])*(x[i] - y[i])
        l = sum{i} (s[i]*(1/(s[i] + c*c)))""",
        """let s[i: N] = (x[i] - y[i])**2
        l = sum{i} (s[i]*(c**2 + s[i])**-1)"""), 0.3),
    Kernel("welsch", "N=10000", lambda x, y, c: (c**2/2*(1 - jnp.exp(-((x - y)/c)**2))).sum(),
           "x: f64[N]; y: f64[N]; c: f64", (
        "l = sum{i} (c**2/2*(1 - exp(-((x[i] - y[i])/c)**2)))",
        """let s[i: N] = (x[i] - y[i])*(x[i] - y[i])
        l = 0.5*c*c*sum{i} (1 - exp(-s[i]/(c*c)))""",
        "l = sum{i} (c**2/2 - c**2/2/exp((x[i] - y[i])**2/c**2))"), 0.3),
    Kernel("matern", "N=300 M=200 D=3", _matern,
           "x: f64[N, D]; y: f64[M, D]; s: f64", (
        """let r[i: N, j: M] = sqrt(sum{d} ((x[i, d] - y[j, d])**2) + 1e-6)
        k[i, j] = (1 + sqrt(5)*r[i, j]/s + 5*r[i, j]**2/(3*s**2))*exp(-sqrt(5)*r[i, j]/s)""",
        """let a[i: N, j: M] = sqrt(5)*sqrt(sum{d} ((x[i, d] - y[j, d])*(x[i, d] - y[j, d])) + 1e-6)/s
        k[i, j] = (1 + a[i, j] + a[i, j]*a[i, j]/3)/exp(a[i, j])""",
        """let a[i: N, j: M] = (5*(sum{d} ((x[i, d] - y[j, d])**2) + 1e-6))**0.5/s
        k[i, j] = exp(-a[i, j])*(1 + a[i, j]*(1 + a[i, j]/3))"""), 0.3),
    Kernel("student likelihood", "N=10000", lambda y, m, s, v: (
            gammaln(v/2) - gammaln((v + 1)/2) + jnp.log(v*jnp.pi)/2 + jnp.log(s)
            + (v + 1)/2*jnp.log1p(((y - m)/s)**2/v)).sum(),
           "y: f64[N]; m: f64[N]; s: f64[N]; v: f64", (
        """l = sum{i} (lgamma(v/2) - lgamma((v + 1)/2) + 0.5*log(v*pi) + log(s[i])
            + (v + 1)/2*log(1 + (y[i] - m[i])**2/(v*s[i]**2)))""",
        """let z[i: N] = (y[i] - m[i])/s[i]
        let c = lgamma(0.5*(v + 1)) - lgamma(0.5*v) - 0.5*log(pi*v)
        l = sum{i} (log(s[i]) + 0.5*(v + 1)*log1p(z[i]*z[i]/v) - c)""",
        """let z[i: N] = ((y[i] - m[i])/s[i])**2
        l = (N*(lgamma(v/2) - lgamma(v/2 + 0.5) + log(sqrt(v*pi)))
            - sum{i} (log((1 + z[i]/v)**(-(v + 1)/2)/s[i])))"""), 0.4),
    Kernel("hellinger", "N=10000", lambda p, q: jnp.sqrt(((jnp.sqrt(p) - jnp.sqrt(q))**2).sum()/2),
           "p: f64[N]; q: f64[N]", (
        "h = sqrt(sum{i} ((sqrt(p[i]) - sqrt(q[i]))**2)/2)",
        """let d[i: N] = p[i]**0.5 - q[i]**0.5
        h = (0.5*sum{i} (d[i]*d[i]))**0.5""",
        "h = norm{i} (sqrt(p[i]) - sqrt(q[i]))/sqrt(2)"), 0.2),
    Kernel("jensen-shannon", "N=10000", lambda p, q: (
            p*jnp.log(2*p/(p + q)) + q*jnp.log(2*q/(p + q))).sum()/2, "p: f64[N]; q: f64[N]", (
        """let m[i: N] = (p[i] + q[i])/2
        l = 0.5*sum{i} (p[i]*log(p[i]/m[i])) + 0.5*sum{i} (q[i]*log(q[i]/m[i]))""",
        """let m[i: N] = 0.5*(p[i] + q[i])
        l = sum{i} (p[i]*(log(p[i]) - log(m[i])) + q[i]*(log(q[i]) - log(m[i])))/2""",
        "l = sum{i} (p[i]*log(2*p[i]/(p[i] + q[i])) + q[i]*log(2*q[i]/(p[i] + q[i])))/2"), 0.2),
    Kernel("mahalanobis", "N=300 D=8", lambda x, m, a: jnp.einsum("ia,ab,ib->i", x - m, a, x - m),
           "x: f64[N, D]; m: f64[D]; a: f64[D, D]", (
        "f[i] = sum{b, c} ((x[i, b] - m[b])*a[b, c]*(x[i, c] - m[c]))",
        """let d[i: N, b: D] = x[i, b] - m[b]
        f[i] = sum{b} (d[i, b]*sum{c} (a[b, c]*d[i, c]))""",
        """let d[i: N, b: D] = x[i, b] - m[b]
        let e[i: N, b: D] = sum{c} (a[b, c]*d[i, c])
        f[i] = sum{b} (e[i, b]*d[i, b])""")),
    Kernel("triplet", "N=300 D=16", lambda a, p, n: jax.nn.relu(
            ((a - p)**2).sum(1) - ((a - n)**2).sum(1) + 0.5).sum(),
           "a: f64[N, D]; p: f64[N, D]; n: f64[N, D]", (
        "l = sum{i} (relu(sum{d} ((a[i, d] - p[i, d])**2) - sum{d} ((a[i, d] - n[i, d])**2) + 0.5))",
        """let near[i: N] = sum{d} ((a[i, d] - p[i, d])*(a[i, d] - p[i, d]))
        let far[i: N] = sum{d} ((a[i, d] - n[i, d])*(a[i, d] - n[i, d]))
        l = sum{i} (max(near[i] - far[i] + 0.5, 0))""",
        """let t[i: N] = 0.5 + sum{d} ((a[i, d] - p[i, d])**2 - (a[i, d] - n[i, d])**2)
        l = sum{i} (select(t[i] > 0, t[i], 0))""")),
    Kernel("poisson regression", "N=300 D=20", lambda x, w, y: (jnp.exp(x @ w) - y*(x @ w)).sum(),
           "x: f64[N, D]; w: f64[D]; y: f64[N]", (
        """let m[i: N] = exp(sum{d} (x[i, d]*w[d]))
        l = sum{i} (m[i] - y[i]*log(m[i]))""",
        """let z[i: N] = sum{d} (x[i, d]*w[d])
        l = sum{i} (exp(z[i]) - y[i]*z[i])""",
        "l = sum{i} (exp(sum{d} (x[i, d]*w[d]))) - sum{i, d} (y[i]*x[i, d]*w[d])")),
    Kernel("negative binomial", "N=10000", lambda y, m, r: (gammaln(r) + gammaln(y + 1) - gammaln(y + r)
            - r*jnp.log(r/(r + m)) - y*jnp.log(m/(r + m))).sum(), "y: f64[N]; m: f64[N]; r: f64", (
        """l = -sum{i} (lgamma(y[i] + r) - lgamma(r) - lgamma(y[i] + 1)
            + r*log(r/(r + m[i])) + y[i]*log(m[i]/(r + m[i])))""",
        """let t[i: N] = log(r + m[i])
        l = sum{i} (lgamma(r) + lgamma(y[i] + 1) - lgamma(y[i] + r)
            - r*(log(r) - t[i]) - y[i]*(log(m[i]) - t[i]))""",
        """l = sum{i} (lgamma(y[i] + 1) + lgamma(r) - lgamma(r + y[i])
            - r*log(r) - y[i]*log(m[i]) + (r + y[i])*log(r + m[i]))"""), 0.3),
    Kernel("gaussian kl", "N=10000", lambda m, s, n, t: (
            jnp.log(t/s) + (s**2 + (m - n)**2)/(2*t**2) - 0.5).sum(),
           "m: f64[N]; s: f64[N]; n: f64[N]; t: f64[N]", (
        "l = sum{i} (log(t[i]/s[i]) + (s[i]**2 + (m[i] - n[i])**2)/(2*t[i]**2) - 1/2)",
        "l = 0.5*sum{i} ((s[i]/t[i])**2 + ((m[i] - n[i])/t[i])**2 - 1 - 2*log(s[i]/t[i]))",
        """let p[i: N] = 1/(t[i]*t[i])
        l = sum{i} (log(t[i]) - log(s[i])
            + 0.5*p[i]*(s[i]*s[i] + (m[i] - n[i])*(m[i] - n[i])) - 0.5)"""), 0.4),
    Kernel("log-normal likelihood", "N=10000", lambda x, m, s: (
            jnp.log(x) + jnp.log(s) + ((jnp.log(x) - m)/s)**2/2).sum(), "x: f64[N]; m: f64; s: f64", (
        "l = sum{i} (log(x[i]) + log(s) + (log(x[i]) - m)**2/(2*s**2))",
        """let z[i: N] = (log(x[i]) - m)/s
        l = sum{i} (log(x[i]*s) + 0.5*z[i]*z[i])""",
        "l = -sum{i} (log(1/(x[i]*s)*exp(-(log(x[i]) - m)**2/(2*s*s))))"), 0.3),
    Kernel("gamma likelihood", "N=10000", lambda x, a, b: (
            gammaln(a) - a*jnp.log(b) - (a - 1)*jnp.log(x) + b*x).sum(), "x: f64[N]; a: f64; b: f64", (
        "l = sum{i} (lgamma(a) - a*log(b) - (a - 1)*log(x[i]) + b*x[i])",
        "l = -sum{i} (log(b**a*x[i]**(a - 1)*exp(-b*x[i])) - lgamma(a))",
        "l = N*lgamma(a) - sum{i} (a*log(b*x[i]) - log(x[i]) - b*x[i])"), 0.3),
    Kernel("capsules", "N=300 D=16", _squash, "s: f64[N, D]", (
        """let n[i: N] = sum{d} (s[i, d]**2) + 1e-6
        v[i, d] = n[i]/(1 + n[i])*s[i, d]/sqrt(n[i])""",
        """let r[i: N] = sqrt(sum{d} (s[i, d]*s[i, d]) + 1e-6)
        v[i, d] = s[i, d]*r[i]/(1 + r[i]**2)""",
        """let n[i: N] = sum{d} (s[i, d]**2) + 1e-6
        let u[i: N, d: D] = s[i, d]*n[i]**-0.5
        v[i, d] = u[i, d]*n[i]*(1/(1 + n[i]))""")),
    Kernel("dice", "N=10000", _dice, "x: f64[N]; t: f64[N]", (
        """let p[i: N] = 1/(1 + exp(-x[i]))
        l = 1 - (2*sum{i} (p[i]*t[i]) + 1)/(sum{i} (p[i]) + sum{i} (t[i]) + 1)""",
        """let p[i: N] = sigmoid(x[i])
        let u = sum{i} (p[i] + t[i]) + 1
        l = 1 - (1 + 2*sum{i} (t[i]*p[i]))/u""",
        """let p[i: N] = exp(x[i])/(1 + exp(x[i]))
        let a = sum{i} (t[i]*p[i])
        l = 1 - (a + 1/2)*2/(sum{i} (p[i]) + sum{i} (t[i]) + 1)""")),
    Kernel("tempered maximum", "N=400 M=300", lambda x, t: t*jax.scipy.special.logsumexp(x/t, axis=1),
           "x: f64[N, M]; t: f64", (
        "f[i] = t*log(sum{j} (exp(x[i, j]/t)))",
        """let m[i: N] = max{j} (x[i, j])
        f[i] = m[i] + t*log(sum{j} (exp((x[i, j] - m[i])/t)))""",
        "f[i] = t*logsumexp{j} (x[i, j]/t)"), 0.3),
    Kernel("swiglu", "N=10000", lambda x, y: x*jax.nn.sigmoid(x)*y, "x: f64[N]; y: f64[N]", (
        "f[i] = x[i]*sigmoid(x[i])*y[i]",
        "f[i] = x[i]*y[i]/(1 + exp(-x[i]))",
        """let g[i: N] = x[i]*(1/(1 + exp(-x[i])))
        f[i] = g[i]*y[i]""")),
)  # fmt: skip
