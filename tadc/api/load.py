"""Functions from programs: of a text, of a file, compiled ahead."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from importlib import import_module
from os import PathLike, fspath
from os.path import splitext
from typing import TYPE_CHECKING

from tadc.api.function import Function, checked_storage, function_of_text
from tadc.api.recipes import Recipe
from tadc.backend.target import parse_target
from tadc.caller.boundary import (
    checked_function,
    checked_schedule,
    checked_sizes_given,
    checked_target,
    public,
    usage,
)
from tadc.caller.program_files import read_text
from tadc.caller.warn_caller import warn_of
from tadc.compiler.compile_options import Options
from tadc.frontend.source import Source

#: By the ending of a file the module that imports such models; layers above this one put it there.
MODEL_FILES: dict[str, str] = {}

# A kernel of the disk cache runs without the front end, so what needs it is imported where it does.
if TYPE_CHECKING:
    from tadc.api.compiled import Compiled
    from tadc.frontend.program import Program


@public
def compile(
    f: Function,
    target: str = "cpu",
    sizes: Mapping[str, int] | None = None,
    fast_math: bool = False,
    schedule: str = "",
    materialize: str | None = None,
    memory_limit: int | str | None = None,
    tuned: bool = True,
) -> Compiled:
    """Compile ahead of the first call; the result is called like `f`.

    Target `cuda` is the GPU of this machine, `cuda:sm_90` an architecture, `emulated` runs the same kernels
    without a GPU. Arrays on the GPU come back as arrays of the same library, on its current stream or
    `stream=`; NumPy arrays are copied over and back.

    With `fast_math` arithmetic may round otherwise than it is written, and `exp` and `tanh` err by up to
    5 units in the last place: results may differ in their last digits between machines and between
    numbers of threads. On a GPU `exp`, `log`, `sqrt` and divisions of f32 are approximate instructions.

    Where sizes are not known, a call of more than a million operations compiles a version for its own, for
    the first four sets of sizes (`TADC_VERSIONS`); with `sizes=`, no call compiles anything, unless there is
    too little memory for its tensors, or one of its index arrays has long fibres.

    `materialize` and `memory_limit` say as of `function` which tensors in between are stored, in the place of
    what f says; a derivative is taken anew for that.

    A `schedule` is text with the steps in which the loops of some maps are made, in the place of those that
    would be chosen, which `f.lower().schedule` has. Without one, what `tadc.tune` found for f is taken,
    unless `tuned=False`.

    >>> import tadc
    >>> f = tadc.function("x: f64[N]; s = sum{i} (x[i])")
    >>> tadc.compile(f, sizes={"N": 3})
    <tadc.Compiled (x: f64[3]) -> (s: f64)>

    Raises CompileError for what cannot be compiled, a schedule that does not fit among it, NoGpu where a
    target has no GPU to run on.
    """
    checked_function(f, Function, "compile")
    checked_target(target)
    checked_schedule(schedule)
    made = f.storing(materialize, memory_limit).at({} if sizes is None else sizes)
    if target == "cpu" and not fast_math and not schedule and tuned:
        return made.compiled()
    given = Source(schedule, "<schedule>") if schedule else None
    options = Options(target=parse_target(target), fast_math=fast_math, schedule=given, tuned=bool(tuned))
    return made.compiled_for(options.for_calls)


@public
def function(
    source: str,
    name: str = "<string>",
    sizes: Mapping[str, int] | None = None,
    materialize: str | None = None,
    memory_limit: int | str | None = None,
) -> Function:
    """Parse and check a program, for values of size symbols if `sizes` gives some.

    `name` stands for the text in messages.

    `materialize` says which values become tensors in between: those that are worth it ("auto", the default),
    all that can ("always"), or none but those of the program ("never"). A tensor in between of more than
    `memory_limit` bytes, a number or text such as "64M", is computed again where it is read, one of the
    program too, unless a derivative compares its elements or it reads itself. Derivatives of the function do
    the same, unless they are told otherwise.

    Raises CompileError with all its errors, and warns (CompileWarning) of what is unlikely to be meant.

    >>> import tadc
    >>> f = tadc.function("x: f64[N]; w: f64[K]; y[i: N - K + 1] = sum{k} (x[i + k] * w[k])")
    >>> f([1, 2, 3, 4], [1, -1])
    array([-1., -1., -1.])
    """
    if isinstance(source, Function):
        raise usage("a program is a string; this is a function already", "leave `tadc.function` out")
    if not isinstance(source, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        help = "write the text of one, as `x: f64[3]; f[i] = 2*x[i]`; `tadc.load` reads a file"
        raise usage(f"a program is a string, not {type(source).__name__}", help)
    if _is_path(source):
        raise usage(f"`{source}` is the name of a file, not a program", f'read it: `tadc.load("{source}")`')
    checked_sizes_given(sizes)
    how = checked_storage(materialize, memory_limit)
    found = function_of_text(Source(source, name), sizes).storing(*how)
    if not found.is_known:
        warn_of(found.program.doubts)
    return found


@public
def load(
    path: str | PathLike[str],
    sizes: Mapping[str, int] | None = None,
    materialize: str | None = None,
    memory_limit: int | str | None = None,
) -> Function:
    """The program of a file as a function; errors name the file. All others as of `function`.

    A model in a file, `.mlir`, `.onnx` or `.pt2` of `torch.export`, is imported.

    >>> import tadc
    >>> from pathlib import Path
    >>> _ = Path("twice.tad").write_text("x: f64[3]; f[i] = 2*x[i]")
    >>> tadc.load("twice.tad")([1, 2, 3])
    array([2., 4., 6.])

    Raises CompileError: TAD0801 for a file that cannot be read, and all errors of its program.
    """
    if not isinstance(path, str | PathLike):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise usage(f"the name of a file is a string or a path, not {type(path).__name__}")
    how = checked_storage(materialize, memory_limit)
    reader = MODEL_FILES.get(splitext(path)[1])
    if reader is not None:
        model: Function = import_module(reader).load_model(fspath(path))
        return model.storing(*how).at({} if sizes is None else sizes)
    return function(read_text(path), fspath(path), sizes, *how)


def function_in_memory(program: Program, name: str) -> Function:
    """The function of a program that was made here; its kernel is kept on disk by its text.

    The program says where nothing of it stands in that text, so errors at run time name none.
    """
    from tadc.frontend.printer import print_program
    from tadc.passes.terms.renewal import renewed

    source = Source(print_program(program), name)
    made = renewed(program, spans=False)
    plain = replace(
        made,
        arguments=tuple(replace(a, span=None, cotangent_of="", tangent_of="") for a in made.arguments),
        definitions=tuple(replace(d, gradient_of="", tangent_of="") for d in made.definitions),
        source=source,
        given=(),
        doubts=(),
    )
    # A program that is read from this text is another one: its sums have the form that text gives them.
    return Function(lambda: plain, recipe=Recipe(source, ("in memory",)))


def _is_path(text: str) -> bool:
    """Whether a text looks like the name of a file: no program ends like that."""
    return text.endswith((".tad", ".mlir")) and "\n" not in text and "=" not in text
