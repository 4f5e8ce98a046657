"""`tadc tune`: schedules are timed on this machine, and the fastest is kept."""

from __future__ import annotations

from dataclasses import replace

from tadc.analysis.random_inputs import told_sizes
from tadc.api.tuning import tuned
from tadc.backend.runtime.thread_count import set_num_threads
from tadc.commands.array_files import read_arrays
from tadc.commands.files import Sink
from tadc.commands.given_function import function_asked
from tadc.commands.options import Arguments
from tadc.compiler.compile_options import Options
from tadc.compiler.stages import Compilation


def tune(arguments: Arguments, state: Compilation) -> int:
    """Print what was gained and by which steps, which `-o FILE` has alone; the exit code.

    Raises CompileError, also for sizes that neither options nor arrays tell.
    """
    if arguments.num_threads is not None:
        set_num_threads(arguments.num_threads)
    f = function_asked(arguments, state)
    given = read_arrays(arguments.run or [], f.inputs)
    told = told_sizes(f.program, given) if f.program.sizes else {}
    found = tuned(
        f.at(told) if told else f,
        _options(state.options),
        {name: value for name, value in given.items() if name not in told},
        arguments.limit,
        arguments.reorder,
    )
    Sink("-").write(str(found))
    if arguments.output is not None:
        Sink(arguments.output).write(found.steps)
    return 130 if found.interrupted else 0


def _options(options: Options) -> Options:
    return replace(options.of_derived, sizes=())
