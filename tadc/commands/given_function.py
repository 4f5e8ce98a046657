"""The function that a command line gives, and its derivative."""

from __future__ import annotations

from dataclasses import replace

from tadc.analysis.zero_gradients import derivative_doubts
from tadc.api.function import Function, Origin
from tadc.api.recipes import Recipe
from tadc.commands.options import Arguments
from tadc.commands.warn import warn_of_zero_gradients
from tadc.compiler.compile_options import Options
from tadc.compiler.stages import Compilation


def function_given(state: Compilation) -> Function:
    """The function of a checked program; the disk keeps those of a text, not those of IR."""
    program, options = state.program, state.options
    assert program is not None
    stored = Options(materialize=options.materialize, memory_limit=options.memory_limit)
    recipe = None
    if state.tree is not None and state.source is not None:
        recipe = Recipe(state.source).at(dict(program.given))
    return Function(lambda: program, recipe=recipe, options=stored)


def recipe_asked(state: Compilation) -> Recipe | None:
    """What the function, or the derivative that is asked for, is known by on disk."""
    f, options = function_given(state), state.options
    return _derived(f, options).recipe() if options.differentiates else f.recipe


def _derived(f: Function, options: Options, reverse: str = "store") -> Origin:
    return Origin(f, replace(f.options, mode=options.mode, wrt=options.wrt, reverse=reverse))


def function_asked(arguments: Arguments, state: Compilation) -> Function:
    """The function, or the derivative that is asked for, with warnings about that."""
    f, options = function_given(state), state.options
    if not options.differentiates:
        return f
    derived = _derived(f, options, arguments.reverse).function()
    if not derived.is_known:
        warn_of_zero_gradients(arguments, f.program, derived.program)
        if not derivative_doubts(f.program, derived.program):
            derived.remember()
    return derived
