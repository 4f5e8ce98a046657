"""One process of a run: programs of a source, for one machine and one type, on pages or looked at as code.

It writes a line before and after each program, so that whoever started it knows which one ended it.
"""

from __future__ import annotations

import sys
import warnings

import tadc
from tadc.backend.cpu import backend as cpu
from tests.guards import machine_code, pages
from tests.guards.machines import compiling_for
from tests.guards.programs import Guarded, programs


def main(kind: str, source: str, machine: str, dtype: str, first: int, count: int, start: int) -> None:
    """Run the programs from number `start` on; what is wrong with one is a line."""
    warnings.simplefilter("ignore")
    cpu.WORTH_VECTORS = 0
    # Kernels for all sizes are to have the bits of calls, which else run those for their sizes.
    tadc.config.set(versions=0)
    with compiling_for(machine):
        for number, program in enumerate(programs(source, first, count)):
            if number >= start:
                print("begin", number, program.name, flush=True)
                print("end", number, *_outcome(kind, program, dtype), flush=True)


def _outcome(kind: str, program: Guarded, dtype: str) -> tuple[str, str]:
    """What to say of a program: it is right, it was refused, or it failed; and how much was looked at."""
    count = 0
    try:
        for function in program.functions(dtype):
            if kind == "code":
                count += machine_code.check(function)
            else:
                pages.check(function, program.sizes)
                count += 1
    except tadc.CompileError as error:
        return "refused", f"{count} {_line(error)}"
    except Exception as error:  # A failure of one program is no reason to leave out the others.
        return "failed", f"{type(error).__name__}: {_line(error)}"
    return "right", str(count)


def _line(error: Exception) -> str:
    return " | ".join(str(error).split("\n"))[:2000]


if __name__ == "__main__":
    _, *texts = sys.argv
    kind, source, machine, dtype = texts[:4]
    first, count, start = map(int, texts[4:])
    main(kind, source, machine, dtype, first, count, start)
