"""What the loops of a map depend on, so that equal maps (`same_maps.py`) have them once.

It is more than what they compute: what is known of their sizes, and which results only the caller reads.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from tadc.frontend.terms import Domain
from tadc.lattice.affine import Affine, Constraint
from tadc.passes.maps.map import Map, MapFunction
from tadc.passes.maps.memory_of_tensors import Memory
from tadc.passes.maps.same_maps import Alike, likeness


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
