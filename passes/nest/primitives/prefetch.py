"""The primitive that asks for lines of memory before they are read.

The processor sees ahead along a row, but not from the rows of one tile to those of the next, and a row of a
few kilobytes ends before it has caught up. So a long innermost loop of a sum runs in steps of a line, and
before each the line that the next tile reads there is asked for, in each of its rows. What vectors read from
rows far apart is asked for at each step. What an index array says the place of is asked for some steps
before, as far from each other as it may be.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from tadc.lattice.affine import Affine
from tadc.passes.maps.map import Ask, Choice, Fold, Let, Load
from tadc.passes.nest.loop_bounds import turns_of
from tadc.passes.nest.nest import Nest
from tadc.passes.nest.primitives import rewriting as rw
from tadc.passes.nest.primitives.rewriting import DoesNotFit
from tadc.passes.nest.steps import Prefetch
from tadc.passes.terms.costs import ELEMENT, LINE

STEPS_AHEAD = 32
"""So many steps of a loop take about as long as memory."""


def prefetch(nest: Nest, step: Prefetch) -> Nest:
    """Lets the loop of a reduction ask for what a read of it needs soon."""
    values, found = rw.named_values(nest.body), list[Fold]()

    def one(fold: Fold) -> Fold:
        if (load := _load_in(fold, step)) is None:
            return fold
        found.append(fold)
        asks = (Let((), ask) for ask in _asks(nest, step, fold, load, values))
        return replace(fold, body=replace(fold.body, lets=(*asks, *fold.body.lets)))

    body = rw.rewrite_folds(nest.body, one)
    if not found:
        raise DoesNotFit(f"no reduction reads `{step.read}`")
    return replace(nest, body=body)


def _asks(
    nest: Nest, step: Prefetch, fold: Fold, load: Load, values: Mapping[str, Affine]
) -> tuple[Ask, ...]:
    if step.how == "places":
        return _places(step, fold, load)
    tiles = {index: _tile(nest, form) for index, form in values.items()}
    if step.how == "rows":
        further = {index: Affine.var(index) + n for index, n in tiles.items() if n > 1}
        at = tuple(form.substitute(further) for form in load.at)
        return (Ask(load.tensor, at, every=LINE // ELEMENT[load.type]),)
    *others, last = load.at
    names = sorted(name for name in last.variables if tiles.get(name, 1) > 1)
    return (Ask(load.tensor, (*others, last.substitute({n: Affine.var(n) + tiles[n] for n in names}))),)


def _load_in(fold: Fold, step: Prefetch) -> Load | None:
    """The load of the name that asks, in the body of a fold; behind conditions, if a place may be beyond."""
    if step.how != "places":
        return rw.load_of(fold, step.read)
    waiting = list(fold.body.lets)
    while waiting:
        let = waiting.pop()
        if let.names == (step.read,) and isinstance(let.value, Load):
            return let.value
        if isinstance(let.value, Choice):
            waiting += [*let.value.then.lets, *let.value.otherwise.lets]
    return None


def _places(step: Prefetch, fold: Fold, load: Load) -> tuple[Ask, ...]:
    """What is read some steps later."""
    lookups = (lookup for form in load.at for lookup in form.lookups())
    if not any(fold.indices[-1] in lookup.variables for lookup in lookups):
        raise DoesNotFit(f"no index array says where `{step.read}` reads in steps of its reduction")
    later = {fold.indices[-1]: Affine.var(fold.indices[-1]) + STEPS_AHEAD}
    return (Ask(load.tensor, tuple(form.substitute(later) for form in load.at)),)


def _tile(nest: Nest, form: Affine) -> int:
    """How many values of an index a tile has."""
    extent = 1
    for loop in rw.loops_in(nest.body):
        k, turns = form.coefficient(loop.index), turns_of(loop)
        if k and loop.kind in ("jam", "lane") and turns is not None:
            extent += abs(k) * loop.step * (turns - 1)
    return extent
