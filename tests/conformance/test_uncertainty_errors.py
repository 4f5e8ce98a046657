"""What is wrong with uncertainties is a diagnostic, of programs and of Python functions alike."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tadc
from tests.conformance.test_uncertainty import AT, CORR, IMPEDANCE, RATIO, U, both, impedance

WRONG: dict[str, tuple[dict[str, Any], list[str]]] = {
    "an unknown input": ({"u": {"v": 1}}, ["TAD0901", "did you mean `V`?"]),
    "an unknown value": ({"values": {**AT, "W": 1}}, ["TAD0901", "a value of `W`"]),
    "a missing value": ({"values": {"V": 1, "I": 2}}, ["TAD0501", "`phi` is missing"]),
    "an unknown dof": ({"dof": {"x": 1}}, ["TAD0901"]),
    "text": ({"u": {"V": "big"}}, ["TAD0902", "'big'"]),
    "a negative u": ({"u": {"V": -1.0}}, ["TAD0902", "is -1.0"]),
    "nan": ({"u": {"V": math.nan}}, ["TAD0902", "is nan"]),
    "a value that is nan": ({"values": {**AT, "V": math.nan}}, ["TAD0902", "the value of `V` is nan"]),
    "a correlation of 2": ({"corr": {("V", "I"): 2}}, ["TAD0904", "is 2.0"]),
    "no pair": ({"corr": {"V": 0.5}}, ["TAD0901", "with itself"]),
    "three": ({"corr": {("V", "I", "phi"): 0.5}}, ["TAD0901", "no pair"]),
    "twice": ({"corr": {("V", "I"): 0.5, ("I", "V"): 0.5}}, ["TAD0901", "given twice"]),
    "an exact input": (
        {"u": {"V": 1e-3}, "corr": {("V", "I"): 0.5}},
        ["TAD0901", "`I`, which has no uncertainty"],
    ),
    "contradiction": (
        {"corr": {("V", "I"): 0.9, ("I", "phi"): 0.9, ("V", "phi"): -0.9}},
        ["TAD0905", "eigenvalue -0.8"],
    ),
    "too large": ({"cov": {("V", "I"): 1.0}}, ["TAD0905", "larger than u(V) u(I)"]),
    "a negative variance": ({"u": {}, "cov": {"V": -1.0}}, ["TAD0905"]),
    "both": ({"cov": {"V": 1.0}}, ["TAD0901", "an uncertainty and a variance"]),
    "a matrix that does not fit": ({"cov": np.eye(2)}, ["TAD0903", "3 by 3"]),
    "dof 0": ({"dof": {"V": 0}}, ["TAD0906", "0.0 degrees"]),
    "worst with corr": ({"corr": CORR, "method": "worst"}, ["TAD0909", "no correlations"]),
    "interval with dof": ({"dof": {"V": 4}, "method": "interval"}, ["TAD0909", "degrees of freedom"]),
    "mc of unequal": ({"corr": CORR, "dof": {"V": 4}, "method": "mc"}, ["TAD0909", "joint"]),
    "u of another shape": ({"u": {"V": np.ones(3)}}, ["TAD0903", "(3,)"]),
    "limits of another shape": ({"u": {"V": np.ones(3)}, "method": "interval"}, ["TAD0903", "(3,)"]),
}


@pytest.mark.parametrize("name", WRONG)
@pytest.mark.parametrize("fn", both())
def test_wrong_input_is_a_diagnostic(fn: Any, name: str) -> None:
    details, words = WRONG[name]
    with pytest.raises(tadc.ArgumentError) as error:
        tadc.propagate(fn, **{"values": AT, "u": U, **details})
    assert all(word in str(error.value) or word in error.value.diagnostics[0].code for word in words)


def test_missing_measurements() -> None:
    """A NaN among many is passed on; nothing bounds what follows from it."""
    at = {"a": np.array([1.0, math.nan]), "b": 2.0}
    f = tadc.function("a: f64; b: f64; y = a * b")
    u = {"a": 0.5}
    found = tadc.propagate(f, at, u=u)
    np.testing.assert_array_equal(found.value["y"], [2, math.nan])
    for fn in (f, lambda a, b: a * b):
        with pytest.raises(tadc.ArgumentError, match="the value of `a` is nan"):
            tadc.propagate(fn, at, u=u, method="interval")


def test_all_that_is_wrong_is_said_at_once() -> None:
    with pytest.raises(tadc.ArgumentError) as error:
        tadc.propagate(impedance, {"V": 1}, u={"I": -1, "x": 1}, corr={("q", "V"): 3}, dof={"phi": -1})
    found = [d.code for d in error.value.diagnostics]
    assert sorted(found) == ["TAD0501", "TAD0501", "TAD0901", "TAD0901", "TAD0902", "TAD0906"]


def test_wrong_measurements() -> None:
    for fn in (tadc.function(IMPEDANCE), impedance):
        with pytest.raises(tadc.ArgumentError) as error:
            tadc.propagate(fn, {**AT, "V": np.ones(3), "I": np.ones(4)}, u=U)
        assert error.value.diagnostics[0].code == "TAD0903"


def test_wrong_calls() -> None:
    f = tadc.function(RATIO)
    with pytest.raises(ValueError, match='method is one of "gum", "worst"'):
        tadc.propagate(f, {}, method="best")
    with pytest.raises(ValueError, match="seed is a number from 0 on"):
        tadc.propagate(f, {"x": 1.0}, method="mc", seed=-1)
    with pytest.raises(ValueError, match="samples is a number from 2 on"):
        tadc.propagate(f, {"x": 1.0}, method="mc", samples=1)
    with pytest.raises(ValueError, match="positive"):
        tadc.propagate(f, {}, k=0)
    with pytest.raises(TypeError, match="not int"):
        tadc.propagate(3, {})  # type: ignore[arg-type]
    results: list[Callable[..., Any]] = [lambda x: np.array([x, x]), lambda x: "a", lambda x: None]
    for fn in results:
        with pytest.raises(TypeError, match="has to be a number"):
            tadc.propagate(fn, {"x": 1.0}, u={"x": 1.0})
    with pytest.raises(TypeError, match="`u` is a mapping"):
        tadc.propagate(f, {"a": 1, "b": 1, "c": 1}, u=0.1)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="what its arguments are"):
        tadc.propagate(math.hypot, {"x": 1.0})


def test_no_elements() -> None:
    f = tadc.function("x: f64[N]; y[i] = x[i] + 1")
    r = tadc.propagate(f, {"x": np.ones(0)}, u={"x": 0.1})
    assert r.u["y"].shape == (0,)
    assert r.dof["y"].shape == (0,)
