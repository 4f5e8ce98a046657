"""What the maps of a function read: which tensors, and where only the element that is computed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tadc.dialect.ops import indices_of
from tadc.lattice.affine import Affine
from tadc.passes.operand_forms import subscripts
from tadc.passes.tile_values import is_reduction


@dataclass
class MapReads:
    """The reads of a map whose indices are `d0, d1, …` and whose sizes have these forms.

    `tensors` says of each whether it is read at the element that is computed alone; `elements` are tensors
    with the subscripts of reads outside of all reductions.
    """

    op: Any
    sizes: Mapping[Any, Affine]
    tensors: dict[Any, bool] = field(default_factory=dict[Any, bool])
    elements: set[tuple[Any, tuple[Affine, ...]]] = field(default_factory=set[tuple[Any, tuple[Affine, ...]]])
    operations: int = 0

    def __post_init__(self) -> None:
        block = self.op.regions[0].blocks[0]
        self._forms: dict[Any, Affine] = dict(self.sizes)
        self._bound = 0
        indices = indices_of(self.op)
        self._own = tuple(Affine.var(f"d{n}") for n in range(len(indices)))
        self._forms |= zip(indices, self._own, strict=True)
        self._block(block, False)

    def _block(self, block: Any, inside: bool) -> None:
        """Take in a block, `inside` a reduction or not."""
        for operation in block.operations:
            op = operation.operation
            self.operations += 1
            if op.name == "tad.index":
                self._forms[op.results[0]] = subscripts(op, op.operands, self._forms)[0]
            elif op.name == "tad.read":
                self._read(op, inside)
            reduces = is_reduction(op)
            for region in op.regions:
                inner = region.blocks[0]
                for argument in inner.arguments:
                    self._forms[argument] = Affine.var(f"z{self._bound}")
                    self._bound += 1
                self._block(inner, inside or reduces)

    def _read(self, op: Any, inside: bool) -> None:
        tensor = op.operands[0]
        at = tuple(subscripts(op, list(op.operands)[1:], self._forms))
        is_own = at == self._own
        self.tensors[tensor] = self.tensors.get(tensor, True) and is_own
        if not inside:
            self.elements.add((tensor, at))
