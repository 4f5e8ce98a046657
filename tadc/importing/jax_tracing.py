"""What JAX traces of a function, and the program of it."""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import numpy as np

from tadc.dialect import mlir
from tadc.importing.jax_constants import LiftedFunction, lifted_function
from tadc.importing.linalg_modules import entry_of, lowered, module_context
from tadc.passes.linalg.index_forms import IndexForm, SizeSymbol, number, of_atom
from tadc.passes.linalg.linalg_programs import ImportedProgram, NamedValue, legal_names, program_of
from tadc.passes.linalg.refusals import first_line, refuse, user_place
from tadc.passes.linalg.source_places import SourcePlace

#: What has the body where sizes are symbols: its first arguments are these sizes.
_BODY = "_wrapped_jax_export_main"
_TERM = re.compile(r"(-?)(?:(\d+)\*)?([A-Za-z_]\w*)|(-?\d+)")


def traced_by_jax(f: Callable[..., Any], args: Sequence[Any], name: str, place: SourcePlace | None) -> Any:
    """What JAX traces. Raises UsageError (TAD0513) where it cannot be traced."""
    jax: Any = import_module("jax")
    with _refusing(name, place):
        return jax.jit(f, keep_unused=True).trace(*args)


@contextmanager
def _refusing(name: str, place: SourcePlace | None) -> Generator[None]:
    """Raise UsageError (TAD0513) for what JAX does not trace."""
    jax: Any = import_module("jax")
    try:
        yield
    except (TypeError, jax.errors.JAXTypeError, jax.errors.UnexpectedTracerError) as error:
        refuse(
            f"JAX cannot trace `{name}`: {first_line(error)}",
            user_place(error) or place,
            "pass an example array for each argument, and others by name as `static`; choices by values are "
            "`jnp.where` or `lax.cond`",
        )
    except jax.core.InconclusiveDimensionOperation as error:
        refuse(
            f"JAX cannot compare sizes of `{name}`: {first_line(error)}",
            user_place(error) or place,
            "sizes that are equal have the same symbol; what holds of others is one of their `constraints`",
            'constraints are told so: `jax.export.symbolic_shape("b, n", constraints=["b >= n"])`',
        )


def program_of_traced(
    traced: Any, names: Sequence[str], results: Sequence[str], name: str, place: SourcePlace | None
) -> ImportedProgram:
    """The program of what `jax.jit(f, keep_unused=True).trace` gives. Raises UsageError (TAD0513)."""
    jax: Any = import_module("jax")
    given = [NamedValue(n) for n in names]
    lifted = lifted_function(traced.jaxpr)
    if lifted is not None:
        types = [v.aval for v in traced.jaxpr.jaxpr.invars]
        specs = [jax.ShapeDtypeStruct(t.shape, t.dtype) for t in types]
        traced = traced_by_jax(lifted.run, [*specs, *lifted.constants], name, place)
        given += _constants(lifted)
    module = traced.lower().compiler_ir("stablehlo")
    return _program(module, given, results, name, place)


def _constants(lifted: LiftedFunction) -> list[NamedValue]:
    """Arguments with a value. On a CPU NumPy has the arrays of JAX without a copy."""
    return [NamedValue("constant", value=np.asarray(array)) for array in lifted.constants]


def program_of_sizes(
    traced: Any,
    args: Sequence[Any],
    names: Sequence[str],
    results: Sequence[str],
    name: str,
    place: SourcePlace | None,
) -> ImportedProgram:
    """The program of what is traced of arguments with sizes that are symbols. Raises UsageError (TAD0513)."""
    jax: Any = import_module("jax")
    core: Any = import_module("jax.extend.core")
    from_jax: Any = import_module("jax.interpreters.mlir")
    leaves: list[Any] = jax.tree_util.tree_leaves(args)
    symbols = sorted({n for leaf in leaves for d in leaf.shape if not isinstance(d, int) for n in _terms(d)})
    sizes = {
        n: SizeSymbol(s) for n, s in zip(symbols, legal_names([*names, *symbols])[len(names) :], strict=True)
    }
    given = [NamedValue(n, _open_sizes(leaf, sizes, place)) for n, leaf in zip(names, leaves, strict=True)]
    scopes = {id(d.scope) for leaf in leaves for d in leaf.shape if not isinstance(d, int)}
    if len(scopes) > 1:
        refuse(
            "symbols of sizes that were made apart",
            place,
            'make all at once: `b, n = jax.export.symbolic_shape("b, n")`, or give the others `like=` one',
        )
    lifted = lifted_function(traced.jaxpr)
    run = lifted.run if lifted is not None else core.jaxpr_as_fun(traced.jaxpr)
    given += _constants(lifted) if lifted is not None else []
    constants: Sequence[Any] = lifted.constants if lifted is not None else ()
    with _refusing(name, place):
        exported = jax.export.export(jax.jit(run, keep_unused=True))(*leaves, *constants)
    with from_jax.make_ir_context():
        module = from_jax.ir.Module.parse(exported.mlir_module())
        return _program(module, given, results, name, place, sizes)


def is_symbolic(args: Sequence[Any]) -> bool:
    """Whether a size of an argument is a symbol."""
    jax: Any = import_module("jax")
    leaves: list[Any] = jax.tree_util.tree_leaves(args)
    return any(type(d).__module__.startswith("jax.") for leaf in leaves for d in getattr(leaf, "shape", ()))


def _terms(size: Any) -> dict[str, int]:
    """By symbol how many times it is in a size; under `""` the number that is added."""
    found: dict[str, int] = {}
    for term in str(size).replace(" - ", " + -").split(" + "):
        match = _TERM.fullmatch(term)
        if match is None:
            return {}
        times = int(match[4]) if match[4] else int(f"{match[1]}{match[2] or 1}")
        found[match[3] or ""] = times
    return found


def _open_sizes(leaf: Any, symbols: dict[str, SizeSymbol], place: SourcePlace | None) -> dict[int, IndexForm]:
    """By dimension the sizes of an argument that are symbols."""
    found: dict[int, IndexForm] = {}
    for dimension, size in enumerate(leaf.shape):
        if isinstance(size, int):
            continue
        terms = _terms(size)
        if not terms:
            refuse(f"a size of an argument, `{size}`, is no sum of symbols", place, "give it a symbol")
        form = number(terms.pop("", 0))
        for symbol, times in terms.items():
            form += of_atom(symbols[symbol]).scaled(times)
        found[dimension] = form
    return found


def _program(
    module: Any,
    given: Sequence[NamedValue],
    results: Sequence[str],
    name: str,
    place: SourcePlace | None,
    sizes: dict[str, SizeSymbol] | None = None,
) -> ImportedProgram:
    """The program of a module of JAX's; of its own MLIR, as text."""
    text = module.operation.get_asm(enable_debug_info=True, print_generic_op_form=True)
    with mlir.LOCK, module_context() as context:
        made = mlir.ir.Module.parse(text, context)
        if sizes is not None:
            given = [*_size_arguments(made, sizes), *given]
        function = entry_of(lowered(made))
        if len(function.regions[0].blocks[0].arguments) != len(given):
            refuse(
                f"`{name}` reads a value of another trace",
                place,
                "what a function of JAX keeps of a trace has no value: give it as an argument",
            )
        return program_of(function, given, results, name, place)


def _size_arguments(module: Any, sizes: dict[str, SizeSymbol]) -> list[NamedValue]:
    """Leave the body alone in a module, without the tests of sizes; its arguments that are sizes."""
    functions = {op.attributes["sym_name"].value: op.operation for op in module.body.operations}
    body = functions[_BODY]
    functions["main"].erase()
    body.move_before(module.body.operations[0])
    del body.attributes["sym_visibility"]
    about = [a for a in body.attributes["arg_attrs"] if "jax.global_constant" in a]
    symbols = [sizes[a["jax.global_constant"].value] for a in about]
    return [NamedValue(symbol.name, size=symbol) for symbol in symbols]
