"""The primitive on two indices that are one: over all pairs of values, in the order of memory.

    for i = 0 to N:                  for ij = 0 to 3*N:
        for j = 0 to 3:                  z[ij] = exp(x[ij])
            z[i, j] = exp(x[i, j])

Where `j` takes E values, what is read and stored depends on E*i + j alone, so tensors are seen with one
dimension for two: the same elements in the same order.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from tadc.lattice.affine import ZERO, Affine, Constraint
from tadc.lattice.late_dataclasses import dataclass, replace
from tadc.passes.maps.blocks import Renaming, forms_of
from tadc.passes.maps.map import Block, Fold, TensorDecl
from tadc.passes.nest.nest import Compute, For, Nest
from tadc.passes.nest.primitives import rewriting as rw
from tadc.passes.nest.primitives.rewriting import DoesNotFit
from tadc.passes.nest.steps import Join


def join(nest: Nest, step: Join) -> Nest:
    """One loop in the place of two that are directly in each other, or one index of a reduction for two that
    follow each other: all values of both from 0 on, in the same order."""
    rw.check_new(nest, step.joint)
    of_map = any(loop.index == step.first for loop in rw.loops_in(nest.body))
    nest, extent = _one_loop(nest, step) if of_map else _one_index(nest, step)
    joint = _Joint(step.first, step.second, extent, Affine.var(step.joint))
    merged = {tensor.name: _dimension(tensor, nest, joint) for tensor in nest.tensors}
    tensors = {tensor.name: tensor for tensor in nest.tensors}

    def place(tensor: str, at: tuple[Affine, ...]) -> tuple[str, tuple[Affine, ...]]:
        n = merged[tensor]
        if n is not None:
            at = (*at[:n], joint.element(at[n], at[n + 1], tensors[tensor].shape[n + 1]), *at[n + 2 :])
        return tensor, tuple(map(joint.form, at))

    def renamed(compute: Compute) -> Compute:
        return replace(compute, block=joint.renaming(compute.block).block(compute.block))

    made = tuple(_seen(tensor, merged[tensor.name]) for tensor in nest.tensors)
    body = rw.rewrite_computes(rw.with_places(nest.body, place), renamed)
    return replace(nest, tensors=made, body=body)


def _one_loop(nest: Nest, step: Join) -> tuple[Nest, Affine]:
    """The loops over two indices of a map as one, around the same body; how many values the second has."""
    inner: list[Affine] = []

    def joined(loop: For) -> tuple[For, ...]:
        inside = loop.body[0]
        if len(loop.body) != 1 or not isinstance(inside, For) or inside.index != step.second:
            raise DoesNotFit(f"`{step.second}` is not the loop directly in `{step.first}`")
        if not (_is_plain(loop) and _is_plain(inside)):
            raise DoesNotFit("loops are joined before anything else is done with them")
        inner.append(_stop(inside))
        return (replace(inside, index=step.joint, stop=times(_stop(loop), _stop(inside))),)

    return rw.with_loops(nest, step.first, joined), inner[0]


def _one_index(nest: Nest, step: Join) -> tuple[Nest, Affine]:
    """Two indices of a reduction as one, and the number of values of the second."""
    inner: list[Affine] = []

    def joined(fold: Fold) -> Fold:
        if step.first not in fold.indices:
            return fold
        n = fold.indices.index(step.first)
        if fold.indices[n + 1 : n + 2] != (step.second,):
            raise DoesNotFit(f"`{step.second}` is not the index after `{step.first}`")
        extent = _count(fold, step.second)
        inner.append(extent)
        rows = tuple(
            _joint_row(row, step, extent) for row in fold.rows if step.second not in row.form.variables
        )
        indices = (*fold.indices[:n], step.joint, *fold.indices[n + 2 :])
        return fold.over(indices, rows, fold.body)

    made = replace(nest, body=rw.rewrite_folds(nest.body, joined))
    if not inner:
        raise DoesNotFit(f"there is no loop `{step.first}`")
    return made, inner[0]


def _count(fold: Fold, index: str) -> Affine:
    """How many values an index of a reduction takes, from 0 on, whatever the others are."""
    value = Affine.var(index)
    rows = [row for row in fold.rows if index in row.form.variables]
    last = [row.form + value for row in rows if row.form != value]
    apart = len(rows) == 2 and len(last) == 1 and not any(row.equality for row in rows)
    if not apart or not last[0].variables.isdisjoint(fold.indices):
        raise DoesNotFit(f"`{index}` does not take all values from 0 on")
    return last[0] + 1


def _joint_row(row: Constraint, step: Join, extent: Affine) -> Constraint:
    """A bound of the first index as one of the joint index, where the second takes so many values."""
    if step.first not in row.form.variables:
        return row
    sign = row.form.coefficient(step.first)
    rest = row.form - Affine.var(step.first) * sign
    if row.equality or abs(sign) != 1 or step.first in rest.variables:
        raise DoesNotFit(f"{row} is no bound of `{step.first}`")
    # i >= L where E*i + j >= E*L; i <= L where E*i + j <= E*L + E - 1.
    return Constraint(Affine.var(step.joint) * sign + times(rest, extent) + (extent - 1 if sign < 0 else 0))


def times(a: Affine, b: Affine) -> Affine:
    """The product of forms of which one is a number. Raises DoesNotFit for others."""
    if a.is_constant:
        return b * a.constant
    if b.is_constant:
        return a * b.constant
    raise DoesNotFit(f"({a})*({b}) is no form of sizes")


@dataclass(frozen=True)
class _Joint:
    """Two indices, how many values the second takes, and the index in their place."""

    first: str
    second: str
    extent: Affine
    index: Affine

    def form(self, form: Affine) -> Affine:
        """A form of both as one of the joint index. Raises DoesNotFit."""
        if form.variables.isdisjoint((self.first, self.second)):
            return form
        each = form.coefficient(self.second)
        rest = form - Affine.var(self.first) * form.coefficient(self.first) - Affine.var(self.second) * each
        fits = self.extent.is_constant and form.coefficient(self.first) == each * self.extent.constant
        if not fits or not rest.variables.isdisjoint((self.first, self.second)):
            raise DoesNotFit(f"{form} is no form of `{self.first}` and `{self.second}` as one index")
        return rest + self.index * each

    def element(self, at: Affine, inner: Affine, extent: Affine) -> Affine:
        """The place in two dimensions as one, of which the second has this extent."""
        offset = at - Affine.var(self.first)
        if extent == self.extent and offset.is_constant and inner == Affine.var(self.second):
            return self.index + extent * offset.constant
        if not extent.is_constant:
            raise DoesNotFit(
                f"[{at}, {inner}] is no place in the order of `{self.first}` and `{self.second}`"
            )
        return at * extent.constant + inner

    def renaming(self, block: Block) -> Renaming:
        """What makes forms of a block those of the joint index."""
        found = {form: self.form(form) for form in forms_of(block)}
        return Renaming(forms={self.first: self.index}, found=found)


def _is_plain(loop: For) -> bool:
    return (loop.start, loop.step, loop.kind, loop.reach) == (ZERO, 1, "seq", None)


def _stop(loop: For) -> Affine:
    if not isinstance(loop.stop, Affine):
        raise DoesNotFit(f"the loop `{loop.index}` has no known number of values")
    return loop.stop


def _places(tensor: str, nest: Nest) -> Iterator[tuple[Affine, ...]]:
    """Where a tensor is read and written."""
    for compute in rw.computes_in(nest.body):
        for access in (*compute.block.loads(), *compute.stores):
            if access.tensor == tensor:
                yield access.at


def _dimension(tensor: TensorDecl, nest: Nest, joint: _Joint) -> int | None:
    """The dimension of a tensor that is seen as one with the next; None where all are as they are."""
    for at in _places(tensor.name, nest):
        for n, (outer, inner) in enumerate(pairwise(at)):
            if joint.first in outer.variables and joint.second in inner.variables:
                return n
    return None


def _seen(tensor: TensorDecl, dimension: int | None) -> TensorDecl:
    """A tensor with one dimension for two."""
    if dimension is None:
        return tensor
    shape = tensor.shape
    merged = times(shape[dimension], shape[dimension + 1])
    return replace(tensor, shape=(*shape[:dimension], merged, *shape[dimension + 2 :]))
