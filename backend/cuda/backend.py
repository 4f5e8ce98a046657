"""CUDA among the backends, on a GPU or on the emulator of one."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from tadc.backend.base import Facts, Form, Settings, Target, Unit, cannot_run
from tadc.backend.compile_steps import step
from tadc.backend.cuda.architectures import CUDA_ARCHITECTURES, DEFAULT_SM, best_for, sm_of
from tadc.lattice.late_dataclasses import dataclass

if TYPE_CHECKING:
    from tadc.backend.cuda.manifest import Manifest
    from tadc.backend.runtime.call_sizes import Recheck
    from tadc.frontend.source import Source


def _ptx(text: str, settings: Settings) -> str:
    from tadc.backend.cuda.ptx import emit_ptx

    return emit_ptx(text, sm_of(settings.target), fast_math=settings.fast_math)


def _cubin(text: str, settings: Settings) -> bytes:
    from tadc.backend.cuda.ptx import assemble

    return assemble(text, sm_of(settings.target))


@dataclass(frozen=True)
class Cuda:
    """Kernels for NVIDIA's GPUs; as `emulated` they run on the CPU, every access checked."""

    name: str = "cuda"
    architectures: tuple[str, ...] = tuple(f"sm_{sm}" for sm in CUDA_ARCHITECTURES)
    launches_kernels: bool = True
    dialect: tuple[str, str] = ("nvvm", "the nvvm dialect")
    forms: tuple[Form, ...] = (
        Form("ptx", ".ptx", "PTX", _ptx),
        Form("cubin", ".cubin", "machine code of the GPU (needs ptxas)", _cubin, of="ptx"),
    )

    @property
    def is_emulated(self) -> bool:
        """Whether no GPU is needed."""
        return self.name == "emulated"

    def target(self, architecture: str) -> Target:
        """The GPU of this machine without an architecture; the emulator is of the default one then."""
        return Target(self.name, architecture or (f"sm_{DEFAULT_SM}" if self.is_emulated else ""))

    def machine(self, target: Target) -> Facts:
        """The architecture."""
        return {"gpu": f"sm_{sm_of(target)}"}

    def lower(self, module: Any, settings: Settings) -> None:
        """Kernels to the nvvm dialect."""
        from tadc.backend.cuda.lowering import lower

        lower(module, with_lines=self.is_emulated)

    def complete(self, text: str, settings: Settings) -> str:
        """Functions are linked where PTX is made."""
        return text

    def runnable(self, target: Target) -> Target:
        """For the GPU of this machine."""
        from tadc.backend.cuda.device import cuda_device

        if self.is_emulated:
            return target
        architecture = cuda_device(0).architecture
        if not target.architecture:
            return Target(self.name, f"sm_{best_for(architecture)}")
        if sm_of(target) > architecture:
            note = f"the GPU of this machine is of architecture sm_{architecture}"
            help = "write `cuda` for the GPU of this machine; `emulated` runs kernels of any architecture"
            raise cannot_run(target, note, help)
        return target

    def tools(self) -> str:
        """The versions of libdevice and ptxas."""
        from tadc.backend.cuda.ptx import tools

        return tools()

    def image(self, unit: Unit, settings: Settings) -> bytes:
        """Launches, PTX, and machine code where there is a ptxas."""
        from tadc.backend.cuda.images import to_bytes
        from tadc.backend.cuda.ptx import machine_code

        manifest, ptx = _compiled(unit, settings)
        needs_code = manifest.launches and not self.is_emulated
        code = machine_code(ptx, sm_of(settings.target)) if needs_code else b""
        return to_bytes(manifest, ptx.encode(), code)

    def load(
        self, image: bytes, target: Target, source: Source, recheck: Callable[[Mapping[str, int]], Recheck]
    ) -> Any:
        """The kernels on the GPU of the arrays."""
        from tadc.backend.cuda.images import from_bytes

        return from_bytes(image, self.is_emulated, source, recheck)

    def bundle(
        self, compiled: Callable[[Target], Unit], settings: Settings, program: str
    ) -> dict[str, bytes | None]:
        """Launches, PTX, and machine code where there is a ptxas."""
        from tadc.backend.cuda.bundles import CUBIN, MANIFEST, PTX
        from tadc.backend.cuda.ptx import assemble
        from tadc.backend.cuda.toolkit import find_ptxas

        # The emulator's lines of the program cost nothing, so every bundle has them.
        target = Target("emulated", f"sm_{sm_of(settings.target)}")
        manifest, ptx = _compiled(compiled(target), settings)
        has_code = find_ptxas() is not None and manifest.launches
        whole = {"manifest": manifest.as_json(), "program": program}
        code = assemble(ptx, sm_of(settings.target)) if has_code else None
        return {PTX: ptx.encode(), MANIFEST: json.dumps(whole).encode(), CUBIN: code}

    def holds(self, value: Any) -> bool:
        """Arrays of every library that says where they are."""
        from tadc.backend.cuda.device_arrays import is_on_gpu

        return is_on_gpu(value)

    def devices(self) -> list[str]:
        """The GPUs of this machine, and the tools."""
        from tadc.backend.cuda.listing import emulator, gpus

        return emulator() if self.is_emulated else gpus()


def _compiled(unit: Unit, settings: Settings) -> tuple[Manifest, str]:
    """The launches, and PTX."""
    from tadc.backend.cuda.manifest import Manifest

    with step("ptx"):
        ptx = _ptx(unit.llvm_ir, settings)
    return Manifest.of(unit.interface, unit.launches, sm_of(settings.target), dict(unit.places or {})), ptx
