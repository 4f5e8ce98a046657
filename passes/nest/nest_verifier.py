"""Whether a nest is what a nest must be: mistakes as diagnostics, each at its line of the nest's text.

Proven, for all sizes and ranges where `known` holds: names stand before their use, and have one meaning at a
place; types agree; every access is in range, and what a `know` says holds; loops in lockstep run a constant
number of times, the same at all points, with at most one of lanes around a computation.

Tried, by interpreting the nest at a few small sizes where it takes no more than `MOST_ACCESSES`: nothing is
read before it is written, and every element of what it computes is; the latter only of a nest without ranges,
which are parts of all elements, and may go on with what others began to compute.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import chain
from math import gcd
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tadc.frontend.diagnostics import CompileError, Diagnostic, Label
from tadc.frontend.functions import REDUCTIONS
from tadc.frontend.source import Source
from tadc.frontend.terms import Domain
from tadc.lattice.affine import Affine, Constraint, Lookup
from tadc.lattice.bounds import Unbounded
from tadc.lattice.effort import EliminationLimit
from tadc.lattice.late_dataclasses import dataclass, field, replace
from tadc.lattice.loop_nests import loop_nest
from tadc.lattice.points import SearchLimit, find_point
from tadc.passes.maps.closest_bounds import closest_bounds
from tadc.passes.maps.map import Ask, Block, Choice, Fold, IndexNumber, Let, Load, TensorDecl
from tadc.passes.nest.block_types import type_mistakes
from tadc.passes.nest.facts import Facts, Loops, NotProven, counterexample, elsewhere, named, where
from tadc.passes.nest.form_text import rows_text
from tadc.passes.nest.interpret import NestFault, TooManyAccesses, Unwritten, interpret
from tadc.passes.nest.loop_bounds import bound_forms, indices_of, turns_of
from tadc.passes.nest.mistake import Mistake
from tadc.passes.nest.nest import At, Body, Bound, Call, Compute, For, If, Know, Nest, Stage, Statement, Store
from tadc.passes.nest.nest_reader import ReadNest, read_nests
from tadc.passes.nest.nest_text import nest_text
from tadc.passes.terms.costs import NODES

MOST_ACCESSES = 50 * NODES
"""Of one tensor, where a nest is tried."""

NARROW = "narrow the loops, put it in an `if`, or write what is `known` of sizes"
NAME_TENSOR = "name it behind `nest`, or in a `stage` above"

TRIED = (1, 2, 5)
"""Sizes are at least one of these each, or what is known says more."""


def verify(nest: Nest) -> list[Diagnostic]:
    """All mistakes of a nest, with places in its text; none where it is right."""
    if not mistakes(nest):
        return []
    try:
        (read,) = read_nests(Source(nest_text(nest), f"<nest {nest.name}>"))
    except CompileError as error:
        return error.diagnostics
    return verify_read(read)


def verify_read(read: ReadNest) -> list[Diagnostic]:
    """All mistakes of a nest that was read from a text, with places there."""
    return [_diagnostic(mistake, read) for mistake in mistakes(read.nest, read.above)]


def verified(nest: Nest) -> Nest:
    """The nest. Raises CompileError (TAD0613) with all its mistakes."""
    found = verify(nest)
    if found:
        raise CompileError(found)
    return nest


def _diagnostic(mistake: Mistake, read: ReadNest) -> Diagnostic:
    span = read.spans.get(id(mistake.node), read.spans[id(read.nest)])
    label = Label(span, mistake.label)
    notes, helps = ([mistake.note] if mistake.note else []), [mistake.help]
    message = f"nest `{read.nest.name}` is wrong"
    return Diagnostic("TAD0613", message, label, notes=notes, helps=helps, source=read.source)


def mistakes(nest: Nest, called: Mapping[str, Nest] = MappingProxyType({})) -> list[Mistake]:
    """All mistakes of a nest, which may call some; it is tried where nothing is wrong by its text alone."""
    walk = _VerifierWalk(nest, called)
    walk.run()
    return walk.found or _tried(nest, called)


@dataclass(frozen=True)
class _Scope:
    """The surroundings of a statement: indices, of which reductions have some, tensors, facts, the loops in
    lockstep, and those of lanes. What `at` has `named`, it may name again."""

    indices: frozenset[str]
    tensors: Mapping[str, TensorDecl]
    facts: Facts
    lanes: tuple[str, ...] = ()
    lockstep: tuple[str, ...] = ()
    named: Mapping[str, Bound] = field(default_factory=dict[str, Bound])

    def with_facts(self, facts: Facts) -> _Scope:
        return replace(self, facts=(*self.facts, *facts))


@dataclass
class _VerifierWalk:
    """Walks over a nest once."""

    nest: Nest
    called: Mapping[str, Nest]
    found: list[Mistake] = field(default_factory=list[Mistake])
    loops: Loops = field(default_factory=Loops)
    counts: dict[str, int] = field(default_factory=dict[str, int])
    """How many lanes, and copies along each index, the reductions of a computation are."""

    def wrong(self, node: object, label: str, help: str, note: str = "") -> None:
        self.found.append(Mistake(node, label, help, note))

    def run(self) -> None:
        """The whole nest."""
        nest = self.nest
        tensors = {tensor.name: tensor for tensor in nest.tensors}
        for name in nest.computed:
            if name not in tensors:
                self.wrong(nest, f"computes `{name}`, which is none of its tensors", "name it behind `nest`")
        given = [*nest.sizes, *nest.ranges, *tensors]
        for name in {name for name in given if given.count(name) > 1}:
            self.wrong(nest, f"two things are called `{name}`", "give one another name")
        sizes = frozenset(nest.sizes)
        for tensor in nest.tensors:
            self.known(nest, tensor.shape, sizes)
        indices = sizes | frozenset(nest.ranges)
        self.known(nest, [row.form for row in nest.known], indices)
        self.body(nest.body, _Scope(indices, tensors, where(nest.known)))

    # -- names ---------------------------------------------------------------------------------

    def forms(self, node: object, used: Iterable[Affine], scope: _Scope, within: Domain = ()) -> None:
        """Names in forms stand before their use, and elements of index arrays are in range, where those of
        the rows they are `within` hold that do not have them."""
        used = tuple(used)
        self.known(node, used, scope.indices)
        for lookup in dict.fromkeys(lookup for form in used for lookup in form.lookups()):
            rows = tuple(row for row in within if lookup not in row.form.lookups())
            self.access(node, lookup, scope.with_facts(where(rows)))

    def known(self, node: object, used: Iterable[Affine], indices: frozenset[str]) -> None:
        """Names of indices stand before their use."""
        for name in sorted({name for form in used for name in form.variables} - indices):
            help = "name it by `for`, `at`, `sizes` or `ranges`"
            self.wrong(node, f"`{name}` is no index or size here", help)

    def new(self, node: object, names: Iterable[str], scope: _Scope) -> frozenset[str]:
        """The indices with new ones, which nothing around has."""
        indices = scope.indices
        for name in names:
            if name in indices or name in scope.tensors:
                self.wrong(node, f"`{name}` has a meaning here", "give the new index another name")
            indices |= {name}
        return indices

    def together(
        self, node: object, what: str, used: Iterable[Affine], loops: Iterable[str], scope: _Scope
    ) -> None:
        """Forms are the same in all turns of loops in lockstep."""
        apart = sorted(indices_of(used, scope.named).intersection(loops))
        if apart:
            help = "put it around the loop, or leave its kind out"
            self.wrong(node, f"{what} differs between points of `{apart[0]}`, which run in lockstep", help)

    # -- statements ----------------------------------------------------------------------------

    def body(self, body: Body, scope: _Scope) -> None:
        """Statements in order; names and staged tensors hold for those that follow."""
        for statement in body:
            scope = self.statement(statement, scope)

    def statement(self, statement: Statement, scope: _Scope) -> _Scope:
        """One statement; what stands around those behind it."""
        match statement:
            case For():
                self.loop(statement, scope)
            case If(rows=rows, then=then, otherwise=otherwise):
                used = [row.form for row in rows]
                self.forms(statement, used, scope, rows)
                self.together(statement, "this condition", used, scope.lockstep, scope)
                self.body(then, scope.with_facts(where(rows)))
                self.body(otherwise, scope.with_facts(elsewhere(rows)))
            case Know(rows=rows):
                self.forms(statement, [row.form for row in rows], scope, rows)
                for row in rows:
                    what = f"`{rows_text((row,))}`"
                    all(self.holds(statement, side, what, "to be so", scope) for side in row.inequalities)
                return scope.with_facts(where(rows))
            case At(index=index, value=value):
                if scope.named.get(index) == value:
                    return scope
                forms = bound_forms(value)
                self.forms(statement, forms, scope)
                if not isinstance(value, Affine):
                    self.together(statement, f"`{index}`", forms, scope.lockstep, scope)
                indices = self.new(statement, [index], scope)
                names = {**scope.named, index: value}
                return replace(scope.with_facts(named(statement)), indices=indices, named=names)
            case Stage(tensor=tensor):
                self.known(statement, tensor.shape, scope.indices)
                if tensor.name in scope.tensors or tensor.name in scope.indices:
                    self.wrong(statement, f"`{tensor.name}` has a meaning here", "give the room another name")
                return replace(scope, tensors={**scope.tensors, tensor.name: tensor})
            case Compute(within=rows):
                used = [row.form for row in rows]
                self.forms(statement, used, scope, rows)
                self.together(statement, "what it is within", used, scope.lanes, scope)
                self.compute(statement, scope.with_facts(where(rows)))
            case Call():
                self.call(statement, scope)
        return scope

    def loop(self, loop: For, scope: _Scope) -> None:
        """A loop and what is in it."""
        ends = (*bound_forms(loop.start), *bound_forms(loop.stop))
        self.forms(loop, (*ends, *(loop.reach or ())), scope)
        self.together(loop, f"the range of `{loop.index}`", ends, scope.lockstep, scope)
        inside = replace(
            scope.with_facts(self.loops.inside(loop)), indices=self.new(loop, [loop.index], scope)
        )
        if loop.kind in ("jam", "lane"):
            turns = turns_of(loop)
            if turns is None:
                label = "a loop in lockstep whose number of turns is not constant"
                self.wrong(loop, label, "split it by a constant, or leave its kind out")
            inside = replace(inside, lockstep=(*scope.lockstep, loop.index))
            if loop.kind == "lane":
                inside = replace(inside, lanes=(*scope.lanes, loop.index))
        self.body(loop.body, inside)

    def compute(self, compute: Compute, scope: _Scope) -> None:
        """Values and stores."""
        if len(scope.lanes) > 1:
            loops = " and ".join(f"`{name}`" for name in scope.lanes)
            label = f"two loops of lanes, {loops}, around one computation"
            self.wrong(compute.block.lets[0] if compute.block.lets else compute, label, "let one be `jam`")
        self.counts.clear()
        self.found += type_mistakes(compute, scope.tensors)
        self.block(compute.block, scope)
        for store in compute.stores:
            self.forms(store, [*store.at, *(row.form for row in store.fresh)], scope)
            self.written(store, store.tensor)
            self.access(store, store, scope)

    def written(self, node: object, tensor: str) -> None:
        if tensor not in self.nest.computed and tensor in {other.name for other in self.nest.tensors}:
            self.wrong(node, f"`{tensor}` is not computed here", f"name it `out {tensor}`")

    def call(self, call: Call, scope: _Scope) -> None:
        """A call has a nest above, tensors and values that fit, and what that one says to be known holds."""
        nest = self.called.get(call.nest)
        if nest is None:
            self.wrong(call, f"no nest `{call.nest}` stands above", "a nest calls those that stand above it")
            return
        self.forms(call, (*call.ranges, *call.sizes), scope)
        for has, wants, what in (
            (call.tensors, nest.tensors, "tensors"),
            (call.ranges, nest.ranges, "values for its ranges"),
            (call.sizes or nest.sizes, nest.sizes, "sizes"),
        ):
            if len(has) != len(wants):
                label = f"`{nest.name}` takes {len(wants)} {what}, not {len(has)}"
                self.wrong(call, label, "its first line says which")
                return
        meanings = dict(zip(nest.ranges, call.ranges, strict=True))
        meanings |= dict(zip(nest.sizes, call.sizes, strict=False))
        for own, name in zip(nest.tensors, call.tensors, strict=True):
            there = scope.tensors[name]
            shape = tuple(extent.substitute(meanings) for extent in own.shape)
            if own.type != there.type or _elements(shape) != _elements(there.shape):
                self.wrong(
                    call,
                    f"`{name}` has another type or number of elements than `{own.name}`",
                    "pass one that fits",
                )
            if own.name in nest.computed:
                self.written(call, name)
        for row in nest.known:
            what, here = f"`{rows_text((row,))}` of `{nest.name}`", row.substitute(meanings)
            all(self.holds(call, side, what, "to be so", scope) for side in here.inequalities)

    def block(self, block: Block, scope: _Scope) -> None:
        for let in block.lets:
            self.let(let, scope)

    def let(self, let: Let, scope: _Scope) -> None:
        """A value, where it stands."""
        match let.value:
            case Load():
                self.forms(let, let.value.at, scope)
                self.access(let, let.value, scope)
            case Ask():
                self.known(let, let.value.at, scope.indices)
                self.access(let, let.value, scope)
            case IndexNumber(form=form):
                self.forms(let, [form], scope)
            case Choice(rows=rows, then=then, otherwise=otherwise):
                self.forms(let, [row.form for row in rows], scope, rows)
                self.block(then, scope.with_facts(where(rows)))
                self.block(otherwise, scope.with_facts(elsewhere(rows)))
            case Fold() as fold:
                self.fold(let, fold, scope)
            case _:
                pass

    def fold(self, let: Let, fold: Fold, scope: _Scope) -> None:
        """A reduction and what is in it."""
        if fold.is_in_lockstep and not self.in_lockstep(let, fold, scope):
            return
        if fold.loop == "unroll" and closest_bounds(fold.indices[-1], fold.rows) is None:
            label = f"`{fold.indices[-1]}` is written out, and how many values it has is not known"
            self.wrong(let, label, "let two of its bounds be a number apart, or leave `unroll` out")
        indices = self.new(let, fold.indices, scope)
        rows = (*fold.rows, *chain.from_iterable(fold.parts))
        self.forms(let, [row.form for row in rows], replace(scope, indices=indices), fold.rows)
        if fold.parts and (fold.is_in_lockstep or not fold.parted):
            label = "no loop of this reduction stands in these parts"
            self.wrong(
                let, label, "name an index of it, one value after the other, as `parts k <= 3 then k >= 4`"
            )
        try:
            loop_nest(fold.indices, fold.rows, ())
        except (Unbounded, EliminationLimit) as error:
            self.wrong(let, f"the loops of this reduction are not known: {error}", "write `where 0 <= k < N`")
        inside = replace(scope.with_facts(where(fold.rows)), indices=indices)
        if fold.loop == "lane":
            inside = replace(inside, lanes=(*scope.lanes, fold.indices[0]))
        self.block(fold.body, inside)

    def in_lockstep(self, let: Let, fold: Fold, scope: _Scope) -> bool:
        """Copies, lanes and threads are a known number from 0 on; lanes are in no other lanes."""
        indices, limits = fold.indices, fold.rows
        known = {row for row in limits if not row.equality and len(row.form.variables) == 1}
        starts = all(Constraint(Affine.var(index)) in known for index in indices)
        is_alone = len(indices) == 1 or fold.loop == "thread"
        if not (indices and starts and is_alone and len(limits) == len(known) == 2 * len(indices)):
            label = "copies, lanes or threads over more than 0 to a number"
            self.wrong(let, label, "write `where 0 <= k <= 7`, what else holds in a reduction inside")
            return False
        if not REDUCTIONS[fold.kind].in_loops:
            self.wrong(
                let, "a logsumexp of copies, lanes or threads", "write a maximum and a sum of exponentials"
            )
        count = fold.count
        if fold.loop == "lane" and count & (count - 1):
            self.wrong(let, f"{count} lanes, which cannot be joined by halves", "take a power of 2")
        of = "lanes" if fold.loop == "lane" else f"copies along `{indices[0]}`"
        if fold.is_in_tile and (others := self.counts.setdefault(of, count)) != count:
            self.wrong(let, f"{count} {of}, where a reduction before has {others}", "let both have as many")
        if fold.loop == "lane" and scope.lanes:
            label = f"a reduction in lanes, inside of the lanes `{scope.lanes[-1]}`"
            self.wrong(let, label, "one of them is enough: leave the other's lanes out")
        return True

    # -- accesses ------------------------------------------------------------------------------

    def access(self, node: object, of: Load | Store | Ask | Lookup, scope: _Scope) -> None:
        """Every subscript is in range, but of what is only brought near."""
        name = of.array if isinstance(of, Lookup) else of.tensor
        tensor = scope.tensors.get(name)
        if tensor is None:
            self.wrong(node, f"`{name}` is no tensor here", NAME_TENSOR)
            return
        if isinstance(of, Lookup) != (tensor.below is not None):
            label, help = f"`{name}` is an index array", "its elements stand in forms: `x[src[e]]`"
            self.wrong(node, label if tensor.below is not None else f"`{name}` is no index array", help)
            return
        if len(of.at) != len(tensor.shape):
            label = f"`{name}` has {len(tensor.shape)} dimensions, not {len(of.at)}"
            self.wrong(node, label, "write a subscript for each")
            return
        pairs = () if isinstance(of, Ask) else zip(of.at, tensor.shape, strict=True)
        for form, extent in pairs:
            limits = ((form, "to be at least 0"), (extent - 1 - form, f"to be at most {extent - 1}"))
            if not all(self.holds(node, side, f"`{form}`", limit, scope) for side, limit in limits):
                return

    def holds(self, node: object, form: Affine, what: str, is_so: str, scope: _Scope) -> bool:
        """Whether a form is at least 0 wherever a statement runs: what is wrong is noted if not."""
        try:
            point = counterexample(form, scope.facts, frozenset((*self.nest.sizes, *self.nest.ranges)))
        except (NotProven, SearchLimit, EliminationLimit):
            self.wrong(node, f"{what} is not proven {is_so}", NARROW)
            return False
        if point is not None:
            shown = ", ".join(f"{name} = {value}" for name, value in point.items())
            note = f"it is not at {shown}" if shown else ""
            self.wrong(node, f"{what} is not always {is_so.removeprefix('to be ')}", NARROW, note)
        return point is None


# -- what is tried ---------------------------------------------------------------------------------


def _elements(shape: Iterable[Affine]) -> tuple[int, list[str]]:
    """How many elements a shape has: the numbers in its extents, and what these are a number of times."""
    count, others = 1, list[str]()
    for extent in shape:
        factor = abs(gcd(extent.constant, *(number for _, number in extent.terms))) or 1
        if extent.is_constant:
            count *= extent.constant
        else:
            count, others = count * factor, [*others, str(extent.floordiv(factor))]
    return count, sorted(others)


def _tried(nest: Nest, called: Mapping[str, Nest]) -> list[Mistake]:
    """The mistakes that show where the nest is interpreted."""
    for values in _values(nest):
        if not _is_right(nest, tuple(called.items()), tuple(values.items())):
            return _mistakes_at(nest, called, values)
    return []


@lru_cache(maxsize=1 << 8)
def _is_right(nest: Nest, called: tuple[tuple[str, Nest], ...], values: tuple[tuple[str, int], ...]) -> bool:
    """Whether no mistake shows at some sizes: many schedules come to the same nest."""
    return not _mistakes_at(nest, dict(called), dict(values))


def _mistakes_at(nest: Nest, called: Mapping[str, Nest], values: Mapping[str, int]) -> list[Mistake]:
    """Those at some sizes, if they are small enough."""
    shapes = {t.name: tuple(extent.evaluate(values) for extent in t.shape) for t in nest.tensors}
    if any(int(np.prod(shape)) > MOST_ACCESSES for shape in shapes.values()):
        return []
    at = ", ".join(f"{name} = {value}" for name, value in values.items())
    note = f"at {at}" if at else ""
    arrays = {t.name: _tried_array(t, shapes[t.name], values) for t in nest.tensors}
    try:
        unwritten = interpret(nest, arrays, values, MOST_ACCESSES, called).unwritten
    except TooManyAccesses:
        return []
    except NestFault as fault:
        # A range is a part of all elements.
        if isinstance(fault, Unwritten) and nest.ranges and fault.tensor in nest.computed:
            return []
        return [Mistake(fault.node, fault.message, "let a loop before it write this element", note)]
    places = () if nest.ranges else ((name, ", ".join(map(str, at[0]))) for name, at in unwritten.items())
    help = "every element of an `out` is"
    return [Mistake(nest, f"`{name}[{place}]` is never written", help, note) for name, place in places]


def _tried_array(tensor: TensorDecl, shape: tuple[int, ...], values: Mapping[str, int]) -> NDArray[Any]:
    """Ones; of an index array its elements by turns, or from 0 up and then the last one."""
    if tensor.below is None:
        return np.ones(shape)
    below, places = max(tensor.below.evaluate(values), 1), np.arange(int(np.prod(shape))).reshape(shape)
    return np.minimum(places, below - 1) if tensor.increasing else places % below


def _values(nest: Nest) -> Iterator[dict[str, int]]:
    """A few small sizes for which a nest is meant, and a range at each."""
    seen: list[dict[str, int]] = []
    for least in TRIED:
        names = (*nest.sizes, *nest.ranges[-1:])
        rows = (Constraint(Affine.var(name) - least) for name in names)
        try:
            point = find_point([*nest.known, *rows])
        except (SearchLimit, EliminationLimit):
            continue
        if point is not None:
            usual = {**dict.fromkeys((*nest.sizes, *nest.ranges), 0), **dict.fromkeys(names, least)}
            values = {name: point.get(name, value) for name, value in usual.items()}
            if values not in seen:
                seen.append(values)
                yield values
