"""What is decided before a map is lowered, and that it does not change what is computed."""

from __future__ import annotations

import math

import numpy as np
import pytest

import tadc
from bench.random_programs import random_program
from tadc.api.execute import compile_program, evaluate
from tadc.backend.cpu import backend as cpu
from tadc.compiler.all_stages import compile_until
from tadc.compiler.compile_options import Options
from tadc.compiler.derive import derive
from tadc.compiler.stages import Compilation
from tadc.dialect.program_reader import tad_functions
from tadc.frontend.extents import shape_at
from tadc.frontend.source import Source
from tadc.passes.maps.map import MapFunction
from tadc.passes.maps.read_maps import read_maps
from tadc.passes.schedule.candidate import Candidate
from tadc.passes.schedule.cpu_machine import CpuMachine
from tadc.passes.schedule.plans import NestPlan, plan_of
from tadc.passes.schedule.work_counts import known_operations

WORTH = 1 << 18


def maps(text: str) -> MapFunction:
    """The maps of a program, as it is written."""
    state = Compilation(Options(), Source(text, "<test>"))
    compile_until(state, "tad")
    (function,) = tad_functions(state.module.operation)
    return read_maps(function)


def plan(text: str, registers: int = 32) -> NestPlan:
    """The plan of a program of one tensor, for the machine that most have."""
    function = maps(text)
    return plan_of(function.maps[0], function, CpuMachine(registers=registers, least_work=WORTH))


#: Programs, and the operations: a read, a step of a sum or arithmetic is one, `sin` ten.
COUNTED = {
    "no sum": ("x: f64[7, 5]\nf[i, j] = x[i, j] + 1", 7 * 5 * 3),
    "box": (
        "a: f64[9, 11]\nb: f64[11, 4]\nf[i, j] = sum{k} (a[i, k] * b[k, j])",
        9 * 4 * (11 * 4 + 1),
    ),
    "triangle": (
        "x: f64[500]\nf[i: 500] = sum{k}_0^i (x[k])",
        sum((i + 1) * 2 + 1 for i in range(500)),
    ),
    "rarely": (
        "x: f64[400]\nf[i: 400] = if {i < 100} then (sum{k: 400} (x[k])) else (0)",
        400 * 2 + 100 * 400 * 2,
    ),
    "two bounds": (
        "x: f64[300]\nf[i: 300] = sum{k}_(max [0; i - 40])^(min [299; i + 40]) (x[k])",
        sum((min(299, i + 40) - max(0, i - 40) + 1) * 2 + 1 for i in range(300)),
    ),
    "nothing": ("x: f64[0]\nf[i] = x[i]", 0),
}


@pytest.mark.parametrize(("text", "expected"), COUNTED.values(), ids=COUNTED)
def test_operations_of_a_map(text: str, expected: int) -> None:
    """Boxes are counted exactly, and the rest as if all were as in the middle."""
    function = maps(text)
    item, tensors = function.maps[0], function.tensors()
    found = known_operations(item, tensors)
    exact = not any(word in text for word in ("^i", "if", "max"))
    assert found == expected if exact else math.isclose(found, expected, rel_tol=0.2)


def test_rows_of_a_tile_fit_in_a_set_of_the_cache() -> None:
    """Rows a multiple of 4096 bytes apart would all be in one set, which holds eight lines."""

    def rows(size: int) -> int:
        text = f"u: f32[1030, {size}]\nv[i: 1024, j: 1000] = sum{{p: 5, q: 3}} (u[i + p, j + q])"
        tiling = plan(text).tiling
        assert tiling is not None
        return tiling.blocks.get("i", 1) + 4

    assert rows(1024) <= rows(2048) <= 8 < rows(1040)


def test_what_tiles_share_stays_in_the_cache() -> None:
    """Rows of 40 numbers end within lines, which the next tile along them reads again: copies along `b`, each
    with 40 rows of its own, are so few that these lines are in the first cache still."""
    text = "a: f32[2000, 40, 40]; x: f32[2000, 40]\ny[b, k] = sum{i} (a[b, i, k]*x[b, i])"
    tiling = plan(text).tiling
    assert tiling is not None
    assert tiling.lane == "k"
    assert 1 < tiling.blocks["b"] <= (32 << 10) // (40 * (64 + 32))


@pytest.mark.parametrize(("rows", "folds"), [(28, False), (1024, True)])
def test_lanes_along_sums_end_often_in_short_rows(rows: int, folds: bool) -> None:
    """Each row of 28 ends with a step under masks: lanes go along elements, and what they read is copied."""
    tiling = plan(
        f"d: f32[8, 8, 28, {rows}]; x: f32[8, 8, 30, {rows + 2}]\n"
        f"w[o, c, p: 3, q: 3] = sum{{n, i: 28, j: {rows}}} (d[n, o, i, j]*x[n, c, i + p, j + q])"
    ).tiling
    assert tiling is not None
    assert (tiling.fold is not None) == folds
    assert (tiling.packed is None) == folds


def test_small_maps_are_plain() -> None:
    """No copies, no vectors, no threads."""
    found = plan("x: f64[201]\nf[i: 400] = x[i // 2] * (if {i % 2 = 1} then (1) else (x[i % 3]))")
    assert found.is_plain
    assert not found.threads


def test_large_maps_are_tiled() -> None:
    """Vectors, and threads."""
    found = plan("a: f64[512, 512]\nb: f64[512, 512]\nf[i, j] = sum{k} (a[i, k] * b[k, j])")
    assert found.tiling is not None
    assert found.threads


def test_unknown_sizes_are_tiled() -> None:
    """A symbol may be large."""
    found = plan("x: f64[N]\nf[i] = sin(x[i])")
    assert found.work is None
    assert found.tiling is not None


def test_long_bodies_need_more_work() -> None:
    """The same elements with vectors where the body is short, without where it takes long to compile."""
    term = "sin(x[i, {0}] * x[i, {1}] + x[{0}, i])"
    assert plan("x: f64[40000]\nf[i] = sin(x[i] * x[i] + 1)").tiling is not None
    long = " + ".join(term.format(n, n + 1) for n in range(39))
    found = plan(f"x: f64[40, 40]\nf[i: 40, j: 14] = {long}")
    assert found.work is not None
    assert found.work > WORTH
    assert found.tiling is None


SEEDS = (4, 41, 91, 230, 246)


@pytest.mark.parametrize("seed", SEEDS)
def test_same_values(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs of which some maps are small and others too long agree with all of them in vectors."""
    derived = derive(tadc.function(random_program(seed)).program, "value-and-vjp")
    random = np.random.default_rng(seed)
    arrays = {a.name: random.uniform(-1, 1, shape_at(a.shape, {})) for a in derived.arguments}
    expected = evaluate(compile_program(derived), arrays)
    monkeypatch.setattr(cpu, "WORTH_VECTORS", WORTH)
    for name, value in evaluate(compile_program(derived), arrays).items():
        np.testing.assert_allclose(
            value, expected[name], rtol=1e-11, atol=1e-11 * np.abs(expected[name]).max()
        )


@pytest.mark.parametrize(
    ("text", "blocks"),
    [
        # 24 results, 4 vectors and what one of the rows reads.
        (
            "a: f32[960, 960]; b: f32[960, 960]\nf[i, j] = sum{k} (a[i, k] * b[k, j])",
            {"j": 4, "i": 6},
        ),
        # Nothing is computed twice in rows of 27.
        (
            """x: f32[1, 32, 56, 56]; w: f32[64, 32, 3, 3]
y[n, o, i: 27, j: 27] = sum{c, u, v} (x[n, c, 2*i + u, 2*j + v] * w[o, c, u, v])""",
            {"o": 2, "j": 9},
        ),
    ],
)
def test_tiles_that_fill_the_registers(text: str, blocks: dict[str, int]) -> None:
    tiling = plan(text).tiling
    assert tiling is not None
    assert tiling.blocks == blocks


@pytest.mark.parametrize("rows", [1, 300, 1000, 2048])
def test_more_code_than_is_worth_compiling(rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where twelve rows in vectors make a little too much code, fewer rows are in vectors, not none."""
    monkeypatch.setattr(cpu, "WORTH_VECTORS", WORTH)
    f = tadc.function(f"x: f32[{rows}, 512]\nm[i] = max{{k}} (x[i, k])")
    assert ("vector.load" in f.lower("cpu").as_text("loops")) == (rows >= 300)
    x = np.random.default_rng(rows).normal(size=(rows, 512)).astype("f4")
    np.testing.assert_array_equal(f(x), x.max(axis=1))


def test_fewer_copies() -> None:
    found = Candidate(16, "j", blocks={"i": 12, "j": 2})
    for share, count in ((0.96, 11), (0.5, 6), (0.01, 1)):
        assert found.smaller(share) == Candidate(16, "j", blocks={"i": count, "j": 2})
    assert Candidate(16, "j", blocks={"i": 1}).smaller(0.5) is None
    assert Candidate(16, "j").smaller(0.5) is None


#: Programs, and the order of their indices: what is near in memory stays inside, unless all is near anyway.
ORDERED = {
    "transposed": ("x: f32[192, 192, 192]\nf[i, j, k] = 2*x[k, j, i]", ("j", "i", "k")),
    "small": (
        "a: f32[40, 40]\nb: f32[40, 40]\nf[i: 1600, j: 1600] = a[i // 40, j // 40] * b[i % 40, j % 40]",
        ("i", "j"),
    ),
}


@pytest.mark.parametrize(("text", "order"), ORDERED.values(), ids=ORDERED)
def test_loop_order(text: str, order: tuple[str, ...]) -> None:
    tiling = plan(text).tiling
    assert tiling is not None
    assert tiling.order == order


@pytest.mark.parametrize(("steps", "copies"), [(2, False), (5, True)])
def test_sums_that_are_written_out_need_no_copies(steps: int, copies: bool) -> None:
    window = (
        f"max{{p: {steps}, q: {steps}}} (x[b, c, {steps}*(i // {steps}) + p, {steps}*(j // {steps}) + q])"
    )
    tiling = plan(f"x: f32[16, 64, 60, 60]\nf[b, c, i, j] = x[b, c, i, j] * {window}").tiling
    assert tiling is not None
    assert any(count > 1 for count in tiling.blocks.values()) == copies


@pytest.mark.parametrize(
    "text",
    [
        # A panel of columns would be around all rows, which are longer than a cache.
        "a: f64[792, 8]; b: f64[368, 8]; y[j: 368, i: 792] = sum{k: 8} ((a[i, k] - b[j, k])**2)",
        # A few elements of each row are a part of a line, which would come back for each of its parts.
        "a: f64[932, 977]; y[j: 976, i: 928] = max{k: 5, l: 2} (a[i + k, j + l])",
    ],
)
def test_results_beyond_a_cache_are_written_row_by_row(text: str) -> None:
    tiling = plan(text).tiling
    assert tiling is not None
    assert tiling.order == ("j", "i")


def test_the_innermost_index_keeps_its_parts_where_all_are_too_much_code() -> None:
    """An image that is interleaved of those of its residues is stored in vectors along its rows."""
    reads = (f"a[{n}, i // 2, j // 2]" for n in range(4))
    whens = ("i % 2 = 0 and j % 2 = 0", "i % 2 = 0", "j % 2 = 0", "")
    body = ""
    for when, read in reversed([*zip(whens, reads, strict=True)]):
        body = f"if {{{when}}} then ({read}) else ({body})" if when else read
    found = plan(f"a: f32[4, 200, 200]\nf[i: 400, j: 400] = {body}")
    assert [part.factor for part in found.parts] == [1, 2]
