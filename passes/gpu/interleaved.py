"""Tensors that are places in the rows of another, and are stored there at once.

`tad-rows` makes of a tensor of short rows one for each place in a row, and a map that puts them together:

    f[i, m] = if m = 0 then f_0[i] else if m = 1 then f_1[i] else f_2[i]

On a GPU, whose stores of neighbours may be apart, f_0 is every third element of the memory of f, and the map
is no launch.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from tadc.lattice.affine import Affine, Constraint
from tadc.lattice.late_dataclasses import dataclass, replace
from tadc.passes.maps.map import Block, Choice, Let, Load, Map, MapFunction, TensorDecl
from tadc.passes.nest.nest import Nest, Store
from tadc.passes.nest.primitives.rewriting import rewrite_stores


@dataclass(frozen=True)
class InterleavedPlace:
    """A tensor has the elements of `whole` where the last index is `number`."""

    whole: TensorDecl
    number: int


def places_of(function: MapFunction) -> dict[str, InterleavedPlace]:
    """The tensors of a function that are places in rows; all of each of these rows are.

    The rows are of a result: the memory of a tensor in between is another's before its map runs.
    """
    uses = Counter(load.tensor for item in function.maps for load in item.loads())
    plain = [item for item in function.maps if item.order is None and item.marks.chain is None]
    made = {name for item in plain for name in item.names} - set(function.results)
    alone = {name for name in made if uses[name] == 1}
    found: dict[str, InterleavedPlace] = {}
    for item in plain:
        if len(item.tensors) == 1 and item.name in function.results:
            found |= _places(item, alone)
    return found


def _places(item: Map, alone: set[str]) -> dict[str, InterleavedPlace]:
    """The tensors, each read once, that a map puts together; none of another map."""
    (whole,), count = item.tensors, item.extents[-1] if item.extents else None
    if len(item.indices) < 2 or count is None or not all(extent.is_constant for extent in item.extents):
        return {}
    own = tuple(Affine.var(index) for index in item.indices[:-1])
    found: dict[str, InterleavedPlace] = {}
    block = item.body
    for number in range(count.constant):
        made = _only(block)
        is_last = number == count.constant - 1
        if isinstance(made, Choice) and not is_last and _says(made, item.indices[-1], number):
            part, block = _only(made.then), made.otherwise
        else:
            part = made
        if not isinstance(part, Load) or part.tensor not in alone or part.at != own:
            return {}
        if part is made and not is_last:
            return {}
        found[part.tensor] = InterleavedPlace(whole, number)
    return found


def _only(block: Block) -> object:
    """The one value of a block, which it gives; None for another block."""
    match block.lets:
        case (Let(names=names, value=value),) if names == block.gives:
            return value
        case _:
            return None


def _says(choice: Choice, index: str, number: int) -> bool:
    form = Affine.var(index) - number
    return any(choice.rows == (Constraint(each, True),) for each in (form, form * -1))


def placed(nest: Nest, places: Mapping[str, InterleavedPlace]) -> Nest:
    """The nest that stores tensors at their places in rows."""

    def put(store: Store) -> Store:
        place = places.get(store.tensor)
        if place is None:
            return store
        return replace(store, tensor=place.whole.name, at=(*store.at, Affine.const(place.number)))

    def whole(tensor: TensorDecl) -> TensorDecl:
        place = places.get(tensor.name)
        return tensor if place is None else replace(
            place.whole, shape=(*tensor.shape, place.whole.shape[-1])
        )  # fmt: skip

    computed = tuple(places[name].whole.name if name in places else name for name in nest.computed)
    tensors = tuple(dict.fromkeys(whole(tensor) for tensor in nest.tensors))
    return replace(nest, tensors=tensors, computed=computed, body=rewrite_stores(nest.body, put))
