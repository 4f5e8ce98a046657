"""Indices that are one in memory: which are, that joined nests are right, and what programs then compute."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tadc
from tadc.frontend.source import Source
from tadc.passes.maps.map import MapFunction
from tadc.passes.nest.nest_verifier import verify
from tadc.passes.nest.plain import plain_nest
from tadc.passes.nest.primitives.apply import apply_steps
from tadc.passes.nest.primitives.rewriting import DoesNotFit
from tadc.passes.nest.steps import Bind, Join, Split
from tadc.passes.schedule.given import given_schedule
from tadc.passes.schedule.joined_maps import as_joined, joins_of
from tests.nest.in_parts import assert_same_in_parts, random_arrays
from tests.nest.programs import maps_of_program

JOINED: dict[str, tuple[str, str]] = {
    "image": ("x: f32[N, 3]\ny[i, j] = exp(x[i, j])", "ij"),
    "three": ("x: f32[N, 2, 3]\ny[i, j, k] = exp(x[i, j, k])", "jk ijk"),
    "rows of another": ("x: f32[4, N, 3]; w: f32[4]\ny[b, i, j] = w[b] * x[b, i, j]", "ij"),
    "a row in a row": ("x: f32[15]\ny[i: 5, j: 3] = x[3*i + j]", "ij"),
    "every other": ("x: f32[30]\ny[i: 5, j: 3] = x[6*i + 2*j]", "ij"),
    "rows further on": ("x: f32[9, N]\ny[i: 7, j: N] = x[i + 2, j]", "ij"),
    "guarded by others": ("x: f32[4, N, 3]\ny[b, i, j] = if {b >= 2} then (x[b, i, j]) else (0)", "ij"),
    "guarded by both": ("x: f32[5, 3]\ny[i, j] = if {3*i + j >= 4} then (x[i, j]) else (0)", "ij"),
    "under a sum": ("x: f32[4, N, 3]\ny[i, j] = sum{k} (x[k, i, j])", "ij"),
    "of a sum": ("x: f32[N, 7, 3]\ny[b] = sum{i, j} (x[b, i, j])", "ij"),
    "rows of a product": ("x: f32[4, N, 5]; w: f32[5, 6]\ny[b, i, j] = sum{k} (x[b, i, k]*w[k, j])", "bi"),
    "a number beside": ("x: f32[5, 3]\ny[i, j] = x[i, j] + x[2, 1]", "ij"),
    "two sizes": ("x: f32[N, M]\ny[i, j] = exp(x[i, j])", ""),
    "columns": ("x: f32[3, N]\ny[i: N, j: 3] = x[j, i]", ""),
    "a part of a row": ("x: f32[N, 4]\ny[i: N, j: 3] = x[i, j]", ""),
    "shifted": ("x: f32[N, 4]\ny[i: N, j: 3] = x[i, j + 1]", ""),
    "broadcast": ("x: f32[N, 3]; w: f32[3]\ny[i, j] = x[i, j]*w[j]", ""),
    "the index": ("x: f32[N, 3]\ny[i, j] = x[i, j]*j", ""),
    "an edge": ("x: f32[N, 3]\ny[i, j] = if {j >= 1} then (x[i, j]) else (0)", ""),
    "a triangle": ("x: f32[N, 3]\ny[i, j] = sum{k}_0^i (x[k, j])*x[i, j]", ""),
    "a recurrence": (
        "x: f32[N, 3]\nscan{t} s[t, j] = if {t > 0} then (s[t - 1, j] + x[t, j]) else (x[t, j])",
        "",
    ),
}


def map_of(text: str) -> MapFunction:
    function = maps_of_program(text, "value")
    assert len(function.maps) == 1
    return function


@pytest.mark.parametrize("name", JOINED)
def test_which_are_joined(name: str) -> None:
    """And that the nest is right: it reads and stores the same elements, with the same bits."""
    text, joints = JOINED[name]
    function = map_of(text)
    (item,) = function.maps
    joins = joins_of(item, function)
    assert [join.joint for join in joins] == joints.split()
    plain = plain_nest(function, item)
    nest = apply_steps(plain, joins)
    assert verify(nest) == []
    for size in (1, 2, 7):
        sizes = dict.fromkeys(function.sizes, size)
        arrays = random_arrays(function.arguments, sizes)
        assert_same_in_parts(plain, nest, joins, item, arrays, sizes, reads_more=False)
    seen, whole = as_joined(item, function, joins)
    assert [tensor.shape for tensor in seen.tensors] == [whole.tensors()[t.name].shape for t in seen.tensors]
    if joins and joins[-1].first in item.indices:
        assert len(seen.indices) == len(item.indices) - len(joins)


def test_steps_that_do_not_fit() -> None:
    function = map_of("x: f32[N, 3]\ny[i, j] = exp(x[i, j])")
    plain = plain_nest(function, function.maps[0])
    join = Join("i", "j", "ij")
    for steps in (
        [Join("j", "i", "ij")],
        [Join("i", "j", "N")],
        [Join("i", "k", "ij")],
        [Join("k", "j", "ij")],
        [Split("j", 2, "rest", "a", "b"), join],
        [join, join],
    ):
        with pytest.raises(DoesNotFit):
            apply_steps(plain, steps)
    made = apply_steps(plain, [join, Split("ij", 2, "overlap", "a", "b"), Bind("lane", ("b",))])
    assert verify(made) == []


@pytest.mark.parametrize(
    "text",
    [
        "x: f32[N, 3]\nscan{t} s[t, j] = if {t > 0} then (s[t - 1, j] + x[t, j]) else (x[t, j])",
        "x: f32[N, M]\ny[i, j] = exp(x[i, j])",
    ],
)
def test_a_given_join_that_does_not_fit_is_an_error(text: str) -> None:
    function = map_of(text)
    (item,) = function.maps
    first, second = item.indices
    steps = f"map {item.tensors[0].name} join {first}, {second} -> both"
    with pytest.raises(tadc.CompileError) as caught:
        given_schedule(Source(steps, "<given>"), [function])
    assert [found.code for found in caught.value.diagnostics] == ["TAD0612"]


def test_a_given_join() -> None:
    """By hand, with ranges of threads; the same bits as without."""
    f = tadc.function("x: f64[N, 3]; y[i, j] = exp(x[i, j])")
    text = "map y join i, j -> both threads both 8 split both 8 overlap -> a, b lane b fits both 8"
    joined, apart = tadc.compile(f, schedule=text), tadc.compile(f, schedule="map y split i 8 rest -> a, b")
    for rows in (0, 1, 2, 3, 50):
        x = np.random.default_rng(0).normal(size=(rows, 3))
        assert joined(x).tobytes() == apart(x).tobytes()
        np.testing.assert_allclose(joined(x), np.exp(x), rtol=1e-14)


ELEMENTS: dict[str, Callable[[Any, Any], Any]] = {
    "x[I]**2 + 1": lambda m, x: x**2 + 1,
    "exp(x[I])": lambda m, x: m.exp(x),
    "max(x[I], 0.1)*x[I]": lambda m, x: m.maximum(x, 0.1) * x,
    "tanh(x[I])/(2 + x[I]**2)": lambda m, x: m.tanh(x) / (2 + x**2),
}


class _Program:
    """A program over an array of short rows, and the same in NumPy and JAX."""

    def __init__(self, seed: int) -> None:
        rng = random.Random(seed)
        rank = rng.choice([2, 2, 3, 4])
        self.shape = tuple(rng.choice([1, 2, 3, 4, 7, 9, 17, 28]) for _ in range(rank))
        self.indices = "ijkl"[:rank]
        element, self.element = rng.choice(list(ELEMENTS.items()))
        self.of_w = sorted(rng.sample(range(rank), rng.randint(0, rank - 1)))
        self.summed = rng.choice([(), (), (0,), (rank - 1,), (rank - 2, rank - 1), tuple(range(rank))])
        self.guard = rng.choice([None, None, *range(rank)])
        self.type = rng.choice(["f32", "f64"])
        names = [letter.upper() if rng.random() < 0.6 else None for letter in self.indices]
        sizes = [name or str(size) for name, size in zip(names, self.shape, strict=True)]
        of_w = [sizes[n] for n in self.of_w]
        body = f"({element.replace('I', ', '.join(self.indices))})"
        body += f" * w[{', '.join(self.indices[n] for n in self.of_w)}]" if of_w else " * w"
        if self.guard is not None:
            body = f"if {{{self.indices[self.guard]} >= 1}} then ({body}) else (0)"
        kept = [self.indices[n] for n in range(rank) if n not in self.summed]
        if self.summed:
            body = f"sum{{{', '.join(self.indices[n] for n in self.summed)}}} ({body})"
        at = f"[{', '.join(kept)}]" if kept else ""
        w = f"w: {self.type}[{', '.join(of_w)}]" if of_w else f"w: {self.type}"
        self.text = f"x: {self.type}[{', '.join(sizes)}]; {w}\ny{at} = {body}"

    def arrays(self) -> list[Any]:
        rng = np.random.default_rng(len(self.text))
        of_w = tuple(self.shape[n] for n in self.of_w)
        return [rng.normal(size=s).astype(self.type.replace("f", "float")) for s in (self.shape, of_w)]

    def value(self, m: Any, x: Any, w: Any) -> Any:
        spread = tuple(size if n in self.of_w else 1 for n, size in enumerate(self.shape))
        made = self.element(m, x) * w.reshape(spread)
        if self.guard is not None:
            places = [-1 if n == self.guard else 1 for n in range(len(self.shape))]
            made = made * (m.arange(self.shape[self.guard]) >= 1).reshape(places)
        return made.sum(self.summed) if self.summed else made


@pytest.mark.parametrize("seed", range(80))
def test_values_and_gradients(seed: int) -> None:
    """Against NumPy, and gradients against JAX, in f64; the same bits with one thread and two."""
    import jax

    jax.config.update("jax_enable_x64", True)
    program = _Program(seed)
    x, w = program.arrays()
    f = tadc.function(program.text)
    g = tadc.value_and_vjp(f)
    wide = [np.asarray(a, np.float64) for a in (x, w)]
    value = program.value(np, *wide)
    dy = np.random.default_rng(1).normal(size=value.shape).astype(x.dtype)
    _, back = jax.vjp(lambda x, w: program.value(jax.numpy, x, w), *wide)
    expected = [value, *back(np.asarray(dy, np.float64))]
    limit = 1e-11 if program.type == "f64" else 2e-4
    before = tadc.get_num_threads()
    found: list[Any] = []
    try:
        for threads in (1, 2):
            tadc.set_num_threads(threads)
            found.append([f(x, w), *g(x, w, dy)])
    finally:
        tadc.set_num_threads(before)
    assert [a.tobytes() for a in found[0]] == [a.tobytes() for a in found[1]], program.text
    for one, other in zip(found[0], [expected[0], *expected], strict=True):
        scale = float(np.abs(other).max(initial=1e-30))
        np.testing.assert_allclose(one, other, rtol=limit, atol=limit * scale, err_msg=program.text)


def test_many_rows_of_few_elements() -> None:
    """What threads divide and stream, of known and unknown sizes; empty arrays too."""
    rng = np.random.default_rng(0)
    for text in ("x: f32[N, 3]; y[i, j] = exp(x[i, j])", "x: f32[N, 3]; s = sum{i, j} (x[i, j]**2)"):
        f = tadc.function(text)
        for rows in (0, 1, 5, 6, 100_003):
            x = rng.normal(size=(rows, 3)).astype("f4")
            expected = np.exp(x) if "exp" in text else (x.astype("f8") ** 2).sum()
            np.testing.assert_allclose(f(x), expected, rtol=1e-5)
            np.testing.assert_allclose(f.at({"N": rows})(x), expected, rtol=1e-5)
