"""The boxes of tensors that a block of threads reads."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from tadc.lattice.affine import ZERO, Affine, Floor
from tadc.passes.maps.machine import Gpu
from tadc.passes.maps.map import Block
from tadc.passes.nest.vector_lanes import extreme


def spans_of(
    gpu: Gpu, forms: Sequence[Affine], ranges: Mapping[str, int], bytes_each: int
) -> tuple[tuple[int, int], ...] | None:
    """For each form how many values it takes, at which distance; None if their number varies.

    Rows that are longer than a sector are whole sectors: the next row then begins with one.
    """
    spans: list[tuple[int, int]] = []
    for form in forms:
        still = form - sum((Affine.var(name) * form.coefficient(name) for name in ranges), ZERO)
        if still.variables.isdisjoint(ranges):
            moves = [(abs(form.coefficient(name)), count - 1) for name, count in ranges.items()]
            step = math.gcd(*(k for k, _ in moves)) or 1
            spans.append((sum(k * most for k, most in moves) // step + 1, step))
            continue
        span = extreme(form, ranges, 1) - extreme(form, ranges, -1)
        most = span.constant if span.is_constant else most_between(form, ranges)
        if most is None:
            return None
        spans.append((most + 1, 1))
    whole = gpu.sector // bytes_each
    if spans and spans[-1][0] > whole and spans[-1][1] == 1:
        spans[-1] = (-(-spans[-1][0] // whole) * whole, 1)
    return tuple(spans)


def most_between(form: Affine, ranges: Mapping[str, int]) -> int | None:
    """The most by which values of a form differ, whatever it is moved by; None where that is not known.

    `(x + s) // d` is at most `ceil(s / d)` more than `x // d`.
    """
    most = 0
    for atom, k in form.terms:
        if isinstance(atom, str):
            most += abs(k) * (ranges.get(atom, 1) - 1)
        elif not atom.variables.isdisjoint(ranges):
            if not isinstance(atom, Floor):
                return None
            between = most_between(atom.numerator, ranges)
            if between is None:
                return None
            most += abs(k) * -(-between // atom.denominator)
    return most


def padded(gpu: Gpu, shape: Sequence[int], transposed: bool, aligned: int = 4) -> list[int]:
    """A shape whose rows are aligned for vectors; where they are transposed, or without vectors, they start
    in different banks."""
    if not shape:
        return []
    row = -(-shape[-1] // aligned) * aligned
    if (transposed or aligned == 1) and row % (gpu.banks if transposed else 2) == 0:
        row += aligned
    return [*shape[:-1], row]


def spans_inside(block: Block) -> dict[str, tuple[int, int]]:
    """For each index of the reductions in a block its first value, and the number of values, where rows of
    its own say both."""
    found: dict[str, tuple[int, int]] = {}
    for fold in block.folds():
        rows = [form for row in fold.rows for form in row.inequalities]
        for index in fold.indices:
            own = [form for form in rows if form.is_linear and form.variables == frozenset([index])]
            lower = [-(form.constant // k) for form in own if (k := form.coefficient(index)) > 0]
            upper = [form.constant // -k for form in own if (k := form.coefficient(index)) < 0]
            if lower and upper:
                found[index] = max(lower), max(min(upper) - max(lower) + 1, 1)
    return found


def row_major(flat: Affine, shape: Sequence[int]) -> list[Affine]:
    """The indices of a row-major position as forms, for extents that are known."""
    forms: list[Affine] = []
    stride = math.prod(shape)
    for size in shape:
        stride //= max(size, 1)
        index = flat.floordiv(max(stride, 1))
        forms.append(index.mod(max(size, 1)) if forms else index)
    return forms
