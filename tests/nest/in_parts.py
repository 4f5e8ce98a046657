"""Runs the nests that schedules make as threads do, range by range, and compares them with plain ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tadc.passes.maps.map import Map, TensorDecl
from tadc.passes.nest.interpret import Run, interpret
from tadc.passes.nest.nest import Nest
from tadc.passes.nest.nest_text import nest_text
from tadc.passes.nest.steps import Bind, Cut, Join, Reorder, Residues, Rows, Split, Step, Threads

Arrays = dict[str, NDArray[np.generic]]
Sizes = Mapping[str, int]


def random_arrays(tensors: Sequence[TensorDecl], sizes: Sizes) -> Arrays:
    """Numbers from 1/2 to 3/2."""
    numbers, found = np.random.default_rng(0), Arrays()
    for tensor in tensors:
        shape = tuple(extent.evaluate(sizes) for extent in tensor.shape)
        dtype = {"f32": np.float32, "f64": np.float64}[tensor.type]
        found[tensor.name] = numbers.uniform(0.5, 1.5, shape).astype(dtype)
    return found


def as_seen(nest: Nest, arrays: Mapping[str, NDArray[Any]], sizes: Sizes) -> dict[str, NDArray[Any]]:
    """The arrays in the shapes in which a nest sees them, where indices are joined."""
    shapes = {t.name: tuple(extent.evaluate(sizes) for extent in t.shape) for t in nest.tensors}
    return {name: array.reshape(shapes[name]) for name, array in arrays.items() if name in shapes}


def assert_same_in_parts(
    plain: Nest,
    nest: Nest,
    steps: Sequence[Step],
    item: Map,
    arrays: Arrays,
    sizes: Sizes,
    *,
    reads_more: bool,
) -> Arrays:
    """That the nest which steps made of a map's plain one reads, writes and computes the same; the results.

    Steps that join sums in another order give the same but for rounding. One that stages a box around what
    is read may read more.
    """
    own = _loops(item, steps)
    exact = not any(
        isinstance(step, Cut) or (isinstance(step, Bind | Reorder) and not own.issuperset(step.indices))
        for step in steps
    )
    expected = interpret(plain, arrays, sizes)
    shown = f"{nest_text(plain)}\n{nest_text(nest)}\nat {sizes}"
    for found in _runs(nest, steps, item, arrays, sizes):
        assert set(found.writes) == set(expected.writes), shown
        assert set(found.reads) >= set(expected.reads), shown
        assert reads_more or set(found.reads) == set(expected.reads), shown
        for name, array in expected.results.items():
            found.results[name] = found.results[name].reshape(array.shape)
            if exact:
                assert found.results[name].tobytes() == array.tobytes(), shown
            else:
                np.testing.assert_allclose(found.results[name], array, rtol=1e-4, atol=1e-5, err_msg=shown)
    return expected.results


def _loops(item: Map, steps: Sequence[Step]) -> set[str]:
    """The loops that the indices of a map become, those of its reductions not among them."""
    found = set(item.indices)
    for step in steps:
        match step:
            case Split(index=index, outer=outer, inner=inner) if index in found:
                found |= {outer, inner}
            case Residues(index=index, outer=outer, inner=inner) if index in found:
                found |= {outer, inner}
            case Join(first=first, joint=joint) if first in found:
                found.add(joint)
            case _:
                pass
    return found


def _runs(nest: Nest, steps: Sequence[Step], item: Map, arrays: Arrays, sizes: Sizes) -> Iterator[Run]:
    """What a nest computes; in two ranges of each index that may be divided."""
    arrays = as_seen(nest, arrays, sizes)
    extents = {name: size.evaluate(sizes) for name, size in zip(item.indices, item.extents, strict=True)}
    for join in (step for step in steps if isinstance(step, Join)):
        if join.first in extents:
            extents[join.joint] = extents[join.first] * extents[join.second]
    step = next((step for step in steps if isinstance(step, Threads | Rows)), None)
    if step is None:
        yield interpret(nest, arrays, sizes)
        return
    pairs = [(step.index, step.count)] if isinstance(step, Rows) else list(zip(step.indices, step.grains))
    is_cut = any(isinstance(other, Cut) for other in steps)
    for second, (index, grain) in enumerate(pairs):
        size = extents[index]
        # Between blocks of a reduction, the last range takes what is left too.
        middle = (size // grain * grain if is_cut else size) // 2 // grain * grain
        parts = [(0, middle), (middle, size)] if middle else [(0, size)]
        given = {**sizes, **({"second": second} if len(pairs) > 1 else {})}
        yield _joined([interpret(nest, arrays, {**given, "begin": a, "end": b}) for a, b in parts])


def _joined(runs: Sequence[Run]) -> Run:
    """What several runs computed and accessed, as one."""
    first, *others = runs
    for other in others:
        for name, array in other.results.items():
            written = [number for tensor, number in other.writes if tensor == name]
            first.results[name].flat[written] = array.flat[written]
        first.reads.update(other.reads)
        first.writes.update(other.writes)
    return first
