"""The records of functions and reductions, against JAX; and that no layer goes without one."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import Array

from tadc.apps.dual.numbers import UFUNCS
from tadc.apps.dual.substitutes import _OPERATIONS, _RENAMED
from tadc.frontend.functions import FUNCTIONS, REDUCTIONS, Reduction, ScalarFunction, complete, having
from tadc.frontend.terms import Terms
from tests.frontend.test_printer import rows_of, text
from tests.passes.test_derivative_table import REFERENCE

jax.config.update("jax_enable_x64", True)

#: Each reduction over one axis, and over all.
REDUCE: dict[str, Callable[..., Array]] = {
    "sum": jnp.sum,
    "prod": jnp.prod,
    "max": jnp.max,
    "min": jnp.min,
    "logsumexp": jax.nn.logsumexp,
}
EMPTY: dict[str, Callable[..., Any]] = {
    "sum": np.sum,
    "prod": np.prod,
    "max": lambda x: np.max(x, initial=-np.inf),
    "min": lambda x: np.min(x, initial=np.inf),
    "logsumexp": lambda x: np.log(np.sum(np.exp(x))),
}


@pytest.mark.parametrize("name", [name for name, f in FUNCTIONS.items() if f.arity == 1])
def test_traits_are_those_of_the_function(name: str) -> None:
    """Where it is defined, also between whole numbers, at them, and at 0."""
    f, traits = REFERENCE[name], FUNCTIONS[name].traits
    x = np.concatenate([np.linspace(0.01, 5, 300), [0.0, 1.0, 2.0]])
    here, there = np.asarray(f(x)), np.asarray(f(-x))
    known = np.isfinite(here) & np.isfinite(there)
    many = known.sum() > 9
    assert ("odd" in traits) == (many and np.allclose(here[known], -there[known], rtol=1e-12))
    assert ("even" in traits) == (many and np.allclose(here[known], there[known], rtol=1e-12))
    assert ("zero at 0" in traits) == (abs(float(f(0.0))) < 1e-15)  # JAX sums Bessel functions
    between = np.concatenate([np.linspace(0.1, 0.9, 50), np.linspace(1.1, 1.9, 50)])
    slopes = np.nan_to_num(jax.jit(jax.vmap(jax.grad(f)))(between))
    assert ("flat" in traits) == (not slopes.any())


@pytest.mark.parametrize("kind", REDUCTIONS)
def test_reductions_are_what_their_records_say(kind: str) -> None:
    record, reduce = REDUCTIONS[kind], REDUCE[kind]
    with np.errstate(divide="ignore"):
        assert float(EMPTY[kind](np.zeros(0))) == record.nothing
    tied = jnp.array([[2.0, 2.0], [2.0, 1.0]]) * (-1 if kind == "min" else 1)
    together = jax.jit(jax.grad(reduce))(tied)
    nested = jax.jit(jax.grad(lambda x: reduce(reduce(x, axis=1))))(tied)
    assert record.ties_share == (not np.allclose(together, nested))


def test_a_record_lacks_no_field() -> None:
    records: list[tuple[Any, dict[str, Any]]] = [
        (ScalarFunction, {"name": "f"}),
        (Reduction, {"name": "median", "nothing": 0}),
    ]
    for record, given in records:
        missing = [f.name for f in fields(record) if f.name not in given and f.default is f.default_factory]
        with pytest.raises(TypeError, match=missing[-1]):
            record(**given)


def test_a_record_says_what_it_lacks() -> None:
    with pytest.raises(
        TypeError, match="a derivative, an operation or a formula, LaTeX, a help is missing for f"
    ):
        ScalarFunction("f", 1, 1, "", (), "", None)


def test_one_over_two_indices_is_printed_as_one_where_ties_share(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also of a reduction that is new: the record decides, and nested ones have another derivative."""
    terms = Terms()
    for shares in (True, False):
        monkeypatch.setitem(REDUCTIONS, "median", Reduction("median", 0, "add", None, "m", ties_share=shares))
        rows = [*rows_of("p", 0, 2), *rows_of("q", 0, 3)]
        term = terms.reduce(["p", "q"], rows, terms.const(1), kind="median")
        assert ("{p: 3, q: 4}" in text(term)) == shares


def test_functions_of_python_have_derivatives() -> None:
    from tadc.apps.dual.rules import _FURTHER, RULES

    complete("a derivative", {**RULES, **_FURTHER}, [_RENAMED.get(name, name) for name in _OPERATIONS])
    complete("a derivative", {**RULES, **_FURTHER}, UFUNCS.values())


#: Modules with a table of their own, and what each lacks of a new function, or of a new reduction.
OF_FUNCTIONS = {
    "tadc.passes.terms.value_intervals": "an interval",
    "tadc.passes.derivatives.derivative_table": "a derivative",
    "tadc.passes.nest.scalars": "a function of floats",
    "tadc.apps.uncertainty.interval_rules": "a bound",
}
OF_REDUCTIONS = {
    "tadc.passes.derivatives.reduction_rules": "a derivative",
    "tadc.passes.nest.fold_kinds": "a lowering",
}
EXPANDED = {"tadc.passes.maps.scalar_lowering": "what it expands to"}
ADDING = """
import importlib, json, sys
from tadc.dialect import ops
from tadc.frontend.functions import APPLIED, FUNCTIONS, REDUCTIONS, Reduction, ScalarFunction

what, names = sys.argv[1], sys.argv[2:]
modules = [importlib.import_module(name) for name in names]
operation = "math.gudermann" if what == "function" else "tad.apply"
record = ScalarFunction("gudermann", 1, 10, "an angle", None, "gd", None, operation)
if what == "reduction":
    REDUCTIONS["median"] = Reduction("median", 0, "add", None, "m")
else:
    FUNCTIONS["gudermann"] = APPLIED["gudermann"] = record
if what == "expanded":
    ops.SCALAR_FUNCTIONS["gudermann"] = 1
said = []
for module in modules:
    try:
        importlib.reload(module)
        said.append("")
    except TypeError as error:
        said.append(str(error))
print(json.dumps(said))
"""


@pytest.mark.parametrize(
    ("what", "name", "modules"),
    [
        ("function", "gudermann", OF_FUNCTIONS),
        ("expanded", "gudermann", EXPANDED),
        ("reduction", "median", OF_REDUCTIONS),
    ],
)
def test_a_layer_that_lacks_an_entry_is_not_imported(what: str, name: str, modules: dict[str, str]) -> None:
    command = [sys.executable, "-c", ADDING, what, *modules]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == [f"{lacking} is missing for {name}" for lacking in modules.values()]


RECORD = """
from math import inf
from tadc.frontend.functions.scalar_function import Course, ScalarFunction
FUNCTIONS = (
    ScalarFunction(
        "log1mexp", 1, 20, "log(1 - exp(x))", ("-exp(x - f)",), "L", Course((-inf, 0), (-inf, 0), False),
        formula="select(x > -log(2), log(-expm1(x)), log1p(-exp(x)))", inverse="log1mexp(x)",
    ),
)
"""
#: A file that is found beside those of the folder, and what layers do with the function in it.
USING = """
import pkgutil, sys
own = pkgutil.iter_modules
def found(path, prefix=""):
    if path[0].endswith(("frontend/functions", "frontend" + chr(92) + "functions")):
        path.append(sys.argv[1])
    return own(path, prefix)
pkgutil.iter_modules = found

import numpy as np
import tadc
import tadc.passes.derivatives.derivative_table, tadc.passes.terms.value_intervals
f, x = tadc.function("x: f64[N]; y[i] = log1mexp(x[i])"), np.array([-1e-3, -0.5, -1, -3])
both = f(x), tadc.vjp(f)(x, np.ones(4))
np.testing.assert_allclose(both, [np.log(-np.expm1(x)), np.exp(x) / np.expm1(x)], rtol=1e-13)
emulated = tadc.compile(tadc.value_and_vjp(f), target="emulated")
np.testing.assert_allclose(emulated(x, np.ones(4)), both, rtol=1e-13)
assert "L" + chr(92) + "left(x_{i}" in f.latex()
low, high = tadc.propagate(f, {"x": x}, u={"x": 1e-4}, method="interval").bounds["y"]
np.testing.assert_allclose([low, high], [f(x + 1e-4), f(x - 1e-4)], rtol=1e-12)
"""


@pytest.mark.parametrize(
    ("part", "without", "lacking"),
    [
        ("", "", ""),
        ('"L"', '""', "LaTeX is"),
        ('("-exp(x - f)",)', "None", "a derivative is"),
        ("formula=", "numpy=", "an operation or a formula is"),
        ("Course((-inf, 0), (-inf, 0), False)", "None", "an interval is"),
    ],
)
def test_a_function_is_a_file(part: str, without: str, lacking: str, tmp_path: Path) -> None:
    (tmp_path / "log1mexp.py").write_text(RECORD.replace(part, without))
    command = [sys.executable, "-c", USING, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    said = done.stderr.splitlines()[-1:]
    assert said == ([f"TypeError: {lacking} missing for log1mexp"] if lacking else [])


def test_names_by_trait() -> None:
    assert having("flat") == {"sign", "floor", "ceil"} == having("jumps") - {"mod"}
    assert having("even") == {"abs", "cos", "cosh", "sinc", "j0", "i0"}
    assert {"neg", "sin", "erf"} <= having("odd") <= having("zero at 0")
