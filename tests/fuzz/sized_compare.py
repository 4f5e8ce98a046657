"""One random program with size symbols, at several values of them, against JAX on its numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pytest
from numpy.typing import NDArray

import tadc
from tadc.frontend.diagnostics import Diagnostic
from tadc.frontend.specialise import problems_at
from tests.fuzz.evaluate import Evaluator, Flat, OutOfRange
from tests.fuzz.sized import generate
from tests.fuzz.sized_tree import SizedProgram, Sizes
from tests.fuzz.styles import PLAIN, Style
from tests.reference.autodiff import Function, pullback
from tests.reference.checking import assert_close

Arrays = Mapping[str, NDArray[np.floating]]
LAYOUT = Flat()

#: Errors for a program that may be refused for all sizes: a read that no sizes save, or too many cases.
REFUSED = {"TAD0302", "TAD0312"}


@dataclass
class Outcome:
    """At how many values of the sizes a program was compared, and refused; `rejected`: at all of them."""

    compared: int = 0
    refused: int = 0
    rejected: bool = False


def compare(program: SizedProgram, tries: list[Sizes], *, order: int, seed: int) -> Outcome:
    """Assert values and gradients up to an order at these sizes, or that a call with them is refused.

    One kernel an order serves them all. It is refused where the text with these numbers has an error, and
    nowhere else. Each derivative is printed, read back and compared too; at one of the sizes so is the
    text with numbers in place of the symbols.
    """
    outcome = Outcome()
    try:
        chain = [tadc.function(str(program))]
    except tadc.CompileError as error:
        if {d.code for d in error.diagnostics} <= REFUSED:
            return Outcome(rejected=True)
        raise
    for _ in range(order):
        chain.append(tadc.vjp(chain[-1]))
    again = [tadc.function(str(function)) for function in chain]
    for function, reread in zip(chain, again, strict=True):
        assert reread.inputs == function.inputs, str(function)
        assert reread.outputs == function.outputs, str(function)
        assert str(reread) == str(function), f"printed again:\n{reread}\nfirst:\n{function}"
    for sizes in tries:
        if problems := problems_at(chain[0].program, sizes):
            _assert_refused(program, chain, sizes, problems)
            outcome.refused += 1
            continue
        numbers = str(program.at(sizes)) if not outcome.compared else None
        _compare_at(program, chain, again, sizes, numbers, seed)
        outcome.compared += 1
    return outcome


def _assert_refused(
    program: SizedProgram, chain: list[tadc.Function], sizes: Sizes, problems: list[Diagnostic]
) -> None:
    """Assert that a read does leave its tensor, and that no order can be called with these sizes."""
    if not program.is_shaped(sizes):
        return  # There are no such arrays.
    known = program.at(sizes)
    if {d.code for d in problems} == {"TAD0302"}:
        with pytest.raises(OutOfRange):
            Evaluator(known).check_reads()
    shapes = known.shapes
    for function, following in zip(chain, [*chain[1:], chain[-1]], strict=True):
        arrays = {name: np.zeros(shapes[name]) for name in function.inputs}
        with pytest.raises(tadc.ArgumentError) as found:
            function(**arrays, **_by_name(function, sizes))
        assert {d.code for d in found.value.diagnostics} == {"TAD0507"}, f"at {sizes}: {found.value}"
        shapes |= {name: shapes[output] for output, name in following.cotangents.items()}
        shapes |= {name: shapes[argument] for argument, name in following.gradients.items()}


def _compare_at(
    program: SizedProgram,
    chain: list[tadc.Function],
    again: list[tadc.Function],
    sizes: Sizes,
    numbers: str | None,
    seed: int,
) -> None:
    known = program.at(sizes)
    rng = np.random.default_rng(seed)
    reference: Function = Evaluator(known)
    arrays = {name: rng.uniform(-1, 1, shape) for name, shape in known.arguments.items()}
    shapes = dict(known.outputs)
    expected: dict[str, NDArray[np.floating]] = {}
    plain = tadc.function(numbers) if numbers is not None else None
    for level, function in enumerate(chain):
        place = f"order {level} at {dict(sizes)}"
        if level:
            reference = pullback(reference, function.cotangents, function.gradients)
            shapes = {gradient: arrays[name].shape for name, gradient in function.gradients.items()}
            for output, name in function.cotangents.items():
                arrays[name] = rng.uniform(-1, 1, expected[output].shape)
            plain = plain and tadc.vjp(plain)
        found = reference({name: LAYOUT.encode(array) for name, array in arrays.items()})
        expected = {name: LAYOUT.decode(array, shapes[name]) for name, array in found.items()}
        _assert_values(function, arrays, sizes, expected, 1e-9, place)
        _assert_values(again[level], arrays, sizes, expected, 1e-9, f"{place}, read back")
        if plain:
            _assert_values(plain, arrays, {}, expected, 1e-9, f"{place}, numbers for sizes")


def _assert_values(
    function: tadc.Function, arrays: Arrays, sizes: Sizes, expected: Arrays, tolerance: float, place: str
) -> None:
    found = function(**{name: arrays[name] for name in function.inputs}, **_by_name(function, sizes))
    results = found if len(function.outputs) > 1 else (found,)
    assert set(function.outputs) == set(expected), place
    for name, got in zip(function.outputs, results, strict=True):
        # Of nothing, the largest is -inf; a NaN is none of these.
        infinite = np.isinf(expected[name])
        got, want = np.array(got), np.where(infinite, 0, expected[name]).astype(expected[name].dtype)
        assert got.shape == want.shape, f"{place}, {name}"
        assert (got[infinite] == expected[name][infinite]).all(), f"{place}, {name} of\n{function}"
        got[infinite] = 0
        assert_close(got, want, tolerance, lambda name=name: f"{place}, {name} of\n{function}")


def _by_name(function: tadc.Function, sizes: Sizes) -> dict[str, int]:
    return {name: sizes[name] for name in function.program.unbound_sizes()}


def failure(seed: int, order: int, style: Style = PLAIN) -> str | None:
    """What is wrong with the program of a seed; None if nothing is."""
    program, tries = generate(seed, small=order > 1, style=style)
    try:
        compare(program, tries, order=order, seed=seed)
    # Whatever the compiler raises is what is looked for.
    except Exception as error:
        return f"seed {seed}, order {order}\n{type(error).__name__}: {error}\n\nprogram:\n{program}"
    return None
