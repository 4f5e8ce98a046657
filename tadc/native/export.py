"""`tadc.export`: a function and its gradients as files for programs in other languages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from os import PathLike, fspath
from pathlib import Path

from tadc.api.function import Function
from tadc.backend.base import Target
from tadc.backend.target import UNIT_FORMS, parse_target
from tadc.caller.boundary import checked_choice, checked_function, checked_target, public, usage
from tadc.caller.program_files import write_whole
from tadc.caller.warn_caller import warn_of
from tadc.compiler.derive import resolve_wrt
from tadc.native.c_names import is_symbol
from tadc.native.unit import THREADS, derivatives_of, native_unit
from tadc.native.unit_files import file_of


@public
def export(
    f: Function,
    *files: str | PathLike[str],
    wrt: str | Sequence[str] | None = None,
    mode: str = "vjp",
    values: bool = False,
    prefix: str | None = None,
    threads: str = "none",
    target: str = "cpu",
    sizes: Mapping[str, int] | None = None,
    fast_math: bool = False,
) -> None:
    """Write a function, and its derivatives by the inputs `wrt`, as native code that needs no Python.

    What a file holds its name says: `.o` an object, `.a` a static library, `.so` a shared library, `.h` the
    header of C that says how all of it is called. `mode` is "vjp" or "jvp"; with `values` there is a function
    of the value and the gradients too. Names of functions begin with `prefix`, "tad_" and the first output
    where none is given. Who shares work among `threads`: nobody ("none"), a function of the program ("host"),
    or threads of the library ("pool"). All files are made before any is written.

    >>> import tadc
    >>> from pathlib import Path
    >>> f = tadc.function("x: f64[N]; s = sum{i} (x[i]**2)")
    >>> tadc.export(f, "square.a", "square.h", wrt="x", prefix="square")
    >>> print(*[line for line in Path("square.h").read_text().splitlines() if "_vjp(" in line])
    int square_vjp(const double *x, const double *ds, double *dx, void *scratch, int64_t N);

    Raises UsageError for names that say nothing, CompileError for what cannot be compiled, a target that has
    no such files (TAD0706), no linker for a shared library (TAD0711), or a file that cannot be written
    (TAD0801).
    """
    checked_function(f, Function, "export")
    checked_target(target)
    checked_choice(mode, "mode", ("vjp", "jvp"))
    checked_choice(threads, "threads", THREADS)
    if prefix is not None and not (isinstance(prefix, str) and is_symbol(prefix)):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise usage(f"`{prefix}` is no name for functions of C", 'write `prefix="name"`')
    options = replace(f.options, target=parse_target(target), fast_math=fast_math)
    forms = [(fspath(file), _form(fspath(file), options.target)) for file in files]
    if not forms:
        raise usage("no file to write", 'write `tadc.export(f, "f.a", "f.h")`')
    made = f.at({} if sizes is None else sizes)
    derivatives = []
    if wrt is not None:
        derivatives = derivatives_of(made, resolve_wrt(made.program, wrt), mode, values=values)
        if mode == "vjp":
            from tadc.analysis.zero_gradients import derivative_doubts

            warn_of(derivative_doubts(made.program, derivatives[0][2].program))
    unit = native_unit(made, derivatives, options, prefix, threads)
    contents = [(name, file_of(unit, form)) for name, form in forms]
    for name, content in contents:
        write_whole(name, content.encode() if isinstance(content, str) else content)


def _form(name: str, target: Target) -> str:
    """What the name of a file says that it holds."""
    from tadc.backend.target import backend_of

    suffix = Path(name).suffix
    found = [form.name for form in backend_of(target).forms if form.unit and form.suffix == suffix]
    if not found:
        known = ", ".join(f"`{form.suffix}`" for form in UNIT_FORMS.values())
        raise usage(f"`{name}` says nothing that target `{target}` writes", f"let it end in one of {known}")
    return found[0]
