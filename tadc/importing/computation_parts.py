"""Which operations of a function become programs, and in which order they and the others run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby
from typing import Any, Generic, TypeVar

from tadc.lattice.late_dataclasses import dataclass, field
from tadc.passes.linalg.source_places import SourcePlace


@dataclass(eq=False)
class Computation:
    """An operation of a function: what it reads and computes; values are compared by `is`."""

    inputs: tuple[Any, ...]
    outputs: tuple[Any, ...]

    @property
    def place(self) -> SourcePlace | None:
        """Where it stands in the user's source."""
        return None

    @property
    def modules(self) -> Sequence[str]:
        """The modules of the user's that it stands in, the outermost first, each with those around it."""
        return ()

    @property
    def is_view(self) -> bool:
        """Whether it does nothing but to read numbers at other places."""
        return False

    @property
    def is_compound(self) -> bool:
        """Whether it has other operations inside, as a loop."""
        return False

    @property
    def has_effects(self) -> bool:
        """Whether it does more than to compute, so that the order of those that do counts."""
        return False


E = TypeVar("E", bound=Computation)


@dataclass(eq=False)
class Part(Generic[E]):
    """Operations that run together: all of a program, or none.

    `equations` has those in it that others compute, too, as they cost nothing.
    """

    is_program: bool
    own: list[E]
    equations: list[E] = field(default_factory=list[Any])
    inputs: list[Any] = field(default_factory=list[Any])
    outputs: list[Any] = field(default_factory=list[Any])


@dataclass
class Sorting(Generic[E]):
    """Which operations stay where they are and why, and which are computed by each who reads them.

    `constants` are values that need not be handed over, `static` are computed of constants alone.
    """

    left: dict[E, str] = field(default_factory=dict[Any, str])
    shared: set[E] = field(default_factory=set[Any])
    constants: set[Any] = field(default_factory=set[Any])
    static: set[Any] = field(default_factory=set[Any])

    def add(self, equation: E, is_static: bool, reason: str, is_of_integers: Callable[[E], bool]) -> None:
        """Sort the next one: it stays if there is a reason, or if it is of integers that are no constants."""
        if not reason and not is_static and is_of_integers(equation):
            reason = "integers that are computed"
        if reason:
            self.left[equation] = reason
            return
        if is_static or equation.is_view:
            self.shared.add(equation)
        if is_static:
            self.static.update(equation.outputs)

    def is_program(self, equation: E) -> bool:
        """Whether it becomes a part of a program."""
        return equation not in self.left and equation not in self.shared


def parts_of(
    equations: Sequence[E], results: Sequence[Any], sorting: Sorting[E], most_inputs: int | None = None
) -> list[Part[E]]:
    """The parts in an order in which they can run; a program reads no more than so many values.

    Operations have a level: one of a program is above all those that stay and that it depends on. Those of a
    level that depend on each other are a program: a way from one of them to another by one that stays would
    go up.
    """
    levels = _levels(equations, sorting)
    parts: list[Part[E]] = []
    for level in range(max(levels.values(), default=0) + 1):
        here = [e for e in equations if levels.get(e) == level]
        own = [e for e in here if sorting.is_program(e)]
        for group in _connected(own, equations, sorting):
            pieces = [group] if most_inputs is None else _pieces(group, equations, sorting, most_inputs)
            parts += [Part(True, piece) for piece in pieces]
        if rest := [e for e in here if not sorting.is_program(e)]:
            parts.append(Part(False, rest))
    return _with_what_they_read(parts, equations, results, sorting)


def _pieces(group: Sequence[E], equations: Sequence[E], sorting: Sorting[E], most: int) -> list[list[E]]:
    """Operations one behind the other, in pieces that read at most so many values.

    They are cut between modules, so that modules which are equal are equal pieces.
    """
    #: By value what it comes from by no more than shared operations.
    roots: dict[Any, frozenset[Any]] = {}
    nothing: frozenset[Any] = frozenset()

    def read_by(equation: E) -> frozenset[Any]:
        return nothing.union(*(roots.get(v, {v} - sorting.constants) for v in equation.inputs))

    for equation in equations:
        if equation in sorting.shared:
            roots.update(dict.fromkeys(equation.outputs, read_by(equation)))

    def divided(run: list[E], depth: int) -> list[list[E]]:
        if len(run) < 2 or len(_read_by_all(run, read_by)) <= most:
            return [run]
        if depth > max(len(e.modules) for e in run):
            return _joined([[e] for e in run], read_by, most)
        found: list[list[E]] = []
        whole: list[list[E]] = []
        for _, members in groupby(run, lambda e: tuple(e.modules[:depth])):
            inner = divided(list(members), depth + 1)
            whole += inner if len(inner) == 1 else []
            if len(inner) > 1:
                found += [*_joined(whole, read_by, most), *inner]
                whole = []
        return [*found, *_joined(whole, read_by, most)]

    return divided(list(group), 1)


def _read_by_all(run: Sequence[E], read_by: Callable[[E], frozenset[Any]]) -> set[Any]:
    """What operations read that none of them computes."""
    made = {v for e in run for v in e.outputs}
    return {v for e in run for v in read_by(e)} - made


def _joined(runs: Sequence[list[E]], read_by: Callable[[E], frozenset[Any]], most: int) -> list[list[E]]:
    """Runs that follow each other, as many together as read at most so many values."""
    pieces: list[list[E]] = []
    read: set[Any] = set()
    made: set[Any] = set()
    for run in runs:
        alone = _read_by_all(run, read_by)
        more = read | (alone - made)
        if len(more) > most or not pieces:
            pieces.append([])
            made, more = set[Any](), alone
        pieces[-1] += run
        read = more
        made.update(v for e in run for v in e.outputs)
    return pieces


def _levels(equations: Sequence[E], sorting: Sorting[E]) -> dict[E, int]:
    """The level of each equation but the shared, as high as what reads it lets it be."""
    # By value the highest level of a program and of JAX that it comes from.
    above: dict[Any, tuple[int, int]] = {}
    levels: dict[E, int] = {}
    effects = 0
    for equation in equations:
        found = [above.get(v, (-1, -1)) for v in equation.inputs]
        program, host = max((p for p, _ in found), default=-1), max((h for _, h in found), default=-1)
        if equation in sorting.shared:
            here = program, host
        elif sorting.is_program(equation):
            levels[equation] = max(program, host + 1, 0)
            here = levels[equation], -1
        else:
            has_effects = equation.has_effects
            levels[equation] = max(program, host, effects if has_effects else 0)
            effects = levels[equation] if has_effects else effects
            here = -1, levels[equation]
        above.update(dict.fromkeys(equation.outputs, here))
    _sink(equations, levels, sorting)
    return levels


def _sink(equations: Sequence[E], levels: dict[E, int], sorting: Sorting[E]) -> None:
    """Let equations of programs run where they are needed first, with what reads them."""
    latest: dict[Any, int] = {}
    for equation in reversed(equations):
        level = min((latest[v] for v in equation.outputs if v in latest), default=None)
        if sorting.is_program(equation):
            level = levels[equation] = max(levels[equation], level or 0)
        elif equation not in sorting.shared:
            level = levels[equation]
        if level is not None:
            for value in equation.inputs:
                latest[value] = min(level, latest.get(value, level))


def _connected(own: Sequence[E], equations: Sequence[E], sorting: Sorting[E]) -> list[list[E]]:
    """Equations of one level in groups of those that read each other."""
    group: dict[E, list[E]] = {e: [e] for e in own}
    #: By value the equations of this level that it comes from by no more than shared ones.
    makers: dict[Any, frozenset[E]] = {}
    nothing: frozenset[E] = frozenset()
    for equation in equations:
        sources = nothing.union(*(makers.get(v, nothing) for v in equation.inputs))
        if equation in group:
            for source in sources:
                joined, other = group[equation], group[source]
                if joined is not other:
                    joined += other
                    group.update(dict.fromkeys(other, joined))
            makers.update(dict.fromkeys(equation.outputs, frozenset([equation])))
        elif equation in sorting.shared and sources:
            makers.update(dict.fromkeys(equation.outputs, sources))
    order = {e: i for i, e in enumerate(equations)}
    unique = {id(members): members for members in group.values()}
    return [sorted(members, key=order.__getitem__) for members in unique.values()]


def _with_what_they_read(
    parts: list[Part[E]], equations: Sequence[E], results: Sequence[Any], sorting: Sorting[E]
) -> list[Part[E]]:
    """Say what each part reads, and what of it others read; the last part computes results that are views."""
    parts = [*parts, Part(False, [])]
    for part in parts:
        say_what_it_reads(part, equations, sorting, results if part is parts[-1] else ())
    for part in parts:
        elsewhere = {v for other in parts if other is not part for v in other.inputs}
        part.outputs = [v for e in part.own for v in e.outputs if v in elsewhere]
    return parts


def say_what_it_reads(
    part: Part[E], equations: Sequence[E], sorting: Sorting[E], results: Sequence[Any] = ()
) -> None:
    """Find the shared equations that a part computes, and what it reads of others; it needs the results."""
    own, wanted = set(part.own), set(results)
    found: list[E] = []
    for equation in reversed(equations):
        if equation in own or (equation in sorting.shared and not wanted.isdisjoint(equation.outputs)):
            found.append(equation)
            wanted.update(equation.inputs)
    part.equations = found[::-1]
    made = {value for equation in found for value in equation.outputs}
    read = dict.fromkeys([*(v for e in part.equations for v in e.inputs), *results])
    part.inputs = [v for v in read if v not in made and v not in sorting.constants]
