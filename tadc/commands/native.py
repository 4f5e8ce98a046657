"""`--emit obj`, `lib`, `so` and `h`: a program and its gradients as functions of C."""

from __future__ import annotations

from tadc.commands.files import Sink
from tadc.commands.given_function import function_given
from tadc.commands.options import Arguments
from tadc.commands.warn import warn_of_zero_gradients
from tadc.compiler.stages import Compilation
from tadc.native.unit import derivatives_of, native_unit
from tadc.native.unit_files import file_of


def write_unit(arguments: Arguments, state: Compilation) -> int:
    """Write the form that `--emit` names, whole or not at all. Raises CompileError."""
    program, options = state.program, state.options
    assert program is not None
    assert arguments.emit is not None
    f = function_given(state)
    derivatives = []
    if options.wrt is not None:
        mode = "jvp" if options.mode == "jvp" else "vjp"
        derivatives = derivatives_of(f, options.wrt, mode, values=arguments.values, reverse=arguments.reverse)
        warn_of_zero_gradients(arguments, program, derivatives[0][2].program if mode == "vjp" else None)
    threads = arguments.threads or "none"
    unit = native_unit(f, derivatives, options.of_derived, arguments.prefix, threads)
    Sink(arguments.output or "-").write(file_of(unit, arguments.emit))
    return 0
