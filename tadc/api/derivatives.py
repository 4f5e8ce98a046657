"""Derivatives of functions: gradients, vector-Jacobian and Jacobian-vector products."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tadc.api.function import Function, Origin, checked_storage
from tadc.api.jacobians import Jacobian
from tadc.caller.boundary import checked_choice, checked_function, public, shown_value, usage
from tadc.caller.warn_caller import warn_of
from tadc.compiler.compile_options import Options
from tadc.compiler.reversals import REVERSALS


@public
def vjp(
    f: Function,
    wrt: str | Sequence[str] | None = None,
    materialize: str | None = None,
    memory_limit: int | str | None = None,
    reverse: str = "store",
) -> Function:
    """The vector-Jacobian product: takes f's inputs and a cotangent for each output.

    Returns the gradients with respect to `wrt` (None: every input), each of the shape of its
    argument. Raises CompileError for a name that is no input, and warns (CompileWarning) of a
    gradient that is zero almost everywhere though its argument is read.

    `materialize` says which sums become tensors, since the gradient would compute them again and again:
    those that are worth it ("auto"), all that can ("always"), or none ("never"). None of these is larger than
    `memory_limit` bytes, a number or text such as "64M"; without a limit, than the largest tensor of f,
    unless it saves very much. Neither holds for what a maximum compares, which is stored or its derivative
    would be wrong. A recurrence whose steps would take more saves as many states as the limit has room for,
    and takes the steps between them again: as few as can be (Griewank and Walther, Algorithm 799: revolve,
    2000), with results of the same bits. What is not given is as of f (`tadc.function`).

    With `reverse="invert"` the states of recurrences are made again from the last one on, by the inverse of
    each step, so that of any number of steps the last ones alone are kept. Sizes must have values. There is
    one more result, `residual`: how far the first states made so are from those that the recurrences begin
    with, as a share of the largest of these (`tadc.apps.undoing.run_backwards`).

    >>> import tadc
    >>> f = tadc.function("x: f64[3]; f[i] = x[i]**2")
    >>> g = tadc.vjp(f)
    >>> g
    <tadc.Function (x: f64[3], df: f64[3]) -> (dx: f64[3])>
    >>> print(g)
    x: f64[3]
    df: f64[3]
    dx: f64[3]
    <BLANKLINE>
    dx[i] = 2 * df[i] * x[i]
    <BLANKLINE>
    >>> g(x=[1, 2, 3], df=[1, 1, 1])
    array([2., 4., 6.])
    """
    return derivative_of(f, "vjp", wrt, materialize, memory_limit, reverse=reverse)


@public
def value_and_vjp(
    f: Function,
    wrt: str | Sequence[str] | None = None,
    materialize: str | None = None,
    memory_limit: int | str | None = None,
    reverse: str = "store",
) -> Function:
    """f's outputs and then the gradients of `vjp`, from one compiled unit.

    >>> import tadc
    >>> f = tadc.function("x: f64[3]; f[i] = x[i]**2")
    >>> tadc.value_and_vjp(f)(x=[1, 2, 3], df=[1, 1, 1])
    Result(f=array([1., 4., 9.]), dx=array([2., 4., 6.]))

    Takes what `vjp` takes; raises and warns as it does.
    """
    return derivative_of(f, "value-and-vjp", wrt, materialize, memory_limit, reverse=reverse)


@public
def grad(
    f: Function,
    wrt: str | Sequence[str] | None = None,
    materialize: str | None = None,
    memory_limit: int | str | None = None,
    reverse: str = "store",
) -> Function:
    """The gradients of a function with one scalar output, of its arguments' shapes; takes f's inputs alone.

    >>> import tadc
    >>> s = tadc.function("x: f64[3]; s = sum{i} (x[i]**2)")
    >>> tadc.grad(s)([1, 2, 3])
    array([2., 4., 6.])

    Raises and warns as `vjp`; CompileError (TAD0403) where f is not one scalar.
    """
    return derivative_of(f, "grad", wrt, materialize, memory_limit, reverse=reverse)


@public
def value_and_grad(
    f: Function,
    wrt: str | Sequence[str] | None = None,
    materialize: str | None = None,
    memory_limit: int | str | None = None,
    reverse: str = "store",
) -> Function:
    """The scalar output and its gradients, from one compiled unit.

    >>> import tadc
    >>> s = tadc.function("x: f64[3]; s = sum{i} (x[i]**2)")
    >>> tadc.value_and_grad(s)([1, 2, 3])
    Result(s=array(14.), dx=array([2., 4., 6.]))

    Raises and warns as `grad`.
    """
    return derivative_of(f, "value-and-grad", wrt, materialize, memory_limit, reverse=reverse)


@public
def jvp(
    f: Function,
    wrt: str | Sequence[str] | None = None,
    chunk: int | None = None,
    materialize: str | None = None,
    memory_limit: int | str | None = None,
) -> Function:
    """f's outputs and then their tangents, the Jacobian-vector product, from one compiled unit.

    Takes f's inputs and a tangent `x_dot` for each input of `wrt` (None: every input), of its shape;
    `tangents` of the result says their names. With a `chunk` every tangent has a dimension of that size in
    front: so many directions at once. Raises and warns as `vjp`, UsageError for a chunk below 1.

    >>> import tadc
    >>> f = tadc.function("x: f64[3]; f[i] = x[i]**2")
    >>> tadc.jvp(f)(x=[1, 2, 3], x_dot=[1, 0, 0])
    Result(f=array([1., 4., 9.]), f_dot=array([2., 0., 0.]))
    """
    if chunk is not None and not (isinstance(chunk, int) and chunk > 0):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise usage(f"chunk is a number of tangents from 1 on, not {shown_value(chunk)}", "write `chunk=16`")
    return derivative_of(f, "jvp", wrt, materialize, memory_limit, chunk or 0)


@public
def jacobian(f: Function, wrt: str | Sequence[str] | None = None) -> Jacobian:
    """The partial derivatives `df_dx` of each output by each input of `wrt` (None: every input).

    Each is an array of shape `f.shape + x.shape`, as an expression: where a derivative is 0 whatever the
    inputs are, it is a guard that says so. Takes f's inputs. `structure` of the result says where that is,
    `compressed()` computes the rest alone. Raises and warns as `vjp`.

    >>> import tadc
    >>> f = tadc.function("x: f64[3]; f[i] = x[i]**2")
    >>> j = tadc.jacobian(f)
    >>> j([1, 2, 3])
    array([[2., 0., 0.],
           [0., 4., 0.],
           [0., 0., 6.]])
    >>> print(j.structure)
    diagonal: i = i_1
    """
    found = derivative_of(f, "jacobian", wrt, None, None)
    assert isinstance(found, Jacobian)
    return found


@public
def hessian(f: Function, wrt: str | Sequence[str] | None = None) -> Jacobian:
    """The second partial derivatives of a function with one scalar output, by the inputs of `wrt`.

    Of one input x it is an array of shape `x.shape + x.shape`; of several, one such block `ddx_dy` for each
    pair. Takes f's inputs. Raises and warns as `grad`.

    >>> import tadc
    >>> s = tadc.function("x: f64[3]; s = sum{i} (x[i]**2)")
    >>> tadc.hessian(s)([1, 2, 3])
    array([[2., 0., 0.],
           [0., 2., 0.],
           [0., 0., 2.]])
    """
    checked_function(f, Function, "hessian")
    return jacobian(grad(f, wrt), wrt if wrt is not None else f.differentiable)


@public
def hvp(f: Function, wrt: str | Sequence[str] | None = None) -> Function:
    """The Hessian of a function with one scalar output, times a vector, in a small multiple of f's time.

    Takes f's inputs and a direction `x_dot` for each input of `wrt`, and returns one array for each.
    Raises and warns as `grad`. (B. Pearlmutter, Fast exact multiplication by the Hessian, 1994.)

    >>> import tadc
    >>> s = tadc.function("x: f64[3]; s = sum{i} (x[i]**2)")
    >>> tadc.hvp(s)(x=[1, 2, 3], x_dot=[1, 0, 0])
    array([2., 0., 0.])
    """
    checked_function(f, Function, "hvp")
    return derivative_of(grad(f, wrt), "tangents", wrt if wrt is not None else f.differentiable, None, None)


def derivative_of(
    f: Function,
    mode: str,
    wrt: str | Sequence[str] | None,
    materialize: str | None = None,
    memory_limit: int | str | None = None,
    chunk: int = 0,
    reverse: str = "store",
) -> Function:
    """The derivative of a mode of `Options`. Raises and warns as `vjp`."""
    checked_function(f, Function, mode.replace("-", "_"))
    checked_choice(reverse, "reverse", REVERSALS)
    stored = f.options.storing(*checked_storage(materialize, memory_limit))
    limit = stored.memory_limit
    options = replace(
        Options(mode, _names(f, wrt), memory_limit=limit, chunk=chunk, reverse=reverse),
        materialize=stored.materialize,
    )
    derived = Origin(f, options, Jacobian if mode == "jacobian" else None).function()
    if derived.is_known:
        return derived
    # For other values of its sizes the derivative may be another. A block of zeros in a Jacobian is no news.
    if f.per_value is None and mode != "jacobian":
        from tadc.analysis.zero_gradients import derivative_doubts

        found = derivative_doubts(f.program, derived.program)
        warn_of(found)
        if found:
            return derived
    f.remember()
    derived.remember()
    return derived


def derived_for_framework(f: Function, mode: str, wrt: Sequence[str]) -> Function:
    """A derivative of which nobody is warned: frameworks take some that nobody asked for."""
    how = f.options
    return Origin(f, Options(mode, tuple(wrt)).storing(how.materialize, how.memory_limit)).function()


def _names(f: Function, wrt: str | Sequence[str] | None) -> tuple[str, ...]:
    """The arguments to differentiate by; raises as `derive.resolve_wrt`."""
    names = f.differentiable if wrt is None else (wrt,) if isinstance(wrt, str) else wrt
    if isinstance(names, tuple | list) and names and set(names) <= set(f.differentiable):
        if len(set(names)) == len(names):
            return tuple(names)
    from tadc.compiler.derive import resolve_wrt

    return resolve_wrt(f.program, wrt)
