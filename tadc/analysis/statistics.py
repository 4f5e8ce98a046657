"""What a program and its gradients compute, move and keep, counted from their domains."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, replace
from math import prod

from tadc.analysis.uneven_walks import uneven_walks
from tadc.backend.base import CPU
from tadc.backend.compile_steps import step
from tadc.backend.runtime.parameters import Parameter
from tadc.backend.runtime.workspace import Temporary, workspace
from tadc.compiler.all_stages import compile_until
from tadc.compiler.compile_options import Options
from tadc.compiler.derive import read_back, resolve_wrt
from tadc.compiler.kernel_interface import interface_of
from tadc.compiler.stages import Compilation, fuse
from tadc.dialect.program_reader import Fused, read_fused, tad_functions
from tadc.frontend.extents import shape_at
from tadc.frontend.program import Definition, Program
from tadc.frontend.size_values import needs_values
from tadc.frontend.terms import tensors_read
from tadc.lattice.late_dataclasses import dataclass
from tadc.passes.derivatives.cancel import cancel_program
from tadc.passes.derivatives.fibres import with_fibres
from tadc.passes.rewrites.long_fibres import PART, cut_fibres
from tadc.passes.terms.costs import ELEMENT
from tadc.passes.terms.operation_counts import ComputedTogether, Work, count_program


@dataclass(frozen=True)
class Temporaries:
    """Tensors that are neither arguments nor results; `peak` is the memory that a call has for them.

    In that, those in use at different times share memory. Of a program that is compiled, it is what is left
    where maps are fused; of one as written, there is a map for each definition.
    """

    number: int
    elements: int
    bytes: int
    peak: int


@dataclass(frozen=True)
class Cost:
    """Of one program: its work, the bytes of its arguments and results, and its temporaries.

    `windows` say which of these are kept for few steps of a recurrence alone, and why that is enough; `parts`
    are further ones, of calls with long fibres, whose parts they hold. `walks` are those over index arrays
    that take more steps than are counted where elements are not equally frequent.
    """

    work: Work
    arguments: int
    results: int
    temporaries: Temporaries
    windows: tuple[str, ...] = ()
    parts: tuple[str, ...] = ()
    walks: tuple[str, ...] = ()


@dataclass(frozen=True, repr=False)
class Statistics:
    """The cost of a program as it is written, as it is compiled, and of that with gradients.

    `str` of it is what the command prints, `as_json` the same for programs.
    """

    written: Cost
    value: Cost
    gradients: Cost
    wrt: tuple[str, ...]
    index_arrays: tuple[str, ...] = ()

    @property
    def ratio(self) -> float:
        """The weighted operations of value and gradients over those of the program as written; 0 of none.

        It is an upper bound where the former are one, and says nothing where the latter are one.
        """
        primal = self.written.work.weighted
        return self.gradients.work.weighted / primal if primal else 0.0

    def __repr__(self) -> str:
        return f"<tadc.Statistics of value and gradients by {', '.join(self.wrt)}: {self.ratio:.2f} times>"

    def as_json(self) -> str:
        """One JSON object."""
        return json.dumps({**asdict(self), "ratio": self.ratio}, indent=2)

    def __str__(self) -> str:
        columns = (self.written, self.value, self.gradients)
        table = [("", ["as written", "value", "with gradients"])]
        table += [
            (name, [("" if c.work.exact else "<= ") + f"{entry(c):,}" for c in columns])
            for name, entry in _WORK
        ]
        table += [(name, [f"{entry(c):,}" for c in columns]) for name, entry in _MEMORY]
        wide = [max(len(row[column]) for _, row in table) for column in range(len(columns))]
        lines = [
            f"{name:26}" + "".join(f"  {cell:>{width}}" for cell, width in zip(row, wide, strict=True))
            for name, row in table
        ]
        by = ", ".join(self.wrt)
        if self.written.work.weighted and self.written.work.exact:
            most = "" if self.gradients.work.exact else "at most "
            lines.append(
                f"value and gradients by {by} cost {most}{self.ratio:.2f} times the program as written"
            )
        if not all(c.work.exact for c in columns):
            lines.append("`<=` stands before upper bounds: to count exactly would take too long")
        if self.index_arrays:
            arrays = ", ".join(f"`{name}`" for name in self.index_arrays)
            lines.append(f"all elements that {arrays} may have are counted as equally frequent")
        for title, cost in (("the value", self.value), ("value and gradients", self.gradients)):
            if cost.windows:
                lines += [f"of {title} are kept", *(f"  {line}" for line in cost.windows)]
            if cost.parts:
                lines.append(
                    f"of {title} long fibres have parts of {PART:,} elements: {', '.join(cost.parts)}"
                )
            if cost.walks:
                lines += [f"of {title} are walked", *(f"  {line}" for line in cost.walks)]
        return "\n".join(lines)


_WORK: tuple[tuple[str, Callable[[Cost], int]], ...] = (
    ("operations, weighted", lambda c: c.work.weighted),
    ("operations", lambda c: c.work.operations),
    ("bytes loaded", lambda c: c.work.loaded),
    ("bytes stored", lambda c: c.work.stored),
)
_MEMORY: tuple[tuple[str, Callable[[Cost], int]], ...] = (
    ("bytes of arguments", lambda c: c.arguments),
    ("bytes of results", lambda c: c.results),
    ("temporaries", lambda c: c.temporaries.number),
    ("elements of temporaries", lambda c: c.temporaries.elements),
    ("bytes of temporaries", lambda c: c.temporaries.bytes),
    ("memory of temporaries", lambda c: c.temporaries.peak),
)  # fmt: skip


def statistics(
    program: Program, wrt: str | Sequence[str] | None = None, options: Options | None = None
) -> Statistics:
    """Count a program and its gradients by `wrt` (None: all arguments), compiled with these options.

    Raises CompileError: TAD0212 where a size symbol has no value, TAD0401 for a name that is no argument.
    """
    if program.sizes:
        raise needs_values(program.sizes, "operations are counted for values of all sizes", program.source)
    names = resolve_wrt(program, wrt)
    with step("count"):
        written = cost_of(with_fibres(cancel_program(program)) if program.index_arrays() else program)
    value = _compiled_cost(program, "value", (), options)
    gradients = _compiled_cost(program, "value-and-vjp", names, options)
    return Statistics(written, value, gradients, names, tuple(program.index_arrays()))


def _compiled_cost(program: Program, mode: str, wrt: tuple[str, ...], options: Options | None) -> Cost:
    state = _compiled(program, mode, wrt, options)
    form = read_back(state)
    with step("fuse"):
        fused = _fused(state)
    with step("count"):
        cost = cost_of(fused.program, ComputedTogether(fused.maps, fused.sums))
    room = workspace(interface_of(state, form).temporaries)
    peak = replace(cost.temporaries, peak=room.bytes)
    cut = cut_fibres(form)
    parts = [d.name for d in cut.definitions if d.name not in form.shapes()]
    return replace(
        cost, temporaries=peak, windows=tuple(state.windows), parts=tuple(parts), walks=uneven_walks(form)
    )


def compiled_work(
    program: Program, mode: str, wrt: tuple[str, ...] = (), options: Options | None = None
) -> Work:
    """The work of what goes to the code generator, maps and sums being fused; `mode` as in `Options`."""
    return count_program(*fused_form(program, mode, wrt, options))


def fused_form(
    program: Program, mode: str, wrt: tuple[str, ...] = (), options: Options | None = None
) -> tuple[Program, ComputedTogether]:
    """The program that is lowered to loops, and what of it is computed together; `mode` as in `Options`."""
    fused = _fused(_compiled(program, mode, wrt, options))
    return fused.program, ComputedTogether(fused.maps, fused.sums)


def _fused(state: Compilation) -> Fused:
    """What is left where maps are fused."""
    fuse(state)
    (function,) = tad_functions(state.module.operation)
    return read_fused(function)


def compiled_form(
    program: Program, mode: str, wrt: tuple[str, ...] = (), options: Options | None = None
) -> Program:
    """The program that goes to the code generator; `mode` as in `Options`."""
    return read_back(_compiled(program, mode, wrt, options))


def _compiled(program: Program, mode: str, wrt: tuple[str, ...], options: Options | None) -> Compilation:
    made = replace(options or Options(), mode=mode, wrt=wrt or None, sizes=(), target=CPU, long_fibres=False)
    state = Compilation(made, program.source, program=program)
    compile_until(state, "hoist", first="tad")
    return state


def cost_of(program: Program, together: ComputedTogether | None = None) -> Cost:
    """The cost of a program without size symbols, as it stands."""
    arguments = sum(_bytes(a.type, shape_at(a.shape, {})) for a in program.arguments)
    return Cost(
        count_program(program, together),
        arguments,
        sum(map(_size, program.outputs)),
        _temporaries(program.definitions),
    )


def _temporaries(definitions: Sequence[Definition]) -> Temporaries:
    between = [d for d in definitions if not d.is_output]
    last = {name: n for n, d in enumerate(definitions) for name in tensors_read([d.body])}
    room = workspace(
        [
            Temporary(Parameter(d.name, d.type, d.shape), n, last.get(d.name, n))
            for n, d in enumerate(definitions)
            if not d.is_output
        ]
    )
    elements = sum(prod(shape_at(d.shape, {})) for d in between)
    return Temporaries(len(between), elements, sum(map(_size, between)), room.bytes)


def _size(definition: Definition) -> int:
    return _bytes(definition.type, shape_at(definition.shape, {}))


def _bytes(type: str, shape: Iterable[int]) -> int:
    return ELEMENT[type] * prod(shape)
