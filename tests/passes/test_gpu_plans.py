"""Which tiles maps get on a GPU, and which of them are fused there; no code is made."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tadc.compiler.all_stages import compile_until
from tadc.compiler.stages import Compilation, Options
from tadc.dialect.program_reader import tad_functions
from tadc.frontend.source import Source
from tadc.lattice.affine import Affine
from tadc.passes.gpu.schedule import Variant, tiles_of
from tadc.passes.gpu.thread_fusion import FusedCost
from tadc.passes.gpu.tiles import GpuTile, of_thread
from tadc.passes.maps.fuse import fused
from tadc.passes.maps.machine import gpu_of
from tadc.passes.maps.map import Fold, Load, Map, MapFunction
from tadc.passes.maps.read_maps import read_maps
from tadc.passes.maps.size_tests import SizeTest
from tadc.passes.nest.primitives.boxes import most_between, spans_of
from tadc.passes.where import Where
from tests.nest.programs import maps_of_program

GPU = gpu_of("sm_90")
N, M = Affine.var("N"), Affine.var("M")


def chosen(text: str) -> tuple[Map, list[Variant]]:
    """The one map of a program, and its tiles."""
    function = maps_of_program(text, "value")
    (item,) = function.maps
    return item, tiles_of(GPU, item, function)[1]


def names_of(item: Map, kind: type[Fold | Load]) -> list[str]:
    """The first names of the folds or the loads of a map."""
    return [let.names[0] for let in item.body.all_lets() if isinstance(let.value, kind)]


def only(variants: list[Variant]) -> GpuTile:
    """The tile of a map that has one, for all sizes."""
    ((tile, when),) = variants
    assert not when
    return tile


def test_both_factors_of_a_product_go_through_shared_memory() -> None:
    """A tile has the names of the fold and of the loads."""
    text = "a: f32[2048, 2048]; b: f32[2048, 2048]; c[i, j] = sum{k} (a[i, k] * b[k, j])"
    item, variants = chosen(text)
    tile = only(variants)
    assert tile.outer == "block"
    assert [tile.over] == names_of(item, Fold)
    assert tile.staged == frozenset(names_of(item, Load))


@pytest.mark.parametrize("exponent", [1, 2])
def test_few_long_sums_have_a_block_each(exponent: int) -> None:
    """The threads along each index of a fold are by its name."""
    item, variants = chosen(f"x: f32[150, 10000]; s[i] = sum{{j}} (x[i, j]**{exponent})")
    tile = only(variants)
    assert tile.outer == "grid"
    (fold,) = names_of(item, Fold)
    assert tile.lanes == {fold: (tile.size,)}
    assert tile.size > GPU.warp


def test_only_what_is_read_across_is_copied() -> None:
    """Of two loads the transposed one."""
    item, variants = chosen("x: f32[2000, 2000]; y[i, j] = 2 * x[j, i] + x[i, j]")
    tile = only(variants)
    assert tile.outer == "block"
    assert tile.over is None
    (across,) = (
        let.names[0]
        for let in item.body.lets
        if isinstance(let.value, Load) and let.value.at == tuple(map(Affine.var, reversed(item.indices)))
    )
    assert tile.staged == {across}


def test_conditions_are_over_sizes() -> None:
    """A block an element for few long sums, a warp for others, and a thread for short ones."""
    _, variants = chosen("x: f32[N, M]; s[i] = sum{j} (x[i, j])")
    block, warp, thread = variants
    sizes = [tile.size for tile, _ in (block, warp, thread) if tile.outer == "grid"]
    assert sizes == [256, sizes[1], 1]
    assert 1 < sizes[1] <= GPU.warp
    assert [test.extents for test in block[1]] == [(N,), (M,)]
    assert warp[1] == (SizeTest((M,), least=64),)
    assert not thread[1]


def test_elements_in_the_order_of_memory_need_no_index() -> None:
    """Reads at the own place of tensors of the same shape alone."""
    item, variants = chosen("x: f32[N, M]; y[i, j] = exp(x[i, j])")
    assert only(variants) == replace(of_thread(item.indices, {}, 4), flat=True)
    _, variants = chosen("x: f32[N, M]; y[i, j] = x[i, j] + i")
    assert not any(tile.flat for tile, _ in variants)


def unfused(text: str) -> MapFunction:
    """The maps of a program, none of them fused."""
    state = Compilation(Options(), Source(text, "<test>"))
    compile_until(state, "hoist")
    (function,) = tad_functions(state.module.operation)
    return read_maps(function)


def test_maps_are_fused_where_a_launch_and_loads_are_saved() -> None:
    """Their costs are asked for as data."""
    maps = unfused("x: f32[4096]; a[i] = exp(x[i]) + 1; b[i] = exp(x[i]) * x[i]; c[i] = a[i] * b[i]")
    assert len(maps.maps) > 1
    assert len(fused(maps, FusedCost(GPU), Where()).maps) == 1


def test_the_whole_may_cost_what_its_parts_do_and_no_more() -> None:
    """The cost of a known map has that of a launch, so two small ones cost more than one."""
    maps = unfused("x: f32[64]; a[i] = 2 * x[i]; b[i] = 3 * x[i]")
    machine = FusedCost(GPU)
    first, second = (machine.cost(item, maps) for item in maps.maps)
    assert machine.pays(first, [first, second])
    assert machine.pays((first[0] + second[0], 0), [first, second])
    assert not machine.pays((first[0] + second[0] + 1, 0), [first, second])


def test_a_box_has_no_elements_between_strides() -> None:
    """Also where it begins at a quotient of what all threads have in common."""
    step, first = Affine.var("step"), Affine.var("x").floordiv(2)
    assert spans_of(gpu_of("sm_90"), [first * 2 - step * 2], {"step": 8}, 8) == ((8, 2),)
    assert spans_of(gpu_of("sm_90"), [(step + 1).floordiv(2)], {"step": 8}, 8) == ((8, 1),)


def test_a_box_holds_all_that_is_read_wherever_a_loop_stands() -> None:
    """Of `k + j - (k + j) // 2` for 8 values of k, how many there are depends on j: the most are taken."""
    step, base = Affine.var("step"), Affine.var("base")
    form = 3 * (step + base) - 2 * (step + base).floordiv(3) + Affine.var("other")
    (span,) = spans_of(gpu_of("sm_90"), [form], {"step": 5}, 8) or [(0, 0)]
    values = [[3 * (s + b) - 2 * ((s + b) // 3) for s in range(5)] for b in range(12)]
    lowest = [3 * b - 2 * ((4 + b) // 3) for b in range(12)]  # each term at its least
    assert span[0] - 1 >= max(max(each) - low for each, low in zip(values, lowest, strict=True))
    assert span[1] == 1
    names = {"k": 4, "l": 3}
    moved = Affine.var("k") + 2 * Affine.var("l") + base
    assert most_between(moved.floordiv(2), names) == 4
    assert most_between(base.floordiv(2), names) == 0
