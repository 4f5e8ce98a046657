"""The flow map of a recurrence, undone step by step, and its products as functions of the language."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tadc
from tests.inversion.checking import compare, dense_by_jax, flat
from tests.inversion.flows import FLOWS, Flow, inputs
from tests.inversion.programs import Case
from tests.inversion.random_flows import random_flow


def made(flow: Flow) -> tuple[tadc.Function, Any, list[Any]]:
    f = tadc.function(flow.case.text)
    shapes = [tuple(int(n) for n in a.shape) for a in f.program.arguments]  # type: ignore[arg-type]
    return f, tadc.inverse(f, flow.case.wrt), inputs(flow, shapes)


def jacobian(flow: Flow, f: tadc.Function) -> Any:
    """The Jacobian by the inputs `wrt`, as a function in JAX of all inputs."""
    places = [f.inputs.index(name) for name in flow.case.wrt]

    def of(*arguments: Any) -> Any:
        def vector(*given: Any) -> Any:
            whole = list(arguments)
            for place, value in zip(places, given, strict=True):
                whole[place] = value
            return jnp.concatenate([jnp.ravel(a) for a in flow.case.function(*whole)])

        parts = jax.jacobian(vector, tuple(range(len(places))))(*(arguments[p] for p in places))
        return jnp.concatenate([p.reshape(p.shape[0], -1) for p in parts], axis=1)

    return of


@pytest.mark.parametrize("name", FLOWS)
def test_products(name: str) -> None:
    flow = FLOWS[name]
    f, inverse, arguments = made(flow)
    (kind,) = inverse.plan.kinds
    assert kind.split(", each ")[1] == flow.kind
    compare(inverse, arguments, dense_by_jax(flow.case, f, arguments))


@pytest.mark.parametrize("name", FLOWS)
def test_functions_have_text(name: str) -> None:
    """What is printed is a program with the results of a call, of as many inputs."""
    _, inverse, arguments = made(FLOWS[name])
    random = np.random.default_rng(1)
    for product in (inverse.jinv, inverse.jinvT, inverse.logabsdet):
        assert isinstance(product, tadc.Function)
        given = [*arguments]
        for argument in product.program.arguments[len(arguments) :]:
            given.append(random.standard_normal(argument.shape))  # type: ignore[arg-type]
        again = tadc.function(str(product))
        assert again.inputs == product.inputs
        assert again.outputs == product.outputs
        for expected in (again(*given), tadc.compile(product)(*given)):
            np.testing.assert_allclose(flat(product(*given)), flat(expected), rtol=1e-12, atol=1e-12)
        grouped = (
            product(arguments, tuple(given[len(arguments) :]))
            if len(given) > len(arguments)
            else product(arguments)
        )
        np.testing.assert_allclose(flat(product(*given)), flat(grouped), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", FLOWS)
def test_gradient_of_log_determinant(name: str) -> None:
    flow = FLOWS[name]
    f, inverse, arguments = made(flow)
    of = jacobian(flow, f)
    expected = jax.grad(lambda *a: jnp.linalg.slogdet(of(*a))[1], tuple(range(len(arguments))))(*arguments)
    found = tadc.grad(inverse.logabsdet)(*arguments)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("name", FLOWS)
def test_derivatives_of_products(name: str) -> None:
    """Of J^-1 v and J^-T w by all that they take, against JAX's solution."""
    flow = FLOWS[name]
    f, inverse, arguments = made(flow)
    of = jacobian(flow, f)
    random = np.random.default_rng(2)
    for product, turn in ((inverse.jinv, lambda j: j), (inverse.jinvT, lambda j: j.T)):
        program = product.program
        vectors = [random.standard_normal(a.shape) for a in program.arguments[len(arguments) :]]
        weights = [random.standard_normal(d.shape) for d in program.outputs]

        def solved(*given: Any, turn: Any = turn, vectors: Any = vectors, weights: Any = weights) -> Any:
            right = jnp.concatenate([jnp.ravel(v) for v in given[len(arguments) :]])
            found = jnp.linalg.solve(turn(of(*given[: len(arguments)])), right)
            return found @ jnp.concatenate([jnp.ravel(w) for w in weights])

        given = [*arguments, *vectors]
        expected = jax.grad(solved, tuple(range(len(given))))(*given)
        found = tadc.vjp(product)(*given, *weights)
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-7, atol=1e-8)


SINGULAR = (
    "x: f64[9]; w: f64[5, 9]; let scan{t} u[t: 5, i: 9] = if {t = 0} then (x[i]) else (w[t, i]*u[t - 1, i])"
)


def test_singular_step() -> None:
    """The error names the step and the element, of a recurrence as of other programs."""
    inverse = tadc.inverse(tadc.function(f"{SINGULAR}; y[i: 9] = u[4, i]"), "x")
    w = np.ones((5, 9))
    w[3, 4] = 0
    for call in (inverse.jinv, inverse.jinvT):
        with pytest.raises(tadc.ArgumentError, match=r"the derivative of `u` at element \[3, 4\] is 0.0"):
            call((np.ones(9), w), np.ones(9))
    assert inverse.logabsdet((np.ones(9), w)) == -np.inf


def test_products_without_program() -> None:
    """A system that is factored has products all the same; what wants a Function says why there is none."""
    text = "x: f64[9]; w: f64[9, 9]; y[i] = sum{j} (w[i, j]*x[j])"
    inverse = tadc.inverse(tadc.function(text), "x")
    assert np.isfinite(inverse.logabsdet((np.ones(9), np.eye(9) + 0.1)))
    for ask in (tadc.vjp, tadc.compile, str, lambda p: p.program):
        with pytest.raises(tadc.CompileError, match="no program of the language") as caught:
            ask(inverse.logabsdet)
        assert caught.value.diagnostics[0].code == "TAD0915"
    with pytest.raises(tadc.CompileError, match="size `N` needs a value"):
        tadc.grad(tadc.inverse(tadc.function("x: f64[N]; y[i] = 2*x[i]")).logabsdet)


def test_cost_of_steps() -> None:
    """Work grows with the number of steps, not with the size of a state besides."""
    step = "if {{t = 0}} then (x[i]) else (u[t - 1, i]*exp(u[t - 1, i]))"
    text = f"x: f64[{{n}}]; let scan{{{{t}}}} u[t: {{t}}, i: {{n}}] = {step}"
    costs = [
        tadc.inverse(tadc.function(f"{text.format(n=n, t=t)}; y[i: {n}] = u[{t} - 1, i]")).plan.cost
        for n, t in ((128, 300), (256, 300), (128, 599))
    ]
    assert costs == [299 * 128, 2 * 299 * 128, 2 * 299 * 128]


@pytest.mark.parametrize("n", [3, 4])
def test_order_of_parts(n: int) -> None:
    """Parts change places and are undone from the last to the first, however many elements each has."""
    f = tadc.function(f"""
    x: f64[3, {n}]
    let scan{{3*t + c}} u[t: 4, c: 3, i: {n}] = if {{t = 0}} then (x[c, i]) else (
        if {{c = 0}} then (3*u[t - 1, 0, i] + sin(u[t - 1, 2, (i + 2) % {n}])) else (
            if {{c = 1}} then (3*u[t - 1, 2, i] + sin(u[t, 0, (i + 1) % {n}])) else (
                3*u[t - 1, 1, i] + sin(u[t, 0, (i + 1) % {n}]))))
    y[c: 3, i: {n}] = u[3, c, i]""")
    inverse = tadc.inverse(f, "x")
    assert list(inverse.plan.kinds) == ["3 steps, each diagonal"]
    np.testing.assert_allclose(inverse.logabsdet(np.ones((3, n))), 9 * n * np.log(3), rtol=1e-12)


TRAINED = """
x: f64[6, 2, 3]; w: f64[4, 2, 3, 3]
let scan{t} u[t: 5, b: 6, c: 2, i: 3] = if {t = 0} then (x[b, c, i]) else (if {c = 0} then (u[t - 1, b, 1, i])
    else (u[t - 1, b, 0, i]*exp(tanh(sum{j} (w[t - 1, 0, i, j]*u[t - 1, b, 1, j])))
        + sum{j} (w[t - 1, 1, i, j]*u[t - 1, b, 1, j])))
y[b: 6, c: 2, i: 3] = u[4, b, c, i]
"""


def test_training() -> None:
    """The gradient of the likelihood of a batch under a coupling flow, the program of docs/inverses.md."""
    flow = tadc.function(TRAINED)
    volume = tadc.inverse(flow, "x").logabsdet
    random = np.random.default_rng(0)
    x, w = random.standard_normal((6, 2, 3)), 0.3 * random.standard_normal((4, 2, 3, 3))

    def to_normal(sample: Any, w: Any) -> Any:
        u = sample.reshape(2, 3)
        for scale, shift in w:
            u = jnp.stack([u[1], u[0] * jnp.exp(jnp.tanh(scale @ u[1])) + shift @ u[1]])
        return u.ravel()

    def likelihood(w: Any) -> Any:
        def of_sample(sample: Any) -> Any:
            jacobian = jax.jacobian(to_normal)(sample, w)
            return jnp.linalg.slogdet(jacobian)[1] - 0.5 * jnp.sum(to_normal(sample, w) ** 2)

        return jnp.sum(jax.vmap(of_sample)(x.reshape(6, 6)))

    y = flow(x, w)
    np.testing.assert_allclose(volume(x, w) - 0.5 * np.sum(y**2), likelihood(w), rtol=1e-12)
    found = tadc.vjp(flow, "w")(x, w, -y) + tadc.grad(volume, "w")(x, w)
    np.testing.assert_allclose(found, jax.grad(likelihood)(w), rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("seed", range(32))
def test_random_flows(seed: int) -> None:
    """Steps of formulas for each, and the same products as a dense solution."""
    case = random_flow(seed)
    f = tadc.function(case.text)
    inverse = tadc.inverse(f, case.wrt)
    assert isinstance(inverse.jinv, tadc.Function)
    random = np.random.default_rng(seed)
    arguments = [0.4 * random.standard_normal(a.shape) for a in f.program.arguments]  # type: ignore[arg-type]
    compare(inverse, arguments, dense_by_jax(case, f, arguments), 1e-8)
    again = tadc.function(str(inverse.logabsdet))
    np.testing.assert_allclose(again(*arguments), inverse.logabsdet(arguments), rtol=1e-10, atol=1e-12)


HEAT = """
x: f64[{n}]
let scan{{t}} u[t: 9, i: {n}] = if {{t = 0}} then (2*x[i]) else (u[t - 1, i] - .01*u[t - 1, i]**3
    + if {{i >= 1 and i <= {n} - 2}} then (.02*(u[t - 1, i - 1] - 2*u[t - 1, i] + u[t - 1, i + 1])) else (0))
y[i: {n}] = 3*u[8, {n} - 1 - i]
"""


def heat(x: Any) -> Any:
    u = 2 * x
    for _ in range(8):
        u = u - 0.01 * u**3 + jnp.pad(0.02 * (u[:-2] - 2 * u[1:-1] + u[2:]), 1)
    return (3 * u[::-1],)


def mixed(q: Any, p: Any, w: Any) -> Any:
    u = jnp.concatenate([q, p])
    for _ in range(6):
        u = u + 0.1 * jnp.tanh(w @ u)
    return (u,)


SYSTEMS = {
    "a band on both sides": (Case(HEAT.format(n=260), ("x",), heat), "banded, 1 below and 1 above"),
    "a narrow state": (Case(HEAT.format(n=20), ("x",), heat), "dense"),
    "dense steps, downwards": (
        Case(
            """
            q: f64[20]; p: f64[30]; w: f64[50, 50]
            let scan{-t} u[i: 50, t: 7] = if {t = 6} then (if {i < 20} then (q[i]) else (p[i - 20])) else (
                u[i, t + 1] + .1*tanh(sum{j} (w[i, j]*u[j, t + 1])))
            y[i: 50] = u[i, 0]""",
            ("q", "p"),
            mixed,
        ),
        "6 of 50x50",
    ),
}


@pytest.mark.parametrize("name", SYSTEMS)
def test_steps_that_are_systems(name: str) -> None:
    case, kind = SYSTEMS[name]
    f = tadc.function(case.text)
    inverse = tadc.inverse(f, case.wrt)
    assert kind in str(inverse.plan.kinds)
    assert not isinstance(inverse.jinv, tadc.Function)
    random = np.random.default_rng(0)
    arguments = [0.3 * random.standard_normal(a.shape) for a in f.program.arguments]  # type: ignore[arg-type]
    compare(inverse, arguments, dense_by_jax(case, f, arguments))


def test_singular_system() -> None:
    """The pivot of the step that has none."""
    case, _ = SYSTEMS["dense steps, downwards"]
    text = case.text.replace("u[i, t + 1] +", "u[i, t + 1]*min(i, 1) +").replace("tanh", "0*sin")
    inverse = tadc.inverse(tadc.function(text), case.wrt)
    arguments = [np.ones(20), np.ones(30), np.ones((50, 50))]
    with pytest.raises(tadc.ArgumentError, match=r"the pivot of `u` at element \[0, 5\] is 0.0"):
        inverse.jinv(arguments, np.ones(50))
    assert inverse.logabsdet(arguments) == -np.inf


def test_batches_of_bands() -> None:
    """A band for each row of a tensor, without a recurrence."""
    step = "if {i >= 1 and i <= 38} then (x[b, i - 1] + sin(x[b, i + 1])) else (0)"
    case = Case(
        f"x: f64[3, 40]; y[b: 3, i: 40] = 4*x[b, i] + {step}",
        ("x",),
        lambda x: (4 * x + jnp.pad(x[:, :-2] + jnp.sin(x[:, 2:]), ((0, 0), (1, 1))),),
    )
    f = tadc.function(case.text)
    inverse = tadc.inverse(f)
    assert list(inverse.plan.kinds) == ["block-diagonal, 3 of 40x40, banded, 1 below and 1 above"]
    arguments = [np.random.default_rng(0).standard_normal((3, 40))]
    compare(inverse, arguments, dense_by_jax(case, f, arguments))
