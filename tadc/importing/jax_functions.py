"""Functions of JAX."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any

from tadc.caller.boundary import public, usage
from tadc.dialect import mlir
from tadc.frontend.packages import imported
from tadc.importing.imported_function import ImportedFunction, imported_function
from tadc.importing.linalg_modules import (
    NamedValue,
    entry_of,
    legal_names,
    lowered,
    module_context,
    program_of,
)
from tadc.importing.refusals import first_line, refuse, user_place
from tadc.importing.source_places import SourcePlace


@public
def from_jax(
    f: Callable[..., Any], /, *args: Any, static: Mapping[str, Any] | None = None
) -> ImportedFunction:
    """The function that JAX traces of f at arguments like these.

    `args` are arrays, `jax.ShapeDtypeStruct`s, or trees of them; `static` are further arguments, by name,
    that are no arrays. The program has the names of f's parameters and of the keys of trees, and what f
    assigns to a variable has its name where it is stored. Arrays of integers are index arrays.

    >>> import tadc, jax.numpy as jnp
    >>> f = tadc.from_jax(lambda x, w: jnp.tanh(x @ w), jnp.ones((2, 3)), jnp.ones((3, 4)))
    >>> f.inputs
    ('x', 'w')

    Raises UsageError (TAD0513) for what the language has not, at the line of the operation.
    """
    jax: Any = imported("jax", "`from_jax` needs JAX", "jax")
    if not callable(f):
        raise usage(f"a function of JAX is imported, not {type(f).__name__}")
    name, place = _name_and_place(f)
    traced, text = _traced(_bound(f, static or {}), args, name, place)
    names = _names(f, args)
    results = _result_names(traced.out_info, name)
    with mlir.LOCK, module_context() as context:
        module = lowered(mlir.ir.Module.parse(text, context))
        function = entry_of(module)
        if len(function.regions[0].blocks[0].arguments) != len(names):
            refuse(
                f"`{name}` reads a value of another trace",
                place,
                "what a function of JAX keeps of a trace has no value: give it as an argument",
            )
        program = program_of(function, [NamedValue(n) for n in names], results, name, place)
    tree = jax.tree_util.tree_structure(traced.out_info)

    def arguments_of(*actual: Any) -> dict[str, Any]:
        flat = zip(names, jax.tree_util.tree_leaves(actual), strict=True)
        return {n: leaf for n, leaf in flat if n in program.inputs}

    def result_of(flat: Sequence[Any]) -> Any:
        return jax.tree_util.tree_unflatten(tree, flat)

    return imported_function(program, arguments_of, result_of)


def _traced(
    f: Callable[..., Any], args: Sequence[Any], name: str, place: SourcePlace | None
) -> tuple[Any, str]:
    """What JAX traces, and its StableHLO. Raises UsageError (TAD0513) where it cannot be traced."""
    jax: Any = import_module("jax")
    leaves: list[Any] = jax.tree_util.tree_leaves(args)
    if any(_is_symbolic(size) for leaf in leaves for size in getattr(leaf, "shape", ())):
        refuse(
            "symbolic sizes of JAX cannot be imported",
            place,
            "give numbers; a program of PyTorch, ONNX or MLIR may have sizes that are symbols",
        )
    try:
        traced = jax.jit(f, keep_unused=True).trace(*args)
        module = traced.lower().compiler_ir("stablehlo")
    except (TypeError, jax.errors.JAXTypeError, jax.errors.UnexpectedTracerError) as error:
        refuse(
            f"JAX cannot trace `{name}`: {first_line(error)}",
            user_place(error) or place,
            "choices by values are `jnp.where` or `lax.cond`; arguments that are no arrays are `static`",
        )
    return traced, module.operation.get_asm(enable_debug_info=True, print_generic_op_form=True)


def _is_symbolic(size: Any) -> bool:
    return type(size).__module__.partition(".")[0] == "jax"


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
