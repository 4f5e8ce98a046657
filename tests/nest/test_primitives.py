"""Primitives on random nests: the same bits, the same accesses, in range.

Where a primitive says that it joins the elements of a sum in another order, values agree to rounding instead.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
import pytest

from tadc.lattice.affine import Affine, Constraint
from tadc.passes.maps.map import Fold, Load
from tadc.passes.nest.interpret import interpret
from tadc.passes.nest.nest import Nest
from tadc.passes.nest.nest_reader import read_nest
from tadc.passes.nest.nest_verifier import verify
from tadc.passes.nest.primitives.apply import apply_steps
from tadc.passes.nest.primitives.rewriting import DoesNotFit, loops_in
from tadc.passes.nest.steps import (
    Bind,
    Cut,
    Fits,
    Interleave,
    Peel,
    Prefetch,
    Reorder,
    Residues,
    Reverse,
    Shift,
    Split,
    StageRead,
    Step,
    Stream,
    Transpose,
)
from tests.nest.random_nests import Sample, assert_same, random_sample

SEEDS = range(14)

#: The steps of a primitive on a sample, chosen at random; none where it has nothing to do there.
Choose = Callable[[Sample, random.Random], list[Step]]


def _known(sample: Sample) -> list[tuple[str, int]]:
    """The indices of known extents of 2 or more."""
    pairs = zip(sample.map.indices, sample.map.extents, strict=True)
    return [(index, extent.constant) for index, extent in pairs if extent.is_constant and extent.constant > 1]


def _folds(sample: Sample) -> Iterator[tuple[str, Fold]]:
    """The reductions, with their names."""
    for let in sample.map.body.all_lets():
        if isinstance(let.value, Fold) and let.value.indices:
            yield let.names[0], let.value


def _split(sample: Sample, rng: random.Random) -> list[Step]:
    made: list[Step] = []
    for index, extent in _known(sample):
        factor = rng.randint(1, extent)
        tails = ["overlap", "rest", "clip", "again", *(["exact"] if extent % factor == 0 else [])]
        made.append(Split(index, factor, rng.choice(tails), f"{index}_a", f"{index}_b"))  # type: ignore[arg-type]
    return made


def _lockstep(sample: Sample, rng: random.Random) -> list[Step]:
    made: list[Step] = []
    for number, (index, extent) in enumerate(_known(sample)):
        factor = rng.randint(1, extent)
        inner = f"{index}_b"
        made.append(Split(index, factor, rng.choice(["overlap", "rest"]), f"{index}_a", inner))  # type: ignore[arg-type]
        if factor > 1:
            made.append(Bind("lane" if number == 0 else "jam", (inner,)))
    return made


def _peel(sample: Sample, rng: random.Random) -> list[Step]:
    made: list[Step] = []
    for index in sample.map.indices:
        low, high = rng.randint(0, 3), rng.randint(1, 5)
        rows = (Constraint(Affine.var(index) - low), Constraint(Affine.const(high) - Affine.var(index)))
        made.append(Peel(index, rows, rng.choice([1, 2]), 1, rng.random() < 0.5, rng.random() < 0.5))
    return made


def _peel_folds(sample: Sample, rng: random.Random) -> list[Step]:
    """Parts of the loops of reductions: under masks or not, split or not, and where an equality is met. Few
    reductions have any."""
    indices = [index for _, fold in _folds(sample) for index in fold.indices]
    for _ in range(12 if indices else 0):
        index, made = rng.choice(indices), _lockstep(sample, rng)
        if rng.random() < 0.4:
            made.append(Split(index, rng.randint(1, 4), "clip", "turn", "step"))
            index = "turn"
        rows = (Constraint(Affine.var(index) - rng.randint(0, 3), True),)
        parts = rng.sample([Peel(index, ()), Peel(index, rows), Shift(index)], rng.randint(1, 3))
        if _applied(sample, [*made, *parts]) is not None:
            return [*made, *parts]
    return []


def _residues(sample: Sample, rng: random.Random) -> list[Step]:
    found = _known(sample)
    if not found:
        return []
    index, _ = rng.choice(found)
    return [
        Peel(index, (), 2),
        Residues(index, 2, f"{index}_a", f"{index}_b"),
        Bind("unroll", (f"{index}_b",)),
    ]


def _reorder(sample: Sample, rng: random.Random) -> list[Step]:
    order = list(sample.map.indices)
    rng.shuffle(order)
    return [Reorder(tuple(order))] if order else []


def _reverse(sample: Sample, rng: random.Random) -> list[Step]:
    return [Reverse(rng.choice(sample.map.indices))] if sample.map.indices else []


def _stores(sample: Sample, rng: random.Random) -> list[Step]:
    streamed, found = Stream(tuple(tensor.name for tensor in sample.map.tensors)), _known(sample)[:1]
    return [streamed, *(step for i, _ in found for step in (Bind("unroll", (i,)), Interleave(i)))]


def _transposed(sample: Sample, rng: random.Random) -> list[Step]:
    loads = [let.names[0] for let in sample.map.body.all_lets() if isinstance(let.value, Load)]
    (index, _), *_ = _known(sample) or [("", 0)]
    tiles: list[Step] = [Split(index, 2, "rest", f"{index}_a", f"{index}_b"), Bind("jam", (f"{index}_b",))]
    return [*tiles, Transpose(rng.choice(loads), f"{index}_b")] if index and loads else []


def _prefetch(sample: Sample, rng: random.Random) -> list[Step]:
    loads = [inner.names[0] for _, fold in _folds(sample) for inner in fold.body.lets if inner.names]
    return [Prefetch(rng.choice(loads), rng.choice(["rows", "vectors"]))] if loads else []  # type: ignore[arg-type]


def _fits(sample: Sample, rng: random.Random) -> list[Step]:
    found = [(index, rng.randint(1, 4)) for index, size in _extents(sample) if not size.is_constant]
    return [Fits(tuple(found))] if found else []


def _extents(sample: Sample) -> list[tuple[str, Affine]]:
    return list(zip(sample.map.indices, sample.map.extents, strict=True))


EXACT: dict[str, Choose] = {
    "split": _split, "lockstep": _lockstep, "peel": _peel, "peel folds": _peel_folds, "residues": _residues,
    "reorder": _reorder, "reverse": _reverse, "stores": _stores, "transposed": _transposed,
    "prefetch": _prefetch, "fits": _fits,
}  # fmt: skip


def _applied(sample: Sample, steps: list[Step]) -> Nest | None:
    try:
        return apply_steps(sample.nest, steps)
    except DoesNotFit:
        return None


@pytest.mark.parametrize("name", EXACT)
def test_same_bits_and_accesses(name: str) -> None:
    """Each is taken on several nests: one that never fits would test nothing."""
    tried = 0
    for seed in range(60) if name == "peel folds" else SEEDS:
        sample = random_sample(seed)
        steps = EXACT[name](sample, random.Random(seed))
        made = _applied(sample, steps) if steps else None
        if made is not None:
            tried += 1
            # A tile that is moved back computes again what another one has.
            assert_same(sample, made, reads_more=name in ("split", "lockstep", "transposed", "peel folds"))
    assert tried >= 3


def _composed(sample: Sample, rng: random.Random) -> list[Step]:
    """Several steps one after the other, of which each may take the loops that those before it made."""
    loops, steps = list(sample.map.indices), list[Step]()
    for number in range(rng.randint(3, 6)):
        if not loops:
            break
        index, outer, inner = rng.choice(loops), f"a{number}", f"b{number}"
        rows = (Constraint(Affine.var(index) - rng.randint(0, 2)),)
        tail = rng.choice(["overlap", "rest", "clip", "guard", "again"])
        made: list[Step] = [
            Split(index, rng.randint(1, 4), tail, outer, inner),  # type: ignore[arg-type]
            Split(index, rng.randint(1, 4), "rest", outer, inner),
            Peel(index, rows, rng.choice([1, 2]), 1, rng.random() < 0.5, rng.random() < 0.5),
            Residues(index, 2, outer, inner),
            Reorder(tuple(rng.sample(loops, len(loops)))),
            Reverse(index),
            Bind(rng.choice(["jam", "lane", "unroll"]), (index,)),  # type: ignore[arg-type]
        ]
        step = rng.choice(made)
        if _applied(sample, [*steps, step]) is None:
            continue
        steps.append(step)
        if isinstance(step, Split | Residues):
            place = loops.index(index)
            loops[place : place + 1] = [outer, inner]
    return steps


def test_compositions_have_the_same_bits_or_are_refused() -> None:
    """Steps that fit one after the other give what is computed before, or a nest that is not right."""
    right = 0
    for seed in range(30):
        sample = random_sample(seed)
        steps = _composed(sample, random.Random(seed))
        made = _applied(sample, steps)
        if made is not None and not verify(made):
            right += len(steps) > 2
            assert_same(sample, made, reads_more=True)
    assert right >= 5


def test_lanes_of_a_reduction_agree_to_rounding() -> None:
    """The lanes are sums of their own, and so are copies, which are joined at the end."""
    tried = 0
    for seed in SEEDS:
        sample = random_sample(seed, type="f64")
        indices = [index for _, fold in _folds(sample) for index in fold.indices] or ["none"]
        split = [Split(indices[0], 8, "clip", "outer", "inner"), Split("inner", 4, "exact", "part", "lane")]
        bound = [Bind("jam", ("part",)), Bind("lane", ("lane",))]
        made = _applied(sample, [*split, *bound])
        if made is not None:
            tried += 1
            assert_same(sample, made, bits=False)
    assert tried >= 5


def test_threads_that_share_a_reduction_agree_to_rounding() -> None:
    """Each has a result for every so many values of each index, which are joined at the end."""
    tried = 0
    for seed in SEEDS:
        sample, rng = random_sample(seed, type="f64"), random.Random(seed)
        indices = next((fold.indices for _, fold in _folds(sample)), ())
        own = rng.sample(indices, rng.randint(1, len(indices))) if indices else ["none"]
        threads = [rng.choice([1, 2, 4]) for _ in own]
        splits = [Split(i, n, "clip", f"{i}.turn", f"{i}.own") for i, n in zip(own, threads, strict=True)]
        share = Bind("thread", tuple(f"{i}.own" for i in own), warp=rng.choice([0, 1, math.prod(threads)]))
        made = _applied(sample, [*splits, share])
        if made is not None:
            tried += 1
            assert_same(sample, made, bits=False)
    assert tried >= 5


def test_a_reduction_over_two_indices_in_the_place_of_one_has_the_same_bits() -> None:
    tried = 0
    for seed in SEEDS:
        sample, rng = random_sample(seed), random.Random(seed)
        indices = [index for _, fold in _folds(sample) for index in fold.indices]
        made = _applied(sample, [Split(rng.choice(indices), 3, "clip", "a", "b")]) if indices else None
        if made is not None:
            tried += 1
            assert_same(sample, made)
    assert tried >= 5


def test_indices_of_a_reduction_in_another_order_agree_to_rounding() -> None:
    """Steps that are far apart are one after the other, some of them written out together."""
    tried = 0
    for seed in SEEDS:
        sample, rng = random_sample(seed, type="f64"), random.Random(seed)
        indices = next((fold.indices for _, fold in _folds(sample)), ())
        index = indices[-1] if indices else "none"
        split = [Split(index, 8, "clip", "a", "b"), Split("b", 2, "exact", "far", "near")]
        order = [*indices[:-1], "a", "near", "far"]
        made = _applied(sample, [*split, Reorder(tuple(order)), Bind("unroll", ("far",), rng.choice([0, 2]))])
        if made is not None:
            tried += 1
            assert_same(sample, made, bits=False)
            kept = _applied(sample, [*split, Bind("unroll", ("near",))])
            assert kept is not None
            assert_same(sample, kept)
    assert tried >= 5


def test_what_threads_copy_first_is_the_same_bits() -> None:
    tried = 0
    for seed in range(3 * len(SEEDS)):
        sample, rng = random_sample(seed), random.Random(seed)
        reads = [(fold, let.names[0]) for _, fold in _folds(sample) for let in fold.body.lets
                 if isinstance(let.value, Load)]  # fmt: skip
        if not reads or not sample.map.indices:
            continue
        fold, read = rng.choice(reads)
        split = Split(fold.indices[-1], 4, "clip", "a", "b")
        steps = [Bind("thread", sample.map.indices[-1:]), split, StageRead(read, "a", fill="threads")]
        made = _applied(sample, steps)
        if made is not None:
            tried += 1
            assert_same(sample, made, reads_more=True)
    assert tried >= 3


PRODUCT = """nest c(a: f32[{n}, {k}], b: f32[{k}, {m}], out c: f32[{n}, {m}]) {{
    for i = 0 to {n} {{
        for j = 0 to {m} {{
            %3 = sum k where 0 <= k <= {k} - 1 {{
                %1 = a[i, k]
                %2 = b[k, j]
                %4 = %1 * %2
                give %4
            }}
            c[i, j] = %3
        }}
    }}
}}
"""


@pytest.mark.parametrize("fill", ["vectors", "gather"])
@pytest.mark.parametrize("cut", [False, True])
def test_panels_of_a_product(fill: str, cut: bool) -> None:
    """What the lanes of a tile read is copied once, for each block of the sum where it runs in blocks."""
    nest = read_nest(PRODUCT.format(n=5, k=7, m=9))
    steps: list[Step] = [Split("j", 4, "overlap", "j0", "j1"), Split("i", 2, "rest", "i0", "i1")]
    steps += [Cut("%3", "k", 3, "k0")] if cut else []
    steps += [Reorder(("j0", *(("k0",) if cut else ()), "i0", "i1", "j1")), Bind("jam", ("i1",))]
    steps += [Bind("lane", ("j1",)), StageRead("%2", "k0" if cut else "j0", ("k", "j1"), fill)]  # type: ignore[arg-type]
    made = apply_steps(nest, steps)
    assert verify(made) == []
    numbers = np.random.default_rng(0)
    a, b = (numbers.uniform(-1, 1, shape).astype("f4") for shape in ((5, 7), (7, 9)))
    found = interpret(made, {"a": a, "b": b}, {})
    np.testing.assert_allclose(found.results["c"], a @ b, rtol=1e-5, atol=1e-6)


def test_a_loop_sinks_into_what_is_around_others() -> None:
    """Rests of groups are loops without a name in the order; one that is in them is outside all the same."""
    text = """nest y(x: f64[8, 18, 18], out y: f64[8, 16, 16]) {
        for n = 0 to 8 {
            for u = 0 to 16 {
                for v = 0 to 16 {
                    %0 = x[n, u + 1, v + 2]
                    y[n, u, v] = %0
                }
            }
        }
    }"""
    rows = [
        tuple(Constraint(form) for form in (Affine.var(name) - 2, 12 - Affine.var(name))) for name in "uv"
    ]
    steps = [
        *(Peel(name, row, 2, all=True) for name, row in zip("uv", rows, strict=True)),
        *(Residues(name, 2, f"{name}0", f"{name}1") for name in "uv"),
        Split("n", 4, "exact", "n0", "n1"),
        Reorder(("n0", "u0", "u1", "v0", "v1", "n1")),
    ]
    made = apply_steps(read_nest(text), steps)
    inner = [loop for loop in loops_in(made.body) if loop.index == "n1"]
    assert inner
    assert not any(each.index in ("v0", "v1") for loop in inner for each in loops_in(loop.body))
    x = np.random.default_rng(0).standard_normal((8, 18, 18))
    np.testing.assert_array_equal(interpret(made, {"x": x}).results["y"], x[:, 1:17, 2:18])


def test_a_step_that_does_not_fit_says_why() -> None:
    sample = random_sample(3, rank=2, type="f32")
    with pytest.raises(DoesNotFit, match="there is no loop `nowhere`"):
        apply_steps(sample.nest, [Split("nowhere", 2, "overlap", "a", "b")])
    first = sample.map.indices[0]
    with pytest.raises(DoesNotFit, match="is taken"):
        apply_steps(sample.nest, [Split(first, 2, "overlap", first, "b")])
    wider = replace(sample.nest, ranges=("other",))
    with pytest.raises(DoesNotFit):
        apply_steps(wider, [Split(first, 2, "overlap", "other", "b")])
