"""The cases of all catalogues at the orders that no other run checks."""

from __future__ import annotations

import pytest

from tests.conformance import (
    test_index_maps,
    test_large_sizes,
    test_programs,
    test_quasi_affine,
    test_reductions,
    test_scan,
    test_science,
    test_tensor_algebra,
)
from tests.reference.cases import Case

MODULES = (
    test_index_maps, test_large_sizes, test_programs, test_quasi_affine, test_reductions, test_scan,
    test_science, test_tensor_algebra,
)  # fmt: skip
CASES = {f"{m.__name__.rpartition('.')[2]}: {c.name}": c for m in MODULES for c in m.CATALOGUE.slow}


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_further_orders(case: Case) -> None:
    case.check(slow=True)
