"""The loops of a recurrence: which of its indices run in order, which are free.

Loops over some indices are in order, where `passes/terms/loop_sequences.py` finds such. The other indices are
free: inside, in any order, in vectors. Where no such loops are found, one over the values of the order is
outermost (the hyperplane method, Lamport 1974).
"""

from __future__ import annotations

from collections.abc import Sequence

from tadc.frontend.terms import Domain
from tadc.lattice.affine import Affine, box
from tadc.lattice.late_dataclasses import dataclass, replace
from tadc.passes.maps.blocks import Renaming
from tadc.passes.maps.map import Block, Choice, Fold, Load, Map, Sweep
from tadc.passes.terms.checked_reads import outside
from tadc.passes.terms.costs import LONGEST
from tadc.passes.terms.loop_sequences import StepRead, lexicographic


@dataclass(frozen=True)
class RecurrenceLoops:
    """How the elements of a recurrence are visited, by the names of its indices.

    `ordered` run in this order, `down` are those of them that count down. Of `batch` indices every element
    reads those alone that have the same value. `order` is set where a wavefront is needed.
    """

    ordered: tuple[str, ...]
    down: frozenset[str] = frozenset()
    batch: frozenset[str] = frozenset()
    order: Affine | None = None

    def loops(self, indices: Sequence[str]) -> tuple[str, ...]:
        """All indices, outermost first: an index of a batch stays where it is in memory."""
        outermost = min((indices.index(name) for name in self.ordered), default=0)
        first = [n for n in indices[:outermost] if n in self.batch]
        rest = [n for n in indices if n not in first and n not in self.ordered]
        return (*first, *self.ordered, *rest)

    def tiled(self, indices: Sequence[str]) -> frozenset[str]:
        """The indices of which several values may be computed together."""
        return frozenset(indices) - frozenset(self.ordered)


def recurrence_of(item: Map) -> RecurrenceLoops | None:
    """How to visit the elements of a map with an order, or of one that runs along with a recurrence; None of
    another map."""
    if item.order is None:
        sweep = item.marks.sweep
        return None if sweep is None else RecurrenceLoops((item.indices[sweep.index],))
    reads, order = own_reads(item), item.order
    zero = Affine.const(0)
    batch = frozenset(n for n in item.indices if all(read.back(n) == zero for read in reads))
    if len(order.terms) == 1:
        # Proven by the checker, also where that takes what is known of sizes.
        (name,) = (name for name in item.indices if order.coefficient(name))
        return RecurrenceLoops((name,), frozenset([name] if order.coefficient(name) < 0 else []), batch)
    found = lexicographic([n for n in item.indices if n not in batch], reads)
    if found is None:
        return RecurrenceLoops((), order=order, batch=batch)
    chosen, down = found
    return RecurrenceLoops(chosen, down, batch)


def sweep_of(item: Map) -> Sweep | None:
    """How a map follows the steps of a recurrence: by its mark, or the recurrence that it is, where that goes
    along one index."""
    if item.marks.sweep is not None:
        return item.marks.sweep
    found = recurrence_of(item)
    if found is None or found.order is not None or len(found.ordered) != 1:
        return None
    (index,) = found.ordered
    return Sweep(item.indices.index(index), down=index in found.down)


def own_reads(item: Map) -> list[StepRead]:
    """The reads of the tensor itself."""
    (own,) = item.tensors
    return [
        StepRead(tuple(zip(item.indices, at, strict=True)), facts) for at, facts in reads_of(item, own.name)
    ]


def reads_of(item: Map, tensor: str) -> list[tuple[tuple[Affine, ...], Domain]]:
    """The elements of a tensor that a map reads, and what holds where it does, in one of some cases."""
    found: dict[tuple[tuple[Affine, ...], Domain], None] = {}

    def visit(block: Block, cases: Sequence[Domain]) -> None:
        for let in block.lets:
            match let.value:
                case Load(tensor=read, at=at) if read == tensor:
                    found.update({(at, facts): None for facts in cases})
                case Choice(rows=rows, then=then, otherwise=otherwise):
                    inside(then, rows, cases)
                    is_read = any(load.tensor == tensor for load in otherwise.loads())
                    others = [case for facts in cases if is_read for case in outside(rows, facts)]
                    # Alternatives multiply, so of too many nothing is kept.
                    visit(otherwise, others if len(others) <= LONGEST else cases)
                case Fold(rows=rows, body=body):
                    inside(body, rows, cases)
                case _:
                    pass

    def inside(inner: Block, rows: Domain, cases: Sequence[Domain]) -> None:
        visit(inner, [facts + rows for facts in cases])

    if tensor in item.read:
        visit(item.body, [box(item.indices, item.extents)])
    return list(found)


def reversed_map(item: Map, down: frozenset[str]) -> Map:
    """A map that counts some of its indices from the other end: what it computes at i is the element
    N-1-i."""
    extents = dict(zip(item.indices, item.extents, strict=True))
    forms = {name: extents[name] - 1 - Affine.var(name) for name in sorted(down)}
    return replace(item, body=Renaming(forms=forms).block(item.body)) if forms else item
