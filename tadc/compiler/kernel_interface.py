"""What calls of a program's kernels need to know."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from tadc.compiler.stages import Compilation
from tadc.frontend.extents import substituted
from tadc.frontend.program import Program
from tadc.frontend.specialise import problems_at
from tadc.lattice.affine import Affine

if TYPE_CHECKING:
    from tadc.backend.runtime.call_sizes import SizeSymbols
    from tadc.backend.runtime.interface import Interface
    from tadc.backend.runtime.parameters import Parameter


def parameters_of(program: Program) -> tuple[tuple[Parameter, ...], tuple[Parameter, ...]]:
    """The inputs and the outputs, with types and shapes."""
    from tadc.backend.runtime.parameters import Parameter

    return (
        tuple(
            Parameter(a.name, a.type, a.shape, a.below, a.increasing, a.inspected, a.pattern)
            for a in program.arguments
        ),
        tuple(Parameter(d.name, d.type, d.shape, pattern=d.pattern) for d in program.outputs),
    )


def size_symbols_of(program: Program) -> SizeSymbols:
    """How shapes tell the sizes of a call, which are looked at once more where they may be excluded."""
    from tadc.backend.runtime.call_sizes import SizeSymbols

    recheck = partial(problems_at, program)
    inputs, _ = parameters_of(program)
    return SizeSymbols(program.sizes, inputs, program.excluded, recheck, dict(program.given))


def interface_of(state: Compilation, program: Program) -> Interface:
    """What calls of the program's kernel need to know: of its own arguments, and of those that are added."""
    from tadc.backend.runtime.interface import Interface
    from tadc.backend.runtime.parameters import Parameter
    from tadc.backend.runtime.workspace import Temporary

    lowered = state.form or program
    names = {f"s{n}": Affine.var(name) for n, name in enumerate(lowered.sizes)}
    inputs, outputs = parameters_of(program)
    all_inputs, _ = parameters_of(lowered)
    return Interface(
        state.symbol,
        (*(p for p in inputs if p.inspected is None), *(p for p in all_inputs if p.inspected is not None)),
        outputs,
        tuple(
            Temporary(
                Parameter(t.name, t.type, substituted(t.shape, names)),
                *t.span,
                *t.place,
                t.cotangent_of,
                t.has_steps,
            )
            for t in state.temporaries
        ),
        lowered.sizes,
        program.excluded,
        program.given,
        tuple(state.work),
    )
