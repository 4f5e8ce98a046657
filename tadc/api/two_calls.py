"""A value and its gradients in two calls, of which the second reads sums that the first has computed.

    let h[i: N, j: M] = sum{k} (x[i, k] * w[k, j])    y[i, j] = tanh(h[i, j])

A framework asks for the value first, and for gradients later, when it has cotangents. A gradient of its own
begins with `h` again, as much work as the value. Here the value has `h` as one more result, which is an
argument of the gradient.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tadc.api.derivatives import derived_for_framework
from tadc.api.function import Function, function_of
from tadc.frontend.dtypes import DTYPES
from tadc.frontend.extents import shape_at
from tadc.lattice.late_dataclasses import dataclass, replace

if TYPE_CHECKING:
    from tadc.compiler.compile_options import Options
    from tadc.frontend.extents import Shape
    from tadc.frontend.program import Argument, Definition, Program

#: Sums of fewer operations altogether are computed again: a kernel more is not worth it.
_LEAST_WORK = 100_000
#: An element is kept for the sake of so many operations, which take longer than to store and load it.
_LEAST_OF_ELEMENT = 16
#: What stands for a size symbol where amounts are compared.
_TYPICAL = 128
#: What counting the operations of a tensor may take, as `effort` counts: 20 ms.
_COUNTED = 20_000


@dataclass(frozen=True)
class TwoCalls:
    """`value` has the results of a function, and those of names `kept`, which `gradient` takes as inputs."""

    value: Function
    gradient: Function
    kept: tuple[str, ...]


def in_two_calls(f: Function, wrt: Sequence[str]) -> TwoCalls | None:
    """The value and the gradients of a function; None where these compute little again.

    What is kept is no larger than the largest tensor of the function, and than its limit of memory.
    """
    if f.is_open or f.options.materialize == "never":
        return None
    both = derived_for_framework(f, "value-and-vjp", wrt)
    program = both.program
    if program.sparse() or any(d.order is not None for d in program.definitions):
        return None
    later = _later(program)
    kept = _kept(program, later, f)
    if not kept:
        return None
    first = [
        replace(d, is_output=d.name in kept or d.name in f.outputs)
        for d in program.definitions
        if d.name not in later
    ]
    rest = [replace(d, is_output=bool(d.gradient_of)) for d in program.definitions if d.name not in kept]
    of_value = [a for a in program.arguments if a.name not in later]
    of_gradient = [*of_value, *kept.values(), *(a for a in program.arguments if a.name in later)]
    return TwoCalls(
        _function(program, of_value, first, f.options.of_derived),
        _function(program, of_gradient, rest, both.options.of_derived),
        tuple(kept),
    )


def _function(
    program: Program, arguments: Sequence[Argument], definitions: Sequence[Definition], options: Options
) -> Function:
    from tadc.passes.terms.liveness import needed

    made = replace(program, arguments=tuple(arguments), definitions=needed(definitions), source=None)
    return function_of(lambda: made, None, options)


def _later(program: Program) -> set[str]:
    """What depends on cotangents, which are among it, and gradients that depend on nothing."""
    from tadc.frontend.terms import tensors_read

    found = {a.name for a in program.arguments if a.cotangent_of}
    for d in program.definitions:
        if d.gradient_of or not found.isdisjoint(tensors_read([d.body])):
            found.add(d.name)
    return found


def _kept(program: Program, later: set[str], f: Function) -> dict[str, Argument]:
    """The tensors that the gradient reads of the value, as its arguments: sums that are much work, and what a
    gradient compares, which must have the bits that the value has. None if it compares what is too large."""
    from tadc.frontend.program import Argument
    from tadc.frontend.terms import Select, reachable, tensors_read

    known = {d.name: d for d in program.definitions}
    work = _work(program, [d for d in program.definitions if d.name not in later], f)
    found: dict[str, Argument] = {}
    again = [d for d in program.definitions if d.name in later]
    seen = {d.name for d in again}
    for d in again:
        compares = any(isinstance(node, Select) for node in reachable([d.body]))
        read = sorted(tensors_read([d.body]) & known.keys() - later)
        if compares and not all(_is_small(known[name], f) for name in read):
            return {}
        for name in read:
            if work[name] or compares:
                found[name] = Argument(name, known[name].type, known[name].shape)
            elif name not in seen:
                seen.add(name)
                again.append(known[name])
    if sum(work[name] for name in found) < _LEAST_WORK:
        return {}
    return found


def _work(program: Program, definitions: Sequence[Definition], f: Function) -> dict[str, int]:
    """The operations of each tensor that is worth keeping, 0 of others."""
    from tadc.frontend.specialise import specialised
    from tadc.frontend.terms import Reduce, reachable
    from tadc.passes.terms.operation_counts import count_program

    at = specialised(program, dict.fromkeys(program.sizes, _TYPICAL))
    found = dict.fromkeys((d.name for d in definitions), 0)
    small = {d.name for d in definitions if _is_small(d, f)}
    for d in at.definitions:
        elements = math.prod(shape_at(d.shape, {}))
        if d.name not in small or not elements:
            continue
        if any(isinstance(node, Reduce) for node in reachable([d.body])):
            operations = count_program(replace(at, definitions=(d,)), limit=_COUNTED).operations
            found[d.name] = operations if operations >= _LEAST_OF_ELEMENT * elements else 0
    return found


def _is_small(d: Definition, f: Function) -> bool:
    """Whether, whatever sizes are, an input or output has as many elements, and f's limit is not passed."""
    limit, numbers = f.options.memory_limit, [size for size in d.shape if isinstance(size, int)]
    if limit is not None and (
        len(numbers) < len(d.shape) or DTYPES[d.type].bits // 8 * math.prod(numbers) > limit
    ):
        return False
    return any(_fits(d.shape, tensor.shape) for tensor in (*f.program.arguments, *f.program.outputs))


def _fits(shape: Shape, into: Shape) -> bool:
    """Whether a tensor has at most as many elements as another, whatever their sizes are."""
    left, number = Counter(map(str, into)), 1
    for size in shape:
        if not isinstance(size, int):
            if not left[str(size)]:
                return False
            left[str(size)] -= 1
        number *= size if isinstance(size, int) else 1
    return number <= math.prod(size for size in into if isinstance(size, int))
