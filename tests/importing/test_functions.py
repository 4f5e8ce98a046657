"""Functions of JAX and PyTorch that are imported: values and gradients against theirs, in f64."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tadc
from tests.importing import jax_cases, table

#: Of what is imported so many errors in the last digits are let pass.
CLOSE = 1e-12
#: These are tried each time; the others are in the sweep.
EACH_TIME = ("softmax", "gather", "scan", "reshape")


@pytest.fixture(autouse=True)
def in_doubles() -> Any:
    with jax.enable_x64(True):
        yield


def apart(found: Any, wanted: Any) -> float:
    """The largest difference, relative to the largest value above 1."""
    found, wanted = np.asarray(found, np.float64), np.asarray(wanted, np.float64)
    assert found.shape == wanted.shape
    return float(np.abs(found - wanted).max(initial=0) / (1 + np.abs(wanted).max(initial=0)))


def gradients(f: Any, named: dict[str, Any], cotangents: list[Any]) -> dict[str, Any]:
    """The gradients of an imported function by the names of its arguments."""
    wanted = [name for name in f.differentiable if not name.startswith("constant")]
    made = tadc.vjp(f, wanted)
    given = {
        made.cotangents[o]: c for o, c in zip(f.results, cotangents, strict=True) if o in made.cotangents
    }
    found = made(**named, **given)
    results = dict(zip(made.outputs, found if isinstance(found, tuple) else (found,), strict=True))
    return {name: results[result] for name, result in made.gradients.items()}


def check_of_jax(name: str) -> None:
    function, given = jax_cases.CASES[name]
    given = jax.tree.map(jnp.asarray, given)
    f = tadc.from_jax(function, *given)
    values, found = jax.tree.leaves(function(*given)), jax.tree.leaves(f(*given))
    assert max(map(apart, found, values)) < CLOSE
    leaves, tree = jax.tree.flatten(given)
    places = [i for i, leaf in enumerate(leaves) if leaf.dtype == jnp.float64]
    rng = np.random.default_rng(3)
    cotangents = [rng.normal(size=value.shape) for value in values]

    def of_floats(*floats: Any) -> Any:
        all_ = list(leaves)
        for place, leaf in zip(places, floats, strict=True):
            all_[place] = leaf
        return jax.tree.leaves(function(*jax.tree.unflatten(tree, all_)))

    wanted = jax.vjp(of_floats, *[leaves[i] for i in places])[1](cotangents)
    assert max(map(apart, gradients(f, f.arguments(*given), cotangents).values(), wanted)) < CLOSE


@pytest.mark.parametrize("name", EACH_TIME)
def test_functions_of_jax(name: str) -> None:
    check_of_jax(name)


@pytest.mark.parametrize("name", [name for name in jax_cases.CASES if name not in EACH_TIME])
def test_all_functions_of_jax(name: str) -> None:
    check_of_jax(name)


@pytest.mark.parametrize("name", jax_cases.REFUSED)
def test_what_the_language_has_not_is_refused_by_name(name: str) -> None:
    function, given = jax_cases.REFUSED[name]
    with pytest.raises(tadc.UsageError, match=rf"(?s)TAD0513.*{name}.*jax_cases\.py:\d+:\d+.*help: "):
        tadc.from_jax(function, *given)


def test_the_program_has_the_names_of_the_source() -> None:
    def layer(params: Any, x: Any) -> Any:
        hidden = jnp.tanh(x @ params["w"] + params["b"])
        return hidden @ params["out"]

    params = {"w": np.ones((3, 4)), "b": np.ones(4), "out": np.ones((4, 2))}
    f = tadc.from_jax(layer, params, np.ones((5, 3)))
    text = str(f).partition("\n\n")[2]
    assert text.splitlines() == [
        "let hidden[i: 5, j: 4] = tanh(sum{k}_0^2 (x[i, k] * w[k, j]) + b[j])",
        "layer[i, j] = sum{k}_0^3 (hidden[i, k] * out_[k, j])",
    ]


def test_index_arrays_have_the_range_of_what_they_read() -> None:
    f = tadc.from_jax(lambda x, rows: x[rows] * 2, np.ones((6, 4)), np.arange(3))
    assert "rows: index[3] in 6" in str(f)
    assert str(tadc.vjp(f)).endswith("dx[x_0, j] = sum{i: rows[i] = x_0} (2 * dresult[i, j])\n")


def test_conversions_to_a_narrower_type_round() -> None:
    x = np.linspace(0.1, 1.0, 7)
    f = tadc.from_jax(lambda v: v.astype(np.float32).astype(np.float64) * v, x)
    assert np.array_equal(f(x), x.astype(np.float32).astype(np.float64) * x)
    assert "let h[i: 7]: f32 = x[i]" in str(f).replace("v[i]", "x[i]")
    with jax.enable_x64(False):
        # What is wider than all that comes and goes is computed in the type of that.
        assert "f64" not in str(tadc.from_jax(lambda v: v.astype("bfloat16") * v, x.astype("f4")))


def test_a_loop_that_carries_what_was_before_it_leaves_that() -> None:
    x, y = jnp.arange(3.0), jnp.ones(3)

    def function(x: Any, y: Any) -> Any:
        first = jax.lax.fori_loop(0, 3, lambda _, carried: x, y)
        swapped = jax.lax.fori_loop(0, 3, lambda _, carried: (carried[1], carried[0]), (x, y))
        return first + 2 * x + swapped[0]

    assert apart(tadc.from_jax(function, x, y)(x, y), function(x, y)) < CLOSE


def test_static_arguments_are_constants() -> None:
    f = tadc.from_jax(lambda x, n: x**n, np.ones(3), static={"n": 3})
    assert f(np.array([1.0, 2.0, 3.0])).tolist() == [1.0, 8.0, 27.0]


def test_the_page_lists_all_that_is_tried() -> None:
    page = table.PAGE.read_text(encoding="utf-8")
    assert page == table.with_table(page), "run `python -m tests.importing.table`"


def test_mistakes_are_said_at_their_lines() -> None:
    kept: list[Any] = []

    def keeps(x: Any) -> Any:
        kept.append(x)
        return x

    def chooses(x: Any) -> Any:
        return x if x.sum() > 0 else -x

    def calls(x: Any) -> Any:
        jax.debug.print("{}", x)
        return jax.pure_callback(np.sin, x, x)

    def of_number(size: int) -> Any:
        return jax.ShapeDtypeStruct((size,), np.float64)

    x = np.ones(3)
    tadc.from_jax(keeps, x)
    cases: list[tuple[Any, tuple[Any, ...], str]] = [
        (lambda y: y + kept[0], (x,), "another trace"),
        (chooses, (x,), "cannot trace `chooses`"),
        (calls, (x,), "calls of Python"),
        (lambda y: y, ("text",), "cannot trace"),
    ]
    for function, given, message in cases:
        with pytest.raises(tadc.UsageError, match=rf"(?s)TAD0513.*{message}.*test_functions\.py:\d+"):
            tadc.from_jax(function, *given)
    assert str(tadc.from_jax(jnp.tanh, of_number(4))).startswith("x")


def test_large_constants_are_arguments_with_a_value() -> None:
    weights = np.random.default_rng(0).normal(size=(40, 30))
    f = tadc.from_jax(lambda x: weights @ x, np.ones(30))
    assert f.inputs == ("x", "constant")
    assert apart(f(np.ones(30)), weights @ np.ones(30)) < CLOSE
