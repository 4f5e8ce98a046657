"""What the maps of a function read: which tensors, and where only the element that is computed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tadc.dialect.ops import indices_of
from tadc.lattice.affine import Affine
from tadc.passes.maps.merge_sums import holds_dear_values, sums_of
from tadc.passes.maps.operand_forms import subscripts
from tadc.passes.maps.tile_values import is_reduction


@dataclass
class MapReads:
    """The reads of a map whose indices are `d0, d1, …` and whose sizes have these forms.

    `tensors` says of each whether it is read at the element that is computed alone; `elements` are tensors
    with the subscripts of reads outside of all reductions, `summed` of those in sums of the map's own region
    that hold something dear, with the set of the sum. These are in the order of the operations: a set of
    MLIR values has the order of their addresses, and code is not to depend on those.
    """

    op: Any
    sizes: Mapping[Any, Affine]
    tensors: dict[Any, bool] = field(default_factory=dict[Any, bool])
    elements: dict[tuple[Any, tuple[Affine, ...]], None] = field(default_factory=dict[Any, None])
    summed: dict[tuple[object, ...], None] = field(default_factory=dict[Any, None])
    operations: int = 0

    def __post_init__(self) -> None:
        block = self.op.regions[0].blocks[0]
        self._forms: dict[Any, Affine] = dict(self.sizes)
        self._bound = 0
        indices = indices_of(self.op)
        self._own = tuple(Affine.var(f"d{n}") for n in range(len(indices)))
        self._forms |= zip(indices, self._own, strict=True)
        self._dear = {op for op in sums_of(block) if holds_dear_values(op)}
        self._block(block, False)

    def _block(self, block: Any, inside: bool, domain: tuple[object, ...] = ()) -> None:
        """Take in a block, `inside` a reduction or not, perhaps a dear sum over a domain."""
        for operation in block.operations:
            op = operation.operation
            self.operations += 1
            if op.name == "tad.index":
                self._forms[op.results[0]] = subscripts(op, op.operands, self._forms)[0]
            elif op.name == "tad.read":
                self._read(op, inside, domain)
            reduces = is_reduction(op)
            within = domain
            if op in self._dear:
                within = (op.attributes["domain"], *(self._forms[v] for v in op.operands))
            for region in op.regions:
                inner = region.blocks[0]
                for number, argument in enumerate(inner.arguments):
                    own = f"z{number}" if op in self._dear else f"z{self._bound}_"
                    self._forms[argument] = Affine.var(own)
                    self._bound += 1
                self._block(inner, inside or reduces, within)

    def _read(self, op: Any, inside: bool, domain: tuple[object, ...]) -> None:
        tensor = op.operands[0]
        at = tuple(subscripts(op, list(op.operands)[1:], self._forms))
        is_own = at == self._own
        self.tensors[tensor] = self.tensors.get(tensor, True) and is_own
        if not inside:
            self.elements[tensor, at] = None
        if domain:
            self.summed[*domain, tensor, *at] = None
