"""The records of functions and reductions, against JAX; and that no layer goes without one."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import fields
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


@pytest.mark.one_in(4)
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
    assert ("zero at 0" in traits) == (float(f(0.0)) == 0)
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


@pytest.mark.one_in(3)
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


def test_names_by_trait() -> None:
    assert having("flat") == {"sign", "floor", "ceil"}
    assert having("even") == {"abs", "cos", "cosh", "sinc", "j0", "i0"}
    assert {"neg", "sin", "erf"} <= having("odd") <= having("zero at 0")
