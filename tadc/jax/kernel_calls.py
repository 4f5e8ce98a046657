"""Calls of the handler that XLA knows: what they give, how they are lowered, and one told its sizes late.

As in `primitive`, all that is not JAX's documented interface is the same from JAX 0.5.0 to 0.10.2.
"""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false
# JAX leaves much of itself untyped.

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
from jax import ffi, lax
from jax.core import ShapedArray
from jax.extend.core import Primitive
from jax.interpreters import mlir
from jax.sharding import NamedSharding, PartitionSpec

from tadc.api.function import Function
from tadc.jax.derived import Derived
from tadc.jax.xla_kernels import KERNELS, TARGET

told_p = Primitive("tadc_told")
"""Calls the kernel of `derived`, whose last input has no elements, with its extents as elements of a vector.

`told` are such extents, which results have the shapes of.
"""
told_p.multiple_results = True


def call_told(derived: Derived, arrays: Sequence[Any], extents: Any, told: tuple[int, ...]) -> list[Any]:
    """The results where the last input has these extents behind a first of 0, which are known at run time.

    As `told` they give results of the same shapes.
    """
    return told_p.bind(*varying_alike([*arrays, extents]), derived=derived, told=told)


@told_p.def_abstract_eval
def _told_results(*avals: Any, derived: Derived, told: tuple[int, ...]) -> list[Any]:
    return typed(avals, derived, (*(tuple(aval.shape) for aval in avals[:-1]), (0, *told)))


def varying_alike(arrays: Sequence[Any]) -> Sequence[Any]:
    """Arrays that vary by the same axes in `shard_map`: the transpose adds what those gave that did not."""
    found = [_varying(jax.typeof(array)) for array in arrays] if hasattr(jax, "typeof") else []
    every = frozenset[str]().union(*found)
    return (
        [
            _cast(array, tuple(sorted(every - by))) if by != every else array
            for array, by in zip(arrays, found, strict=True)
        ]
        if every
        else arrays
    )


def _varying(aval: Any) -> frozenset[str]:
    """The axes of a mesh by which JAX knows a value to vary; the name depends on the version."""
    return getattr(aval, "vma", None) or getattr(getattr(aval, "mat", None), "varying", None) or frozenset()


def _cast(array: Any, axes: tuple[str, ...]) -> Any:
    """The array as one that varies by axes; the name depends on the version."""
    newer: Any = lax
    return newer.pcast(array, axes, to="varying") if hasattr(lax, "pcast") else newer.pvary(array, axes)


def typed(avals: Sequence[Any], derived: Derived, given: tuple[Any, ...]) -> list[Any]:
    """The types of results for arguments of shapes."""
    shapes = derived.shapes
    found = shapes.results(given)
    made = zip(found, (p.dtype for p in shapes.outputs), strict=True)
    if not any(map(_varying, avals)):
        return [ShapedArray(shape, dtype) for shape, dtype in made]
    mesh = avals[0].sharding.mesh
    return [
        avals[0].update(shape=s, dtype=d, sharding=NamedSharding(mesh, PartitionSpec(*(None for _ in s))))
        for s, d in made
    ]


def lowered(
    context: Any, operands: Sequence[Any], derived: Derived, function: Function, more: dict[str, Any]
) -> Any:
    """A call of the handler."""
    key, text = KERNELS.ready(function)
    lower = ffi.ffi_lowering(
        TARGET,
        backend_config={"kernel": _number(key), "program": mlir.ir.StringAttr.get(text), **more},
        has_side_effect=_is_left_out(derived, context.avals_out),
    )
    return lower(context, *operands)


def _number(value: int) -> Any:
    return mlir.ir.IntegerAttr.get(mlir.ir.IntegerType.get_signless(64), value)


def _is_left_out(derived: Derived, results: Sequence[Any]) -> bool:
    """Whether XLA would not make a call, for it has no elements to compute: nobody would test its indices."""
    has_indices = any(p.below is not None for p in derived.shapes.inputs)
    return has_indices and all(0 in aval.shape for aval in results)


def _lower_told(context: Any, *operands: Any, derived: Derived, told: tuple[int, ...]) -> Any:
    return lowered(context, operands, derived, derived.function, {"told": _number(len(told))})


mlir.register_lowering(told_p, _lower_told, platform="cpu")
