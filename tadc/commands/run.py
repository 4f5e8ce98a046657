"""`--run`: arrays from files, results to a file."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager, nullcontext
from typing import Any

from tadc.analysis.zero_gradients import derivative_doubts
from tadc.api.call_versions import adapt_to_calls
from tadc.api.execute import compile_program, evaluate
from tadc.api.function import Function
from tadc.api.recipes import Recipe, Signature, find_kernel, find_signature, keep_signature
from tadc.backend.compile_steps import step
from tadc.backend.emulator.counts import counting, table
from tadc.commands.array_files import check_writable, read_inputs, write_arrays
from tadc.commands.options import Arguments
from tadc.commands.warn import warn_of_zero_gradients
from tadc.compiler.all_stages import compile_until
from tadc.compiler.compile_options import Options
from tadc.compiler.derive import read_back
from tadc.compiler.stages import Compilation
from tadc.frontend.program import Program


def run(arguments: Arguments, state: Compilation) -> int:
    """Compile the program or its derivative, run it, write what comes out."""
    recipe = _recipe(state)
    options = state.options.of_derived
    with step("cache"):
        found = find_kernel(recipe, options) if _is_known(recipe, state) else None
    program = state.program if found else _derived(arguments, state, recipe)
    assert program is not None
    if arguments.output and arguments.output != "-":
        check_writable(arguments.output, len(found.kernel.outputs if found else program.outputs))
    inputs = found.kernel.inputs if found else program.arguments
    with step("arrays"):
        arrays = read_inputs(arguments.run or [], [i.name for i in inputs])
    compiled = found or compile_program(program, options, recipe)
    _adapt(compiled.kernel, lambda: _derived(arguments, state, recipe) if found else program, recipe, options)
    with interruptible(), counting() if arguments.counts else nullcontext() as launches:
        results = evaluate(compiled, arrays)
    if launches is not None:
        print(table(launches), file=sys.stderr)
    with step("write"):
        write_arrays(results, arguments.output)
    return 0


def _adapt(kernel: Any, make: Callable[[], Program], recipe: Recipe | None, options: Options) -> None:
    """Let the call compile a version where there is no room for a tensor, and for no other reason."""
    inputs, outputs = (tuple(p.name for p in side) for side in (kernel.inputs, kernel.outputs))
    function = Function(make, None, None, recipe, Signature(inputs, outputs, {}, {}, {}), options)
    adapt_to_calls(kernel, function, options)
    if getattr(kernel, "versions", None) is not None:
        kernel.versions.count = 0


def bundle(arguments: Arguments, state: Compilation) -> int:
    """Write the program or its derivative as a bundle."""
    from tadc.commands.bundle import write_bundle

    program = _derived(arguments, state, None)
    assert arguments.bundle is not None
    write_bundle(program, state.options.of_derived, arguments.bundle)
    return 0


def _recipe(state: Compilation) -> Recipe | None:
    """What a program from text is made from; IR is compiled anew."""
    if state.tree is None or state.program is None or state.source is None:
        return None
    recipe = Recipe(state.source).at(dict(state.program.given))
    options = state.options
    if recipe is None or not options.differentiates:
        return recipe
    return recipe.then(options.mode, options.wrt, options.materialize)


def _is_known(recipe: Recipe | None, state: Compilation) -> bool:
    """Whether there is nothing to warn of."""
    return not state.options.differentiates or find_signature(recipe) is not None


def _derived(arguments: Arguments, state: Compilation, recipe: Recipe | None) -> Program:
    """The program to run: the given one or its derivative, with warnings about that."""
    program = state.program
    assert program is not None
    if not state.options.differentiates:
        return program
    compile_until(state, "opt", first="tad")
    derived = read_back(state)
    warn_of_zero_gradients(arguments, program, derived)
    if not derivative_doubts(program, derived):
        keep_signature(recipe, Signature.of(derived))
    return derived


@contextmanager
def interruptible() -> Generator[None]:
    """Ctrl-C ends the process also while a kernel runs, which Python's own handler does not."""
    try:
        before = signal.signal(signal.SIGINT, signal.SIG_DFL)
    except ValueError:  # not the main thread
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
