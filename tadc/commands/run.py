"""`--run`: arrays from files, results to a file."""

from __future__ import annotations

import io
import re
import signal
import sys
import time
import zlib
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np

from tadc.commands.files import Sink, file_error
from tadc.commands.options import Arguments
from tadc.commands.warn import warn_of_zero_gradients
from tadc.derive import read_back
from tadc.driver import compile_until
from tadc.execute import compile_recipe, evaluate
from tadc.frontend.program import Program
from tadc.frontend.suggest import did_you_mean
from tadc.recipes import Recipe, Signature, find_kernel, find_signature, keep_signature
from tadc.stages import Compilation
from tadc.zero_gradients import zero_gradients


def run(arguments: Arguments, state: Compilation) -> int:
    """Compile the program or its derivative, run it, write what comes out."""
    recipe = _recipe(state)
    begin = time.perf_counter()
    # The program is the derivative already: there is none left to take.
    options = replace(state.options, mode="value", wrt=None)
    found = find_kernel(recipe, options) if _is_known(recipe, state) else None
    program = state.program if found else _derived(arguments, state, recipe)
    assert program is not None
    if arguments.output and arguments.output != "-":
        _writable(arguments.output, len(found.kernel.outputs if found else program.outputs))
    arrays = read_arrays(arguments.run or [])
    compiled = found or compile_recipe(recipe, program, options)
    ready = time.perf_counter()
    with interruptible():
        results = evaluate(compiled, arrays)
    if arguments.time:
        done = time.perf_counter()
        for name, seconds in (("compile", ready - begin), ("run", done - ready)):
            print(f"{name:14}{1e3 * seconds:10.1f} ms", file=sys.stderr)
    write_arrays(results, arguments.output)
    return 0


def bundle(arguments: Arguments, state: Compilation) -> int:
    """Write the program or its derivative as a bundle."""
    from tadc.commands.bundle import write_bundle

    program = _derived(arguments, state, None)
    assert arguments.bundle is not None
    write_bundle(program, replace(state.options, mode="value", wrt=None), arguments.bundle)
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
    if not zero_gradients(program, derived):
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


def _writable(name: str, outputs: int) -> None:
    """What can be known of the output file before the work is done."""
    if not name.endswith((".npz", ".npy")):
        raise file_error(
            f"cannot tell the format of `{name}`", "let its name end in .npz, or .npy for one array"
        )
    if name.endswith(".npy") and outputs != 1:
        raise file_error(f"`{name}` can hold one array, but there are {outputs}", "let its name end in .npz")
    if not Path(name).parent.is_dir():
        raise file_error(f"no folder `{Path(name).parent}`")


def read_arrays(given: list[str]) -> dict[str, Any]:
    """Read `name=file.npy`, `name=file.npz:entry`, `name=file.npz` (the entry `name`), and `name=3.5`."""
    arrays: dict[str, Any] = {}
    for item in given:
        name, equals, where = item.partition("=")
        if not equals or not name or not where:
            raise file_error(f"`{item}` is not of the form NAME=FILE", "write `--run x=x.npy`")
        if name in arrays:
            raise file_error(f"`{name}` is given twice")
        number = _number(where)
        arrays[name] = _load(name, where) if number is None else number
    return arrays


def _number(text: str) -> int | float | None:
    try:
        return int(text) if re.fullmatch(r"[+-]?[0-9]+", text) else float(text)
    except ValueError:
        return None


def _load(name: str, where: str) -> Any:
    file, _, entry = where.partition(".npz:")
    file = file + ".npz" if entry else where
    try:
        return _read(name, file, entry)
    except FileNotFoundError:
        folder = Path(file).parent
        siblings = [p.name for p in folder.glob("*.np[yz]")] if folder.is_dir() else []
        raise file_error(f"no file `{file}` for `{name}`", *did_you_mean(Path(file).name, siblings)) from None
    except (OSError, ValueError, EOFError, BadZipFile, MemoryError, zlib.error) as problem:
        raise file_error(
            f"cannot read `{file}` as an array: {_reason(problem)}", "write it with `numpy.save`"
        ) from None


def _read(name: str, file: str, entry: str) -> Any:
    """The array of a .npy file, or the one of a .npz file that `entry` names, else the argument's name.

    An array of another name is not taken, not even where it is the only one: it may be the wrong file.
    """
    loaded: Any = np.load(file, allow_pickle=False)
    if not hasattr(loaded, "files"):
        return loaded
    with loaded:
        names = list(loaded.files)
        wanted = entry or name
        if wanted not in names:
            raise file_error(f"`{file}` has no array `{wanted}`", *_what_it_has(name, file, entry, names))
        return loaded[wanted]


def _what_it_has(name: str, file: str, entry: str, names: list[str]) -> list[str]:
    """The helps for an array that an archive lacks."""
    if not names:
        return ["the archive is empty"]
    listed = ", ".join(f"`{n}`" for n in names)
    near = did_you_mean(entry, names) if entry else []
    return [f"it has {listed}", *near, f"write `{name}={file}:{names[0]}` if that is meant"]


def _reason(problem: Exception) -> str:
    words = str(problem)
    if "Object arrays" in words:
        return "its elements are Python objects"
    # NumPy takes any other file for a pickle, which we never load.
    return "it is no .npy or .npz file" if "pickle" in words else words.splitlines()[0]


def write_arrays(results: dict[str, Any], output: str | None) -> None:
    """Write results as .npz or .npy; without a file print them."""
    if output is None or output == "-":
        with np.printoptions(threshold=200, precision=8):
            Sink("-").write("\n".join(f"{name} =\n{array}" for name, array in results.items()))
        return
    buffer = io.BytesIO()
    if output.endswith(".npy"):
        np.save(buffer, next(iter(results.values())))
    else:
        np.savez(buffer, **results)
    Sink(output).write(buffer.getvalue())
