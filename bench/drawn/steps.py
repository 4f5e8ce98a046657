"""Recurrences: filters of low order, cells of networks, chains in logarithms, differential equations."""

from __future__ import annotations

from typing import Any

import numpy as np

from bench.drawn.draw import Draw, small
from bench.workloads.workload import Arrays, Form, Workload, prange


def linear(draw: Draw) -> Workload:
    """A linear recurrence of order 1 to 3, of many series or one, time being the first axis or the last."""
    order, time_first = draw.one(1, 1, 2, 3), draw.one(True, False)
    sizes = draw.one(
        {"B": 1, "T": draw.size(10_000, 200_000)},
        {"B": draw.size(4, 32), "T": draw.size(1000, 20_000)},
        {"B": draw.size(64, 1000), "T": draw.size(100, 1000)},
    )
    shape, at = ("T, B", "{t}, b") if time_first else ("B, T", "b, {t}")
    reads = [f"a[{k - 1}]*f[{at.format(t=f't - {k}')}]" for k in range(1, order + 1)]
    x = f"x[{at.format(t='t')}]"
    body = x
    for k, read in enumerate(reads, 1):
        body += f" + if {{t >= {k}}} then ({read}) else (0)"
    summed = f"{x} + sum{{k}}_1^(min [{order}; t]) (a[k - 1]*f[{at.format(t='t - k')}])"
    head = at.format(t="t: T")
    program = f"x: f64[{shape}]; a: f64[{order}]\nscan{{t}} f[{head}] = {draw.one(body, summed)}"

    def jax_form(jax: Any, x: Any, a: Any) -> Any:
        rows = x if time_first else x.T

        def step(before: Any, now: Any) -> Any:
            made = now + sum(a[k] * before[k] for k in range(order))
            return (made, *before[:-1]), made

        start = (0 * rows[0],) * order
        made = jax.lax.scan(step, start, rows, unroll=8)[1]
        return made if time_first else made.T

    by_hand = _time_first if time_first else _time_last
    peers: dict[str, Form] = {"JAX": jax_form, "numba": by_hand}
    title = f"order {order}, {'time first' if time_first else 'time last'}"
    return Workload("linear", title, program, sizes, small(sizes), peers, data=_stable(time_first, order))


def _stable(time_first: bool, order: int) -> Any:
    """Arguments of which the recurrence does not grow."""

    def data(sizes: Any) -> Arrays:
        random = np.random.default_rng(0)
        shape = (sizes["T"], sizes["B"]) if time_first else (sizes["B"], sizes["T"])
        x, g = (random.uniform(-0.5, 0.5, shape).astype(np.float32) for _ in range(2))
        return x, np.array([0.6, -0.3, 0.1], np.float32)[:order], g

    return data


def _time_last(x: Any, a: Any, df: Any) -> Arrays:
    count, steps = x.shape
    f, dx, da = np.empty_like(x), np.empty_like(x), np.zeros((count, len(a)), x.dtype)
    for b in prange(count):
        for t in range(steps):
            total = x[b, t]
            for k in range(min(len(a), t)):
                total += a[k] * f[b, t - 1 - k]
            f[b, t] = total
        for s in range(steps):
            t = steps - 1 - s
            total = df[b, t]
            for k in range(min(len(a), s)):
                total += a[k] * dx[b, t + 1 + k]
            dx[b, t] = total
            for k in range(min(len(a), t)):
                da[b, k] += total * f[b, t - 1 - k]
    return f, dx, da.sum(0)


def _time_first(x: Any, a: Any, df: Any) -> Arrays:
    steps, count = x.shape
    f, dx, da = x.copy(), df.copy(), np.zeros_like(a)
    for t in range(steps):
        for k in range(min(len(a), t)):
            for b in range(count):
                f[t, b] += a[k] * f[t - 1 - k, b]
    for s in range(steps):
        t = steps - 1 - s
        for k in range(min(len(a), s)):
            for b in range(count):
                dx[t, b] += a[k] * dx[t + 1 + k, b]
        for k in range(min(len(a), t)):
            total = a[0] * 0
            for b in range(count):
                total += dx[t, b] * f[t - 1 - k, b]
            da[k] += total
    return f, dx, da


#: Cells: what a state h becomes of z, the inputs, and s, sums over the state before; in JAX of their gates.
_CELLS = {
    "plain": (1, ("tanh({0})",), lambda jax, h, g: jax.numpy.tanh(g[0])),
    "leaky": (1, ("0.8*{h} + 0.2*tanh({0})", "{h} + (tanh({0}) - {h})/5"),
              lambda jax, h, g: 0.8 * h + 0.2 * jax.numpy.tanh(g[0])),
    "minimal gated": (
        2, ("(1 - sigmoid({0}))*{h} + sigmoid({0})*tanh({1})", "{h} + sigmoid({0})*(tanh({1}) - {h})"),
        lambda jax, h, g: h + jax.nn.sigmoid(g[0]) * (jax.numpy.tanh(g[1]) - h),
    ),
    "two gates": (
        3, ("sigmoid({0})*{h} + sigmoid({1})*tanh({2})", "{h}/(1 + exp(-{0})) + tanh({2})/(1 + exp(-{1}))"),
        lambda jax, h, g: jax.nn.sigmoid(g[0]) * h + jax.nn.sigmoid(g[1]) * jax.numpy.tanh(g[2]),
    ),
}  # fmt: skip


def cell(draw: Draw) -> Workload:
    """A cell of a recurrent network, its gates in tensors of their own or in one."""
    name, across = draw.one(*_CELLS), draw.one(True, False)
    gates, texts, step = _CELLS[name]
    sizes = {"T": draw.size(16, 200), "B": draw.one(1, 8, 16, 32), "H": draw.size(16, 128)}
    weights = "u[{g}, i, j]" if across else "u[{g}, j, i]"
    sums = [
        f"z[t, b, {g}, i] + if {{t >= 1}} then (sum{{j}} ({weights.format(g=g)}*h[t - 1, b, j])) else (0)"
        for g in range(gates)
    ]
    before = "(if {t >= 1} then (h[t - 1, b, i]) else (0))"
    body = draw.one(*texts).format(*(f"({text})" for text in sums), h=before)
    program = f"z: f64[T, B, {gates}, H]; u: f64[{gates}, H, H]\nscan{{t}} h[t: T, b: B, i: H] = {body}"
    what = "bj,gij->bgi" if across else "bj,gji->bgi"

    def jax_form(jax: Any, z: Any, u: Any) -> Any:
        def stepped(h: Any, now: Any) -> Any:
            sums = now + jax.numpy.einsum(what, h, u)
            made = step(jax, h, [sums[:, g] for g in range(gates)])
            return made, made

        return jax.lax.scan(stepped, 0 * z[0, :, 0], z)[1]

    return Workload("cell", name, program, sizes, small(sizes), {"JAX": jax_form}, data=_weights(gates))


def _weights(gates: int) -> Any:
    def data(sizes: Any) -> Arrays:
        random = np.random.default_rng(0)
        t, b, h = sizes["T"], sizes["B"], sizes["H"]
        z, g = random.standard_normal((t, b, gates, h)), random.standard_normal((t, b, h))
        u = random.standard_normal((gates, h, h)) / h**0.5
        return tuple(a.astype(np.float32) for a in (z, u, g))

    return data


def chain(draw: Draw) -> Workload:
    """A hidden Markov model in logarithms, or its best path."""
    kind, across = draw.one("logsumexp", "logsumexp", "max"), draw.one(True, False)
    sizes = {"T": draw.size(50, 1000), "S": draw.size(4, 64)}
    step = "a[s, r]" if across else "a[r, s]"
    term = draw.one(f"z[t - 1, r] + {step}", f"{step} + z[t - 1, r]")
    program = f"""e: f64[T, S]; a: f64[S, S]
let scan{{t}} z[t: T, s: S] = e[t, s] + if {{t = 0}} then (0) else ({kind}{{r}} ({term}))
f = {kind}{{s}} (z[T - 1, s])"""

    def jax_form(jax: Any, e: Any, a: Any) -> Any:
        jnp, table = jax.numpy, a.T if across else a
        reduced = jax.nn.logsumexp if kind == "logsumexp" else jnp.max

        def stepped(z: Any, now: Any) -> Any:
            return now + reduced(z[:, None] + table, axis=0), None

        return reduced(jax.lax.scan(stepped, e[0], e[1:])[0], axis=0)

    def tuned(jax: Any, e: Any, a: Any) -> Any:
        jnp, table = jax.numpy, jax.numpy.exp(a.T if across else a)

        def stepped(z: Any, now: Any) -> Any:
            most = z.max()
            return now + most + jnp.log(jnp.exp(z - most) @ table), None

        return jax.nn.logsumexp(jax.lax.scan(stepped, e[0], e[1:])[0])

    peers: dict[str, Form] = {"JAX": jax_form}
    if kind == "logsumexp":
        peers["JAX, tuned"] = tuned
    return Workload("chain", kind, program, sizes, small(sizes), peers)


#: Right sides of differential equations for x and y.
_FIELDS = {
    "predators": ("x - x*y", "x*y - y"),
    "oscillator": ("y", "-x - 0.1*y"),
    "van der Pol": ("y", "(1 - x*x)*y - x"),
    "pendulum": ("y", "-sin(x)"),
}


def orbit(draw: Draw) -> Workload:
    """Steps of a differential equation for many starts: Euler's, or those of second order."""
    name, middle = draw.one(*_FIELDS), draw.one(True, False)
    sizes = {"T": draw.size(20, 300), "B": draw.size(8, 4000)}
    first, second = _FIELDS[name]

    def at(text: str, x: str, y: str) -> str:
        return "".join({"x": x, "y": y}.get(c, c) for c in text.replace("sin", "SIN")).replace("SIN", "sin")

    x, y = "s[t - 1, 0, b]", "s[t - 1, 1, b]"
    if middle:
        half = [f"({v} + h/2*({at(text, x, y)}))" for v, text in ((x, first), (y, second))]
        slopes = at(first, *half), at(second, *half)
    else:
        slopes = at(first, x, y), at(second, x, y)
    program = f"""size T
x: f64[2, B]; h: f64
scan{{t}} s[t: T, k: 2, b: B] = if {{t = 0}} then (x[k, b]) else (
    if {{k = 0}} then ({x} + h*({slopes[0]})) else ({y} + h*({slopes[1]})))"""

    def jax_form(jax: Any, start: Any, h: Any, count: int) -> Any:
        jnp = jax.numpy
        both = [eval(f"lambda x, y, sin: {text}") for text in (first, second)]

        def field(s: Any) -> Any:
            return jnp.stack([f(s[0], s[1], jnp.sin) for f in both])

        def step(s: Any, _: Any) -> Any:
            made = s + h * field(s + h / 2 * field(s) if middle else s)
            return made, made

        made = jax.lax.scan(step, start, None, count - 1)[1]
        return jnp.concatenate([start[None], made])

    few = {"T": 4, "B": 3}
    counts = {sizes["B"]: sizes["T"], few["B"]: few["T"]}
    title = f"{name}, {'second order' if middle else 'Euler'}"
    peers: dict[str, Form] = {"JAX": lambda jax, x, h: jax_form(jax, x, h, counts[x.shape[1]])}
    return Workload("orbit", title, program, sizes, few, peers, data=_starts)


def _starts(sizes: Any) -> Arrays:
    random = np.random.default_rng(0)
    x = random.uniform(0.5, 1.5, (2, sizes["B"])).astype(np.float32)
    g = random.standard_normal((sizes["T"], 2, sizes["B"])).astype(np.float32)
    return x, np.array(0.01, np.float32), g
