"""Code that is made of nests."""

from __future__ import annotations

import re

import tadc

PADDED = """x: f32[C, N]; w: f32[O, C, 3]
y[o, i: N] = sum{c, k: 3} (
    if {0 <= i + k - 1 and i + k - 1 <= N - 1} then (x[c, i + k - 1] * w[o, c, k]) else (0))"""


def test_edges_of_unknown_size_have_loops_without_masks() -> None:
    """The full part of a row has one loop over k; each edge has two, one with masks and one without."""
    text = tadc.function(PADDED).lower().as_text("loops")
    found = re.findall(r"scf.for %k = .* -> \((?:vector<\w+>(?:, )?)+\)", text)
    assert len(found) == 5
