"""`--run`: arrays from files, results to a file."""

from __future__ import annotations

import signal
import sys
from collections.abc import Generator
from contextlib import contextmanager, nullcontext

from tadc.api.execute import evaluate
from tadc.backend.compile_steps import step
from tadc.backend.emulator.counts import counting, table
from tadc.commands.array_files import check_writable, read_inputs, write_arrays
from tadc.commands.given_function import function_asked
from tadc.commands.options import Arguments
from tadc.compiler.stages import Compilation


def run(arguments: Arguments, state: Compilation) -> int:
    """Compile the program or its derivative, run it, write what comes out."""
    f = function_asked(arguments, state)
    if arguments.output and arguments.output != "-":
        check_writable(arguments.output, len(f.outputs))
    with step("arrays"):
        arrays = read_inputs(arguments.run or [], f.inputs)
    compiled = f.compiled_for(state.options.of_derived)
    versions = getattr(compiled.kernel, "versions", None)
    if versions is not None:
        # One call compiles another version where there is no room for a tensor, and for no other reason.
        versions.count = 0
    with interruptible(), counting() if arguments.counts else nullcontext() as launches:
        results = evaluate(compiled, arrays)
    if launches is not None:
        print(table(launches), file=sys.stderr)
    with step("write"):
        write_arrays(results, arguments.output)
    return 0


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
