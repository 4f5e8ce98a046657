"""`--check-gradient`: compiled gradients against central differences of the compiled value."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from tadc.analysis.random_inputs import random_array, told_sizes
from tadc.api.execute import Compiled, compile_program, evaluate
from tadc.commands.files import Sink
from tadc.compiler.compile_options import Options
from tadc.compiler.derive import derive
from tadc.compiler.stages import Compilation
from tadc.frontend.diagnostics import CompileError, Diagnostic
from tadc.frontend.dtypes import COMPUTING, DEFAULT, INDEX_TYPE
from tadc.frontend.extents import shape_at
from tadc.frontend.program import Program
from tadc.frontend.specialise import specialised
from tadc.lattice.late_dataclasses import dataclass, replace
from tadc.passes.numpy_types import numpy_type

#: Elements of an argument that are moved, at most.
SAMPLES = 64

#: Values for size symbols: the first one, and the step to each that follows.
_TRIED = ((5, 1), (6, -1), (12, -3), (3, 5), (5, 0), (64, -20), (4, 20))


@dataclass(frozen=True)
class GradientRow:
    """The check of one argument's gradient."""

    argument: str
    shape: tuple[int, ...]
    checked: int
    error: float
    tolerance: float

    @property
    def passed(self) -> bool:
        """Whether all differences are within the tolerance."""
        return self.error <= self.tolerance


def check_gradient(
    state: Compilation, wrt: Sequence[str] | None, given: Mapping[str, Any], as_json: bool = False
) -> int:
    """Print a table of errors; exit code 1 if one is too large. Inputs that are not given are random."""
    assert state.program is not None
    rows = gradient_errors(state.program, wrt, given=given, options=state.options)
    entries = [{**asdict(row), "passed": row.passed} for row in rows]
    Sink("-").write(json.dumps(entries, indent=2) if as_json else table(rows))
    return 0 if all(row.passed for row in rows) else 1


def gradient_errors(
    program: Program,
    wrt: Sequence[str] | None = None,
    seed: int = 0,
    given: Mapping[str, Any] | None = None,
    options: Options | None = None,
) -> list[GradientRow]:
    """Compare the gradient of `sum(df * f)` at random inputs, element by element.

    The error is the largest difference over 1 + the largest gradient. A central difference of
    step h is wrong by h**2 and by the rounding of f over h, hence h = eps**(1/3). Raises
    CompileError (TAD0406) where the program has no finite value at the inputs.
    """
    if program.sizes:
        program = specialised(program, _tried_sizes(program, given or {}))
    value = compile_program(_unrounded(program))
    derived = derive(program, "vjp", wrt, options)
    gradient = compile_program(derived, options and options.of_derived)
    random = np.random.default_rng(seed)
    arrays = _random_inputs(program, value, random, given or {})
    types = {a.name: a.type for a in program.arguments}
    cotangents = {
        a.cotangent_of: random.uniform(-1, 1, shape_at(a.shape, {})).astype(numpy_type(a.type))
        for a in derived.arguments
        if a.cotangent_of
    }
    wide = {n: a.astype(numpy_type(COMPUTING[types[n]])) if n in types else a for n, a in arrays.items()}
    named = {a.name: cotangents[a.cotangent_of] for a in derived.arguments if a.cotangent_of}
    gradients = evaluate(gradient, arrays | named)
    stored = {*types.values(), *(d.type for d in program.definitions)}
    single = not stored <= {DEFAULT, INDEX_TYPE}
    rows: list[GradientRow] = []
    for definition in derived.outputs:
        argument = definition.gradient_of
        found = np.asarray(gradients[definition.name], dtype=np.float64)
        where = _sample(found.size, random)
        expected = np.array([_difference(value, wide, cotangents, argument, n, single) for n in where])
        scale = 1 + float(np.max(np.abs(expected), initial=0.0))
        error = float(np.max(np.abs(found.reshape(-1)[where] - expected), initial=0.0)) / scale
        rows.append(
            GradientRow(argument, shape_at(definition.shape, {}), len(where), error, 2e-2 if single else 1e-6)
        )
    return rows


def _unrounded(program: Program) -> Program:
    """The program with nothing stored in a narrower type than it is computed in: what is rounded has steps,
    which differences would see."""
    arguments = (replace(a, type=COMPUTING[a.type]) for a in program.arguments)
    definitions = (replace(d, type=COMPUTING[d.type]) for d in program.definitions)
    return replace(program, arguments=tuple(arguments), definitions=tuple(definitions))


def _tried_sizes(program: Program, given: Mapping[str, Any]) -> dict[str, int]:
    """Values of all size symbols: those that given arrays tell, small ones for the rest."""
    told = told_sizes(program, given)
    free = [name for name in program.sizes if name not in told]
    tried = [{**told, **{name: start + n * step for n, name in enumerate(free)}} for start, step in _TRIED]
    legal = [s for s in tried if not any(all(row.holds(s) for row in rows) for rows in program.excluded)]
    shapes = program.shapes().values()
    shapes = [*shapes, [a.below for a in program.arguments if a.below is not None]]
    full = [s for s in legal if all(min((1, *shape_at(shape, s))) > 0 for shape in shapes)]
    return (full or legal or tried)[0]


def _random_inputs(
    program: Program, value: Compiled, random: Any, given: Mapping[str, Any]
) -> dict[str, Any]:
    """Inputs in (-1, 1), or in (0.1, 1) where the program has no value there."""
    for low in (-1.0, 0.1):
        arrays = {a.name: random_array(a, random, low) for a in program.arguments}
        for name, array in given.items():
            if name in dict(program.given):
                continue
            like = arrays.get(name)
            arrays[name] = array if like is None else np.array(array, dtype=like.dtype)
        if all(np.all(np.isfinite(v)) for v in evaluate(value, arrays).values()):
            return arrays
    raise CompileError(
        [
            Diagnostic(
                "TAD0406",
                "the program has no finite value at the inputs that were tried",
                helps=["check at inputs of your own: `tadc gradcheck f.tad x=x.npy`"],
                source=program.source,
            )
        ]
    )


def _sample(size: int, random: Any) -> Any:
    return np.arange(size) if size <= SAMPLES else np.sort(random.choice(size, SAMPLES, replace=False))


def _difference(
    value: Compiled, arrays: dict[str, Any], cotangents: dict[str, Any], argument: str, n: int, single: bool
) -> float:
    step = 5e-3 if single else 6e-6
    total, moved = 0.0, [0.0, 0.0]
    for sign in (1, -1):
        changed = arrays[argument].copy()
        flat = changed.reshape(-1)
        flat[n] += sign * step
        moved[sign < 0] = float(flat[n])
        results = evaluate(value, arrays | {argument: changed})
        total += sign * sum(
            float(np.sum(np.float64(cotangents[name]) * np.asarray(result, dtype=np.float64)))
            for name, result in results.items()
        )
    return total / (moved[0] - moved[1])


def table(rows: list[GradientRow]) -> str:
    """The rows as text."""
    head = ("argument", "shape", "checked", "error", "tolerance", "")
    lines = [head] + [
        (
            row.argument,
            "x".join(map(str, row.shape)) or "scalar",
            str(row.checked),
            f"{row.error:.1e}",
            f"{row.tolerance:.0e}",
            "ok" if row.passed else "WRONG",
        )
        for row in rows
    ]
    widths = [max(len(line[n]) for line in lines) for n in range(len(head))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )
