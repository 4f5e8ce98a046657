"""The loops of a recurrence: which of its indices run in order, which are free.

Loops over some indices, outermost first and each up or down, are right where every element that is read comes
before the one that reads it, lexicographically (Allen and Kennedy, Automatic translation of Fortran programs
to vector form, 1987). The other indices are free: inside, in any order, in vectors. Where no such loops are
found, one over the values of the order is outermost (`wavefront`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import permutations, product
from typing import Any

from tadc.dialect.index_maps import box_extents, map_attribute, parse_map, parse_set
from tadc.dialect.mlir import ir
from tadc.dialect.ops import indices_of, own_tensor
from tadc.frontend.terms import Domain
from tadc.lattice.affine import Affine, Constraint, box
from tadc.lattice.polyhedron import implied
from tadc.passes.terms.checked_reads import outside

MOST_INDICES = 5
"""Of more indices not all sequences are tried."""

MOST_CASES = 24
"""What holds in an `else` is kept in no more cases than these."""


@dataclass(frozen=True)
class Steps:
    """How the elements of a recurrence are visited, by the numbers of its indices.

    `ordered` run in this order, `down` are those of them that count down. Of `batch` indices every element
    reads those alone that have the same value. `order` is set where a wavefront is needed, in forms over
    `d0, d1, …`.
    """

    ordered: tuple[int, ...]
    down: frozenset[int] = frozenset()
    batch: frozenset[int] = frozenset()
    order: Affine | None = None

    def loops(self, rank: int) -> tuple[int, ...]:
        """All indices, outermost first: an index of a batch stays where it is in memory."""
        first = [n for n in range(rank) if n in self.batch and self.ordered and n < min(self.ordered)]
        rest = [n for n in range(rank) if n not in first and n not in self.ordered]
        return (*first, *self.ordered, *rest)

    def tiled(self, rank: int) -> frozenset[int]:
        """The indices of which several values may be computed together."""
        return frozenset(range(rank)) - frozenset(self.ordered)


@dataclass(frozen=True)
class _OwnRead:
    """The element that is read, and what holds where it is, in one of some cases."""

    forms: tuple[Affine, ...]
    facts: Domain


def steps_of(op: Any) -> Steps:
    """How to visit the elements of a `tad.scan`."""
    rank = len(indices_of(op))
    reads = list(OwnReads(op).found)
    batch = frozenset(n for n in range(rank) if all(r.forms[n] == Affine.var(f"d{n}") for r in reads))
    order = parse_map(str(op.attributes["order"])).forms[0]
    if len(order.terms) == 1:
        # Proven by the checker, also where that takes what is known of sizes.
        (n,) = (n for n in range(rank) if order.coefficient(f"d{n}"))
        return Steps((n,), frozenset([n] if order.coefficient(f"d{n}") < 0 else []), batch)
    others = [n for n in range(rank) if n not in batch]
    if len(others) <= MOST_INDICES:
        for count in range(len(others) + 1):
            for chosen in permutations(others, count):
                for signs in product((1, -1), repeat=count):
                    if _is_legal(reads, chosen, signs):
                        down = frozenset(n for n, sign in zip(chosen, signs, strict=True) if sign < 0)
                        return Steps(chosen, down, batch)
    return Steps((), order=order, batch=batch)


def _is_legal(reads: Sequence[_OwnRead], chosen: Sequence[int], signs: Sequence[int]) -> bool:
    """Whether each read is lexicographically before, in loops over the chosen indices."""
    left = list(reads)
    for n, sign in zip(chosen, signs, strict=True):
        still: list[_OwnRead] = []
        for read in left:
            back = (Affine.var(f"d{n}") - read.forms[n]) * sign
            if implied(back - 1, read.facts):
                continue
            if not implied(back, read.facts):
                return False
            still.append(read)
        left = still
    return not left


class OwnReads:
    """The reads of the tensor itself, in forms over `d0, d1, …`, its indices."""

    def __init__(self, op: Any) -> None:
        self.own = own_tensor(op)
        self.found: dict[_OwnRead, None] = {}
        self.forms: dict[Any, Affine] = {a: Affine.var(f"d{n}") for n, a in enumerate(indices_of(op))}
        self.count = 0
        names = [f"d{n}" for n in range(len(self.forms))]
        extents = [self.over(form, op.operands, "s") for form in box_extents(parse_set(_domain(op))) or []]
        self.block(op.regions[0].blocks[0], [box(names, extents)])

    def form(self, value: Any) -> Affine:
        """The form of an index; one from above is a size."""
        if value not in self.forms:
            self.count += 1
            self.forms[value] = Affine.var(f"v{self.count}")
        return self.forms[value]

    def over(self, form: Affine, values: Iterable[Any], letter: str) -> Affine:
        """A form of an attribute, over what its operands stand for."""
        return form.substitute({f"{letter}{n}": self.form(value) for n, value in enumerate(values)})

    def block(self, block: Any, cases: Sequence[Domain]) -> None:
        """Take in a block in which the facts of one of the cases hold."""
        for operation in block.operations:
            op = operation.operation
            if op.name == "tad.index":
                (form,) = parse_map(str(op.attributes["at"])).forms
                self.forms[op.results[0]] = self.over(form, op.operands, "d")
            elif op.name == "tad.read" and op.operands[0] == self.own:
                at = parse_map(str(op.attributes["at"])).forms
                forms = tuple(self.over(form, list(op.operands)[1:], "d") for form in at)
                self.found |= {_OwnRead(forms, facts): None for facts in cases}
            elif op.name == "tad.guard":
                rows = parse_set(str(op.attributes["where"])).constraints
                rows = tuple(Constraint(self.over(r.form, op.operands, "d"), r.equality) for r in rows)
                then, otherwise = (region.blocks[0] for region in op.regions)
                self.block(then, [facts + rows for facts in cases])
                self.block(otherwise, _few([case for facts in cases for case in outside(rows, facts)], cases))
            elif op.regions:
                inner = op.regions[0].blocks[0]
                own = {f"d{n}": self.form(argument) for n, argument in enumerate(inner.arguments)}
                rows = parse_set(_domain(op)).constraints
                forms = [self.over(row.form.substitute(own), op.operands, "s") for row in rows]
                rows = tuple(Constraint(f, row.equality) for f, row in zip(forms, rows, strict=True))
                self.block(inner, [facts + rows for facts in cases])


def _few(found: Sequence[Domain], cases: Sequence[Domain]) -> Sequence[Domain]:
    """Cases in place of others that hold more: alternatives multiply, so of too many nothing is kept."""
    return found if len(found) <= MOST_CASES else cases


def _domain(op: Any) -> str:
    return str(op.attributes["domain"])


def as_map(op: Any, steps: Steps) -> None:
    """Make a `tad.scan` readable as a map that reads what it gives, its indices in `down` reversed.

    No verifier sees it: it is lowered next.
    """
    block, own = op.regions[0].blocks[0], own_tensor(op)
    own.replace_all_uses_with(op.results[0])
    block.erase_argument(len(block.arguments) - 1)
    extents = box_extents(parse_set(_domain(op))) or []
    first = next(iter(block.operations))
    dims = ["b", *(f"s{n}" for n in range(len(op.operands)))]
    for n in sorted(steps.down):
        index = block.arguments[n]
        uses: list[tuple[Any, int]] = [(use.owner, use.operand_number) for use in index.uses]
        at = map_attribute([extents[n] - 1 - Affine.var("b")], dims, op.context)
        made = ir.Operation.create(
            "tad.index", results=[index.type], operands=[index, *op.operands], attributes={"at": at},
            loc=op.location, ip=ir.InsertionPoint(first),
        )  # fmt: skip
        for user, number in uses:
            user.operation.operands[number] = made.results[0]
