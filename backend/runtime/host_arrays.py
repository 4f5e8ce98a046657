"""Arguments of a call as the arrays that a kernel takes, and what is wrong with them.

One `ArgumentError` lists every problem of a call; `call_messages.py` has the codes and the texts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from keyword import iskeyword
from math import prod
from typing import Any, cast

import numpy as np

from tadc.backend.runtime.call_messages import element, said, type_problem
from tadc.backend.runtime.copied_arrays import as_read, inexact
from tadc.backend.runtime.frameworks import foreign_device, framework_of, is_traced
from tadc.backend.runtime.inspector import Array
from tadc.backend.runtime.kept_indices import Relation
from tadc.backend.runtime.parameters import Parameter
from tadc.frontend.diagnostics import ArgumentError, Diagnostic
from tadc.frontend.dtypes import DTYPES
from tadc.frontend.extents import extent_text, is_static, shape_at, shape_text
from tadc.frontend.suggest import did_you_mean

#: NumPy's flags C_CONTIGUOUS and ALIGNED: elements are read as they are.
AS_IT_IS = 0x0101


def bind(
    parameters: Sequence[Parameter],
    args: Sequence[Any],
    kwargs: Mapping[str, Any] | None = None,
    sizes: Sequence[str] = (),
) -> list[Array]:
    """One contiguous, aligned array of the right type for each parameter, in order.

    Arguments come by position or by name. What fits is passed as it is; another layout or a type that
    converts without loss is copied. Python numbers and lists convert to f32 as well. `sizes` are names that
    a call may give besides.

    Raises:
        ArgumentError: TAD0501 to TAD0504, all that is wrong.
    """
    if kwargs or len(args) != len(parameters):
        args = arrange(parameters, args, kwargs or {}, sizes)
    arrays: list[Array] = []
    problems: list[Diagnostic] = []
    for parameter, value in zip(parameters, args, strict=True):
        if (
            type(value) is np.ndarray
            and value.dtype is parameter.dtype
            and (value.shape == parameter.shape if parameter.is_static else parameter.fits(value.shape))
            and value.flags.num & AS_IT_IS == AS_IT_IS
        ):
            arrays.append(value)
            continue
        found = converted(parameter, value)
        if isinstance(found, Diagnostic):
            problems.append(found)
        else:
            arrays.append(found)
    if problems:
        raise ArgumentError(problems)
    return arrays


def arrange(
    parameters: Sequence[Parameter],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    sizes: Sequence[str],
    convert: Callable[[Parameter, Any], Any] | None = None,
    sparse: str = "one of SciPy or PyTorch, as `scipy.sparse.csr_array({})`",
) -> list[Any]:
    """The values in the order of the parameters. What is given is also checked before this raises.

    `convert` gives a Diagnostic for a value that is wrong; without it what is read on the host is right.
    `sparse` says what to make of a dense array for a sparse tensor.
    """
    if dense := _dense(parameters, args, kwargs, sparse):
        raise ArgumentError(dense)
    names = [p.name for p in parameters]
    if len(args) == 1 and isinstance(args[0], Mapping) and not kwargs:
        raise ArgumentError([said("one mapping", signature=_signature(parameters))])
    if not args and len(kwargs) == len(names):
        try:
            return [kwargs[name] for name in names]
        except KeyError:
            pass  # which ones are missing, and what else is wrong, is said below
    values: dict[str, Any] = dict(zip(names, args, strict=False))
    problems: list[Diagnostic] = []
    signature, most = _signature(parameters), len(names)
    if len(args) > most:
        given = _count(len(args), "positional argument")
        problems.append(
            said("too many", signature=signature, given=given, most=most, surplus=len(args) - most)
        )
    for name, value in kwargs.items():
        if name not in names:
            problems.append(unknown_argument(parameters, name, sizes))
        elif name in values:
            problems.append(said("twice", name=name, number=names.index(name) + 1))
        else:
            values[name] = value
    missing = [p for p in parameters if p.name not in values]
    if missing or problems:
        absent = [
            said("missing", name=p.name, written=_by_name(p.name), signature=signature) for p in missing
        ]
        problems = absent + problems
        for parameter in parameters:
            if parameter.name in values:
                found = (convert or converted)(parameter, values[parameter.name])
                if isinstance(found, Diagnostic):
                    problems.append(found)
        raise ArgumentError(problems)
    return [values[name] for name in names]


def converted(parameter: Parameter, value: Any) -> Array | Diagnostic:
    """A contiguous array of the parameter's type, or what is wrong.

    Of an index array it is one of integers of some type, or a Relation; whether the elements are indices is
    not looked at.
    """
    if parameter.below is not None and isinstance(value, Relation):
        if is_traced(value.array):
            return converted(parameter, value.array)
        return shape_problem(parameter, value.shape) or cast("Array", value)
    typed = hasattr(value, "dtype")
    library = framework_of(value)
    if library is not None and library.records(value):
        return said("recorded", parameter)
    if value is None or isinstance(value, str | bytes):
        return said("nothing", parameter, found=type(value).__name__)
    try:
        array: Array = np.asarray(value)
    except Exception as error:  # whatever the library of the value raises
        return unreadable(parameter, value) or said("unreadable", parameter, reason=error)
    if isinstance(value, Mapping):
        return said("mapping", parameter)
    if array.dtype.kind == "O" and (found := unreadable(parameter, value)):
        return found
    if _is_masked(value):
        return said("masked", parameter, helps=[_unmasked(parameter)])
    problem = _check_dtype(parameter, array, value, typed) or shape_problem(parameter, array.shape)
    if problem:
        return problem
    if parameter.below is not None:
        kind = array.dtype if typed or array.size else parameter.dtype
        # A type in this machine's order of bytes stays the same object: so does the array, where it fits.
        return as_read(parameter, array, kind if kind.isnative else kind.newbyteorder("="))
    result = as_read(parameter, array, parameter.dtype)
    if isinstance(result, Diagnostic):
        return result
    if typed and (problem := inexact(parameter, array, result)):
        return problem
    if not typed and not np.array_equal(np.isfinite(result), np.isfinite(array)):
        return said("infinite", parameter, greatest=DTYPES[parameter.type].greatest)
    return result


def unreadable(parameter: Parameter, value: Any) -> Diagnostic | None:
    """The error (TAD0504) for an array of another library that gives no elements, where it is known why."""
    if is_traced(value):
        return said("traced", parameter)
    if getattr(value, "requires_grad", False) is True:
        return said("recorded", parameter)
    device = foreign_device(value)
    return None if device is None else said("device", parameter, found=device)


def _is_masked(value: Any) -> bool:
    mask: Any = getattr(value, "mask", None)
    return mask is not None and hasattr(value, "filled") and bool(np.any(mask))


def _unmasked(parameter: Parameter) -> str:
    if parameter.below is not None:
        return f"0 is an index as others: take those that are not masked, `{parameter.name}.compressed()`"
    return f"fill them: write `{parameter.name}.filled(0)`"


def _check_dtype(parameter: Parameter, array: Array, value: Any, typed: bool) -> Diagnostic | None:
    if parameter.below is not None:
        is_empty = not typed and array.size == 0
        if is_empty or array.dtype.kind in "iu":
            return None
        given = array if typed or array.dtype.kind not in "fO" else np.asarray(value, object)
        return _too_large(parameter, given) or type_problem(
            parameter, array.dtype.kind, array.dtype.name, "numpy"
        )
    if typed and np.can_cast(array.dtype, parameter.dtype, "safe"):
        return None
    # The type of an empty list says nothing.
    if not typed and (array.dtype.kind in "biuf" or array.size == 0):
        return None
    name = array.dtype.name if typed else _kind_of(value, array)
    problem = type_problem(parameter, array.dtype.kind, name, "numpy")
    if array.dtype.kind == "O" and isinstance(value, np.ndarray | list | tuple):
        made = f"numpy.array({parameter.name}, dtype={DTYPES[parameter.type].numpy})"
        problem.helps.append(f"make it an array of numbers: `{made}`")
    return problem


def _too_large(parameter: Parameter, given: Array) -> Diagnostic | None:
    """The error (TAD0511) for an integer of Python that no type of NumPy holds."""
    if given.dtype.kind != "O" or not all(isinstance(value, int) for value in given.flat):
        return None
    for place, value in np.ndenumerate(given):
        if not 0 <= value < 2**63:
            must = "at least 0" if value < 0 else f"below {extent_text(parameter.below or 0)}"
            return said("index", parameter, place=element(parameter, place), value=value, must=must)
    return None


def _kind_of(value: Any, array: Array) -> str:
    """The type of what is no number in a value of Python."""
    while isinstance(value, list | tuple) and array.size:
        items = cast("list[Any] | tuple[Any, ...]", value)
        value = next((x for x in items if not isinstance(x, int | float)), items[0])
    return str(cast(Any, value).__class__.__name__)


def shape_problem(parameter: Parameter, shape: tuple[int, ...]) -> Diagnostic | None:
    """The error (TAD0503) for a shape of another rank, or with other extents where these are numbers."""
    if parameter.fits(shape):
        return None
    return wrong_shape(parameter, shape, _shape_helps(parameter, shape))


def wrong_shape(
    parameter: Parameter, found: tuple[int, ...], helps: Sequence[str] = (), **words: str
) -> Diagnostic:
    """The error (TAD0503) for an array of another shape, or of another rank."""
    about: dict[str, Any] = {"found": found, "helps": helps, **words}
    if len(found) != len(parameter.shape):
        count = _count(len(found), "dimension")
        return said("rank", parameter, dimensions=count, expected=len(parameter.shape), **about)
    shape = parameter.shape
    return said("shape", parameter, expected=shape if is_static(shape) else f"({shape_text(shape)})", **about)


def _shape_helps(parameter: Parameter, found: tuple[int, ...]) -> list[str]:
    wanted = parameter.shape
    if parameter.pattern is not None:
        return ["pass a sparse array, or what it stores with the index arrays that say where"]
    if len(wanted) > 1 and found == wanted[::-1]:
        return [f"pass it transposed: `{parameter.name}.T`"]
    if not parameter.is_static:
        return []
    if len(found) != len(wanted) and prod(found) == prod(shape_at(wanted, {})):
        sizes = ", ".join(map(str, wanted))
        return [f"the elements fit: `{parameter.name}.reshape({sizes or '()'})`"]
    return []


def _signature(parameters: Sequence[Parameter]) -> str:
    if not parameters:
        return "the function takes no arguments"
    return f"the function takes `{', '.join(map(str, parameters))}`"


def _by_name(name: str) -> str:
    return f"{name}=…" if not iskeyword(name) else f"**{{{name!r}: …}}"


def _dense(
    parameters: Sequence[Parameter], args: Sequence[Any], kwargs: Mapping[str, Any], make: str
) -> list[Diagnostic]:
    """Errors (TAD0504) for dense arrays in a call that is one of sparse arrays: without the index arrays."""
    sparse = [p for p in parameters if p.pattern is not None]
    places = {name for p in sparse if p.pattern is not None for name in p.pattern.at}
    names = [p.name for p in parameters if p.name not in places]
    given = {**dict(zip(names, args, strict=False)), **kwargs}
    if not sparse or len(args) > len(names) or places & kwargs.keys() or set(names) - given.keys():
        return []
    problems: list[Diagnostic] = []
    for p in sparse:
        if p.pattern is None or np.ndim(given[p.name]) != len(p.pattern.shape):
            continue
        names = ", ".join(f"`{name}`" for name in p.pattern.at)
        helps = [f"or pass what it stores by name, with {names}"]
        problems.append(said("dense", p, made=make.format(p.name), helps=helps))
    return problems


def unknown_argument(parameters: Sequence[Parameter], name: str, sizes: Sequence[str]) -> Diagnostic:
    """The error (TAD0502) for a name that is no argument's."""
    notes = [f"its sizes are {', '.join(f'`{size}`' for size in sizes)}"] if sizes else []
    helps = did_you_mean(name, [*(p.name for p in parameters), *sizes, "out"])
    if iskeyword(name[:-1]) and name[:-1] in [p.name for p in parameters]:
        helps = [f"by name it is passed as `{_by_name(name[:-1])}`"]
    elif name == "stream":
        helps = ["`stream=` is for arrays on a GPU: leave it out"]
    elif name == "dtype":
        helps = ["the program says the types, as in `x: f32[3]`"]
    return said("unknown", name=name, signature=_signature(parameters), notes=notes, helps=helps)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
