"""What JAX traces of a function, and the program of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

from tadc.dialect import mlir
from tadc.importing.linalg_modules import entry_of, lowered, module_context
from tadc.passes.linalg.linalg_programs import ImportedProgram, NamedValue, program_of
from tadc.passes.linalg.refusals import first_line, refuse, user_place
from tadc.passes.linalg.source_places import SourcePlace


def traced_by_jax(f: Callable[..., Any], args: Sequence[Any], name: str, place: SourcePlace | None) -> Any:
    """What JAX traces. Raises UsageError (TAD0513) where it cannot be traced."""
    jax: Any = import_module("jax")
    leaves: list[Any] = jax.tree_util.tree_leaves(args)
    if any(_is_symbolic(size) for leaf in leaves for size in getattr(leaf, "shape", ())):
        refuse(
            "symbolic sizes of JAX cannot be imported",
            place,
            "give numbers; a program of PyTorch, ONNX or MLIR may have sizes that are symbols",
        )
    try:
        return jax.jit(f, keep_unused=True).trace(*args)
    except (TypeError, jax.errors.JAXTypeError, jax.errors.UnexpectedTracerError) as error:
        refuse(
            f"JAX cannot trace `{name}`: {first_line(error)}",
            user_place(error) or place,
            "choices by values are `jnp.where` or `lax.cond`; arguments that are no arrays are `static`",
        )


def _is_symbolic(size: Any) -> bool:
    return type(size).__module__.partition(".")[0] == "jax"


def program_of_traced(
    traced: Any, names: Sequence[str], results: Sequence[str], name: str, place: SourcePlace | None
) -> ImportedProgram:
    """The program of what `jax.jit(f, keep_unused=True).trace` gives. Raises UsageError (TAD0513)."""
    module = traced.lower().compiler_ir("stablehlo")
    text = module.operation.get_asm(enable_debug_info=True, print_generic_op_form=True)
    with mlir.LOCK, module_context() as context:
        module = lowered(mlir.ir.Module.parse(text, context))
        function = entry_of(module)
        if len(function.regions[0].blocks[0].arguments) != len(names):
            refuse(
                f"`{name}` reads a value of another trace",
                place,
                "what a function of JAX keeps of a trace has no value: give it as an argument",
            )
        return program_of(function, [NamedValue(n) for n in names], results, name, place)
