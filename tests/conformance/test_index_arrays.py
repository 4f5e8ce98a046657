"""Programs with index arrays against JAX: every mode of differentiation, batches, uncertainties, inverses."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.typing import NDArray

import tadc

Arrays = dict[str, NDArray[Any]]

E, N, C, BATCH = 7, 4, 3, 3

RANDOM = np.random.default_rng(20)
SRC, DST, PERM = RANDOM.integers(0, N, E), RANDOM.integers(0, N, E), RANDOM.permutation(E)
Q, ALL = RANDOM.integers(0, N, (E, 3)), np.array([0, 1, 2, 3, 0, 1, 1])
PTR = np.array([0, 2, 2, 5, 7])

X, A = RANDOM.normal(size=(N, C)), RANDOM.normal(size=(N, N))
Y, W = RANDOM.normal(size=N), RANDOM.normal(size=E)

pytestmark = pytest.mark.filterwarnings("ignore::tadc.CompileWarning")


@dataclass(frozen=True)
class Case:
    """A program of one output `f`, its index arrays, its values, and the same function of both in JAX."""

    text: str
    indices: Arrays
    values: Arrays
    reference: Callable[[Mapping[str, Any], Mapping[str, Any]], Any]

    @property
    def function(self) -> tadc.Function:
        return tadc.function(self.text)

    @property
    def inputs(self) -> Arrays:
        return {**self.indices, **self.values}

    def of(self, values: Mapping[str, Any]) -> Any:
        """The function of values."""
        return self.reference(self.indices, values)

    def scalar(self) -> tuple[tadc.Function, Callable[[Mapping[str, Any]], Any]]:
        """The sum of its squares."""
        rank = np.ndim(self.of(self.values))
        *lines, last = self.text.splitlines()
        at = ", ".join("kl"[:rank])
        total = f"g = sum{{{at}}} (f[{at}]**2)" if rank else "g = f**2"
        text = "\n".join([*lines, f"let {last}", total])
        return tadc.function(text), lambda values: jnp.sum(self.of(values) ** 2)


def added(at: Any, what: Any, size: int) -> Any:
    return jnp.zeros((size, *what.shape[1:])).at[at].add(what)


def per_row(ptr: Any, what: Any) -> Any:
    return jnp.stack([jnp.sum(what[ptr[n] : ptr[n + 1]], axis=0) for n in range(N)])


CASES = {
    "edges": Case(
        "src: index[E] in N\ndst: index[E] in N\nx: f64[N, C]\nw: f64[E]\n"
        "f[n: N, c] = sum{e: dst[e] = n} (w[e] * sin(x[src[e], c] + x[dst[e], c]))",
        {"src": SRC, "dst": DST}, {"x": X, "w": W},
        lambda i, v: added(i["dst"], v["w"][:, None] * jnp.sin(v["x"][i["src"]] + v["x"][i["dst"]]), N),
    ),
    "rows": Case(
        "ptr: index[N + 1] in E + 1 increasing\ncol: index[E] in N\ny: f64[N]\nw: f64[E]\n"
        "f[i: N] = sum{e}_(ptr[i])^(ptr[i + 1] - 1) (w[e] * y[col[e]]**2) * y[i]",
        {"ptr": PTR, "col": SRC}, {"y": Y, "w": W},
        lambda i, v: per_row(i["ptr"], v["w"] * v["y"][i["col"]] ** 2) * v["y"],
    ),
    "nested": Case(
        "src: index[E] in N\nperm: index[E] in E\ny: f64[N]\nw: f64[E]\n"
        "f[n: N] = sum{e: src[e] = n} (exp(y[src[perm[e]]]) * w[e] * w[perm[e]]) + y[n]",
        {"src": SRC, "perm": PERM}, {"y": Y, "w": W},
        lambda i, v: v["y"] + added(
            i["src"], jnp.exp(v["y"][i["src"][i["perm"]]]) * v["w"] * v["w"][i["perm"]], N
        ),
    ),
    "elements": Case(
        "q: index[E, 3] in N\ny: f64[N]\nw: f64[E]\n"
        "f = sum{e} (w[e] * sin(sum{k} (y[q[e, k]]**2)) + y[q[e, 0]]*y[q[e, 1]])",
        {"q": Q}, {"y": Y, "w": W},
        lambda i, v: jnp.sum(
            v["w"] * jnp.sin(jnp.sum(v["y"][i["q"]] ** 2, 1)) + v["y"][i["q"][:, 0]] * v["y"][i["q"][:, 1]]
        ),
    ),
    "guard": Case(
        "src: index[E] in N\ny: f64[N]\nw: f64[E]\n"
        "f[e: E] = if {src[e] >= 1} then (y[src[e] - 1] * w[e]) else (y[src[e]]**3)",
        {"src": SRC}, {"y": Y, "w": W},
        lambda i, v: jnp.where(i["src"] >= 1, v["y"][i["src"] - 1] * v["w"], v["y"][i["src"]] ** 3),
    ),
    "diagonal": Case(
        "src: index[E] in N\ndst: index[E] in N\na: f64[N, N]\n"
        "f[e: E] = a[src[e], dst[e]] * a[src[e], src[e]] + 2*src[e]",
        {"src": SRC, "dst": DST}, {"a": A},
        lambda i, v: v["a"][i["src"], i["dst"]] * v["a"][i["src"], i["src"]] + 2 * i["src"],
    ),
    "largest": Case(
        "src: index[E] in N\ny: f64[N]\nw: f64[E]\n"
        "f[n: N] = max{e: src[e] = n} (w[e] * y[n]) + logsumexp{e: E} (w[e] * y[src[e]])",
        {"src": ALL}, {"y": Y, "w": W},
        lambda i, v: jnp.full(N, -jnp.inf).at[i["src"]].max(v["w"] * v["y"][i["src"]])
        + jax.scipy.special.logsumexp(v["w"] * v["y"][i["src"]]),
    ),
    "scalar": Case(
        "s: index in N\ny: f64[N]\nf[n: N] = if {n = s} then (y[n]**2) else (y[n] * y[s])",
        {"s": np.array(2)}, {"y": Y},
        lambda i, v: jnp.where(jnp.arange(N) == i["s"], v["y"] ** 2, v["y"] * v["y"][i["s"]]),
    ),
}  # fmt: skip


def close(found: Any, expected: Any) -> None:
    assert np.shape(found) == np.shape(expected)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


def named(function: tadc.Function, given: Mapping[str, Any]) -> Arrays:
    found = function(**given)
    return {function.outputs[0]: found} if len(function.outputs) == 1 else dict(found._asdict())


def directions(values: Mapping[str, Any], front: tuple[int, ...] = ()) -> Arrays:
    random = np.random.default_rng(3)
    return {name: random.normal(size=(*front, *np.shape(x))) for name, x in values.items()}


@pytest.mark.parametrize("name", CASES)
def test_tangents_and_cotangents(name: str) -> None:
    case, f, wrt = CASES[name], CASES[name].function, list(CASES[name].values)
    along = directions(case.values)
    value, tangent = jax.jvp(case.of, (case.values,), (along,))
    found = named(tadc.jvp(f, wrt), {**case.inputs, **{f"{n}_dot": t for n, t in along.items()}})
    close(found["f"], value)
    close(found["f_dot"], tangent)
    several = directions(case.values, (5,))
    found = named(tadc.jvp(f, wrt, chunk=5), {**case.inputs, **{f"{n}_dot": t for n, t in several.items()}})
    close(found["f_dot"], jax.vmap(lambda t: jax.jvp(case.of, (case.values,), (t,))[1])(several))
    weights = np.random.default_rng(4).normal(size=np.shape(value))
    (gradients,) = jax.vjp(case.of, case.values)[1](jnp.asarray(weights))
    found = named(tadc.vjp(f, wrt), {**case.inputs, "df": weights})
    for n in wrt:
        close(found[f"d{n}"], gradients[n])


@pytest.mark.parametrize("name", CASES)
def test_jacobians_and_hessians(name: str) -> None:
    case, f, wrt = CASES[name], CASES[name].function, list(CASES[name].values)
    found, expected = named(tadc.jacobian(f, wrt), case.inputs), jax.jacobian(case.of)(case.values)
    for n in wrt:
        close(found[f"df_d{n}"], expected[n])
    g, scalar = case.scalar()
    found, hessians = named(tadc.hessian(g, wrt), case.inputs), jax.hessian(scalar)(case.values)
    for (one, other), value in zip(((a, b) for a in wrt for b in wrt), found.values(), strict=True):
        close(value, hessians[one][other])
    along = directions(case.values)
    found = named(tadc.hvp(g, wrt), {**case.inputs, **{f"{n}_dot": t for n, t in along.items()}})
    products = jax.jvp(jax.grad(scalar), (case.values,), (along,))[1]
    for n, value in zip(wrt, found.values(), strict=True):
        close(value, products[n])


@pytest.mark.parametrize("name", CASES)
def test_batches_of_index_arrays(name: str) -> None:
    """Of all inputs; the gradient of a batch, and a batch of gradients."""
    case, f, wrt = CASES[name], CASES[name].function, list(CASES[name].values)
    random = np.random.default_rng(5)
    values = directions(case.values, (BATCH,))
    # Rows of another order have the same numbers of elements, so that each maximum has some.
    indices = {n: np.stack([i] + [random.permutation(i) if i.ndim and n != "ptr" else i] * (BATCH - 1))
               for n, i in case.indices.items()}  # fmt: skip

    def reference(b: int) -> Callable[[Mapping[str, Any]], Any]:
        return lambda v: case.reference({n: i[b] for n, i in indices.items()}, v)

    each = [(reference(b), {n: x[b] for n, x in values.items()}) for b in range(BATCH)]
    close(tadc.batched(f)(**indices, **values), np.stack([of(v) for of, v in each]))
    weights = random.normal(size=(BATCH, *np.shape(each[0][0](each[0][1]))))
    gradients = [jax.vjp(of, v)[1](jnp.asarray(w))[0] for (of, v), w in zip(each, weights, strict=True)]
    for over in (tadc.vjp(tadc.batched(f), wrt), tadc.batched(tadc.vjp(f, wrt))):
        found = named(over, {**indices, **values, "df": weights})
        for n in wrt:
            close(found[f"d{n}"], np.stack([g[n] for g in gradients]))
    close(
        tadc.batched(f, list(indices))(**indices, **case.values),
        np.stack([of(case.values) for of, _ in each]),
    )


@pytest.mark.parametrize("name", CASES)
def test_uncertainties(name: str) -> None:
    case, f, wrt = CASES[name], CASES[name].function, list(CASES[name].values)
    random = np.random.default_rng(6)
    u = {n: 0.01 * np.abs(random.normal(size=x.shape)) for n, x in case.values.items()}
    value, jacobians = np.asarray(case.of(case.values)), jax.jacobian(case.of)(case.values)
    sides = [(np.asarray(jacobians[n]).reshape(value.size, -1), u[n].reshape(-1)) for n in wrt]
    found = tadc.propagate(f, case.inputs, u=u)
    close(found.value["f"], value)
    close(np.reshape(found.u["f"], -1), np.sqrt(sum(j**2 @ x**2 for j, x in sides)))
    low, high = tadc.propagate(f, case.inputs, u=u, method="interval").bounds["f"]
    for _ in range(20):
        near = {n: x + u[n] * random.uniform(-1, 1, x.shape) for n, x in case.values.items()}
        there = np.asarray(case.of(near))
        assert np.all((low <= there + 1e-12) & (there - 1e-12 <= high))


INVERTED = {
    "shifted": ("w", "src: index[E] in N\ny: f64[N]\nw: f64[E]\nf[e: E] = 2*w[e] + y[src[e]]", {"src": SRC}),
    "permuted": ("w", "p: index[E] in E\nw: f64[E]\nf[e: E] = 2*w[p[e]] + 1", {"p": PERM}),
    "scaled": (
        "w",
        "src: index[E] in N\ny: f64[N]\nw: f64[E]\nf[e: E] = w[e]*exp(y[src[e]]) + w[e]**3",
        {"src": SRC},
    ),
    "mixed": (
        "y",
        "src: index[E] in N\ndst: index[E] in N\nw: f64[E]\ny: f64[N]\n"
        "f[n: N] = 9*y[n] + sum{e: dst[e] = n} (w[e]*y[src[e]])",
        {"src": SRC, "dst": DST},
    ),
    "chosen": ("y", "s: index in N\ny: f64[N]\nf[n: N] = if {n = s} then (2*y[n]) else (3*y[n])", {"s": 2}),
    "steps": (
        "y",
        "src: index[N] in E\nw: f64[E]\ny: f64[N]\n"
        "scan{n} f[n: N] = y[n] + (if {n >= 1} then (f[n - 1]*w[src[n]]) else (0))",
        {"src": RANDOM.integers(0, E, N)},
    ),
}


@pytest.mark.parametrize("name", INVERTED)
def test_inverses(name: str) -> None:
    wrt, text, indices = INVERTED[name]
    f = tadc.function(text)
    given = {n: v for n, v in {**indices, "y": Y, "w": W}.items() if n in f.inputs}
    dense = tadc.jacobian(f, wrt)(**given)
    size = int(np.sqrt(dense.size))
    dense = dense.reshape(size, size)
    inverse, vector = tadc.inverse(f, wrt), np.random.default_rng(7).normal(size=size)
    args = [given[n] for n in f.inputs]
    close(dense @ inverse.jinv(args, vector), vector)
    close(dense.T @ inverse.jinvT(args, vector), vector)
    close(inverse.logabsdet(args), np.log(abs(np.linalg.det(dense))))


def test_no_inverse_where_elements_repeat() -> None:
    f = tadc.function(INVERTED["permuted"][1])
    with pytest.raises(tadc.ArgumentError, match="TAD0912"):
        tadc.inverse(f, "w").jinv([np.zeros(E, int), W], W)


def test_equal_components_have_index_arrays_of_their_own() -> None:
    """They are one form, with an index array as its parameter."""
    text = "p: index[E] in E\nq: index[E] in E\nu: f64[E]\nw: f64[E]\nlet h[e: E] = w[e] * exp(u[p[e]])\n"
    f = tadc.function(text + "f[e: E] = h[e] * exp(u[q[e]])")
    given: dict[str, Any] = {"p": PERM, "q": PERM[::-1].copy(), "u": RANDOM.normal(size=E), "w": W}
    change = tadc.inverse(f, "w").jinv([given[n] for n in f.inputs], W)
    close(change, W / np.exp(given["u"][given["p"]] + given["u"][given["q"]]))
