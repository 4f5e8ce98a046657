"""Maps that complete another in its memory, on the thin set that a guard of theirs has (`maps/thin_sets.py`).

An equation of the set gives one index by the others: a thread has the point of one value of these.
"""

from __future__ import annotations

import math
from typing import Any

from tadc.lattice.affine import Affine, Constraint
from tadc.passes.cpu.in_place import thin_set
from tadc.passes.gpu.kernel import Kernel
from tadc.passes.gpu.positions import unravel
from tadc.passes.maps.lower_body import box_rows
from tadc.passes.maps.tile_values import Tile


def emit_thin(kernel: Kernel, block: int, point: Any) -> tuple[Affine, ...]:
    """Compute the elements of the set; the extents of the indices that threads have. Sizes are known."""
    rows, sizes = thin_set(kernel.op), kernel.sizes
    form = next(row.form for row in rows if row.equality and any(abs(k) == 1 for _, k in row.form.terms))
    solved = next(atom for atom, k in form.terms if abs(k) == 1 and isinstance(atom, str))
    k = form.coefficient(solved)
    own = [n for n in range(len(sizes)) if f"d{n}" != solved]
    extents = tuple(sizes[n] for n in own)
    low = kernel.low
    thread, first = kernel.register("gpu.thread_id"), kernel.register("gpu.block_id") * block
    flat = kernel.named(low.affine([first + thread], point))
    total = math.prod(extent.constant for extent in extents)

    def element(inside: Any) -> None:
        places = unravel(flat, extents, kernel.low, inside)
        forms = {f"d{n}": place for n, place in zip(own, places, strict=True)}
        forms[solved] = ((form - Affine.var(solved) * k) * -k).substitute(forms)
        at = [forms[f"d{n}"] for n in range(len(sizes))]
        stored = tuple(
            Constraint(row.form.substitute(forms), row.equality) for row in (*rows, *box_rows_of(sizes))
        )

        def store(there: Any) -> None:
            made = kernel.values(kernel.body(at, Tile(1)), at, (), there)
            kernel.store(made, at, (), 1, there)

        kernel.where(stored, store, inside)

    kernel.where((Constraint(total - 1 - flat),), element, point)
    return extents


def box_rows_of(sizes: tuple[Affine, ...]) -> tuple[Constraint, ...]:
    """That the indices `d0, d1, …` of a map are within its extents."""
    return box_rows([Affine.var(f"d{n}") for n in range(len(sizes))], sizes)
