"""`@tadc.kernel`: a Python function whose parameters are arguments becomes a function of arrays."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, overload

from tadc.api.function import Function
from tadc.building.built_programs import program
from tadc.building.kernel_names import with_arrays
from tadc.building.python_expressions import Expression, Index, Size, Tensor
from tadc.building.python_lines import wrong
from tadc.building.tensors import (
    ArgumentTensor,
    DefinedTensor,
    Head,
    SizeLike,
    TensorType,
    argument,
    index,
    let,
)
from tadc.building.whole_arrays import ArrayExpression, assigned
from tadc.caller.boundary import public
from tadc.caller.warn_caller import nearest_caller


class ElementType(Tensor):
    """A type of elements as an annotation, alone or with a shape; `class T(tadc.ElementType)` is a parameter.

    As in text, a letter stands for the type of the arrays of a call.

    >>> import numpy, tadc
    >>> class T(tadc.ElementType): ...
    >>> @tadc.kernel
    ... def total(x: T["N"], scale: T, k):
    ...     return scale * tadc.sum(k, x[k])
    >>> total([1, 2], 3), total(numpy.ones(2, "f4"), 3).dtype
    (array(9.), dtype('float32'))
    """

    def __class_getitem__(cls, shape: SizeLike | tuple[SizeLike, ...]) -> TensorType:
        return TensorType(cls.__name__, shape)


class f64(ElementType):
    """The type of a parameter of a `tadc.kernel`: `tadc.f64[3, N]`, `tadc.f64` of a scalar.

    >>> import tadc
    >>> i, N = tadc.index("i"), tadc.size("N")
    >>> @tadc.kernel(i)
    ... def y(x: tadc.f64[N], s: tadc.f64):
    ...     return s * x[i]
    >>> y([1, 2], 3)
    array([3., 6.])
    """


class f16(ElementType):
    """The type of a parameter of a `tadc.kernel`, as `tadc.f64` is: stored in 16 bits, computed in 32.

    >>> import tadc
    >>> k = tadc.index("k")
    >>> @tadc.kernel
    ... def total(x: tadc.f16["N"]):
    ...     return tadc.sum(k, x[k])
    >>> total
    <tadc.Function (x: f16[N]) -> (total: f16)>
    """


class bf16(ElementType):
    """The type of a parameter of a `tadc.kernel`, as `tadc.f16` is, with the exponents of f32.

    >>> import tadc
    >>> k = tadc.index("k")
    >>> @tadc.kernel
    ... def total(x: tadc.bf16["N"]):
    ...     return tadc.sum(k, x[k])
    >>> total
    <tadc.Function (x: bf16[N]) -> (total: bf16)>
    """


class f32(ElementType):
    """The type of a parameter of a `tadc.kernel`, as `tadc.f64` is.

    >>> import tadc
    >>> k = tadc.index("k")
    >>> @tadc.kernel
    ... def total(x: tadc.f32["N"]):
    ...     return tadc.sum(k, x[k])
    >>> total
    <tadc.Function (x: f32[N]) -> (total: f32)>
    """


@overload
def kernel(function: Callable[..., Any], /) -> Function: ...
@overload
def kernel(
    *head: Index | Sequence[Index] | Mapping[Index, SizeLike | None],
) -> Callable[[Callable[..., Any]], Function]: ...
@public
def kernel(*head: Any) -> Any:
    """The function of arrays that a Python function states: it is called once, with its arguments.

    Parameters with `tadc.f64[3, N]` or `tadc.f32` behind them are arguments, in their order, and those with
    `tadc.IndexArray[E, N]` index arrays, of E elements below N; those without a type, or with `tadc.Index`,
    are indices. What it returns is the expression of the result, which has the function's name and the
    indices that the decorator names, `@tadc.kernel(i, j)` or `@tadc.kernel({i: N})`; without any, those of
    the parameters that no reduction binds. It may return what `tadc.let` made instead, or a tuple of these:
    several results.

    >>> import tadc
    >>> @tadc.kernel
    ... def f(a: tadc.f64["N", "K"], b: tadc.f64["M", "K"], i, j, k):
    ...     "Similarities."
    ...     return tadc.exp(-tadc.sum(k, (a[i, k] + b[j, k])**2))
    >>> f, f.__doc__
    (<tadc.Function (a: f64[N, K], b: f64[M, K]) -> (f: f64[N, M])>, 'Similarities.')
    """
    if len(head) == 1 and inspect.isfunction(head[0]):
        return _made(head[0], None)
    for item in head:
        if not isinstance(item, Index | Sequence | Mapping) or isinstance(item, str):
            raise wrong(f"`tadc.kernel` decorates a function, and takes its indices, not {item!r}")
    given: Any = head[0] if len(head) == 1 else head

    def decorate(function: Callable[..., Any]) -> Function:
        return _made(function, given)

    return public(decorate)


def _made(function: Any, head: Head | None) -> Function:
    if not inspect.isfunction(function):
        raise wrong(f"`tadc.kernel` makes a kernel of a function, not of {function!r}")
    parameters = {name: _parameter(name, p) for name, p in _signature(function).items()}
    value = with_arrays(function)(*parameters.values())
    arguments = [p for p in parameters.values() if isinstance(p, ArgumentTensor)]
    if isinstance(value, DefinedTensor):
        value = (value,)
    if isinstance(value, tuple | list):
        results: list[Any] = [_named(item) for item in value]  # pyright: ignore[reportUnknownVariableType]
    elif hasattr(value, "__float__"):  # an expression, or a number of Python or NumPy
        free = value.free if isinstance(value, Expression | ArrayExpression) else ()
        own = [p for p in parameters.values() if isinstance(p, Index) and p.name in free]
        results = [let(function.__name__, own if head is None else head, value)]
    else:
        help = "it returns an expression, or what `tadc.let` made"
        raise wrong(f"the kernel `{function.__name__}` returns {value!r}", help)
    made = program(*results, arguments=arguments)
    about = ("__module__", "__name__", "__qualname__", "__doc__")
    vars(made).update({name: getattr(function, name) for name in about})
    return made


def _named(result: Any) -> Any:
    """One of several results; an array is named after the variable of Python that it is assigned to."""
    if isinstance(result, ArrayExpression) and (name := assigned(result.site)):
        return let(name, (), result)
    return result


def _signature(function: Callable[..., Any]) -> Mapping[str, inspect.Parameter]:
    """The parameters; annotations that are text are read where the function is defined."""
    frame, _ = nearest_caller()
    try:
        return inspect.signature(function, locals=dict(frame.f_locals), eval_str=True).parameters
    except (NameError, SyntaxError, TypeError, AttributeError, LookupError, ArithmeticError) as problem:
        help = 'write `a: tadc.f64["N", 3]`'
        raise wrong(f"an annotation of a kernel cannot be read: {problem}", help) from None


def _parameter(name: str, parameter: inspect.Parameter) -> ArgumentTensor | Index:
    if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
        stars = "*" if parameter.kind is parameter.VAR_POSITIONAL else "**"
        raise wrong(f"a kernel has no `{stars}{name}`", "each argument is a parameter of its own")
    if parameter.kind is parameter.KEYWORD_ONLY:
        raise wrong(f"a kernel has no parameter by name alone, as `{name}`", "leave out the `*`")
    if parameter.default is not parameter.empty:
        raise wrong(f"the parameter `{name}` of a kernel has a default", "a call gives every argument")
    told = parameter.annotation
    if told is parameter.empty or told is Index:
        return index(name)
    if ElementType in getattr(told, "__mro__", ()):
        return argument(name, told.__name__)
    if isinstance(told, TensorType):
        return told.argument(name)
    help = f"write `{name}: tadc.f64[3, N]`, `{name}: tadc.f64` for a scalar, and nothing for an index"
    if isinstance(told, ArgumentTensor) or getattr(told, "__name__", "").startswith(("int", "uint")):
        help = f"an index array with elements below N is `{name}: tadc.IndexArray[E, N]`"
    if told is Size:
        help = 'sizes are told by shapes: `N = tadc.size("N")` outside, then `tadc.f64[N]`'
    raise wrong(f"the parameter `{name}` of a kernel is annotated by {told!r}", help)
