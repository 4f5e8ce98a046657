"""Derivatives of programs, by the stages of the compiler."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import replace

from tadc.caller.boundary import usage
from tadc.compiler.all_stages import compile_until
from tadc.compiler.compile_options import Options
from tadc.compiler.stages import Compilation
from tadc.frontend.diagnostics import CompileError, Diagnostic
from tadc.frontend.program import Program
from tadc.frontend.suggest import did_you_mean

_WRITE_WRT = 'write `wrt="x"` or `wrt=["x", "w"]`'


def derive(
    program: Program, mode: str, wrt: str | Sequence[str] | None = None, options: Options | None = None
) -> Program:
    """The derivative of a program, again a program; of the options mode and `wrt` are those given here.

    Raises CompileError: TAD0401 for a name in `wrt` that is no argument, TAD0403 where a
    gradient is asked of what is not one scalar.
    """
    names = resolve_wrt(program, wrt)
    if mode.endswith("grad"):
        require_scalar(program)
    options = replace(options or Options(), mode=mode, wrt=names)
    state = Compilation(options, program.source, program=program)
    compile_until(state, "opt", first="tad")
    return read_back(state)


def read_back(state: Compilation) -> Program:
    """The program that a compilation has come to, ready to be compiled itself."""
    assert state.form is not None
    doubts = state.form.doubts if state.options.differentiates else ()
    return replace(state.form, doubts=doubts, name="")


def resolve_wrt(program: Program, wrt: str | Sequence[str] | None) -> tuple[str, ...]:
    """The arguments to differentiate by; None is all but index arrays."""
    inputs = program.differentiable()
    if hasattr(wrt, "shape"):
        help = "pass arrays to the function that is returned: `tadc.vjp(f)(x, df)`"
        raise usage(f"wrt is a name or a sequence of names, not an array ({type(wrt).__name__})", help)
    try:
        names = tuple(inputs) if wrt is None else (wrt,) if isinstance(wrt, str) else tuple(wrt)
    except TypeError:
        raise usage(f"wrt is a name or a sequence of names, not {type(wrt).__name__}", _WRITE_WRT) from None
    for name in names:
        if not isinstance(name, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise usage(f"wrt is a name or a sequence of names, it has {name!r}", _WRITE_WRT)
    known, count = set(inputs), Counter(names)
    problems = [unknown_argument(name, program) for name in names if name not in known]
    problems += [
        Diagnostic("TAD0404", f"`{name}` is asked for twice", source=program.source)
        for name in (name for name, times in count.items() if times > 1)
    ]
    if not names:
        helps = [_has(program, program.index_arrays())]
        problems = [Diagnostic("TAD0401", "no argument to differentiate by", helps=helps)]
    if problems:
        raise CompileError(problems)
    return names


def _has(program: Program, without: Collection[str]) -> str:
    inputs = [a.name for a in program.arguments if a.name not in without]
    return f"its arguments: {', '.join(inputs)}" if inputs else "the program has no argument"


def unknown_argument(
    name: str, program: Program, verb: str = "differentiate by", parameter: str = "wrt"
) -> Diagnostic:
    """Build the error for what a parameter names and is no argument, or is one that has no derivative."""
    defined = [d.name for d in program.definitions]
    refused = program.index_arrays() if parameter == "wrt" else {}
    if name in refused:
        made = Diagnostic("TAD0401", f"cannot {verb} `{name}`", source=program.source)
        made.notes.append(f"`{name}` is an index array: its elements are integers, and have no derivative")
    elif name in defined:
        made = Diagnostic("TAD0401", f"cannot {verb} `{name}`", source=program.source)
        made.notes.append(f"`{name}` is defined by the program, not an argument")
    else:
        made = Diagnostic("TAD0401", f"no argument `{name}`", source=program.source)
    inputs = [a.name for a in program.arguments if a.name not in refused]
    several = [part.strip() for part in name.split(",")]
    if len(several) > 1 and set(several) <= set(inputs):
        listed = ", ".join(f'"{part}"' for part in several)
        made.helps.append(f"name several in a list: `{parameter}=[{listed}]`")
        return made
    near = did_you_mean(name, inputs)
    made.helps += near or [_has(program, refused)]
    return made


def require_scalar(program: Program) -> None:
    """Gradients without a cotangent need one scalar output."""
    outputs = program.outputs
    if [d.shape for d in outputs] == [()]:
        return
    shown = ", ".join(f"`{d.name}` of shape {list(d.shape)}" for d in outputs)
    raise CompileError(
        [
            Diagnostic(
                "TAD0403",
                "a gradient is of one scalar output",
                notes=[f"the outputs are {shown}"],
                helps=["sum the outputs up to a scalar, or use `vjp` with a cotangent for each"],
                source=program.source,
            )
        ]
    )
