"""Which Jacobians are made of tangents, one for each element of the argument, and not of cotangents, one for
each of the output.

Of a recurrence with three parameters whose steps are all returned, the first takes three times its steps, the
second their square.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tadc.frontend.diagnostics import CompileError
from tadc.frontend.program import Program
from tadc.frontend.specialise import specialised
from tadc.passes.derivatives.activity import active_tensors
from tadc.passes.derivatives.cancel import cancel_program
from tadc.passes.derivatives.jacobian import jacobian_program
from tadc.passes.supports.compress import without_zeros_between
from tadc.passes.supports.support_boxes import Sizes
from tadc.passes.terms.operation_counts import count_program
from tadc.passes.terms.simplify import simplify_program

#: Tangents are taken where they cost so many times less as they are written: some is shared later.
LESS = 2


def by_tangents(program: Program, wrt: Sequence[str]) -> set[tuple[str, str]]:
    """The outputs and arguments whose Jacobians cost less in forward mode; none where there are index arrays,
    along whose fibres it is not known what they cost."""
    if program.index_arrays():
        return set()
    shapes, about = program.shapes(), Sizes.of(program).about
    found = set[tuple[str, str]]()
    for output in program.outputs:
        for name in wrt:
            if about(shapes[name]) < about(output.shape) and _is_less(program, output.name, name):
                found.add((output.name, name))
    return found


def _is_less(program: Program, output: str, name: str) -> bool:
    """Whether the one Jacobian costs less in forward mode."""
    definitions = [replace(d, is_output=d.name == output) for d in program.definitions]
    alone = replace(program, definitions=tuple(definitions))
    active = active_tensors(alone, (name,))
    if not any(d.order or not d.is_output for d in definitions if d.name in active):
        return False  # the two are the same
    programs = (jacobian_program(alone, (name,), pairs) for pairs in ((), {(output, name)}))
    try:
        cotangents, tangents = map(_cost, programs)
    except CompileError:
        return False  # too many rows, or sizes without a meaning
    return LESS * tangents < cotangents


def _cost(program: Program) -> int:
    """What a program of a Jacobian costs as it is compiled, of sizes that are no numbers about that."""
    made = without_zeros_between(simplify_program(cancel_program(program)))
    if made.sizes:
        made = specialised(made, Sizes.of(made).values)
    return count_program(made).weighted
