"""Code that is made of nests."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tadc.cli import main

PADDED = """x: f32[C, N]; w: f32[O, C, 3]
y[o, i: N] = sum{c, k: 3} (
    if {0 <= i + k - 1 and i + k - 1 <= N - 1} then (x[c, i + k - 1] * w[o, c, k]) else (0))"""

BY_ROWS = """
map y
    peel i where 1 <= i <= N - 2 room 16 all
    threads o 4, i 64
    split o 4 overlap -> o0, o1
    split i 16 overlap -> i0, i1
    split i1 8 -> i2, i3
    reorder o0, i0, o1, i2, i3
    jam o1, i2
    lane i3
    fits o 4, i 16
    peel k
"""


def test_edges_of_unknown_size_have_loops_without_masks(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The full part of a row has one loop over k; each edge has three, of which one is without masks."""
    (tmp_path / "f.tad").write_text(PADDED)
    (tmp_path / "f.txt").write_text(BY_ROWS)
    assert main(["emit", "loops", str(tmp_path / "f.tad"), "--schedule", str(tmp_path / "f.txt")]) == 0
    text = capsys.readouterr().out
    found = re.findall(r"scf.for %k = .* -> \((?:vector<\w+>(?:, )?)+\)", text)
    assert len(found) == 7
