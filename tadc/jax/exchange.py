"""How devices get what they need of what all of them have, along one dimension, in numbers."""

from __future__ import annotations

from collections.abc import Sequence

from tadc.lattice.late_dataclasses import dataclass


@dataclass(frozen=True)
class LentPlaces:
    """Places that a device needs and one of the devices has."""

    source: int
    target: int
    places: range


@dataclass(frozen=True)
class MovingRound:
    """Pieces of one length at once: each device gives at most one, and gets at most one.

    `starts` says for each device where its piece begins in what it has, `ends` where the one that it gets
    goes in what it needs: behind all of it where it gets none.
    """

    length: int
    pairs: tuple[tuple[int, int], ...]
    starts: tuple[int, ...]
    ends: tuple[int, ...]

    @property
    def is_remote(self) -> bool:
        """Whether devices give something to others."""
        return any(source != target for source, target in self.pairs)


class Exchange:
    """What is moved so that each device has the places it needs, each in one run from the first of them on.

    What a window reads of neighbours and of those behind them, and what is read in the reverse order, are
    pieces of boxes alike. `starts` are the first places that devices have then.
    """

    def __init__(self, have: Sequence[range], need: Sequence[range]) -> None:
        self.own = max(map(len, have))
        self.length = max(map(len, need))
        #: Whether all that a device needs begins with what it has.
        self.is_own = all(
            not n or (n.start == h.start and n.stop <= h.stop) for h, n in zip(have, need, strict=True)
        )
        #: Whether each device gets all of all others, which moves no more.
        self.everything = self.length > self.own and self._is_most(_most_lent(have, need), have)
        self.rounds: tuple[MovingRound, ...] = ()
        if not self.is_own and not self.everything:
            self.rounds = _rounds(have, need, self.length)
            self.everything = self.length > self.own and self._is_most(self.moved, have)
        self.starts = tuple(0 if self.everything else p.start for p in (have if self.is_own else need))

    def _is_most(self, places: int, have: Sequence[range]) -> bool:
        return places >= (len(have) - 1) * self.own

    @property
    def moved(self) -> int:
        """How many places each device gets of others."""
        return sum(r.length for r in self.rounds if r.is_remote)

    @property
    def spare(self) -> int:
        """How many places there are behind those needed, for what nobody needs."""
        return max((r.length for r in self.rounds if self.length in r.ends), default=0)


def _most_lent(have: Sequence[range], need: Sequence[range]) -> int:
    """How many places a device needs of others, at the most."""
    own = (min(h.stop, n.stop) - max(h.start, n.start) for h, n in zip(have, need, strict=True))
    return max(len(n) - max(0, shared) for n, shared in zip(need, own, strict=True))


def _rounds(have: Sequence[range], need: Sequence[range], length: int) -> tuple[MovingRound, ...]:
    """All pieces, in as few rounds as taking the first that is free gives."""
    found: list[list[LentPlaces]] = []
    pieces = [p for target, places in enumerate(need) for p in _pieces(have, target, places)]
    for piece in sorted(pieces, key=lambda p: (len(p.places), p.target - p.source, p.target)):
        free = (several for several in found if _fits(several, piece))
        several = next(free, None)
        if several is None:
            found.append(several := [])
        several.append(piece)
    return tuple(_round(several, have, need, length) for several in found)


def _pieces(have: Sequence[range], target: int, places: range) -> list[LentPlaces]:
    shared = (range(max(h.start, places.start), min(h.stop, places.stop)) for h in have)
    return [LentPlaces(source, target, part) for source, part in enumerate(shared) if part]


def _fits(several: Sequence[LentPlaces], piece: LentPlaces) -> bool:
    """Whether a piece may be moved with others."""
    return len(piece.places) == len(several[0].places) and all(
        piece.source != p.source
        and piece.target != p.target
        and (piece.source == piece.target) == (p.source == p.target)
        for p in several
    )


def _round(
    several: Sequence[LentPlaces], have: Sequence[range], need: Sequence[range], length: int
) -> MovingRound:
    starts, ends = [0] * len(have), [length] * len(have)
    for piece in several:
        starts[piece.source] = piece.places.start - have[piece.source].start
        ends[piece.target] = piece.places.start - need[piece.target].start
    pairs = tuple((piece.source, piece.target) for piece in several)
    return MovingRound(len(several[0].places), pairs, tuple(starts), tuple(ends))
