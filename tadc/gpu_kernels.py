"""Programs to kernels on a GPU, or on the emulator of one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from tadc.backend.cuda.device import Device, cuda_device
from tadc.backend.cuda.kernel import GpuKernel
from tadc.backend.cuda.manifest import Manifest
from tadc.backend.emulator.errors import KernelFault
from tadc.driver import compile_until
from tadc.frontend.diagnostics import CompileError, Diagnostic, Label
from tadc.frontend.program import Program
from tadc.frontend.source import Place, Source
from tadc.frontend.specialise import problems_at
from tadc.interfaces import interface_of
from tadc.stages import Compilation, Options

if TYPE_CHECKING:
    from tadc.backend.cuda.manifest import KernelLaunch
    from tadc.backend.target import Target


class ProgramKernel(GpuKernel):
    """Kernels of a program whose text is at hand: what they do wrong is shown there."""

    source: Source | None = None

    def _locate(self, error: CompileError, launch: KernelLaunch) -> None:
        place = error.place if isinstance(error, KernelFault) else None
        source = self.source
        if place is None or source is None or place.file != source.name:
            super()._locate(error, launch)
            return
        diagnostic = error.diagnostics[0]
        diagnostic.source = source
        diagnostic.primary = Label(source.span_at(Place(place.file, place.line, place.column)))


def gpu_kernel(program: Program, options: Options) -> GpuKernel:
    """Compile a program for a GPU of this machine, or for the emulator.

    Raises:
        CompileError: TAD0706, there is no GPU, or not one that can run the target; and as the stages do.
    """
    target = options.target
    assert target is not None
    device = device_of(target)
    if not target.is_emulated:
        target = _runnable(target, device(0).architecture)
    manifest, state = compiled(program, replace(options, target=target))
    kernel = ProgramKernel(manifest, state.ptx.encode(), device, partial(problems_at, program))
    kernel.source = program.source
    return kernel


def device_of(target: Target) -> Callable[[int], Device]:
    """What gives the devices that run a target."""
    if target.is_emulated:
        from tadc.backend.emulator.device import emulated_device

        return emulated_device
    return cuda_device


def _runnable(target: Target, architecture: int) -> Target:
    found = target.on(architecture)
    assert found.sm is not None
    if found.sm > architecture:
        message = f"target `{target}` cannot be run here"
        notes = [f"the GPU of this machine is of architecture sm_{architecture}"]
        helps = ["write `cuda` for the GPU of this machine; `emulated` runs kernels of any architecture"]
        raise CompileError([Diagnostic("TAD0706", message, notes=notes, helps=helps)])
    return found


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
    """The line of the program that each kernel computes; of a gradient, which has none, its name."""
    from tadc.dialect.locations import name_of, place_of
    from tadc.dialect.mlir import LOCK, ir

    found: dict[str, str] = {}

    def visit(op: Any) -> Any:
        if op.name == "gpu.func":
            place, tensor = place_of(op.location), name_of(op.location)
            name = ir.StringAttr(op.attributes["sym_name"]).value
            found[name] = f"{place.file}:{place.line}:{place.column}" if place else f"`{tensor}`"
        return ir.WalkResult.ADVANCE

    with LOCK:
        state.module.operation.walk(visit, ir.WalkOrder.PRE_ORDER)
    return found
