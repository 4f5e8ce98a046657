"""Arrays in files: read by name, and written."""

from __future__ import annotations

import io
import re
import zlib
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np

from tadc.commands.files import Sink, file_error
from tadc.frontend.diagnostics import CompileError, Diagnostic
from tadc.frontend.suggest import did_you_mean


def check_writable(name: str, outputs: int) -> None:
    """What can be known of the output file before the work is done."""
    if not name.endswith((".npz", ".npy")):
        raise file_error(
            f"cannot tell the format of `{name}`", "let its name end in .npz, or .npy for one array"
        )
    if name.endswith(".npy") and outputs != 1:
        raise file_error(f"`{name}` can hold one array, but there are {outputs}", "let its name end in .npz")
    if not Path(name).parent.is_dir():
        raise file_error(f"no folder `{Path(name).parent}`")


def read_inputs(given: Sequence[str], inputs: Sequence[str]) -> dict[str, Any]:
    """Read the arrays of a program by name; without any, raise the one error that says what it takes."""
    if inputs and not given:
        listed = ", ".join(f"`{name}`" for name in inputs)
        wanted = " ".join(f"{name}={name}.npy" for name in inputs)
        raise CompileError(
            [
                Diagnostic(
                    "TAD0501", f"no arrays are given for {listed}", helps=[f"write `tadc run FILE {wanted}`"]
                )
            ]
        )
    return read_arrays(given, inputs, sparse=True)


def read_arrays(given: Sequence[str], inputs: Sequence[str] = (), *, sparse: bool = False) -> dict[str, Any]:
    """Read `name=file.npy`, `name=file.npz:entry`, `name=file.npz` (the entry `name`), and `name=3.5`.

    `sparse`: a file of `scipy.sparse.save_npz` is a sparse array.
    Raises CompileError (TAD0801); where a name is lacking it tells the `inputs` that have no array.
    """
    arrays: dict[str, Any] = {}
    for item in given:
        name, equals, where = item.partition("=")
        if not equals or not name or not where:
            named = [other.partition("=")[0] for other in given if "=" in other]
            free = [name for name in inputs if name not in named]
            meant = [f"`{name}={item}`" for name in free if item and not equals] or ["`x=x.npy`"]
            if any(other.startswith("=") for other in given) or (equals and not where):
                meant = ["`x=x.npy`, without blanks around `=`"]
            raise file_error(f"`{item}` is not of the form NAME=FILE", f"write {' or '.join(meant)}")
        if name in arrays:
            raise file_error(f"`{name}` is given twice")
        number = _number(where)
        arrays[name] = _load(name, where, sparse) if number is None else number
    return arrays


def _number(text: str) -> int | float | None:
    try:
        return int(text) if re.fullmatch(r"[+-]?[0-9]+", text) else float(text)
    except ValueError:
        return None


def _load(name: str, where: str, sparse: bool) -> Any:
    file, _, entry = where.partition(".npz:")
    file = file + ".npz" if entry else where
    try:
        return _read(name, file, entry, sparse)
    except FileNotFoundError:
        folder = Path(file).parent
        siblings = [p.name for p in folder.glob("*.np[yz]")] if folder.is_dir() else []
        what = [] if file.endswith((".npy", ".npz")) else [f"write a file, `{name}=x.npy`, or a number"]
        if re.search(r",[^\W\d]\w*=", where):
            what = [f"arrays are words of their own: `{name}={where.replace(',', ' ')}`"]
        raise file_error(
            f"no file `{file}` for `{name}`", *did_you_mean(Path(file).name, siblings), *what
        ) from None
    except (OSError, ValueError, EOFError, BadZipFile, MemoryError, zlib.error) as problem:
        raise file_error(
            f"cannot read `{file}` as an array: {_reason(problem)}", "write it with `numpy.save`"
        ) from None


def _read(name: str, file: str, entry: str, sparse: bool) -> Any:
    """The array of a .npy file, or the one of a .npz file that `entry` names, else the argument's name.

    An array of another name is not taken, not even where it is the only one: it may be the wrong file.
    """
    loaded: Any = np.load(file, allow_pickle=False)
    if not hasattr(loaded, "files"):
        return loaded
    with loaded:
        names = list(loaded.files)
        wanted = entry or name
        if (sparse or wanted not in names) and not entry and {"format", "shape", "data"} <= set(names):
            return _read_sparse(name, file, sparse)
        if wanted not in names:
            raise file_error(f"`{file}` has no array `{wanted}`", *_what_it_has(name, file, entry, names))
        return loaded[wanted]


def _read_sparse(name: str, file: str, sparse: bool) -> Any:
    """The array in a file of `scipy.sparse.save_npz`."""
    if sparse:
        try:
            return import_module("scipy.sparse").load_npz(file)
        except ImportError:
            pass
    why = "and SciPy is not installed" if sparse else "which this form of the command does not take"
    raise file_error(
        f"`{file}` is a sparse array of SciPy, {why}",
        f"pass what it stores, and where: `{name}={name}.npy row=row.npy col=col.npy`",
    )


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
