"""Functions of JAX."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any, Literal, overload

from tadc.caller.boundary import public, usage
from tadc.frontend.packages import imported
from tadc.importing.imported_function import ImportedFunction, imported_function
from tadc.importing.jax_equations import CALLS, has_own_derivative, place_of_equation
from tadc.importing.jax_parts import PartialFunction
from tadc.importing.jax_tracing import is_symbolic, program_of_sizes, program_of_traced, traced_by_jax
from tadc.passes.linalg.linalg_programs import legal_names
from tadc.passes.linalg.refusals import refuse
from tadc.passes.linalg.source_places import SourcePlace


@overload
def from_jax(
    f: Callable[..., Any], /, *args: Any, static: Mapping[str, Any] | None = None, partial: Literal[True]
) -> PartialFunction: ...


@overload
def from_jax(
    f: Callable[..., Any],
    /,
    *args: Any,
    static: Mapping[str, Any] | None = None,
    partial: Literal[False] = False,
) -> ImportedFunction: ...


@public
def from_jax(
    f: Callable[..., Any], /, *args: Any, static: Mapping[str, Any] | None = None, partial: bool = False
) -> ImportedFunction | PartialFunction:
    """The function that JAX traces of f at arguments like these.

    `args` are arrays, `jax.ShapeDtypeStruct`s, or trees of them; `static` are further arguments, by name,
    that are no arrays. The program has the names of f's parameters and of the keys of trees, and what f
    assigns to a variable has its name where it is stored. Arrays of integers are index arrays.

    >>> import tadc, jax.numpy as jnp
    >>> f = tadc.from_jax(lambda x, w: jnp.tanh(x @ w), jnp.ones((2, 3)), jnp.ones((3, 4)))
    >>> f.inputs
    ('x', 'w')

    With `partial` the result is a `PartialFunction` of JAX's arrays, for `jax.jit`, `jax.grad` and others:
    what the language has not stays in JAX, and `left` tells it.

    Raises UsageError (TAD0513) for what the language has not, at the line of the operation.
    """
    imported("jax", "`from_jax` needs JAX", "jax")
    if not callable(f):
        raise usage(f"a function of JAX is imported, not {type(f).__name__}")
    bound = _bound(f, static or {})
    name, place = _name_and_place(f)
    if partial:
        return PartialFunction(bound, _names(f, args), name, args, place)
    return _whole(bound, args, _names(f, args), name, place)


def _whole(
    f: Callable[..., Any], args: Sequence[Any], names: Sequence[str], name: str, place: SourcePlace | None
) -> ImportedFunction:
    jax: Any = import_module("jax")
    traced = traced_by_jax(f, args, name, place)
    _refuse_own_derivatives(traced.jaxpr.jaxpr, place)
    results = _result_names(traced.out_info, name)
    if is_symbolic(args):
        program = program_of_sizes(traced, args, names, results, name, place)
    else:
        program = program_of_traced(traced, names, results, name, place)
    tree = jax.tree_util.tree_structure(traced.out_info)

    def arguments_of(*actual: Any) -> dict[str, Any]:
        flat = zip(names, jax.tree_util.tree_leaves(actual), strict=True)
        return {n: leaf for n, leaf in flat if n in program.inputs}

    def result_of(flat: Sequence[Any]) -> Any:
        return jax.tree_util.tree_unflatten(tree, flat)

    return imported_function(program, arguments_of, result_of)


def _refuse_own_derivatives(jaxpr: Any, place: SourcePlace | None) -> None:
    """Refuse what would have another derivative than the user says."""
    for equation in jaxpr.eqns:
        if has_own_derivative(equation):
            refuse(
                f"`{equation.primitive.name}`, a derivative that is written by hand, cannot be imported",
                place_of_equation(equation) or place,
                "leave it out, where it is the derivative of what is computed",
                "`from_jax(…, partial=True)` leaves it in JAX",
            )
        if equation.primitive.name in CALLS:
            inner = equation.params["jaxpr"]
            _refuse_own_derivatives(getattr(inner, "jaxpr", inner), place)


def _bound(f: Callable[..., Any], static: Mapping[str, Any]) -> Callable[..., Any]:
    if not static:
        return f

    def bound(*args: Any) -> Any:
        return f(*args, **static)

    return bound


def _name_and_place(f: Callable[..., Any]) -> tuple[str, SourcePlace | None]:
    inner = inspect.unwrap(getattr(f, "func", f))
    name = getattr(inner, "__name__", type(f).__name__)
    code = getattr(inner, "__code__", None)
    place = SourcePlace(code.co_filename, code.co_firstlineno) if code is not None else None
    return ("result" if name == "<lambda>" else name), place


def _names(f: Callable[..., Any], args: Sequence[Any]) -> list[str]:
    """A name for each leaf of the arguments: its key where that is the only one, else the whole path."""
    jax: Any = import_module("jax")

    try:
        bound = inspect.signature(f).bind_partial(*args)
        owners = [
            (name if inspect.signature(f).parameters[name].kind.name != "VAR_POSITIONAL" else f"{name}_{i}")
            for name, values in bound.arguments.items()
            for i in range(
                len(values) if inspect.signature(f).parameters[name].kind.name == "VAR_POSITIONAL" else 1
            )
        ]
    except (TypeError, ValueError):
        owners = [f"x{i}" for i in range(len(args))]
    paths: list[list[str]] = []
    for owner, arg in zip(owners, args, strict=True):
        for path, _ in jax.tree_util.tree_flatten_with_path(arg)[0]:
            keys = [str(getattr(p, "key", getattr(p, "name", getattr(p, "idx", p)))) for p in path]
            paths.append([owner, *keys])
    last = [path[-1] for path in paths]
    short = [
        path[-1] if last.count(path[-1]) == 1 and not path[-1].isdigit() else "_".join(path) for path in paths
    ]
    return legal_names(short)


def _result_names(outputs: Any, name: str) -> list[str]:
    jax: Any = import_module("jax")

    paths = [path for path, _ in jax.tree_util.tree_flatten_with_path(outputs)[0]]
    if len(paths) == 1:
        return legal_names([name])
    keys = [
        "_".join(str(getattr(p, "key", getattr(p, "name", getattr(p, "idx", p)))) for p in path)
        for path in paths
    ]
    return legal_names([f"{name}_{key}" if key.isdigit() else key for key in keys])
