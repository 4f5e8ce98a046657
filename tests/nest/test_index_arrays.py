"""Nests whose forms hold elements of index arrays: text, proofs, meaning and code."""

from __future__ import annotations

import re
from collections.abc import Mapping

import numpy as np
import pytest

import tadc
from tadc.passes.maps.map import Fold, Map
from tadc.passes.nest.interpret import interpret
from tadc.passes.nest.nest import Kind, Nest
from tadc.passes.nest.nest_reader import read_nest
from tadc.passes.nest.nest_text import nest_text
from tadc.passes.nest.nest_verifier import verify
from tadc.passes.nest.primitives.apply import apply_steps
from tadc.passes.nest.primitives.rewriting import DoesNotFit
from tadc.passes.nest.steps import Bind, Fits, Scatter, Split, Step, Threads
from tadc.passes.schedule.choose import plan_alone
from tadc.passes.schedule.cpu_machine import CpuMachine
from tadc.passes.schedule.steps_of_plan import steps_of_plan
from tests.nest.compiled_nests import Array, compiled, map_of

MESSAGES = """
nest m(
    ptr: i32[N + 1] below E + 1 increasing, perm: i32[E] below E, other: i32[E] below M,
    w: f32[E], x: f32[M, C], out m: f32[N, C]
) {
    sizes N, M, E, C
    known N >= 0 and M >= 1 and E >= 0 and C >= 1
    for n = 0 to N {
        for c = 0 to C {
            %4 = sum q where ptr[n] <= q <= ptr[n + 1] - 1 {
                %0 = w[perm[q]]
                %1 = x[other[perm[q]], c]
                %2 = %0 * %1
                give %2
            }
            m[n, c] = %4
        }
    }
}
"""

ROWS = """
nest y(
    ptr: i32[N + 1] below E + 1 increasing, col: i32[E] below M, v: f32[E], x: f32[M], out y: f32[N]
) {
    sizes N, M, E
    known N >= 0 and M >= 1 and E >= 0
    for n = 0 to N {
        %3 = sum q where ptr[n] <= q <= ptr[n + 1] - 1 {
            %0 = v[q]
            %1 = x[col[q]]
            %2 = %0 * %1
            give %2
        }
        y[n] = %3
    }
}
"""

GUARDED = """
nest y(src: i32[E] below M, w: f32[E], x: f32[M], out y: f32[E]) {
    sizes E, M
    known E >= 0 and M >= 1
    for e = 0 to E {
        %5 = if e >= 2 and src[e - 2] >= 1 {
            %0 = x[src[e - 2] - 1]
            %1 = index(2*src[e] + e)
            %2 = %0 * %1
            give %2
        } else {
            %3 = w[E - 1 - e]
            give %3
        }
        y[e] = %5
    }
}
"""

NEIGHBOURS = """
nest y(
    ptr: i32[N + 1] below E + 1 increasing, nearest: i32[N] below N, col: i32[E] below M,
    x: f32[M], out y: f32[N]
) {
    sizes N, M, E
    known N >= 0 and M >= 1 and E >= 0
    for n = 0 to N {
        %3 = sum k, q where 0 <= k <= n and k >= n - 2 and ptr[nearest[k]] <= q <= ptr[nearest[k] + 1] - 1 {
            %0 = x[col[q]]
            give %0
        }
        y[n] = %3
    }
}
"""

BLOCKS = """
nest y(
    ptr: i32[4] below E + 1 increasing, at: i32[E] below 11, perm: i32[E] below E, v: f32[E], out y: f32[11]
) {
    sizes E
    known E >= 0
    for n = 0 to 11 {
        %2 = sum q where ptr[n // 4] <= q <= ptr[n // 4 + 1] - 1 and at[q] - n = 0 {
            %0 = v[perm[q]]
            %1 = %0 * %0
            give %1
        }
        y[n] = %2
    }
}
"""

NESTS = {"blocks": BLOCKS, "messages": MESSAGES, "rows": ROWS, "guarded": GUARDED, "neighbours": NEIGHBOURS}

SIZES = (
    {"N": 21, "M": 13, "E": 90, "C": 37},
    {"N": 5, "M": 1, "E": 0, "C": 3},
    {"N": 1, "M": 4, "E": 33, "C": 16},
)


def _arrays(nest: Nest, sizes: Mapping[str, int]) -> dict[str, Array]:
    random, found = np.random.default_rng(0), dict[str, Array]()
    for tensor in nest.tensors:
        shape = tuple(extent.evaluate(sizes) for extent in tensor.shape)
        if tensor.below is None:
            found[tensor.name] = random.uniform(-1, 1, shape).astype(np.float32)
        else:
            drawn = random.integers(0, max(tensor.below.evaluate(sizes), 1), shape).astype(np.int32)
            found[tensor.name] = np.sort(drawn) if tensor.increasing else drawn
    return {name: array for name, array in found.items() if name not in nest.computed}


def _by_hand(item: Map) -> list[tuple[Step, ...]]:
    """Copies and lanes of each index, whatever bounds it moves, and lanes of the reduction."""
    found: list[tuple[Step, ...]] = [()]
    for index in item.indices:
        split = Split(index, 4, "overlap", f"{index}_0", f"{index}_1")
        kinds: tuple[Kind, ...] = ("lane", "jam")
        found += [(split, Bind(kind, (f"{index}_1",)), Fits(((index, 4),))) for kind in kinds]
    folds = [let.value for let in item.body.lets if let.names[0] in ("%3", "%4")]
    for index in (fold.indices[-1] for fold in folds if isinstance(fold, Fold)):
        found.append((Split(index, 8, "clip", "outer", "lane"), Bind("lane", ("lane",))))
        parts = Split("inner", 4, "exact", "part", "lane")
        bound = Bind("jam", ("part",)), Bind("lane", ("lane",))
        found.append((Split(index, 8, "clip", "outer", "inner"), parts, *bound))
    return found


@pytest.mark.parametrize("text", NESTS.values(), ids=NESTS)
def test_text_reads_back(text: str) -> None:
    nest = read_nest(text)
    assert read_nest(nest_text(nest)) == nest
    assert not verify(nest)


@pytest.mark.parametrize("text", NESTS.values(), ids=NESTS)
def test_code_is_what_the_nest_means(text: str) -> None:
    """Of the plain nest, with lanes and copies of each index, and as it is scheduled."""
    nest = read_nest(text)
    item, function = map_of(nest)
    machine = CpuMachine(32, 16, 0)
    chosen = steps_of_plan(item, function, plan_alone(item, function, machine, {}), machine)
    for steps in (*_by_hand(item), chosen):
        made = apply_steps(nest, steps)
        assert not verify(made), nest_text(made)
        run = compiled(made)
        for sizes in SIZES:
            values = {name: sizes[name] for name in nest.sizes}
            whole = next(extent.evaluate(sizes) for extent in item.extents)
            values |= {name: {"begin": 0, "end": whole, "second": 0}[name] for name in made.ranges}
            arrays = _arrays(nest, sizes)
            expected = interpret(nest, arrays, {name: sizes[name] for name in nest.sizes}).results
            for name, array in run(arrays, values).items():
                np.testing.assert_allclose(
                    array, expected[name], rtol=1e-4, atol=1e-5, err_msg=nest_text(made)
                )


WRONG = {
    "beyond": (GUARDED.replace("e >= 2 and src[e - 2]", "e >= 1 and src[e - 2]"), "at least 0"),
    "the whole range": (ROWS.replace("ptr[n + 1] - 1 {", "ptr[n + 1] {"), "at most E - 1"),
    "through another": (MESSAGES.replace("other[perm[q]]", "perm[perm[q]]"), "at most M - 1"),
    "no index array": (ROWS.replace("x[col[q]]", "col[q]"), "is an index array"),
}


@pytest.mark.parametrize(("text", "message"), WRONG.values(), ids=WRONG)
def test_reads_out_of_range_are_found(text: str, message: str) -> None:
    found = verify(read_nest(text))
    assert found
    assert any(message in str(diagnostic.primary) for diagnostic in found), found


@pytest.mark.parametrize("ranges", [[(0, 11)], [(0, 4), (4, 11)], [(0, 8), (8, 11)]])
def test_summands_are_added_where_they_belong_in_their_order(ranges: list[tuple[int, int]]) -> None:
    """Also where entries of a block belong to none of its elements."""
    nest = read_nest(BLOCKS)
    scatter = Scatter("%2", "n", "n_block")
    plain, made = apply_steps(nest, [scatter]), apply_steps(nest, [Threads(("n",), (4,)), scatter])
    assert not verify(plain)
    assert not verify(made)
    assert read_nest(nest_text(made)) == made
    arrays = _arrays(nest, {"E": 90})
    expected = interpret(nest, arrays, {"E": 90}).results["y"]
    assert np.array_equal(interpret(plain, arrays, {"E": 90}).results["y"], expected)
    run = compiled(made)
    for begin, end in ranges:
        found = run(arrays, {"E": 90, "begin": begin, "end": end})["y"]
        np.testing.assert_allclose(found[begin:end], expected[begin:end], rtol=1e-6)
        assert np.isnan(np.delete(found, np.arange(begin, end))).all()


SCATTERED_WRONG = {
    "another value": (BLOCKS, Scatter("%0", "n", "b"), "`%0` is not all"),
    "no equality": (ROWS, Scatter("%3", "n", "b"), "no equality that tells `n`"),
    "two blocks": (BLOCKS.replace("n // 4 + 1", "n // 8 + 1"), Scatter("%2", "n", "b"), "no equality"),
    "a maximum": (BLOCKS.replace("sum q", "max q"), Scatter("%2", "n", "b"), "no equality"),
}


@pytest.mark.parametrize(("text", "step", "message"), SCATTERED_WRONG.values(), ids=SCATTERED_WRONG)
def test_what_cannot_be_scattered_is_refused(text: str, step: Step, message: str) -> None:
    with pytest.raises(DoesNotFit, match=message):
        apply_steps(read_nest(text), [step])


def test_ranges_begin_at_blocks() -> None:
    with pytest.raises(DoesNotFit, match="does not begin at a multiple of 4"):
        apply_steps(read_nest(BLOCKS), [Threads(("n",), (2,)), Scatter("%2", "n", "b")])


def test_what_an_index_array_says_is_asked_for_some_steps_before() -> None:
    """A large tensor whose elements are read from anywhere; beyond the array nothing is asked for."""
    text = ROWS.replace("N", "4").replace("M", "3000000").replace("E", "50")
    lines = [line for line in text.split("\n") if "sizes" not in line and "known" not in line]
    nest = read_nest("\n".join(lines))
    item, function = map_of(nest)
    machine = CpuMachine(0, 16, 0)
    steps = steps_of_plan(item, function, plan_alone(item, function, machine, {}), machine)
    made = apply_steps(nest, steps)
    assert "prefetch x[col[q + 32]]" in nest_text(made)
    assert not verify(made)
    arrays = _arrays(nest, {})
    expected = interpret(nest, arrays).results["y"]
    found = compiled(made)(arrays, {"begin": 0, "end": 4})["y"]
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("count", [2, 8])
def test_an_element_is_loaded_once_in_a_block(count: int) -> None:
    """Before anything cleans up: of chains of lookups in many reads MLIR would have to find what is equal."""

    def loads(reads: int) -> int:
        body = " * ".join(f"x{n}[p[p[i] + 1]]" for n in range(reads))
        given = "; ".join(f"x{n}: f64[N]" for n in range(reads))
        guarded = f"if {{p[i] <= N - 2}} then ({body}) else (0)"
        module = tadc.function(f"p: index[N] in N; {given}; f[i: N] = {guarded}").lower().module
        tadc.run_passes(module, "tad-to-loops")
        return len(re.findall(r"(?:load|gather)\b.*i32", str(module)))

    assert loads(count) == loads(1) > 0
