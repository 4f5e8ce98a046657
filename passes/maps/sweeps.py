"""Maps that run along with a recurrence, so that it keeps only its last steps.

    let scan{t} u[t: T, i: N] = …
    e[t: T] = sum{i} u[t, i]**2
    f[s: T // 100, i: N] = u[100*s, i]

If a map with an index along the steps reads u[t, i] only a few steps after t, it runs as soon as u has these
steps: `e` at step t, `f` for s = t / 100 if t is a multiple of 100. Each read is proven to be of no later
step. Maps of such a sweep, for example the tangent of u, may read each other in the same way. Sums over steps
are accumulated on the way (`step_sums.py`). Maps with other reads of u, such as its last step, run at the
end.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import prod

from tadc.lattice.affine import Affine
from tadc.lattice.late_dataclasses import dataclass, replace
from tadc.lattice.polyhedron import implied
from tadc.passes.maps.blocks import BlockNames
from tadc.passes.maps.chains import NEAR
from tadc.passes.maps.map import Map, MapFunction, Marks, Sweep, Window
from tadc.passes.maps.memory_of_tensors import chains_in
from tadc.passes.maps.recurrence import reads_of, recurrence_of
from tadc.passes.maps.row_reads import bytes_of
from tadc.passes.maps.run_together import chain_number
from tadc.passes.maps.step_sums import sums_by_step
from tadc.passes.maps.windows import MOST_STEPS, steps_along, window_of
from tadc.passes.terms.long_steps import is_worth_running_along
from tadc.passes.where import LEAVE_OUT, AtRows, InWindow, Where

MOST_ROWS = MOST_STEPS
"""No more steps run at a time: what a call of a map costs is little beside so many."""


def with_windows(
    function: MapFunction, where: Where, *, along: bool = True, any_size: bool = False
) -> MapFunction:
    """The function, with marks on maps of which the last steps are kept, and, if maps may run `along`, on
    those that run along with these: where that saves memory that counts, or with `any_size` everywhere.

    Steps that are given say it in the place of that. Raises CompileError where one does not fit.
    """
    seeds = [item.name for item in function.maps if item.order is not None]
    marked = {item.name for item in function.maps if item.marks != Marks()}
    for name in seeds:
        number = chain_number(function)
        seed = next(item for item in function.maps if item.name == name)
        if seed.marks != Marks():
            continue
        if where.given is not None:
            step = where.of_tensors(AtRows, seed.names)
            found = _given_sweep(step, seed, function, number, where) if step else None
        else:
            found = _sweep(seed, function, number, where, any_size=any_size) if along else None
        if found is None and (window := _window(seed, function, where, any_size=any_size)) is not None:
            found = with_maps(function, {seed.name: replace(seed, marks=Marks(window=window))})
        function = found or function
    for item in function.maps:
        if item.marks.window is not None and item.name not in marked:
            where.note(InWindow(item.name, item.marks.window.rows))
    _check_all_fit(function, where, along=along)
    return function


def _check_all_fit(function: MapFunction, where: Where, *, along: bool) -> None:
    """Raises CompileError for a step that is given for what is no recurrence, or nothing that runs along."""
    made = {tensor.name: item for item in function.maps for tensor in item.tensors}
    for step in where.wanted(InWindow) or ():
        where.check_known(step, [step.tensor], made)
        if (item := made.get(step.tensor)) is not None and item.marks.window is None:
            where.refuse(step, f"`{step.tensor}` is no recurrence, and runs along with none", LEAVE_OUT)
    for step in where.wanted(AtRows) or ():
        item = made.get(step.tensors[0])
        if item is not None and item.order is not None and item.marks.sweep is None:
            text = "runs in launches of its own" if not along else "has steps of another kind above"
            where.refuse(step, f"`{step.tensors[0]}` {text}", LEAVE_OUT)


def _window(
    item: Map,
    function: MapFunction,
    where: Where,
    members: Sequence[Map] = (),
    rows: int = 0,
    *,
    any_size: bool = False,
) -> Window | None:
    """The window of a map; where steps are given, the one that these say."""
    if where.given is None:
        return window_of(item, function, members, rows, any_size=any_size)
    step = where.of_tensors(InWindow, item.names)
    if step is None:
        return None
    window = window_of(item, function, members, rows, is_given=True)
    if window is None:
        help = "let what reads it run along, by `at`" if not members else LEAVE_OUT
        where.refuse(step, f"`{step.tensor}` is read more than a few steps later, or is a result", help)
    if step.steps < window.rows:
        text = f"{window.rows} steps of `{step.tensor}` are needed at a time"
        where.refuse(step, text, f"write `window {step.tensor} {window.rows}`")
    return replace(window, rows=step.steps)


def _given_sweep(step: AtRows, seed: Map, function: MapFunction, number: int, where: Where) -> MapFunction:
    """The function where those maps run with the steps of a recurrence that a step names."""
    followers = followers_of(seed, function, any_size=True, wanted=frozenset(step.tensors))
    if followers is None:
        where.refuse(step, f"`{step.tensors[0]}` does not go along one index", LEAVE_OUT)
    index = seed.indices[followers.sweep.index]
    if step.indices != (index,):
        where.refuse(step, f"the steps of `{step.tensors[0]}` go along `{index}`", f"write `at {index}`")
    function, members = followers.function, followers.members
    where.check_known(step, step.tensors, function.tensors())
    found = followers.sums.keys() | followers.made.keys() | where.formulas
    for name in step.tensors:
        if name not in found:
            text = f"`{name}` cannot run along: it reads other steps, or what is computed later"
            where.refuse(step, text, "leave it out")
    if step.rows > 1 and function.sizes:
        where.refuse(step, "where sizes are not known, one step is taken at a time", f"write `at {index} 1`")
    windows = {m.name: _window(m, function, where, members, step.rows) for m in members}
    made = _marked(members, number, step.rows, windows)
    maps = arranged(function, made)
    if maps is None:
        where.refuse(step, "another map would have to run before these and after", "name fewer tensors")
    where.note(step)
    return replace(function, maps=maps)


def _marked(
    members: Iterable[Map], number: int, rows: int, windows: Mapping[str, Window | None]
) -> list[Map]:
    marks = Marks(chain=number, rows=rows)
    own = ((m, replace(marks, sweep=m.marks.sweep, window=windows[m.name])) for m in members)
    return [replace(member, marks=marks) for member, marks in own]


def with_maps(function: MapFunction, instead: Mapping[str, Map]) -> MapFunction:
    """The function with others in the place of some maps, by the names of their first tensors."""
    maps = (instead.get(item.name, item) for item in function.maps)
    return replace(function, maps=tuple(maps))


def _sweep(
    seed: Map,
    function: MapFunction,
    number: int,
    where: Where,
    whole: frozenset[str] = frozenset(),
    *,
    any_size: bool,
) -> MapFunction | None:
    """The function where a recurrence runs with those that read its steps; None where it gains no window.

    Maps that compute one of the `whole` tensors have no sums by step.
    """
    followers = followers_of(seed, function, whole, any_size=any_size)
    if followers is None:
        return None
    function, candidates = followers.function, followers.members
    windows = {m.name: window_of(m, function, candidates, 1, any_size=any_size) for m in candidates}
    members = _needed(candidates, {name for name, window in windows.items() if window is not None})
    summed = {name for made in followers.sums.values() for name in made}
    if len(members) < 2 or not (any_size or _is_worth(members, windows, summed)):
        return None
    found = {member.name for member in members}
    if useless := {name for name, made in followers.sums.items() if found.isdisjoint(made)}:
        return _sweep(seed, followers.before, number, where, whole | useless, any_size=any_size)
    rows = _rows(members, windows)
    for member in members:
        if windows[name := member.name] is not None:
            windows[name] = window_of(member, function, members, rows, any_size=any_size)
    maps = arranged(function, _marked(members, number, rows, windows))
    if maps is None:
        return None
    names = where.with_merged(followers.named(members))
    where.note(AtRows((seed.indices[followers.sweep.index],), rows, names))
    return replace(function, maps=maps)


def followers_of(
    seed: Map,
    function: MapFunction,
    whole: frozenset[str] = frozenset(),
    *,
    later: frozenset[str] = frozenset(),
    any_size: bool = False,
    wanted: frozenset[str] | None = None,
) -> Followers | None:
    """A recurrence and those that may run along with it, or of these those that are `wanted`; None where no
    index of it counts steps.

    Maps that compute one of the `whole` tensors have no sums by step; those that are larger than a step only
    with `any_size`. What reads a tensor that is computed `later` does not.
    """
    sweep, along = steps_along(seed), frozenset[str]()
    while sweep is not None:
        first = replace(seed, marks=Marks(sweep=sweep))
        followers = Followers(first, sweep, function, whole, along, set(later), any_size, wanted)
        if not (more := followers.read_along() - along):
            return followers
        along |= more
    return None


@dataclass(eq=False)
class Followers:
    """A recurrence and the maps after it that may run along with it, `members` with marks of how they do.

    `function` has them; `sums` has the recurrences that are made of sums of a map, by the name of what this
    computes.
    """

    first: Map
    sweep: Sweep
    before: MapFunction
    whole: frozenset[str]
    along: frozenset[str]
    later: set[str]
    any_size: bool
    wanted: frozenset[str] | None

    def __post_init__(self) -> None:
        self.members, self.sums = [self.first], dict[str, list[str]]()
        self.made = {tensor.name: self.sweep for tensor in self.first.tensors}
        self.names = BlockNames(set(self.before.tensors()) | set(self.before.sizes))
        place = next(n for n, item in enumerate(self.before.maps) if item.tensors == self.first.tensors)
        maps, self.after = [*self.before.maps[: place + 1]], self.before.maps[place + 1 :]
        for item in self.after:
            maps += self.taken(item)
        self.function = replace(self.before, maps=tuple(maps)) if self.sums else self.before

    def named(self, members: Iterable[Map]) -> tuple[str, ...]:
        """The tensors of members, by their names before sums were recurrences."""
        before = {name: whole for whole, made in self.sums.items() for name in made}
        return tuple(dict.fromkeys(before.get(t.name, t.name) for m in members for t in m.tensors))

    def taken(self, item: Map) -> list[Map]:
        """What stands in the place of a map, which may be a member."""
        names, reads = set(item.names), item.read
        is_apart = reads.isdisjoint(self.made) and names.isdisjoint(self.along)
        if is_apart and reads.isdisjoint(self.later):
            return [item]
        is_wanted = self.wanted is None or not names.isdisjoint(self.wanted)
        if is_wanted and reads.isdisjoint(self.later) and self.joins(item):
            return [item]
        found = self.summed(item) if is_wanted else [item]
        self.later |= names
        return found

    def read_along(self) -> set[str]:
        """What other recurrences of the same steps compute for members."""
        read = {name for member in self.members[1:] for name in member.read} - self.made.keys()
        others = (item for item in self.after if item.order is not None)
        return {item.name for item in others if item.name in read and self.follows(item, {}) is not None}

    def joins(self, item: Map) -> bool:
        """Take a map as a member, if it can be one."""
        sweep = self.follows(item, self.made)
        if sweep is not None:
            self.members.append(replace(item, marks=Marks(sweep=sweep)))
            self.made |= {tensor.name: sweep for tensor in item.tensors}
        return sweep is not None

    def summed(self, item: Map) -> list[Map]:
        """A map as recurrences of its sums over steps, which are members, and what reads the last of them."""
        sweep = self.sweep
        if item.marks != Marks() or item.order is not None or item.name in self.whole:
            return [item]
        row = [extent for n, extent in enumerate(self.first.extents) if n != sweep.index]
        if not self.any_size and not _is_no_larger(item.extents, row):
            # Each step would be added to more than it has.
            return [item]
        steps = {name: (own.index, own.offset) for name, own in self.made.items() if own.scale == 1}
        count, members, made = self.first.extents[sweep.index], list(self.members), dict(self.made)
        known = self.before.known
        found = sums_by_step(item, steps, count, sweep.down, self.names, known, self.later)
        if found is None:
            return [item]
        sums, rest = found
        if not all(map(self.joins, sums)):
            self.members, self.made = members, made
            return [item]
        self.sums[item.name] = [each.name for each in sums]
        return [*sums, rest]

    def follows(self, item: Map, made: Mapping[str, Sweep]) -> Sweep | None:
        """How a map runs along with others, each with the last step that it reads; None where it cannot."""
        if item.marks != Marks():
            return None
        sign = -1 if self.sweep.down else 1
        for sweep in self.ways(item, made):
            here = sweep.step([Affine.var(name) for name in item.indices])
            if all(
                implied((here - other.step(at)) * sign, facts + self.before.known)
                for name, other in made.items()
                for at, facts in reads_of(item, name)
            ):
                return sweep
        return None

    def ways(self, item: Map, made: Mapping[str, Sweep]) -> Iterator[Sweep]:
        """How a map may follow the steps: a recurrence by its own, others by an index of what they read."""
        down = self.sweep.down
        if item.order is not None:
            own, steps = steps_along(item), self.first.extents[self.sweep.index]
            if own is not None and own.down == down and item.extents[own.index] == steps:
                yield own
            return
        found: dict[Sweep, None] = {}
        for load in item.loads():
            form = made[load.tensor].step(load.at) if load.tensor in made else Affine.const(0)
            if form.is_linear and len(form.terms) == 1:
                ((name, scale),) = form.terms
                if name in item.indices and scale > 0:
                    found[Sweep(item.indices.index(str(name)), scale, form.constant, down)] = None
        yield from found


def _needed(members: Sequence[Map], windowed: set[str]) -> list[Map]:
    """Of the members those with windows, those that read them, and what these need of others."""
    needed = windowed | {member.name for member in members if not windowed.isdisjoint(member.read)}
    for member in reversed(members):
        if member.name in needed:
            reads = member.read
            needed |= {m.name for m in members if any(t.name in reads for t in m.tensors)}
    return [member for member in members if member.name in needed]


def _row_bytes(members: Iterable[Map], windows: Mapping[str, Window | None]) -> int | None:
    """The bytes of one step of the tensors that have windows; None where sizes are not known."""
    found = [(m, window) for m in members if (window := windows[m.name]) is not None]
    rows = [
        replace(tensor, shape=(*tensor.shape[: window.axis], *tensor.shape[window.axis + 1 :]))
        for member, window in found
        for tensor in member.tensors
    ]
    is_known = all(extent.is_constant for tensor in rows for extent in tensor.shape)
    return sum(map(bytes_of, rows)) if is_known else None


def _is_no_larger(shape: Sequence[Affine], other: Sequence[Affine]) -> bool:
    """Whether a shape has no more elements than another: as numbers, and of each size that is not known."""
    known, least = (prod(extent.constant for extent in each if extent.is_constant) for each in (shape, other))
    unknown, most = (Counter(extent for extent in each if not extent.is_constant) for each in (shape, other))
    return known <= least and unknown <= most


def _is_worth(members: Sequence[Map], windows: Mapping[str, Window | None], summed: set[str]) -> bool:
    """Whether it is worth it that maps run along; those that add up sums have no batch of their own."""
    sweep = members[0].marks.sweep
    assert sweep is not None
    own = [member for member in members if member.name not in summed]
    row, steps = _row_bytes(own, windows), members[0].extents[sweep.index]
    total = row * steps.constant if row is not None and steps.is_constant else None
    recurrences = [member for member in own if member.order is not None]
    batches = (recurrence_of(replace(item, marks=Marks())) for item in recurrences)
    return is_worth_running_along(row, total, any(found is not None and found.batch for found in batches))


def _rows(members: Iterable[Map], windows: Mapping[str, Window | None]) -> int:
    """How many steps run at a time: they stay near."""
    row = _row_bytes(members, windows)
    return 1 if row is None else max(1, min(NEAR // max(row, 1), MOST_ROWS))


def arranged(function: MapFunction, members: Sequence[Map]) -> tuple[Map, ...] | None:
    """The maps in an order in which the members run together: what does not wait for them comes before.

    Other maps that run together stay so; None where one of these would come before the members and after.
    """
    inside, later = {m.name for m in members}, set[str]()
    before, after = list[Map](), list[Map]()
    for numbers in chains_in(function.maps):
        together = [function.maps[n] for n in numbers]
        names = {name for item in together for name in item.names}
        if not names.isdisjoint(inside):
            later |= names
        elif not all(later.isdisjoint(item.read) for item in together):
            after += together
            later |= names
        else:
            before += together
    waiting = {name for item in after for name in item.names}
    if not all(waiting.isdisjoint(member.read) for member in members):
        return None
    return (*before, *members, *after)
