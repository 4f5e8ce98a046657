"""Functions of Dask arrays: the bits of blocks computed one by one, whoever computes them and when."""

from __future__ import annotations

from typing import Any

import dask.array
import numpy as np
import pytest
from dask.base import compute
from dask.core import flatten

import tadc
from tests.blocks.test_blocks import CASES, PRODUCT, SERIES, SLIDING, Case, several

#: Dask's own types are of no use here.
da: Any = dask.array


def in_chunks(arguments: dict[str, Any], length: int) -> dict[str, Any]:
    """Arrays as Dask's; sizes stay numbers."""
    return {
        n: da.from_array(a, chunks=length) if isinstance(a, np.ndarray) else a for n, a in arguments.items()
    }


def computed(arrays: Any, **how: Any) -> tuple[Any, ...]:
    how.setdefault("scheduler", "threads")
    return compute(*arrays, **how) if isinstance(arrays, tuple) else compute(arrays, **how)


def assert_blocks(case: Case, length: int, **how: Any) -> None:
    """Dask arrays in chunks of a length have the bits of f's own blocks."""
    f = case.function
    arguments = case.arguments(f)
    want = several(f.block(**case.blocks)(**arguments))
    found = f.dask(**in_chunks(arguments, length), chunks=case.blocks)
    for name, lazy, one, other in zip(
        f.outputs, several_of(found), want, computed(found, **how), strict=True
    ):
        assert lazy.shape == one.shape == other.shape, name
        assert lazy.dtype == one.dtype == other.dtype
        np.testing.assert_array_equal(other, one, err_msg=name)


def several_of(arrays: Any) -> tuple[Any, ...]:
    return arrays if isinstance(arrays, tuple) else (arrays,)


@pytest.mark.parametrize("name", CASES)
def test_blocks_have_the_bits_of_those_one_by_one(name: str) -> None:
    """Whatever the chunks of arguments are: these do not divide as blocks do."""
    assert_blocks(CASES[name], 4)


@pytest.mark.one_in(4)
@pytest.mark.parametrize("name", CASES)
def test_blocks_are_as_chunks_where_nothing_else_is_said(name: str) -> None:
    case = CASES[name]
    f = case.function
    arguments = case.arguments(f)
    for length in (5, 1000):
        found = computed(f.dask(**in_chunks(arguments, length)))
        for one, other in zip(several(f(**arguments)), found, strict=True):
            np.testing.assert_allclose(other, one, 1e-12, 1e-13)
            assert other.shape == one.shape


def test_results_have_the_chunks_of_arguments() -> None:
    f = tadc.function(SLIDING)
    y = f.dask(da.ones(50, chunks=(20, 7, 23)), [1, 2, 3])
    assert y.chunks == ((20, 7, 21),)
    a, b = da.ones((6, 8), chunks=(2, 4)), da.ones((8, 9), chunks=(4, 3))
    c = tadc.function(PRODUCT).dask(a, b)
    assert c.chunks == ((2, 2, 2), (3, 3, 3))
    np.testing.assert_array_equal(computed(c)[0], np.full((6, 9), 8.0))
    z = tadc.function(SERIES).dask(da.ones((9, 10), chunks=(3, 4)))
    assert z.chunks == ((9,), (4, 4, 2))


def test_a_stage_is_a_layer() -> None:
    """And a block one task, where it is all of a result's chunk."""
    y = tadc.function(SLIDING).dask(da.ones(50, chunks=10), np.ones(3))
    assert len(y.dask.layers) == 3
    assert len(y.dask.layers[y.name]) == 5
    assert y.dask.layers[y.name].get_output_keys() == set(flatten(y.__dask_keys__()))
