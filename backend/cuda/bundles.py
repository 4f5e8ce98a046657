"""Bundles: kernels of a GPU on disk, run with NumPy, ctypes and the driver alone.

A bundle is a folder with `kernels.ptx`, `bundle.json` (the manifest and the program's text), and where there
was a ptxas `kernels.cubin`, the machine code for the architecture that the manifest names.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tadc.backend.cuda.device import Device, cuda_device
from tadc.backend.cuda.gpu_kernel import GpuKernel
from tadc.backend.cuda.manifest import Manifest
from tadc.backend.runtime.python_names import result_type
from tadc.frontend.diagnostics import CompileError, Diagnostic

if TYPE_CHECKING:
    from tadc.backend.runtime.parameters import Parameter

MANIFEST, PTX, CUBIN = "bundle.json", "kernels.ptx", "kernels.cubin"


class Bundle:
    """A program of a bundle, called with arrays by position or name; `stream=` is where it runs.

    Returns the output, or a named tuple of several. `program` is its text.
    """

    def __init__(self, kernel: GpuKernel, program: str) -> None:
        self.kernel = kernel
        self.program = program
        names = [p.name for p in kernel.outputs]
        self._result: Any = result_type(names) if len(names) > 1 else None

    @property
    def inputs(self) -> tuple[Parameter, ...]:
        """The arguments: names, types, shapes."""
        return self.kernel.inputs

    @property
    def outputs(self) -> tuple[Parameter, ...]:
        """The results."""
        return self.kernel.outputs

    def __call__(self, /, *args: Any, out: Any = None, **kwargs: Any) -> Any:
        """Evaluate. Raises ArgumentError that lists all that is wrong with the arguments."""
        found = self.kernel(args, kwargs, out)
        return self._result(*found) if self._result else found[0]


def load_bundle(folder: str | Path, target: str = "cuda") -> Bundle:
    """The program of a bundle, for the GPU of this machine (`cuda`), or for the emulator (`emulated`).

    Raises:
        CompileError: TAD0710, the folder holds no bundle; TAD0706, there is no GPU that can run it.
    """
    if target not in ("cuda", "emulated"):
        raise ValueError(f"a bundle runs on target 'cuda' or 'emulated', not {target!r}")
    path = Path(folder)
    try:
        found = json.loads((path / MANIFEST).read_text(encoding="utf-8"))
        manifest, program = Manifest.from_json(found["manifest"]), str(found["program"])
        image = (path / PTX).read_bytes()
    except OSError as error:
        raise _no_bundle(path, f"cannot read `{error.filename}`: {error.strerror}") from None
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise _no_bundle(path, f"`{MANIFEST}` cannot be used: {error}") from None
    device: Callable[[int], Device] = cuda_device
    code = b""
    if target == "emulated":
        from tadc.backend.emulator.emulated_device import emulated_device

        device = emulated_device
    else:
        _require(manifest, device(0).architecture)
        code = (path / CUBIN).read_bytes() if (path / CUBIN).is_file() else b""
    recheck = partial(_problems, program, dict(manifest.interface.given))
    return Bundle(GpuKernel(manifest, image, device, recheck, code), program)


def _problems(program: str, given: Mapping[str, int], sizes: Mapping[str, int]) -> list[Diagnostic] | None:
    """What is wrong with a program at sizes, exactly: what the manifest tells excludes too many."""
    from tadc.frontend.source import Source
    from tadc.frontend.specialise import problems_in

    return problems_in(Source(program), {**given, **sizes})


def _require(manifest: Manifest, architecture: int) -> None:
    """Raise CompileError for code of a newer architecture."""
    if manifest.sm > architecture:
        message = f"the bundle is for sm_{manifest.sm}"
        notes = [f"the GPU of this machine is of architecture sm_{architecture}"]
        helps = [f"write the bundle with `--target cuda:sm_{architecture}`"]
        raise CompileError([Diagnostic("TAD0706", message, notes=notes, helps=helps)])


def _no_bundle(path: Path, note: str) -> CompileError:
    helps = ["write one with `tadc f.tad --bundle FOLDER`"]
    return CompileError([Diagnostic("TAD0710", f"`{path}` is no bundle", notes=[note], helps=helps)])
