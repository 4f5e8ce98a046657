"""What is said of the arguments of a call, in the same words by all ways into a kernel."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING, Any

from tadc.frontend.diagnostics import Diagnostic
from tadc.frontend.dtypes import DTYPES
from tadc.frontend.extents import is_static, shape_at, shape_text
from tadc.frontend.wording import counted

if TYPE_CHECKING:
    from tadc.backend.runtime.parameters import Parameter

MESSAGES = """
Which arguments there are.
  TAD0501 missing: argument `{name}` is missing
    note: {signature}
    help: pass it by name: `{written}`
  TAD0501 size missing: size `{name}` is missing
    note: no array tells it
    help: pass it by name: `{name}=…`
  TAD0502 unknown: there is no argument `{name}`
    note: {signature}
  TAD0502 twice: argument `{name}` is given twice
    note: once by name, and as positional argument number {number}
    help: leave one out
  TAD0502 too many: {given} given, expected at most {most}
    note: {signature}
    help: leave out the last {surplus}
  TAD0502 one mapping: the arguments are given as one mapping
    note: {signature}
    help: unpack it: `f(**arguments)`
What arguments are.
  TAD0504 mapping: `{name}` is a mapping, not an array
    help: unpack a mapping of arguments by name: `f(**arguments)`
  TAD0504 nothing: `{name}` is not an array of numbers but a value of type {found}
  TAD0504 foreign: `{name}` is not a tensor but a value of type {found}
    help: make it one: `torch.as_tensor({name}, dtype=torch.{dtype})`
  TAD0504 dense: `{name}` is a dense array, and the program takes a sparse one
    help: make it {made}
  TAD0504 layout: `{name}` is not dense: its layout is {found}
    help: write `{name}.to_dense()`
  TAD0504 masked: `{name}` has masked elements, which have no value
  TAD0504 unreadable: `{name}` cannot be read as an array
    note: NumPy says: {reason}
  TAD0504 not read: `{name}` cannot be read: {reason}
  TAD0504 recorded: `{name}` cannot be read: it requires a gradient or has a tangent
    note: results would lose it: PyTorch does not see this computation
    help: call `f.torch`, which it differentiates, or pass `{name}.detach()`
  TAD0504 traced: `{name}` cannot be read: it is a traced array of JAX, which has no elements yet
    note: inside of `jit`, `grad` and `vmap` JAX passes no elements
    help: call `f.jax`, which JAX transforms, or the function itself outside of them
  TAD0504 lazy: `{name}` cannot be read: it is a Dask array, whose elements are not computed yet
    note: all of it would be computed and brought into memory here
    help: call `f.dask`, which computes block by block, or pass `{name}.compute()`
  TAD0504 divided: `{name}` cannot be read: it is a DTensor, of which each process has a part
    help: call `f.torch`, which computes on all processes, or pass `{name}.full_tensor()`
  TAD0504 device: `{name}` cannot be read: it is on a device without kernels ({found})
    note: kernels run on the host and on NVIDIA's GPUs
    help: copy it to the host before the call
  TAD0504 other device: {subject}`{name}` is on GPU {found}, another argument on GPU {expected}
    help: copy all arguments to one GPU
  TAD0504 gaps: {subject}`{name}` is not row-major
    help: pass a copy that is: `{name}.contiguous()` in PyTorch, `cupy.ascontiguousarray({name})`
  TAD0504 undivided: `{name}` is not a DTensor, but `{other}` is
    help: {made}
  TAD0504 other mesh: `{name}` is on another mesh than `{other}`
    help: write `distribute_tensor({name}.full_tensor(), {other}.device_mesh)`
Types of elements.
  TAD0504 lossy: `{name}` has elements of type {found}, which {type} cannot hold without loss
  TAD0504 type: {subject}`{name}` has elements of type {found}, expected {dtype}
  TAD0504 no index: `{name}` has elements of type {found}, but indices are integers
  TAD0504 inexact: `{place}` is {found}, which f64 cannot hold without loss
    note: the nearest f64 is {nearest:.0f}; it holds all integers up to 2**53
    help: if the loss is intended, write `{name}.astype(numpy.float64)`
  TAD0504 infinite: `{name}` holds a number too large for {type}
    note: the largest {type} is {greatest:.8g}
Shapes and sizes.
  TAD0503 shape: {subject}`{name}` has shape {found}, expected {expected}
  TAD0503 rank: {subject}`{name}` has {dimensions}, shape {found}, expected {expected}
  TAD0503 extent: dimension {axis} of `{name}` has {found} elements, expected {expected}
  TAD0503 no extent: dimension {axis} of `{name}` has {found} elements, which `{expected}` cannot be
  TAD0503 elements: `{name}` has {found} elements, expected {expected}
  TAD0508 no size: size `{name}` must be an integer, not {found}
  TAD0508 size range: size `{name}` cannot be {value}
    note: a size is in 0..2**40 - 1
  TAD0508 other size: size `{name}` cannot be {value}: the kernel is compiled for {name} = {expected}
Memory.
  TAD0506 copy: `{name}` must be copied, which needs {needed} of memory: {has}
    note: it has {why}
Index arrays.
  TAD0511 index: `{place}` is {value}, but must be {must}
  TAD0511 falling: `{place}` is {value}, less than `{before}`, which is {other}
  TAD0511 many indices: `{name}` has {count} elements, which must be fewer than 2**31
  TAD0506 inspection: checking {names} needs {needed} of memory, {free} are available
What `out=` gives.
  TAD0505 out unknown: `out` names `{name}`, which is not an output
    note: the outputs are {names}
  TAD0505 out number: `out` gives {given} arrays for {expected} outputs
    note: the outputs are {names}
    help: pass a dict by name, or a tuple in this order; None stands for a new array
  TAD0505 out kind: `out` for `{name}` is of type {found}, not a NumPy array
    help: {made}
  TAD0505 out read-only: `out` for `{name}` is read-only
    help: pass an array that can be written, or a copy
  TAD0505 out overlaps: elements of `out` for `{name}` overlap
    help: {made}
  TAD0505 out shared: `out` for `{other}` and for `{name}` share memory
    help: pass arrays of their own
  TAD0505 out host: `out` for `{name}` is not on a GPU, but an argument is
  TAD0505 out place: `out` for `{name}` begins at an address that is not a multiple of {alignment}
    help: pass an array that is not a view of another
Where nobody could look what a call gives.
  TAD0504 wrong type: the elements of `{name}` are not of type {type}
  TAD0504 not handed over: a tensor cannot be read, or there is no memory to copy one that has gaps
    note: or there are more or fewer tensors than the kernel takes, or results of another type
  TAD0503 wrong rank: `{name}` does not have {rank} dimensions
  TAD0503 wrong extent: dimension {axis} of `{name}` does not fit
  TAD0511 wrong index: `{name}` has an element that is out of range or out of order
    help: call the function outside of compiled code to see which element
  TAD0507 wrong sizes: the program is not defined for these sizes
  TAD0506 no memory: there is too little memory for results and intermediates
"""
"""All that is said: a code, what is wrong, the text with names in braces for what a call gives; further lines
are of the same. Where it is said of a parameter, a note tells how that is declared."""


def _read(text: str) -> dict[str, tuple[str, str, list[str], list[str]]]:
    """Code, text, notes and helps by what is wrong."""
    found: dict[str, tuple[str, str, list[str], list[str]]] = {}
    for line in text.split("\n"):
        about, _, words = line.strip().partition(": ")
        if line.startswith("  TAD"):
            code, _, what = about.partition(" ")
            found[what] = (code, words, [], [])
        elif words:
            _, _, notes, helps = list(found.values())[-1]
            (notes if about == "note" else helps).append(words)
    return found


WORDS = _read(MESSAGES)
"""Code, text, notes and helps by what is wrong; JavaScript has them too."""

CONVERTED = {
    "numpy": "{name}.astype({numpy})",
    "jax": "{name}.astype(jax.numpy.{dtype})",
    "torch": "{name}.to(torch.{dtype})",
}
"""How an array becomes one of another type, by library."""

PLACES = {
    "numpy": "numpy.flatnonzero({name})",
    "jax": "jax.numpy.flatnonzero({name})",
    "torch": "torch.nonzero({name}).flatten()",
}
"""How the places where an array is true are found."""


def said(
    what: str,
    of: Parameter | None = None,
    *,
    code: str = "",
    notes: Sequence[str] = (),
    helps: Sequence[str] = (),
    **words: Any,
) -> Diagnostic:
    """The diagnostic, of a parameter or of none, with further notes and helps; `code` is another one."""
    own_code, text, own_notes, own_helps = WORDS[what]
    if of is not None:
        words = {"name": of.name, "type": of.type, "dtype": of.dtype.name, "subject": "", **words}
        notes = [*notes, declared(of)]
    notes = [*(note.format_map(words) for note in own_notes), *notes]
    helps = [*(help.format_map(words) for help in own_helps), *helps]
    return Diagnostic(code or own_code, text.format_map(words), notes=notes, helps=helps)


def declared(parameter: Parameter) -> str:
    """The note that says what a parameter is."""
    return f"the program declares `{parameter}`"


def element(parameter: Parameter, place: Sequence[int]) -> str:
    """An element as a program reads it."""
    return f"{parameter.name}[{', '.join(map(str, place))}]" if place else parameter.name


def type_problem(
    parameter: Parameter, kind: str, name: str, library: str, *, is_lossy: bool = True
) -> Diagnostic:
    """The error for elements of a type that has this kind and name in NumPy, of an array of a library.

    `is_lossy` is whether the program's type does not hold all of its values: else nothing is converted.
    """
    of_numpy = DTYPES[parameter.type].numpy
    converted = CONVERTED[library].format(name=parameter.name, dtype=parameter.dtype.name, numpy=of_numpy)
    if parameter.below is not None:
        helps = {
            "b": [f"for the positions that are True write `{PLACES[library].format(name=parameter.name)}`"],
            "f": [f"if all are whole numbers, write `{converted}`"],
        }
        return said("no index", parameter, found=name, helps=helps.get(kind, []))
    if not is_lossy:
        return said("type", parameter, found=name, helps=[f"convert it: `{converted}`"])
    helps = {"c": [f"pass the real part: `{parameter.name}.real`"]}
    helps |= {each: [f"if the loss is intended, write `{converted}`"] for each in "biuf"}
    return said("lossy", parameter, found=name, helps=helps.get(kind, []))


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
        count = counted(len(found), "dimension")
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
