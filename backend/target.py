"""The table of backends, and targets by name."""

from __future__ import annotations

from tadc.backend.backend_errors import backend_error
from tadc.backend.base import CPU, Backend, Form, Target
from tadc.backend.cpu.backend import Cpu
from tadc.backend.cuda.backend import Cuda
from tadc.backend.rocm.backend import Rocm
from tadc.backend.wasm.backend import Wasm
from tadc.frontend.diagnostics import CompileError
from tadc.frontend.suggest import did_you_mean

#: Every backend; a new one is a line here.
_ALL: tuple[Backend, ...] = (Cpu(), Cuda(), Cuda("emulated"), Rocm(), Wasm())

BACKENDS = {backend.name: backend for backend in _ALL}

#: What `tadc.native` makes, by name.
UNIT_FORMS = {form.name: form for backend in _ALL for form in backend.forms if form.unit}

#: The backend that computes where arrays of a GPU are, and whose kernels bundles hold.
DEVICE = "cuda"


def unit_form(target: str, name: str | None) -> Form | None:
    """The form of this name that `tadc.native` makes for a target, which may be written wrong."""
    backend = BACKENDS.get(target.partition(":")[0])
    forms = backend.forms if backend else ()
    return next((form for form in forms if form.unit and form.name == name), None)


def backend_of(target: Target) -> Backend:
    """The backend of a target."""
    return BACKENDS[target.backend]


def parse_target(text: str) -> Target:
    """Read `cpu`, `cuda`, `emulated`, `rocm`, or one of these with an architecture, as `cuda:sm_90`.

    Raises:
        CompileError: TAD0705, the text names no target.
    """
    name, colon, architecture = text.partition(":")
    backend = BACKENDS.get(name)
    if backend is None or (colon and architecture not in backend.architectures):
        raise _unknown(text, backend)
    return backend.target(architecture)


def _unknown(text: str, backend: Backend | None) -> CompileError:
    notes: list[str] = []
    if backend is not None:
        notes.append(f"the architectures of `{backend.name}` are {', '.join(backend.architectures)}")
    known = [f"{b.name}:{a}" for b in _ALL for a in b.architectures]
    near = did_you_mean(text, [*BACKENDS, *known] if backend is None else known)
    names = ", ".join(f"`{name}`" for name in BACKENDS)
    helps = [*near, f"write {names}, or an architecture as in `cuda:sm_90`"]
    return backend_error("TAD0705", f"unknown target `{text}`", notes, helps)


__all__ = ["BACKENDS", "CPU", "DEVICE", "UNIT_FORMS", "Target", "backend_of", "parse_target", "unit_form"]
