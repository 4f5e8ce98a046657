"""Functions of programs that were made here: compiled and cached without being read as text."""

from __future__ import annotations

import numpy as np
import pytest

import tadc
from tadc.api.load import function_in_memory
from tadc.frontend import parser


def refuse(*arguments: object) -> None:
    raise AssertionError("nothing is to be parsed")


def test_a_program_is_not_parsed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    program = tadc.vjp(tadc.function("x: f64[N]; f[i] = exp(2*x[i])")).program
    monkeypatch.setattr(parser._Parser, "__init__", refuse)
    f = function_in_memory(program, "<made>")
    assert not f.gradients
    x = np.array([0.5, 1.0])
    np.testing.assert_allclose(f(x, np.ones(2)), 2 * np.exp(2 * x))
    # The second is loaded from disk.
    np.testing.assert_array_equal(function_in_memory(program, "<made>")(x, np.ones(2)), f(x, np.ones(2)))


def test_sizes_without_a_meaning_are_refused() -> None:
    program = tadc.function("x: f64[N]; f[i: N - 2] = x[i + 2]").program
    f = function_in_memory(program, "<made>")
    np.testing.assert_array_equal(f(np.arange(4.0)), [2, 3])
    with pytest.raises(tadc.CompileError):
        f(np.ones(1))
