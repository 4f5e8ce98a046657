"""Mistakes of those who call tadc for the first time, and the words that they are to read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tadc

# pyright: reportArgumentType=false, reportCallIssue=false

F = tadc.function("x: f64[3]; w: f64[3]; f[i] = x[i]*w[i]")
S = tadc.function("x: f64[3]; s = sum{i} (x[i]**2)")
TWO = tadc.function("x: f64[3]; w: f64[3]; f[i] = 2*x[i]; g[i] = w[i]")
FILTER = tadc.function("x: f64[N]; w: f64[3]; y[i: N - 2] = sum{k} (w[k]*x[i + k])")
X = np.ones(3)
SLOPE: Callable[[float], Any] = lambda x: tadc.dual.value_and_partials(lambda y: y * y, x)[1][0]  # noqa: E731
AT: dict[str, Any] = {"fn": S, "values": {"x": X}, "u": {"x": 0.1}}

MISTAKES: list[tuple[Callable[[], object], str, str]] = [
    (lambda: F({"x": 1}), "TAD0502", "unpack it: `f(**arguments)`"),
    (lambda: F({"x": X}, X), "TAD0504", "unpack a mapping of arguments by name"),
    (lambda: F(X, X, stream=3), "TAD0502", "`stream=` is for arrays on a GPU"),
    (lambda: F(X, X, dtype="f32"), "TAD0502", "the program says the types"),
    (lambda: F(X, X, N=3), "TAD0502", "there is no argument `N`"),
    (lambda: F([1, "a", 3], X), "TAD0504", "elements of type str"),
    (lambda: F(X, None), "TAD0504", "not an array of numbers but a value of type NoneType"),
    (lambda: F(X, [[1, 2], [3]]), "TAD0504", "`w` cannot be read as an array"),
    (lambda: F(X, X + 1j), "TAD0504", "pass the real part: `w.real`"),
    (lambda: F(X, X.astype(object)), "TAD0504", "make it an array of numbers"),
    (lambda: tadc.vjp(F, wrt="x,w"), "TAD0401", 'name several in a list: `wrt=["x", "w"]`'),
    (lambda: tadc.vjp(F, wrt=0), "TAD0510", 'write `wrt="x"` or'),
    (lambda: tadc.value_and_grad(S, X), "TAD0510", "pass arrays to the function that is returned"),
    (lambda: tadc.vjp(F, wtr="x"), "TAD0510", "did you mean `wrt`?"),
    (lambda: tadc.vjp(), "TAD0510", "it takes f, wrt, materialize, memory_limit"),
    (lambda: tadc.profile(lambda: 1), "TAD0510", "a decorator has parentheses: `@tadc.profile()`"),
    (lambda: F.block(9), "TAD0510", "lengths are given by name: `name=9`"),
    (lambda: FILTER.block(i=9).boxes(N="a"), "TAD0508", "size `N` must be an integer, not str"),
    (lambda: FILTER.block(i=9).plan(N=9.0), "TAD0508", "size `N` must be an integer, not float"),
    (lambda: FILTER.block(i=9).boxes(N=-1), "TAD0508", "size `N` cannot be -1"),
    (lambda: FILTER.block(i=9).plan(N=1), "TAD0507", "they must satisfy N >= 2"),
    (lambda: FILTER.block(i=9).traffic(0, N=9), "TAD0510", "workers is a number from 1 on, not 0"),
    (lambda: FILTER.block(i=9).plot(N=2), "TAD0510", "at these sizes there is no block to draw"),
    (lambda: tadc.vjp("x: f64; f = x"), "TAD0510", "`tadc.vjp(tadc.function(text))`"),
    (lambda: tadc.hessian(X), "TAD0510", "pass the function itself, `tadc.hessian(f)`"),
    (lambda: tadc.grad(np.sin), "TAD0510", "`tadc.dual` differentiates Python code"),
    (lambda: tadc.compile("text"), "TAD0510", "`tadc.compile(tadc.function(text))`"),
    (lambda: tadc.compile(F, 3), "TAD0510", "a target is a string, not an int"),
    (lambda: tadc.function("x: f64[N]; f[i] = x[i]", sizes=[3]), "TAD0510", 'write `sizes={"N": 3}`'),
    (lambda: F.at([3]), "TAD0510", "`sizes` is a mapping by name, not a list"),
    (lambda: tadc.function("demo.tad"), "TAD0510", 'read it: `tadc.load("demo.tad")`'),
    (lambda: tadc.function(F), "TAD0510", "leave `tadc.function` out"),
    (lambda: tadc.function(b"f = 1"), "TAD0510", "`tadc.load` reads a file"),
    (lambda: tadc.Function("f = 1"), "TAD0510", "write `tadc.function(text)`"),
    (lambda: tadc.load(3), "TAD0510", "a string or a path, not int"),
    (lambda: tadc.vjp(F, memory_limit="lots"), "TAD0510", 'write `memory_limit="64M"`'),
    (lambda: tadc.vjp(F, memory_limit=1.5), "TAD0510", "a number of bytes, not 1.5"),
    (lambda: tadc.vjp(F, materialize="alway"), "TAD0510", "did you mean `always`?"),
    (lambda: tadc.function("x: f64; y = x", materialize="nevr"), "TAD0510", "did you mean `never`?"),
    (lambda: tadc.function("x: f64; y = x", memory_limit="lots"), "TAD0510", 'write `memory_limit="64M"`'),
    (lambda: tadc.compile(F, memory_limit=-1), "TAD0510", "a number of bytes, not -1"),
    (lambda: tadc.load("f.tad", materialize=3), "TAD0510", "materialize is one of"),
    (lambda: tadc.vjp(F, "x", np.ones(3)), "TAD0510", "not an array (ndarray)"),
    (lambda: tadc.jvp(F, "x", np.ones(3)), "TAD0510", "from 1 on, not an array (ndarray)"),
    (lambda: tadc.function("f = 1", target="cpu"), "TAD0510", "`tadc.compile(…, target=…)`"),
    (lambda: tadc.propagate(S, {"x": X}, {"x": 0.1}), "TAD0510", "given by name: `u=…`"),
    (lambda: tadc.jvp(F, chunk="4"), "TAD0510", "write `chunk=16`"),
    (lambda: F.lower("loops"), "TAD0510", 'write `f.lower().as_text("loops")`'),
    (lambda: F.lower().as_text("mlir"), "TAD0510", "the stages are tad, cancel"),
    (lambda: tadc.inverse(TWO).jinv(X, X), "TAD0502", "pass a tuple `(x, w)` or a mapping by name"),
    (lambda: tadc.inverse(TWO).jinv(3, 4), "TAD0502", "2 arrays are wanted here, one for each of x, w"),
    (lambda: tadc.inverse(TWO).jinv((X, X, X), X), "TAD0502", "3 are given"),
    (lambda: tadc.dual.jvp(abs, 1.0, 1.0), "TAD0510", "write `tadc.dual.jvp(f, (1.0,), (1.0,))`"),
    (lambda: tadc.dual.jvp(abs, [1.0], [1.0, 2.0]), "TAD0510", "give one for each argument"),
    (lambda: tadc.dual.jvp(SLOPE, (1.0,), (1.0,)), "TAD0510", "argument 0 is a dual number"),
    (lambda: tadc.dual.value_and_partials(SLOPE, 1.0), "TAD0510", "argument 0 is a dual number"),
    (lambda: tadc.dual.jvp(F, (X,), (X,)), "TAD0510", "`tadc.jvp(f)`"),
    (lambda: tadc.propagate(**AT, k="a"), "TAD0510", "k is a positive number, not 'a'"),
    (lambda: tadc.propagate(**AT, k=0), "TAD0510", "k is a positive number, not 0"),
    (lambda: tadc.propagate(**AT, method="gom"), "TAD0510", "did you mean `gum`?"),
    (lambda: tadc.propagate(**AT, method="mc", samples=1.5), "TAD0510", "samples is a number from 2 on"),
    (lambda: tadc.propagate(**AT, seed="a"), "TAD0510", "seed is a number from 0 on, or None"),
    (lambda: tadc.propagate(S, {"x": X}, u=0.1), "TAD0510", "write `u={'x': 0.1}`"),
    (lambda: tadc.propagate("s", {}), "TAD0510", "make a function of a text"),
    (lambda: tadc.build(F, None), "TAD0510", "this takes a module of `"),
    (lambda: tadc.load_dialect(None), "TAD0510", "this takes a context of `"),
    (lambda: tadc.statistics(S, sizes=[3]), "TAD0510", 'write `sizes={"N": 3}`'),
]


@pytest.mark.parametrize(("make", "code", "words"), MISTAKES, ids=[words[:30] for *_, words in MISTAKES])
def test_mistake(make: Callable[[], object], code: str, words: str) -> None:
    with pytest.raises(tadc.CompileError) as problem:
        make()
    assert {d.code for d in problem.value.diagnostics} == {code}
    assert words in str(problem.value)
    if code == "TAD0510":
        assert isinstance(problem.value, TypeError)
        assert isinstance(problem.value, ValueError)


def test_memory_limits_as_text() -> None:
    assert str(tadc.vjp(F, memory_limit="64M")) == str(tadc.vjp(F, memory_limit=64 << 20))
    assert tadc.statistics(S, memory_limit="1K").ratio > 0


def test_a_compiled_function_names_the_views_that_its_function_has() -> None:
    compiled = tadc.compile(F)
    for name in ("jax", "torch", "dask", "block"):
        assert not hasattr(compiled, name)
        with pytest.raises(AttributeError, match=f"write `f.{name}`, of the function"):
            getattr(compiled, name)
    with pytest.raises(AttributeError, match="'Compiled' object has no attribute 'jaxx'"):
        compiled.jaxx
