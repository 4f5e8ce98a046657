"""The equations of a function that JAX has traced, one behind the other, without the calls around them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from importlib import import_module
from itertools import takewhile
from typing import Any

from tadc.importing.computation_parts import Computation
from tadc.lattice.late_dataclasses import dataclass
from tadc.passes.linalg.refusals import KNOWN
from tadc.passes.linalg.source_places import SourcePlace, is_of_user

_FLOATS = ("float16", "bfloat16", "float32", "float64")
#: What a call stands for; `jit` was called `pjit`.
CALLS = ("jit", "pjit", "closed_call", "core_call")
#: Where operations have what they run, each with a function of JAX's or several.
BODIES = {
    "scan": ("jaxpr",),
    "while": ("body_jaxpr",),
    "cond": ("branches",),
    "remat2": ("jaxpr",),
    "checkpoint": ("jaxpr",),  # as JAX called it before
}
#: They read elements at other places: whoever needs one computes it again.
_VIEWS = ("broadcast_in_dim", "reshape", "squeeze", "expand_dims", "transpose")
_TYPES = (*_FLOATS, "bool", "int8", "int16", "int32", "int64", "uint8")
_OF_JAX = "/jax/_src/"
#: Files of JAX's that stand between its functions and an equation.
_PLUMBING = re.compile(r"/jax/_src/([^/]*\.py|lax/.*|interpreters/.*)$")
#: So many numbers are written into a program; more are an argument.
_FEW = 4


@dataclass(eq=False)
class JaxValue:
    """What an equation computes, an argument, or where it has a `value` a constant."""

    type: Any
    name: str = ""
    value: Any = None

    @property
    def is_float(self) -> bool:
        """Whether its elements are numbers that programs have."""
        return str(self.type.dtype) in _FLOATS

    @property
    def has_numbers(self) -> bool:
        """Whether its elements are numbers or truth values that can be imported."""
        return str(self.type.dtype) in _TYPES

    @property
    def is_condition(self) -> bool:
        """Whether its elements are truth values."""
        return str(self.type.dtype) == "bool"

    @cached_property
    def is_written_out(self) -> bool:
        """Whether it is a constant of the programs that read it."""
        jax: Any = import_module("jax")
        if self.value is None or isinstance(self.value, jax.core.Tracer):
            return False
        return self.type.size <= _FEW or not self.is_float


@dataclass(eq=False)
class JaxEquation(Computation):
    """An equation; `inputs` are the variables that it reads."""

    original: Any
    #: What it stands in.
    jaxpr: Any
    #: The equation that is in the user's source: this one, or a call around it.
    written: Any

    @property
    def place(self) -> SourcePlace | None:
        """The line in the user's source."""
        return place_of_equation(self.written)

    @property
    def name(self) -> str:
        """What JAX calls the operation."""
        return self.original.primitive.name

    @property
    def is_compound(self) -> bool:
        """See Computation."""
        return self.name in BODIES

    @property
    def has_effects(self) -> bool:
        """See Computation."""
        return bool(self.original.effects)

    @property
    def is_view(self) -> bool:
        """Whether it does nothing but to read numbers at other places."""
        return self.name in _VIEWS and self.outputs[0].is_float

    def said(self) -> tuple[str, ...]:
        """What it is, the same for those that compute the same of values of the same types."""
        return self.name, str(self.original.params), *(str(v.type) for v in self.inputs)

    @property
    def run(self) -> Any:
        """The function of the inputs that computes the outputs."""
        core: Any = import_module("jax.extend.core")
        info = self.jaxpr.debug_info
        alone = self.jaxpr.replace(
            constvars=[],
            invars=[v for v in self.original.invars if not hasattr(v, "val")],
            outvars=list(self.original.outvars),
            eqns=[self.original.replace(source_info=self.written.source_info)],
            effects=self.original.effects,
            debug_info=info.with_unknown_names() if hasattr(info, "with_unknown_names") else info,
        )
        return core.jaxpr_as_fun(core.ClosedJaxpr(alone, []))


def equations_of(closed: Any, arguments: Sequence[JaxValue]) -> tuple[list[JaxEquation], list[JaxValue]]:
    """The equations that a traced function needs, in order, and its results."""
    found: list[JaxEquation] = []
    results = _flattened(closed.jaxpr, [*map(_constant, closed.consts), *arguments], found)
    needed, kept = set(results), list[JaxEquation]()
    for equation in reversed(found):
        if equation.has_effects or not needed.isdisjoint(equation.outputs):
            kept.append(equation)
            needed.update(equation.inputs)
    return kept[::-1], results


def _constant(value: Any) -> JaxValue:
    jax: Any = import_module("jax")
    typed = jax.typeof if hasattr(jax, "typeof") else jax.core.get_aval
    return JaxValue(typed(value), "constant", value)


def _flattened(
    jaxpr: Any, given: Sequence[JaxValue], found: list[JaxEquation], caller: Any = None
) -> list[JaxValue]:
    """The results of a jaxpr; its equations, and those of what it calls, are added to what is found."""
    known = dict(zip([*jaxpr.constvars, *jaxpr.invars], given, strict=True))

    def read(variable: Any) -> JaxValue:
        return JaxValue(variable.aval, "", variable.val) if hasattr(variable, "val") else known[variable]

    for equation in jaxpr.eqns:
        written = equation if caller is None or place_of_equation(equation) else caller
        if equation.primitive.name in CALLS:
            inner = equation.params["jaxpr"] if "jaxpr" in equation.params else equation.params["call_jaxpr"]
            given_inside = [*map(_constant, getattr(inner, "consts", ())), *map(read, equation.invars)]
            results = _flattened(getattr(inner, "jaxpr", inner), given_inside, found, written)
        else:
            inputs = tuple(known[v] for v in equation.invars if not hasattr(v, "val"))
            results = [JaxValue(v.aval) for v in equation.outvars]
            found.append(JaxEquation(inputs, tuple(results), equation, jaxpr, written))
        known.update(zip(equation.outvars, results, strict=True))
    return [read(variable) for variable in jaxpr.outvars]


def value_of(value: JaxValue, known: dict[JaxValue, Any]) -> Any:
    """What is known of a value, which may be a constant."""
    return known[value] if value in known else value.value


def compute(equations: Iterable[JaxEquation], known: dict[JaxValue, Any]) -> None:
    """Run equations in JAX; what they compute is known then."""
    for equation in equations:
        found = equation.run(*[value_of(value, known) for value in equation.inputs])
        known.update(zip(equation.outputs, found, strict=True))


def why_left(equation: JaxEquation) -> str:
    """Why an equation is none of a program's, whatever it reads; nothing where it may be one."""
    name, types = equation.name, [v.type for v in (*equation.inputs, *equation.outputs)]
    if equation.has_effects:
        return "side effects"
    known = next((said for key, (said, _) in KNOWN.items() if key in name), None)
    if known is not None:
        return known
    strange = [name for t in types if (name := str(getattr(t, "dtype", t))) not in _TYPES]
    if strange:
        return "complex numbers" if "complex" in strange[0] else f"values of type `{strange[0]}`"
    return "derivatives that are written by hand" if has_own_derivative(equation.original) else ""


def has_own_derivative(equation: Any) -> bool:
    """Whether the user says what the derivative is, by a rule or as one that is stopped.

    Those in functions of JAX itself say what the derivative of a program is, too.
    """
    if equation.primitive.name == "stop_gradient":
        callers = [frame.file_name for frame in _frames(equation)]
        return not any(_OF_JAX in file and not _PLUMBING.search(file) for file in _until_user(callers))
    if not equation.primitive.name.startswith(("custom_jvp_call", "custom_vjp_call")):
        return False
    inner = next(equation.params[k] for k in ("call_jaxpr", "fun_jaxpr") if k in equation.params)
    return _OF_JAX not in str(inner.jaxpr.debug_info.func_src_info).replace("\\", "/")


def _until_user(files: Sequence[str]) -> Iterator[str]:
    """Files up to the first of the user's."""
    return takewhile(lambda file: not is_of_user(file), files)


def _frames(equation: Any) -> Sequence[Any]:
    trace = equation.source_info.traceback
    return trace.frames if trace is not None else ()


def place_of_equation(equation: Any) -> SourcePlace | None:
    """The line of an equation of JAX's in the user's source."""
    for frame in _frames(equation):
        if is_of_user(frame.file_name):
            return SourcePlace(frame.file_name, frame.line_num)
    return None
