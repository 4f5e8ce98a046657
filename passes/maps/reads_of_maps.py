"""What a map reads: which tensors, and where only the element that is computed."""

from __future__ import annotations

from tadc.frontend.terms import Domain
from tadc.lattice.affine import Affine
from tadc.lattice.late_dataclasses import dataclass, field
from tadc.passes.maps.blocks import Renaming, blocks_of
from tadc.passes.maps.map import Block, Fold, IndexNumber, Load, Map
from tadc.passes.maps.merge_folds import holds_expensive, sums_of

Forms = tuple[Affine, ...]


@dataclass(eq=False)
class Reads:
    """The reads of a map, over indices `?0, ?1, …` for its own.

    `tensors` says of each whether it is read at the element that is computed alone; `elements` are tensors
    with the subscripts of reads outside of all reductions, `summed` of those in sums of the map's own block
    that hold something expensive, with the set of the sum. These are in the order of the values.
    """

    item: Map
    tensors: dict[str, bool] = field(default_factory=dict[str, bool])
    elements: dict[tuple[str, Forms], None] = field(default_factory=dict[tuple[str, Forms], None])
    summed: dict[tuple[Domain, str, Forms], None] = field(
        default_factory=dict[tuple[Domain, str, Forms], None]
    )
    operations: int = 0

    def __post_init__(self) -> None:
        self._own = tuple(Affine.var(f"?{n}") for n in range(len(self.item.indices)))
        self._forms = dict(zip(self.item.indices, self._own, strict=True))
        self._renaming = Renaming(forms=self._forms)
        self._shared = {let.names for let, fold in sums_of(self.item.body) if holds_expensive(fold)}
        self._bound = 0
        self._block(self.item.body, False)

    def _block(self, block: Block, inside: bool, domain: Domain = ()) -> None:
        """Take in a block, `inside` a reduction or not, perhaps an expensive sum over a domain."""
        self.operations += 1
        for let in block.lets:
            value, within = let.value, domain
            self.operations += 2 if isinstance(value, IndexNumber) else 1
            if isinstance(value, Load):
                self._load(value, inside, domain)
            if isinstance(value, Fold):
                is_shared = let.names in self._shared
                for number, index in enumerate(value.indices):
                    self._forms[index] = Affine.var(f"?z{number}" if is_shared else f"?z{self._bound}_")
                    self._bound += 1
                if is_shared:
                    within = self._renaming.rows(value.rows)
            for inner in blocks_of(value):
                self._block(inner, inside or isinstance(value, Fold), within)

    def _load(self, load: Load, inside: bool, domain: Domain) -> None:
        at = tuple(map(self._renaming.form, load.at))
        is_own = at == self._own
        self.tensors[load.tensor] = self.tensors.get(load.tensor, True) and is_own
        if not inside:
            self.elements[load.tensor, at] = None
        if domain:
            self.summed[domain, load.tensor, at] = None
