"""Compiled kernels of a GPU: on which device they run, and as bytes on disk. Needs no compiler."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING

from tadc.backend.cuda.device import Device, cuda_device
from tadc.backend.cuda.kernel import GpuKernel
from tadc.backend.cuda.manifest import Manifest
from tadc.backend.emulator.errors import KernelFault
from tadc.frontend.diagnostics import CompileError, Diagnostic, Label
from tadc.frontend.source import Place, Source

if TYPE_CHECKING:
    from tadc.backend.runtime.sizes import Recheck
    from tadc.backend.target import Target
    from tadc.passes.gpu.launch import Launch


class ProgramKernel(GpuKernel):
    """Kernels of a program whose text is at hand: what they do wrong is shown there."""

    source: Source | None = None

    def _explain(self, error: CompileError, launch: Launch | None) -> None:
        place = error.place if isinstance(error, KernelFault) else None
        source = self.source
        if place is None or source is None or place.file != source.name:
            super()._explain(error, launch)
            return
        diagnostic = error.diagnostics[0]
        diagnostic.source = source
        diagnostic.primary = Label(source.span_at(Place(place.file, place.line, place.column)))


def device_of(target: Target) -> Callable[[int], Device]:
    """What gives the devices that run a target."""
    if target.is_emulated:
        from tadc.backend.emulator.device import emulated_device

        return emulated_device
    return cuda_device


def runnable(target: Target) -> Target:
    """The target with the architecture that kernels are compiled for. Raises CompileError, TAD0706."""
    if target.is_emulated:
        return target
    architecture = cuda_device(0).architecture
    found = target.on(architecture)
    assert found.sm is not None
    if found.sm > architecture:
        message = f"target `{target}` cannot be run here"
        notes = [f"the GPU of this machine is of architecture sm_{architecture}"]
        helps = ["write `cuda` for the GPU of this machine; `emulated` runs kernels of any architecture"]
        raise CompileError([Diagnostic("TAD0706", message, notes=notes, helps=helps)])
    return found


def to_bytes(kernel: GpuKernel) -> bytes:
    """The kernels with all that a call needs: a line of JSON, PTX, machine code."""
    head = {"manifest": kernel.manifest.as_json(), "ptx": len(kernel.image)}
    return json.dumps(head).encode() + b"\n" + kernel.image + kernel.code


def from_bytes(
    payload: bytes, target: Target, source: Source, recheck: Callable[[Manifest], Recheck]
) -> GpuKernel:
    """What `to_bytes` wrote. Raises KeyError, TypeError or ValueError for anything else."""
    head, _, rest = payload.partition(b"\n")
    found = json.loads(head)
    manifest, size = Manifest.from_json(found["manifest"]), int(found["ptx"])
    kernel = ProgramKernel(manifest, rest[:size], device_of(target), recheck(manifest), rest[size:])
    kernel.source = source
    return kernel
