"""Every program, value and gradients, has the same bits for every number of threads.

Maps are divided here however small they are, at any element.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tadc
from tadc.frontend.extents import shape_at
from tadc.passes.maps import chains
from tests.conformance import (
    test_index_maps,
    test_large_sizes,
    test_programs,
    test_quasi_affine,
    test_reductions,
    test_scan,
    test_sizes,
    test_tensor_algebra,
)
from tests.conformance.test_sizes import SizedCase
from tests.reference.cases import Case
from tests.reference.small_parts import small_parts_of_maps

CATALOGUES = (
    test_index_maps,
    test_large_sizes,
    test_programs,
    test_quasi_affine,
    test_reductions,
    test_scan,
    test_tensor_algebra,
)
CASES = [case for module in CATALOGUES for case in module.CATALOGUE.cases]
TYPES = {"f32": np.float32, "f64": np.float64}
EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.tad"))


@pytest.fixture(autouse=True, scope="module")
def small_parts() -> Iterator[None]:
    """A pool, and a lowering, to which no map is too small."""
    before = tadc.get_num_threads()
    with small_parts_of_maps(), pytest.MonkeyPatch.context() as patch:
        patch.setattr(chains, "LEAST_BYTES", 0)
        patch.setattr(chains, "NEAR", 1 << 8)
        yield
    tadc.set_num_threads(before)


def check(
    g: tadc.Function,
    arrays: Mapping[str, np.ndarray[Any, Any]],
    sizes: Mapping[str, int] | None = None,
    named: Sequence[str] = (),
) -> None:
    """A function that gives value and gradients, with 1, 2 and 3 threads; sizes `named` are given by name."""
    sizes = sizes or {}
    if g.per_value is not None:
        g = g.at(sizes)
    rng = np.random.default_rng(1)
    of = {name: output for output, name in g.cotangents.items()}
    given = dict(arrays)
    for a in g.program.arguments:
        if a.name in of:
            given[a.name] = rng.uniform(-1, 1, shape_at(a.shape, sizes)).astype(TYPES[a.type])
    results: list[list[bytes]] = []
    # Most threads first: memory that is used again holds nothing right yet.
    for threads in (3, 2, 1):
        tadc.set_num_threads(threads)
        out = [np.full(shape_at(d.shape, sizes), np.nan, TYPES[d.type]) for d in g.program.outputs]
        g(**given, **{name: sizes[name] for name in named}, out=out)
        results.append([array.tobytes() for array in out])
    assert results[0] == results[2]
    assert results[1] == results[2]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_programs_of_the_conformance_tests(case: Case) -> None:
    check(tadc.value_and_vjp(tadc.function(case.program)), case.inputs())


@pytest.mark.parametrize("case", test_sizes.CASES.found, ids=lambda case: case.name)
def test_programs_of_any_size(case: SizedCase) -> None:
    g = tadc.value_and_vjp(tadc.function(case.program))
    rng = np.random.default_rng(1)
    for sizes in case.values:
        arrays = {name: rng.uniform(-1, 1, shape) for name, shape in case.shapes(sizes).items()}
        check(g, arrays, sizes, case.named)


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.stem)
def test_examples(file: Path) -> None:
    f = tadc.function(file.read_text())
    rng = np.random.default_rng(1)
    # Filters are shorter than what they slide over.
    sizes = {name: 3 if name == "K" else 12 for name in f.program.sizes}
    arrays = {
        a.name: rng.uniform(0.1, 1, shape_at(a.shape, sizes)).astype(TYPES[a.type])
        for a in f.program.arguments
    }
    check(tadc.value_and_vjp(f), arrays, sizes, f.program.sizes)
