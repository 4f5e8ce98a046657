"""`Function`: a checked program that can be called, differentiated and lowered."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from tadc.derive import derive, resolve_wrt
from tadc.driver import compile_until
from tadc.frontend.diagnostics import CompileWarning
from tadc.frontend.printer import print_program
from tadc.frontend.source import Source
from tadc.stages import Compilation, Options
from tadc.zero_gradients import zero_gradients

if TYPE_CHECKING:
    from tadc.certificates import Certificates
    from tadc.execute import Compiled
    from tadc.frontend.program import Program


@dataclass(frozen=True)
class Origin:
    """What a derivative was made from."""

    program: Program
    mode: str
    wrt: tuple[str, ...]


class Function:
    """A program of the language as a Python function on arrays.

    `inputs` and `outputs` name its tensors in order. Calling it compiles it for this machine
    once; it takes arrays by position or by name and returns one array, or a named tuple of
    several in order. `str(f)` prints it as a program.
    """

    def __init__(self, program: Program, origin: Origin | None = None) -> None:
        self.program = program
        self.origin = origin
        self._lock = threading.Lock()
        self._compiled: Compiled | None = None

    @property
    def inputs(self) -> tuple[str, ...]:
        """The names of the arguments, in order."""
        return tuple(a.name for a in self.program.arguments)

    @property
    def outputs(self) -> tuple[str, ...]:
        """The names of the results, in order."""
        return tuple(d.name for d in self.program.outputs)

    @property
    def cotangents(self) -> dict[str, str]:
        """Of a vjp: the argument that is the cotangent of each output, `{"f": "df"}`."""
        return {a.cotangent_of: a.name for a in self.program.arguments if a.cotangent_of}

    @property
    def gradients(self) -> dict[str, str]:
        """Of a derivative: the result that is the gradient of each argument, `{"a": "da"}`."""
        return {d.gradient_of: d.name for d in self.program.outputs if d.gradient_of}

    def __str__(self) -> str:
        return self._text

    @cached_property
    def _text(self) -> str:
        return print_program(self.program)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled as a program; the copy compiles anew."""
        return _restore, (str(self), self.cotangents, self.gradients)

    def __repr__(self) -> str:
        return f"<tadc.Function ({', '.join(self.inputs)}) -> ({', '.join(self.outputs)})>"

    def __call__(self, /, *args: Any, out: Any = None, **kwargs: Any) -> Any:
        """Evaluate. `out` is an array, or a mapping or sequence of arrays, to write to.

        Raises ArgumentError (a CompileError and a ValueError) that lists all that is wrong with
        the arguments.
        """
        return self.compiled()(*args, out=out, **kwargs)

    def compiled(self) -> Compiled:
        """The kernel for this machine, compiled at the first use."""
        if self._compiled is None:
            from tadc.execute import compile_program

            with self._lock:
                if self._compiled is None:
                    self._compiled = compile_program(self.program)
        return self._compiled

    def lower(self, target: str = "cpu", sizes: Mapping[str, int] | None = None) -> Lowered:
        """The program on its way to a target, every stage to look at."""
        _no_sizes(sizes)
        return Lowered(self.program, target, self.origin)


class Lowered:
    """A program in the `tad` dialect, ready to go on to a target.

    `module` is the MLIR module after simplification; `as_text(stage)` shows any stage, of a
    derivative also `diff` and `cancel`, which made it.
    """

    def __init__(self, program: Program, target: str = "cpu", origin: Origin | None = None) -> None:
        from tadc.backend.target import parse_target

        if not isinstance(target, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"a target is a string such as 'cpu', not {type(target).__name__}")
        self.program = program
        self.origin = origin
        self.options = Options(target=parse_target(target))
        self._state = Compilation(self.options, program.source, program=program)
        compile_until(self._state, "opt", first="tad")

    @property
    def module(self) -> Any:
        """The module of the `tad` dialect, in a context of its own."""
        return self._state.module

    def as_text(self, stage: str = "opt") -> str:
        """The text of a stage; raises ValueError for a stage that this target does not have."""
        if stage in ("ast", "typed"):
            state = Compilation(self.options, Source(print_program(self.program), "<program>"))
            shown = compile_until(state, stage).show(state)
        elif stage in ("diff", "cancel") and self.origin is not None:
            options = replace(self.options, mode=self.origin.mode, wrt=self.origin.wrt)
            state = Compilation(options, self.origin.program.source, program=self.origin.program)
            shown = compile_until(state, stage, first="tad").show(state)
        else:
            state = Compilation(self.options, self.program.source, program=self.program)
            shown = compile_until(state, stage, first="tad").show(state)
        if isinstance(shown, bytes):
            raise ValueError(f"stage `{stage}` is binary; write it with `tadc --emit {stage} -o FILE`")
        return shown

    def __repr__(self) -> str:
        outputs = ", ".join(d.name for d in self.program.outputs)
        return f"<tadc.Lowered ({outputs}) for {self.options.target}>"

    def compile(self) -> Compiled:
        """The kernel; raises CompileError for a target that this version cannot run."""
        from tadc.execute import compile_program

        return compile_program(self.program, self.options.target)


def vjp(f: Function, wrt: str | Sequence[str] | None = None) -> Function:
    """The vector-Jacobian product: takes f's inputs and a cotangent for each output.

    Returns the gradients with respect to `wrt` (None: every input), each of the shape of its
    argument. Raises CompileError for a name that is no input, and warns (CompileWarning) of a
    gradient that is zero almost everywhere though its argument is read.
    """
    return _derivative(f, "vjp", wrt)


def value_and_vjp(f: Function, wrt: str | Sequence[str] | None = None) -> Function:
    """f's outputs and then the gradients of `vjp`, from one compiled unit."""
    return _derivative(f, "value-and-vjp", wrt)


def grad(f: Function, wrt: str | Sequence[str] | None = None) -> Function:
    """The gradients of a function with one scalar output; takes f's inputs alone."""
    return _derivative(f, "grad", wrt)


def value_and_grad(f: Function, wrt: str | Sequence[str] | None = None) -> Function:
    """The scalar output and its gradients, from one compiled unit."""
    return _derivative(f, "value-and-grad", wrt)


def certificate(f: Function, wrt: str | Sequence[str] | None = None) -> Certificates:
    """Why each gradient of `vjp(f, wrt)` gathers what its reads contribute, all of it and each once.

    A sequence with an entry for each read, with the integer matrices and forms that prove it; `str` of
    it is what the command prints. Raises CompileError for a name that is no input.
    """
    from tadc.certificates import certify

    if not isinstance(f, Function):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f"expected a tadc.Function, not {type(f).__name__}")
    return certify(f.program, wrt)


def compile(f: Function, target: str = "cpu", sizes: Mapping[str, int] | None = None) -> Compiled:
    """Compile ahead of the first call; the result is called like `f`."""
    return f.lower(target, sizes).compile()


def function(source: str, name: str = "<string>") -> Function:
    """Parse and check a program; raises CompileError with all its errors."""
    if not isinstance(source, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f"a program is a string, not {type(source).__name__}")
    state = Compilation(Options(), Source(source, name))
    compile_until(state, "typed")
    assert state.program is not None
    return Function(state.program)


def _derivative(f: Function, mode: str, wrt: str | Sequence[str] | None) -> Function:
    if not isinstance(f, Function):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f"expected a tadc.Function, not {type(f).__name__}")
    names = resolve_wrt(f.program, wrt)
    derived = derive(f.program, mode, names)
    for found in zero_gradients(f.program, derived):
        warnings.warn(CompileWarning(found), stacklevel=3)  # at the caller of `vjp`, `grad`, …
    return Function(derived, Origin(f.program, mode, names))


def _restore(text: str, cotangents: dict[str, str], gradients: dict[str, str]) -> Function:
    """A function from its text, and from what text does not say of a derivative."""
    f = function(text)
    outputs = {name: of for of, name in cotangents.items()}
    arguments = {name: of for of, name in gradients.items()}
    f.program = replace(
        f.program,
        arguments=tuple(replace(a, cotangent_of=outputs.get(a.name, "")) for a in f.program.arguments),
        definitions=tuple(
            replace(d, gradient_of=arguments.get(d.name, "") if d.is_output else "")
            for d in f.program.definitions
        ),
    )
    return f


def _no_sizes(sizes: Mapping[str, int] | None) -> None:
    from tadc.frontend.diagnostics import CompileError, Diagnostic

    if sizes:
        named = ", ".join(f"`{n}`" for n in sizes)
        raise CompileError(
            [
                Diagnostic(
                    "TAD0209",
                    f"the program has no size symbol {named}",
                    helps=["state sizes in the program: `size N = 4`"],
                )
            ]
        )
