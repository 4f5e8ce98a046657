"""Masked loads stay masked in machine code, for vectors of each width."""

from __future__ import annotations

import platform

import pytest

import tadc
from tadc.backend import object_code
from tadc.passes import term_catalogue
from tests.guards.machine_code import check, unmasked
from tests.guards.machines import MACHINES, compiling_for, has_masks
from tests.guards.run import run

pytestmark = pytest.mark.skipif(platform.machine() != "x86_64", reason="about instructions of x86")


def convolution(width: int, dtype: str) -> tadc.Function:
    """Each channel under a window of its own that stands over the edges."""
    return tadc.function(
        f"x: {dtype}[4, {width}, {width}]; d: {dtype}[4, 3, 3]\n"
        f"f[c, i: {width}, j: {width}] = sum{{p}}_(max [0; 1 - i])^(min [2; {width} - i]) "
        f"(sum{{q}}_(max [0; 1 - j])^(min [2; {width} - j]) (x[c, i + p - 1, j + q - 1]*d[c, p, q]))"
    )


def by_vectors(machine: str, dtype: str, width: int) -> str:
    """Each vector of a row under masks, those inside of the image too."""
    bits = {"avx512": 512, "znver4": 512, "avx512-128": 128}.get(machine, 256)
    return f"""map f
    peel i where 1 <= i <= {width - 2} all
    threads c 1
    split j {bits // int(dtype[1:])} overlap -> j0, j1
    lane j1
"""


#: Widths of images at which LLVM forgets masks of loads that are not fenced.
FORGOTTEN = [
    ("avx512", "f32", 56),
    ("avx512", "f64", 28),
    ("znver4", "f64", 28),
    ("avx512-256", "f32", 10),
    ("avx512-256", "f64", 10),
    ("avx512-128", "f32", 7),
]


@pytest.mark.parametrize(("machine", "dtype", "width"), [*FORGOTTEN, ("avx2", "f32", 10), ("avx", "f64", 10)])
def test_masks_are_kept(machine: str, dtype: str, width: int) -> None:
    with compiling_for(machine):
        assert check(convolution(width, dtype), by_vectors(machine, dtype, width)) > 0


@pytest.mark.parametrize(("machine", "dtype", "width"), FORGOTTEN[3:4])
def test_fences_are_needed(machine: str, dtype: str, width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """If this fails, LLVM keeps masks by itself, and the fences can go.

    It forgets them where loops are written out, and all vectors of a row are under masks.
    """
    monkeypatch.setattr(object_code, "LARGE", 1 << 20)
    monkeypatch.setattr(object_code, "fenced", lambda text: text)
    monkeypatch.setattr(term_catalogue, "join_nested_sums", lambda program: program)
    monkeypatch.setattr("tadc.passes.rewrites.factor._Factoring.with_inner", lambda self, s: None)
    two_rows = by_vectors(machine, dtype, width).replace("all\n", "room 2 all\n")
    two_rows += "    split i 2 overlap -> i0, i1\n    jam i1\n"
    with compiling_for(machine), pytest.raises(AssertionError, match=r"vmovups\s+%fs:"):
        check(convolution(width, dtype), two_rows)


@pytest.mark.parametrize(
    ("line", "is_found"),
    [
        ("vmovups\t%fs:-224(%rcx,%r14,4), %zmm9", True),
        ("vmovups\t%fs:-224(%rcx,%r14,4), %zmm9 {%k1} {z}", False),
        ("vmovups\t-224(%rcx,%r14,4), %zmm9", False),
        ("vfmadd132ps\t%fs:448(%rcx), %zmm4, %zmm11", True),
        ("vfmadd132ps\t%fs:448(%rcx), %zmm4, %zmm11 {%k1} {z}", False),
        ("vfmadd132ss\t%fs:448(%rcx), %xmm4, %xmm11", False),
        ("vpermilps\t$27, %fs:(%rax), %zmm1 {%k1} {z}", True),
        ("vmaskmovps\t%fs:(%rax), %ymm1, %ymm2", False),
        ("vblendps\t$15, %fs:(%rax), %ymm1, %ymm2", True),
    ],
)
def test_what_the_check_finds(line: str, is_found: bool) -> None:
    assert unmasked(f"f:\n\t{line}\n\tretq\n") == [line] * is_found


@pytest.mark.slow
@pytest.mark.parametrize("machine", [name for name in MACHINES if has_masks(name)])
@pytest.mark.parametrize("source", ["conformance", "examples", "bench", "windows"])
def test_masks_of_many_programs(source: str, machine: str) -> None:
    for dtype in ("f32", "f64"):
        assert not run("code", source, machine, dtype).failures
