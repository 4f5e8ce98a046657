"""Maps that are equal but for the tensors and sizes they use, as those of a network's layers.

Two maps are equal where one becomes the other as the tensors and sizes of the first are renamed to those of
the second. Their loops are lowered and compiled once, and called for each. What loops depend on is more than
what they compute: what is known of their sizes, and which results only the caller reads.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tadc.frontend.terms import Domain
from tadc.lattice.affine import Affine, Constraint
from tadc.lattice.late_dataclasses import dataclass, replace
from tadc.passes.maps.blocks import Renaming, forms_of, index_arrays, normal_block
from tadc.passes.maps.map import Map, MapFunction, TensorDecl, Type
from tadc.passes.maps.memory_of_tensors import Memory

Likeness = tuple[object, ...]


@dataclass(frozen=True)
class Alike:
    """A map where what it uses is numbered in the order of use: `key` is the same for equal maps.

    `tensors` and `sizes` are in that order; the map's results are the last tensors.
    """

    key: Likeness
    tensors: tuple[str, ...]
    sizes: tuple[str, ...]

    def tensors_of(self, other: Alike) -> dict[str, str]:
        """By each tensor of this map that of an equal one."""
        return dict(zip(self.tensors, other.tensors, strict=True))

    def sizes_of(self, other: Alike) -> dict[str, str]:
        """By each size of this map that of an equal one."""
        return dict(zip(self.sizes, other.sizes, strict=True))


def likeness(item: Map, function: MapFunction, tensors: Mapping[str, TensorDecl]) -> Alike:
    """A map of a function that has these tensors, by numbers for what it uses.

    Which tensors are arguments is part of the key: a caller's may start anywhere in a line of the cache.
    """
    own = item.names
    used = [name for name in dict.fromkeys(load.tensor for load in item.loads()) if name not in own]
    names = (*used, *index_arrays(item.body), *own)
    shapes = [tensors[name].shape for name in names]
    forms = [*forms_of(item.body), *(form for shape in shapes for form in shape)]
    known = set(function.sizes)
    sizes = dict.fromkeys(name for form in forms for name in sorted(form.variables & known))
    renaming = Renaming(
        forms={name: Affine.var(f"u{n}") for n, name in enumerate(sizes)}
        | {name: Affine.var(f"d{n}") for n, name in enumerate(item.indices)},
        tensors={name: f"t{n}" for n, name in enumerate(names)},
    )
    types: list[tuple[Type, bool]] = [(tensors[name].type, name in function.given) for name in names]
    key = (
        normal_block(item.body, renaming),
        None if item.order is None else renaming.form(item.order),
        tuple(types),
        tuple(tuple(map(renaming.form, shape)) for shape in shapes),
        item.marks,
    )
    return Alike(key, names, tuple(sizes))


def renamed(item: Map, function: MapFunction, memory: Memory) -> Alike:
    """A map of a function that has this memory; `key` is the same for equal loops."""
    alike = likeness(item, function, function.tensors())
    forms = {name: Affine.var(f"u{n}") for n, name in enumerate(alike.sizes)}
    key = (
        alike.key,
        tuple(map(function.windows.get, alike.tensors)),
        tuple(is_for_caller(tensor.name, function) for tensor in item.tensors),
        tuple(memory.places[memory.replaced.get(tensor.name, tensor.name)] for tensor in item.tensors),
        frozenset(row.substitute(forms) for row in _about(forms, function.known)),
    )
    return replace(alike, key=key)


def is_for_caller(tensor: str, function: MapFunction) -> bool:
    """Whether no map reads a tensor, but for one that completes it in place."""
    return tensor not in function.read_by_maps


def _about(names: Iterable[str], rows: Domain) -> list[Constraint]:
    """The rows with one of these variables, or with one of a row that is found."""
    reached, found, waiting = set(names), list[Constraint](), list(rows)
    while True:
        new = [row for row in waiting if not reached.isdisjoint(row.form.variables)]
        if not new:
            return found
        found += new
        waiting = [row for row in waiting if reached.isdisjoint(row.form.variables)]
        reached.update(name for row in new for name in row.form.variables)
