"""LLVM IR text of a gpu module to assembly, or object code, of AMD's GPUs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from tadc.backend.backend_errors import backend_error
from tadc.backend.binding import binding
from tadc.backend.compile_steps import step
from tadc.backend.interrupts import interruptible
from tadc.backend.object_code import run_pipeline
from tadc.backend.rocm.architectures import TRIPLE, rocm_machine
from tadc.frontend.forks import LLVM_LOCK

T = TypeVar("T")


def assembly(text: str, architecture: str, level: int = 3) -> str:
    """Assembly, with the metadata that ROCm's loader reads.

    Raises:
        CompileError: TAD0702, the text calls a function that it does not define.
    """
    return _made(text, architecture, level, lambda machine, module: machine.emit_assembly(module))


def object_code(text: str, architecture: str, level: int = 3) -> bytes:
    """A relocatable object, of which `ld.lld -shared` makes a code object. Raises as `assembly`."""
    return _made(text, architecture, level, lambda machine, module: machine.emit_object(module))


def _made(text: str, architecture: str, level: int, emit: Callable[[Any, Any], T]) -> T:
    def work() -> T:
        with LLVM_LOCK:
            machine = rocm_machine(architecture, level)
            module = binding().parse_assembly(text)
            _reject_undefined(module)
            module.triple = TRIPLE
            module.data_layout = str(machine.target_data)
            with step("optimise"):
                run_pipeline(module, machine, level)
            with step("emit"):
                return emit(machine, module)

    return interruptible(work)


def _reject_undefined(module: Any) -> None:
    """LLVM would end the process, or leave a symbol that nothing defines."""
    names = [f.name for f in module.functions if f.is_declaration and not f.name.startswith("llvm.")]
    if names:
        listed = ", ".join(f"`{name}`" for name in names)
        raise backend_error("TAD0702", f"no device code for {listed}")
