"""Functions as Python sees them: what `inspect.signature` says, and names with their types."""

from __future__ import annotations

from collections.abc import Iterable
from inspect import Parameter, Signature
from keyword import iskeyword
from typing import TYPE_CHECKING, Any, Protocol

from tadc.backend.runtime.python_names import python_names

if TYPE_CHECKING:
    from tadc.frontend.per_value import PerValue
    from tadc.frontend.program import Program
    from tadc.frontend.type_parameters import TypeParameters

#: So many tensors are named in a `repr`.
_SHOWN = 12


class Described(Protocol):
    """A function that is described: the names of its tensors, its program, and its values of sizes."""

    per_value: PerValue | None
    type_parameters: TypeParameters | None
    is_open: bool

    @property
    def program(self) -> Program:
        """The checked program."""
        ...

    @property
    def inputs(self) -> tuple[str, ...]:
        """The names of the arguments, in order."""
        ...

    @property
    def outputs(self) -> tuple[str, ...]:
        """The names of the results, in order."""
        ...


class PythonSignature:
    """The signature of an instance; the class itself has that of its constructor."""

    def __get__(self, f: Described | None, owner: type) -> Signature:
        if f is None:
            raise AttributeError("__signature__")
        return signature_of(f)


def signature_of(f: Described) -> Signature:
    """The inputs by position or name; by name alone the sizes that no array tells, `out` and `stream`.

    Functions such as `scipy.optimize.curve_fit` read it. Up to a name that is a keyword of Python, inputs
    come by position only.
    """
    program = f.program
    types = {t.name: t.declared_type for t in (*program.arguments, *program.outputs)}
    if f.is_open:
        types = {}
    by_position = max((n for n, name in enumerate(f.inputs, 1) if iskeyword(name)), default=0)
    parameters = [
        Parameter(
            shown,
            Parameter.POSITIONAL_ONLY if n < by_position else Parameter.POSITIONAL_OR_KEYWORD,
            annotation=types.get(name, Parameter.empty),
        )
        for n, (name, shown) in enumerate(zip(f.inputs, python_names(f.inputs), strict=True))
    ]
    untold = list(program.unbound_sizes()) if f.per_value is None else []
    parameters += [Parameter(name, Parameter.KEYWORD_ONLY, annotation=int) for name in python_names(untold)]
    parameters += [
        Parameter(name, Parameter.KEYWORD_ONLY, default=None)
        for name in ("out", "stream")
        if name not in (*f.inputs, *untold)
    ]
    result = ", ".join(f"{name}: {types[name]}" if name in types else name for name in f.outputs)
    return Signature(parameters, return_annotation=result or Signature.empty)


def typed_text(f: Described) -> str:
    """`(x: f64[3]) -> (f: f64[3])`; of a function for each value of some sizes the names alone."""
    if f.per_value is not None:
        sizes = ", ".join(f.per_value.symbols)
        return f"{_listed(f.inputs)} -> {_listed(f.outputs)} for each value of {sizes}"
    if f.type_parameters is not None:
        names = ", ".join(f.type_parameters.names)
        return f"{_listed(f.inputs)} -> {_listed(f.outputs)} for each type of {names}"
    sides: list[Any] = [f.program.arguments, f.program.outputs]
    inputs, outputs = ([f"{t.name}: {t.declared_type}" for t in side] for side in sides)
    return f"{_listed(inputs)} -> {_listed(outputs)}"


def _listed(texts: Iterable[str]) -> str:
    shown = list(texts)
    if len(shown) > _SHOWN:
        shown[_SHOWN:] = [f"… {len(shown) - _SHOWN} more"]
    return f"({', '.join(shown)})"
