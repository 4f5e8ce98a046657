"""What is printed, read and printed again is the same text."""

from __future__ import annotations

import pytest

import tadc
from tests.fuzz.generate import generate


@pytest.mark.parametrize("first", range(600, 660, 20))
def test_printing_is_a_fixpoint(first: int) -> None:
    """Of random programs and their gradients."""
    for seed in range(first, first + 20):
        f = tadc.function(str(generate(seed)))
        for function in (f, tadc.vjp(f)):
            text = str(function)
            assert str(tadc.function(text)) == text, f"seed {seed}\n{text}"
