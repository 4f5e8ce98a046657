"""Which GPU kernels run for which sizes, and how wide their indices are."""

from __future__ import annotations

import pytest

from tadc.backend.target import parse_target
from tadc.compiler.all_stages import compile_until
from tadc.compiler.compile_options import Options
from tadc.compiler.stages import Compilation
from tadc.frontend.source import Source
from tadc.lattice.affine import Affine
from tadc.passes.gpu.groups import lanes_along
from tadc.passes.gpu.launch import Launch
from tadc.passes.maps.size_tests import SizeTest
from tests.gpu_programs import PROGRAMS

N, M = Affine.var("s0"), Affine.var("s1")


def lowered(text: str, until: str = "gpu") -> Compilation:
    state = Compilation(Options("value-and-vjp", target=parse_target("cuda:sm_80")), Source(text, "test"))
    compile_until(state, until)
    return state


def test_conditions_bound_a_product():
    """Extents below 1 count as 0."""
    test = SizeTest((N, M - 1), least=4, most=12)
    assert [test.holds(sizes) for sizes in ((2, 3), (1, 2), (4, 4), (5, 4), (-3, -3))] == [
        True,
        False,
        True,
        False,
        False,
    ]


def test_a_kernel_gives_way_to_those_before_it():
    """It applies where its own conditions hold, and not all of those of another."""
    long = (SizeTest((M,), least=64), SizeTest((N,), most=8))
    first = Launch("f_0", (), (32, 1, 1), (), long)
    second = Launch("f_0_1", (), (32, 1, 1), (), (), (long,))
    for sizes in ((1, 100), (8, 64), (9, 64), (1, 10), (0, 0)):
        assert first.applies(sizes) != second.applies(sizes)
    assert first.applies((8, 64))


@pytest.mark.parametrize("name", [name for name, p in PROGRAMS.items() if p.sizes])
@pytest.mark.parametrize("size", [0, 1, 3, 64, 1000, 100000])
@pytest.mark.parametrize("other", [0, 2, 500, 70000])
def test_one_kernel_of_a_tensor_runs(name, size, other):
    """For any sizes, of the kernels that store one tensor exactly one applies."""
    state = lowered(PROGRAMS[name].text)
    sizes = [size, other, other][: len(PROGRAMS[name].sizes)]
    stored = {launch.buffers[-1] for launch in state.launches}
    for buffer in stored:
        kernels = [launch for launch in state.launches if launch.buffers[-1] == buffer]
        assert [launch.applies(sizes) for launch in kernels].count(True) == 1


@pytest.mark.parametrize(
    ("text", "sizes", "threads"),
    [
        ("x: f32[N]; s = sum{i} (x[i])", [1 << 20], 128 * 256),
        ("x: f32[N]; s = sum{i} (x[i])", [1 << 24], 2048 * 256),
        ("x: f32[N]; s = sum{i} (x[i])", [1 << 28], 32768 * 32),
        ("x: f32[N, M]; y[i] = sum{j} (x[i, j])", [1024, 1 << 14], 1024 * 256),
        ("x: f32[N, M]; y[i] = sum{j} (x[i, j])", [1 << 14, 1024], 32 << 14),
        ("x: f32[N, M]; y[i] = sum{j} (x[i, j])", [1 << 20, 8], 1 << 20),
    ],
)
def test_long_sums_of_unknown_sizes_have_enough_threads(text: str, sizes: list[int], threads: int) -> None:
    """Those that read what is long: a block a part or a row, or a warp where these suffice."""
    state = Compilation(Options(target=parse_target("cuda:sm_90")), Source(text, "test"))
    compile_until(state, "gpu")
    first = next(launch for launch in state.launches if launch.applies(sizes))
    assert first.grid_at(sizes)[0] * first.block[0] == threads


def test_threads_along_indices_take_the_fewest_steps():
    """Of equal ways the one with most threads along the last index."""
    assert lanes_along((4096,), 32) == (32,)
    assert lanes_along((3, 256), 256) == (1, 256)
    assert lanes_along((64, 8), 256) == (32, 8)
    assert lanes_along((7, 50, 3), 64)[2] <= 4


def test_indices_have_32_bits_where_they_fit():
    """Neither symbols of sizes nor tensors of 2**31 elements leave it at that."""
    small = str(lowered("x: f32[1000, 999]; f[i, j] = x[i, j] * x[i, 0]", "ptx").code["ptx"])
    assert "rem.u64" not in small
    assert "mul.hi.u64" not in small
    assert "mul.hi" in small or "mul.wide" in small
    large = str(lowered("x: f32[50000, 50001]; f[i, j] = x[i, j] * x[i, 0]", "ptx").code["ptx"])
    assert "u64" in large.split(".entry")[1]
    assert (
        str(lowered("x: f32[N, M]; f[i, j] = x[i, j] * x[i, 0]", "ptx").code["ptx"]).count(".param .u64 ")
        >= 4
    )
