"""Programs to kernels on a GPU, or on the emulator of one."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

from tadc.backend.cuda.manifest import Manifest
from tadc.driver import compile_until
from tadc.frontend.program import Program
from tadc.frontend.specialise import problems_at
from tadc.gpu_images import ProgramKernel, device_of, runnable
from tadc.interfaces import interface_of
from tadc.stages import Compilation, Options


def gpu_kernel(program: Program, options: Options) -> ProgramKernel:
    """Compile a program for a GPU of this machine, or for the emulator.

    Raises:
        CompileError: TAD0706, there is no GPU, or not one that can run the target; and as the stages do.
    """
    from tadc.backend.ptx import machine_code

    assert options.target is not None
    target = runnable(options.target)
    assert target.sm is not None
    manifest, state = compiled(program, replace(options, target=target))
    code = b"" if target.is_emulated or not manifest.launches else machine_code(state.ptx, target.sm)
    recheck = partial(problems_at, program)
    kernel = ProgramKernel(manifest, state.ptx.encode(), device_of(target), recheck, code)
    kernel.source = program.source
    return kernel


def compiled(program: Program, options: Options) -> tuple[Manifest, Compilation]:
    """PTX of a program, and what its launches need to know."""
    assert options.target is not None
    assert options.target.sm is not None
    state = Compilation(options, program.source, program=program)
    compile_until(state, "gpu", first="tad")
    places = _places(state)
    compile_until(state, "ptx", first="nvvm")
    return Manifest.of(interface_of(state, program), state.launches, options.target.sm, places), state


def _places(state: Compilation) -> dict[str, str]:
    """What each kernel computes: tensors, and the line of the program, which gradients do not have."""
    from tadc.dialect.locations import names_in, place_of
    from tadc.dialect.mlir import LOCK, ir

    found: dict[str, str] = {}

    def visit(op: Any) -> Any:
        if op.name == "gpu.func":
            place = place_of(op.location)
            tensors = ", ".join(f"`{tensor}`" for tensor in names_in(op.location))
            where = [f"{place.file}:{place.line}:{place.column}"] if place else []
            found[ir.StringAttr(op.attributes["sym_name"]).value] = " at ".join(
                [tensors] * bool(tensors) + where
            )
        return ir.WalkResult.ADVANCE

    with LOCK:
        state.module.operation.walk(visit, ir.WalkOrder.PRE_ORDER)
    return found
