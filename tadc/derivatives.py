"""Derivatives of functions: gradients, vector-Jacobian and Jacobian-vector products."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

from tadc.frontend.diagnostics import CompileWarning
from tadc.functions import Function, Origin
from tadc.jacobians import Jacobian
from tadc.stages import MATERIALIZE


def vjp(
    f: Function,
    wrt: str | Sequence[str] | None = None,
    materialize: str = "auto",
    memory_limit: int | None = None,
) -> Function:
    """The vector-Jacobian product: takes f's inputs and a cotangent for each output.

    Returns the gradients with respect to `wrt` (None: every input), each of the shape of its
    argument. Raises CompileError for a name that is no input, and warns (CompileWarning) of a
    gradient that is zero almost everywhere though its argument is read.

    `materialize` says which sums become tensors, since the gradient would compute them again and again:
    those that are worth it ("auto"), all that can ("always"), or none ("never"). None of these is larger than
    `memory_limit` bytes; without a limit, than the largest tensor of f, unless it saves very much. Neither
    holds for what a maximum compares, which is stored or its derivative would be wrong.
    """
    return _derivative(f, "vjp", wrt, materialize, memory_limit)


def value_and_vjp(
    f: Function,
    wrt: str | Sequence[str] | None = None,
    materialize: str = "auto",
    memory_limit: int | None = None,
) -> Function:
    """f's outputs and then the gradients of `vjp`, from one compiled unit."""
    return _derivative(f, "value-and-vjp", wrt, materialize, memory_limit)


def grad(
    f: Function,
    wrt: str | Sequence[str] | None = None,
    materialize: str = "auto",
    memory_limit: int | None = None,
) -> Function:
    """The gradients of a function with one scalar output; takes f's inputs alone."""
    return _derivative(f, "grad", wrt, materialize, memory_limit)


def value_and_grad(
    f: Function,
    wrt: str | Sequence[str] | None = None,
    materialize: str = "auto",
    memory_limit: int | None = None,
) -> Function:
    """The scalar output and its gradients, from one compiled unit."""
    return _derivative(f, "value-and-grad", wrt, materialize, memory_limit)


def jvp(
    f: Function,
    wrt: str | Sequence[str] | None = None,
    chunk: int | None = None,
    materialize: str = "auto",
    memory_limit: int | None = None,
) -> Function:
    """f's outputs and then their tangents, the Jacobian-vector product, from one compiled unit.

    Takes f's inputs and a tangent `x_dot` for each input of `wrt` (None: every input), of its shape;
    `tangents` of the result says their names. With a `chunk` every tangent has a dimension of that size in
    front: so many directions at once. Raises and warns as `vjp`, ValueError for a chunk below 1.
    """
    if chunk is not None and not (isinstance(chunk, int) and chunk > 0):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ValueError(f"chunk is a number of tangents from 1 on, not {chunk!r}")
    return _derivative(f, "jvp", wrt, materialize, memory_limit, chunk or 0)


def jacobian(f: Function, wrt: str | Sequence[str] | None = None) -> Jacobian:
    """The partial derivatives `df_dx` of each output by each input of `wrt` (None: every input).

    Each is an array of shape `f.shape + x.shape`, as an expression: where a derivative is 0 whatever the
    inputs are, it is a guard that says so. Takes f's inputs. `structure` of the result says where that is,
    `compressed()` computes the rest alone. Raises and warns as `vjp`.
    """
    found = _derivative(f, "jacobian", wrt, "auto", None)
    assert isinstance(found, Jacobian)
    return found


def hessian(f: Function, wrt: str | Sequence[str] | None = None) -> Jacobian:
    """The second partial derivatives of a function with one scalar output, by the inputs of `wrt`.

    Of one input x it is an array of shape `x.shape + x.shape`; of several, one such block `ddx_dy` for each
    pair. Takes f's inputs. Raises and warns as `grad`.
    """
    return jacobian(grad(f, wrt), wrt if wrt is not None else f.inputs)


def hvp(f: Function, wrt: str | Sequence[str] | None = None) -> Function:
    """The Hessian of a function with one scalar output, times a vector, in a small multiple of f's time.

    Takes f's inputs and a direction `x_dot` for each input of `wrt`, and returns one array for each.
    Raises and warns as `grad`. (B. Pearlmutter, Fast exact multiplication by the Hessian, 1994.)
    """
    return _derivative(grad(f, wrt), "tangents", wrt if wrt is not None else f.inputs, "auto", None)


def _derivative(
    f: Function,
    mode: str,
    wrt: str | Sequence[str] | None,
    materialize: str,
    memory_limit: int | None,
    chunk: int = 0,
) -> Function:
    if not isinstance(f, Function):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f"expected a tadc.Function, not {type(f).__name__}")
    if materialize not in MATERIALIZE:
        raise ValueError(f"materialize is one of {', '.join(MATERIALIZE)}, not {materialize!r}")
    if memory_limit is not None and memory_limit < 0:
        raise ValueError(f"memory_limit is a number of bytes, not {memory_limit!r}")
    kind = Jacobian if mode == "jacobian" else None
    derived = Origin(f, mode, _names(f, wrt), materialize, memory_limit, chunk, kind).function()
    if derived.is_known:
        return derived
    # For other values of its sizes the derivative may be another. A block of zeros in a Jacobian is no news.
    if f.per_value is None and mode != "jacobian":
        from tadc.zero_gradients import zero_gradients

        found = zero_gradients(f.program, derived.program)
        for problem in found:
            warnings.warn(CompileWarning(problem), stacklevel=3)  # at the caller of `vjp`, `grad`, …
        if found:
            return derived
    f.remember()
    derived.remember()
    return derived


def _names(f: Function, wrt: str | Sequence[str] | None) -> tuple[str, ...]:
    """The arguments to differentiate by; raises as `derive.resolve_wrt`."""
    names = f.inputs if wrt is None else (wrt,) if isinstance(wrt, str) else wrt
    if isinstance(names, tuple | list) and names and set(names) <= set(f.inputs):
        if len(set(names)) == len(names):
            return tuple(names)
    from tadc.derive import resolve_wrt

    return resolve_wrt(f.program, wrt)
