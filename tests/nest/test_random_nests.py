"""The random nests that primitives are tried on: they run, read back, and differ where a nest is wrong."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tadc.lattice.affine import Affine
from tadc.passes.nest.nest import Extreme, For
from tadc.passes.nest.nest_reader import read_nest
from tadc.passes.nest.nest_text import nest_text
from tests.nest.random_nests import assert_same, random_sample


@pytest.mark.parametrize("seed", range(25))
def test_random_nests_run_and_read_back(seed: int) -> None:
    sample = random_sample(seed)
    text = nest_text(sample.nest)
    assert read_nest(text) == sample.nest
    assert_same(sample, read_nest(text))


def test_a_nest_that_leaves_elements_out_is_not_the_same() -> None:
    sample = random_sample(3, rank=2, type="f32")
    (loop,) = sample.nest.body
    assert isinstance(loop, For)
    assert not isinstance(loop.stop, Extreme)
    wrong = replace(sample.nest, body=(replace(loop, start=Affine.const(1)),))
    with pytest.raises(AssertionError):
        assert_same(sample, wrong)
