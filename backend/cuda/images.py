"""Compiled kernels of a GPU: on which device they run, and as bytes on disk. Needs no compiler."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from tadc.backend.cuda.device import Device, cuda_device
from tadc.backend.cuda.gpu_kernel import GpuKernel
from tadc.backend.cuda.manifest import Manifest
from tadc.backend.emulator.errors import KernelFault
from tadc.frontend.diagnostics import CompileError, Label
from tadc.frontend.source import Place, Source

if TYPE_CHECKING:
    from tadc.backend.runtime.call_sizes import Recheck
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


def device_of(is_emulated: bool) -> Callable[[int], Device]:
    """What gives the devices that run kernels."""
    if is_emulated:
        from tadc.backend.emulator.emulated_device import emulated_device

        return emulated_device
    return cuda_device


def to_bytes(manifest: Manifest, ptx: bytes, code: bytes) -> bytes:
    """The kernels with all that a call needs: a line of JSON, PTX, machine code."""
    head = {"manifest": manifest.as_json(), "ptx": len(ptx)}
    return json.dumps(head).encode() + b"\n" + ptx + code


def from_bytes(
    payload: bytes, is_emulated: bool, source: Source, recheck: Callable[[Mapping[str, int]], Recheck]
) -> GpuKernel:
    """What `to_bytes` wrote. Raises KeyError, TypeError or ValueError for anything else."""
    head, _, rest = payload.partition(b"\n")
    found = json.loads(head)
    manifest, size = Manifest.from_json(found["manifest"]), int(found["ptx"])
    check = recheck(dict(manifest.interface.given))
    kernel = ProgramKernel(manifest, rest[:size], device_of(is_emulated), check, rest[size:])
    kernel.source = source
    return kernel
