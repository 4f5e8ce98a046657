"""The nests of a recurrence that saves some of its states, and takes steps again for another that goes back.

Both go through legs (`passes/maps/checkpoints.py`), which index arrays hold: a state is restored, steps are
taken, the state after them is saved, the other chain goes back over some steps. States are saved behind the
window of their tensor, so a leg copies the last steps there, or from there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

from tadc.frontend.dtypes import INDEX_TYPE
from tadc.lattice.affine import ZERO, Affine, Constraint, Lookup
from tadc.lattice.late_dataclasses import dataclass, fields
from tadc.passes.cpu.calls import Callee, calling
from tadc.passes.cpu.step_functions import StepFunction
from tadc.passes.maps.blocks import BlockNames
from tadc.passes.maps.checkpoints import Leg
from tadc.passes.maps.map import Block, Let, Load, TensorDecl, Window
from tadc.passes.nest.loop_bounds import around
from tadc.passes.nest.nest import Body, Call, Compute, For, If, Nest, Stage, Statement, Store


@dataclass(frozen=True)
class Saved:
    """A tensor of which states are saved, its window, and how many steps a state has; its copy has a name."""

    name: str
    tensor: TensorDecl
    window: Window
    depth: int

    @cached_property
    def copy(self) -> Nest:
        """The nest that copies a step."""
        return copy_nest(self.name, self.tensor, self.window.axis)


@dataclass(frozen=True)
class Taped:
    """A chain of so many steps, which may go `down`; of which maps states are saved."""

    count: int
    down: bool
    saved: Sequence[Saved]


def tape_nest(
    name: str,
    legs: Sequence[Leg],
    chains: tuple[StepFunction, StepFunction | None],
    taped: Taped,
    tensors: Mapping[str, TensorDecl],
) -> Nest:
    """The nest over legs that calls a chain for steps to take, and one for steps to go back over."""
    names = BlockNames({*tensors})
    begin, end, leg = map(names.new, ("first", "last", "leg"))
    stages, found = list[Statement](), dict[str, Affine]()
    for field in fields(Leg):
        elements = tuple(getattr(each, field.name) for each in legs)
        if any(elements):
            column, below = names.new(field.name), Affine.const(max(elements) + 1)
            shape = (Affine.const(len(legs)),)
            stages.append(
                Stage(TensorDecl(column, INDEX_TYPE, shape, below=below, elements=elements), "global")
            )
            found[field.name] = Affine.atom(Lookup(column, (Affine.var(leg),), below))
        else:
            found[field.name] = ZERO
    there, back = chains
    body = [
        *_copied(taped, found["begin"], found["restore"], is_restored=True),
        _called(there, found["begin"], found["end"]),
        *_copied(taped, found["end"], found["save"], is_restored=False),
    ]
    if back is not None:
        body.append(_called(back, found["back_begin"], found["back_end"]))
    loop = For(leg, Affine.var(begin), Affine.var(end), 1, "seq", tuple(body))
    known = (
        Constraint(Affine.var(begin)),
        Constraint(Affine.var(end) - Affine.var(begin)),
        Constraint(len(legs) - Affine.var(end)),
    )
    copies = [Callee.of(saved.copy) for saved in taped.saved]
    callees = [*copies, *(Callee.of(chain.nest) for chain in chains if chain is not None)]
    return calling(name, callees, tensors, (begin, end), known, (*stages, loop))


def _called(chain: StepFunction, begin: Affine, end: Affine) -> Statement:
    return If((Constraint(end - begin - 1),), (chain.call(end - begin, begin),))


def _copied(taped: Taped, following: Affine, slot: Affine, *, is_restored: bool) -> Body:
    """Copies of the state before a step between the window and a slot, if it has a number above 0."""
    found: list[Statement] = []
    shift = 1 - taped.count if taped.down else 0
    for saved in taped.saved if slot != ZERO else ():
        for back in range(saved.depth):
            rows, step = saved.window.rows, following - 1 - back
            ends = ((step + shift).mod(rows), (slot - 1) * saved.depth + rows + back)
            call = Call(saved.copy.name, (saved.tensor.name,), ends[::-1] if is_restored else ends)
            found.append(If((Constraint(slot - 1), Constraint(step)), (call,)))
    return tuple(found)


def copy_nest(name: str, tensor: TensorDecl, axis: int) -> Nest:
    """The nest that copies the row `source` of a tensor's memory to the row `target`."""
    names = BlockNames({tensor.name})
    ranges = (names.new("source"), names.new("target"))
    source, target = map(Affine.var, ranges)
    indices = [names.new(f"i{n}") for n in range(len(tensor.shape))]
    at = list(map(Affine.var, indices))
    read, stored = ((*at[:axis], row, *at[axis + 1 :]) for row in (source, target))
    let = Let(("%0",), Load(tensor.name, read, tensor.type))
    body: Body = (Compute(Block((let,), ("%0",)), (Store(tensor.name, stored, "%0"),)),)
    ends = ((index, ZERO, size) for index, size in zip(indices, tensor.shape, strict=True))
    body = around(body, *(each for n, each in enumerate(ends) if n != axis))
    last = tensor.shape[axis] - 1
    known = tuple(Constraint(form) for row in (source, target) for form in (row, last - row))
    return Nest(name, (tensor,), (), ranges, known, (tensor.name,), body)
