"""The operation of JAX that calls a kernel, and its rules.

All that is not JAX's documented interface is here and in `kernel_calls`: `jax.extend.core.Primitive`, and
what is used of `jax.interpreters` (`ad`, `batching`, `mlir`, `xla`), public modules without a promise of
stability, the same from JAX 0.5.0 to 0.10.2; and where JAX has it, its set of operations that are told of
devices.
"""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false
# JAX leaves much of itself untyped.

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from typing import Any

import jax
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir, xla

from tadc.caller.boundary import usage
from tadc.frontend.diagnostics import UsageError
from tadc.jax.derived import Derived, DerivedPart
from tadc.jax.gather_warnings import warn_of_undivided
from tadc.jax.kernel_calls import lowered, typed, varying_alike
from tadc.jax.traced_shapes import is_known

call_p = Primitive("tadc")
"""Calls the kernel of `derived` with arrays of its types."""
call_p.multiple_results = True
call_p.def_impl(lambda *arrays, derived: xla.apply_primitive(call_p, *arrays, derived=derived))


def call(derived: Derived, arrays: Sequence[Any]) -> list[Any]:
    """The results for arrays of the right types. Raises ArgumentError for shapes that are wrong."""
    return call_p.bind(*varying_alike(arrays), derived=derived)


def _call_part(part: DerivedPart, values: Sequence[Any]) -> list[Any]:
    return call(part.of, [values[n] for n in part.take])


@call_p.def_abstract_eval
def _results(*avals: Any, derived: Derived) -> list[Any]:
    return typed(avals, derived, tuple(tuple(aval.shape) for aval in avals))


def _jvp(primals: Sequence[Any], tangents: Sequence[Any], *, derived: Derived) -> tuple[Any, Any]:
    moving = tuple(n for n, t in enumerate(tangents) if type(t) is not ad.Zero)
    moved = [tangents[n] for n in moving]
    value = derived.value_for_gradient(moving)
    if value is None:
        return call(derived, primals), _call_part(derived.tangents(moving), [*primals, *moved])
    found = call(value.of, primals)
    kept = [found[n] for n in value.kept]
    return [found[n] for n in value.outputs], _call_part(value.tangents, [*primals, *kept, *moved])


def _transpose(cotangents: Sequence[Any], *values: Any, derived: Derived) -> list[Any]:
    unknown = tuple(n for n, value in enumerate(values) if ad.is_undefined_primal(value))
    seen = tuple(n for n, c in enumerate(cotangents) if type(c) is not ad.Zero)
    found: list[Any] = [None] * len(values)
    if not seen:
        for n in unknown:
            found[n] = ad.Zero(values[n].aval)
        return found
    part = derived.transposed(unknown, seen)
    given = [*values, *(cotangents[m] for m in seen)]
    for name, n in zip(part.of.function.inputs, part.take, strict=True):
        if n in unknown:
            if name in part.of.read:
                raise _not_linear(derived, n)
            given[n] = ad.zeros_like_aval(given[n].aval)  # alone in telling a size
    for n, gradient in zip(unknown, _call_part(part, given), strict=True):
        found[n] = gradient
    return found


def _not_linear(derived: Derived, position: int) -> UsageError:
    """The error for a function that has no transpose: its gradient reads what is not known."""
    name = derived.function.inputs[position]
    return usage(
        f"`{derived}` has no transpose: it is not linear in `{name}`",
        "differentiate it at a point: `jax.vjp`, or `jax.linear_transpose` of what `jax.linearize` gives",
    )


def _batch(values: Sequence[Any], axes: Sequence[Any], *, derived: Derived) -> tuple[Any, Any]:
    which = tuple(n for n, axis in enumerate(axes) if axis is not None)
    size = next(values[n].shape[axes[n]] for n in which)
    moved = [
        value if axis is None else batching.bdim_at_front(value, axis, size)
        for value, axis in zip(values, axes, strict=True)
    ]
    results = call(derived.batched(which), moved)
    return results, [0] * len(results)


def _lower(context: Any, *operands: Any, derived: Derived) -> Any:
    shapes = tuple(tuple(aval.shape) for aval in context.avals_in)
    if _is_divided(context.module_context) and operands:
        why = _undivided(context.module_context)
        if not why and is_known(shapes):
            from tadc.jax.partitioning import Partitioning

            divided = mlir.lower_fun(Partitioning(derived, call, shapes), multiple_results=True)
            return divided(context, *operands)
        if why and not derived.gathered:
            derived.gathered.update((name, 0) for name in derived.function.inputs)
            warn_of_undivided(derived.function.program, context.module_context.axis_context.num_devices, why)
    sizes = derived.shapes.in_question(shapes)
    function = derived.function if sizes is None else derived.function.at(sizes)
    return lowered(context, operands, derived, function, {})


def _is_divided(module: Any) -> bool:
    """Whether a call is one of several devices together, in a mesh: not that of one in `shard_map`."""
    where = module.axis_context
    return (
        getattr(where, "device_assignment", None) is not None
        and where.num_devices > 1
        and getattr(where, "abstract_mesh", None) is not None
    )


def _undivided(module: Any) -> str:
    """Why each of several devices computes all of a call; nothing where JAX lets us divide it."""
    if getattr(module.lowering_parameters, "for_export", False):
        return "programs of `jax.export` do not tell their devices"
    if not getattr(jax.config, "jax_use_shardy_partitioner", False):
        return f"JAX {jax.__version__} does not divide by Shardy, as 0.7 and newer do"
    return ""


def _refuse(context: Any, *operands: Any, derived: Derived) -> Any:
    raise usage(
        "`f.jax` computes on the CPU, and this is compiled for another device",
        'compile for the CPU: `with jax.default_device(jax.devices("cpu")[0])`',
        "outside of `jax.jit` the function itself, `f(x)`, takes arrays on a GPU",
    )


with suppress(ImportError, AttributeError):  # else arrays are gathered on all devices
    dispatch = import_module("jax._src.dispatch")
    dispatch.prim_requires_devices_during_lowering.add(call_p)
if not hasattr(jax, "shard_map"):  # before JAX 0.6
    old = import_module("jax.experimental.shard_map")
    old.register_standard_check(call_p)
    old.register_standard_rewrite(call_p)
ad.primitive_jvps[call_p] = _jvp
ad.primitive_transposes[call_p] = _transpose
batching.primitive_batchers[call_p] = _batch
mlir.register_lowering(call_p, _refuse)
mlir.register_lowering(call_p, _lower, platform="cpu")
