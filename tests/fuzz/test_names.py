"""Names mean nothing: other ones, chosen to be captured, give the same derivatives."""

from __future__ import annotations

import random
import warnings

import numpy as np
import pytest

import tadc
from tadc.frontend.extents import shape_at
from tadc.frontend.functions import REDUCTIONS
from tadc.frontend.lexer import RESERVED, tokenize
from tadc.frontend.source import Source
from tests.conformance import test_index_maps, test_programs, test_scan, test_tensor_algebra
from tests.fuzz.generate import generate
from tests.fuzz.rename import NASTY, renamed

CASES = [
    case
    for module in (test_tensor_algebra, test_index_maps, test_programs, test_scan)
    for case in module.CATALOGUE.cases
    if case.order == 3
]


def assert_same_derivatives(one: str, other: str, order: int, seed: int) -> None:
    """Both programs, which have the same tensors in the same order, differentiated again and again."""
    rng = np.random.default_rng(seed)
    f, g = tadc.function(one), tadc.function(other)
    arrays: list[np.ndarray] = []
    for level in range(order + 1):
        if level:
            f, g = tadc.vjp(f), tadc.vjp(g)
        # The cotangents are the last arguments.
        for argument in f.program.arguments[len(arrays) :]:
            values = rng.uniform(0.1, 1, shape_at(argument.shape, {}))
            arrays.append(values.astype(argument.type.replace("f", "float")))
        if any(a.type == "f32" for a in f.program.arguments):
            tolerance = 1e-3
        else:
            tolerance = 1e-11
        found, expected = ([np.asarray(a) for a in _listed(h(*arrays))] for h in (g, f))
        assert len(found) == len(expected)
        for got, want in zip(found, expected, strict=True):
            limit = tolerance * (1 + np.abs(want).max(initial=0))
            np.testing.assert_allclose(got, want, rtol=0, atol=limit, err_msg=f"order {level}\n{f}\n{g}")


def _listed(values: object) -> list[object]:
    return list(values) if isinstance(values, tuple) else [values]


def reworded(program: str, rng: random.Random) -> str:
    """The program with each of its names replaced by another one, everywhere."""
    tokens = tokenize(Source(program)).items
    names = {t.text for t in tokens if t.kind == "name"} - RESERVED - REDUCTIONS.keys()
    chosen = dict(zip(sorted(names), rng.sample(NASTY, len(names)), strict=True))
    text, end = "", 0
    for token in tokens:
        word = chosen.get(token.text, token.text) if token.kind == "name" else token.text
        text += program[end : token.start] + (
            word if token.kind == "name" else program[token.start : token.end]
        )
        end = token.end
    return text


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_conformance_programs(case: test_programs.Case) -> None:
    other = reworded(case.program, random.Random(case.seed))
    assert_same_derivatives(case.program, other, 1, case.seed)


@pytest.mark.parametrize("first", [500])
def test_random_programs(first: int) -> None:
    """Each bound index gets a name by itself, so that indices come to shadow others."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for seed in range(first, first + 10):
            program = generate(seed, small=True, renaming=False)
            other = renamed(program, random.Random(seed))
            assert_same_derivatives(str(program), str(other), 2, seed)
