"""What a map reads of the rows that it computes, and elsewhere.

A row is all elements of one value of the first index, or of the first few.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from tadc.lattice.affine import Affine, Lookup
from tadc.lattice.late_dataclasses import dataclass, field
from tadc.passes.maps.blocks import blocks_of
from tadc.passes.maps.keyed_sums import keyed_map
from tadc.passes.maps.map import Block, Load, Map, TensorDecl
from tadc.passes.terms.costs import ELEMENT

Forms = tuple[Affine, ...]


@dataclass(eq=False)
class RowReads:
    """The tensors that a map reads, those `near` in its own row alone, others `far`: at these subscripts too,
    over `?0, ?1, …` for the map's own indices.

    `tensors` are those of the function, whose extents are numbers. What stands in values that it is `without`
    comes later. Of a sum over rows, `row` is the index that is the row.

    What index arrays say that a row reads is near if it `gathers`: a tensor by a name of its own, in
    `gathered`, the same for all maps that read by the same index arrays.
    """

    item: Map
    tensors: Mapping[str, TensorDecl]
    depth: int = 1
    row: str = ""
    without: frozenset[str] = frozenset()
    gathers: bool = False
    gathered: dict[str, TensorDecl] = field(default_factory=dict[str, TensorDecl])
    near: set[str] = field(default_factory=set[str])
    far: dict[str, list[Forms]] = field(default_factory=dict[str, list[Forms]])

    def __post_init__(self) -> None:
        own = "?o" if self.row else "?"
        forms = {name: Affine.var(f"{own}{n}") for n, name in enumerate(self.item.indices)}
        if self.row:
            forms[self.row] = Affine.var("?0")
        rows = tuple(Affine.var(f"?{n}") for n in range(self.depth))
        for load in _loads(self.item.body, self.without):
            at = tuple(form.substitute(forms) for form in load.at)
            if at[: self.depth] == rows:
                self.near.add(load.tensor)
                continue
            elsewhere = self.far.setdefault(load.tensor, [])
            found = _gathered(load.tensor, at, self.tensors) if self.gathers and self.depth == 1 else None
            if found is None:
                elsewhere.append(at)
            else:
                self.gathered[found.name] = found
                self.near.add(found.name)
        self.read_in_row = frozenset(self.near)
        self.near -= self.far.keys()
        self.reads = self.near | self.far.keys()
        self.made = set(self.item.names)

    @property
    def again(self) -> int:
        """About how many bytes are read for each few rows anew."""
        tensors = ((self.tensors[name], found) for name, found in self.far.items() if found)
        return sum(max(_distinct(tensor, at) for at in found) for tensor, found in tensors)


def has_rows(item: Map) -> bool:
    """Whether a map can run over some of its rows."""
    marks = item.marks
    is_own = marks.parts or marks.kept or marks.in_place or marks.chain is not None or item.order is not None
    return not is_own and bool(item.extents) and keyed_map(item) is None


def _loads(block: Block, without: frozenset[str]) -> Iterator[Load]:
    """The loads in a block, but for those in some values."""
    for let in block.lets:
        if isinstance(let.value, Load):
            yield let.value
        if without.isdisjoint(let.names):
            for inner in blocks_of(let.value):
                yield from _loads(inner, without)


def _gathered(name: str, at: Forms, tensors: Mapping[str, TensorDecl]) -> TensorDecl | None:
    """What index arrays say that rows read of a tensor; None where the row and these say not all."""
    tensor, row = tensors[name], Affine.var("?0")
    by, rows, shape = list[str](), None, list[Affine]()
    for form, extent in zip(at, tensor.shape, strict=True):
        lookups = [atom for atom, _ in form.terms if isinstance(atom, Lookup)]
        arrays = [tensors[lookup.array] for lookup in lookups]
        by.append(" ".join(array.name for array in arrays))
        if arrays and len(arrays) == len(form.terms) and all(lookup.at[:1] == (row,) for lookup in lookups):
            rows = arrays[0].shape[0]
            shape += max((array.shape[1:] for array in arrays), key=len)
        elif not arrays and form.variables.isdisjoint(row.variables):
            shape.append(extent)
        else:
            return None
    return None if rows is None else TensorDecl(f"{name}[{', '.join(by)}]", tensor.type, (rows, *shape))


def _distinct(tensor: TensorDecl, at: Forms) -> int:
    """About how many bytes of a tensor are read at such subscripts, where the first index has few values."""
    seen, count = {"?0"}, 1
    for form, extent in zip(at, tensor.shape, strict=True):
        count *= 1 if form.variables <= seen else extent.constant
        seen |= form.variables
    return count * ELEMENT[tensor.type]


def bytes_of(tensor: TensorDecl, depth: int = 0) -> int:
    """The bytes of a tensor, or of a row of it."""
    return math.prod(extent.constant for extent in tensor.shape[depth:]) * ELEMENT[tensor.type]
