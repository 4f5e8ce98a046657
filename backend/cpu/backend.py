"""The CPU among the backends."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from tadc.backend.base import Facts, Form, Settings, Target, Unit, cannot_run
from tadc.backend.cpu.processors import PROCESSORS, missing_here, processor_of
from tadc.lattice.late_dataclasses import dataclass

if TYPE_CHECKING:
    from tadc.backend.runtime.call_sizes import Recheck
    from tadc.frontend.source import Source

#: A map of fewer operations takes two microseconds without vectors; with them it compiles longer.
WORTH_VECTORS = 1 << 12


def assembly_of(text: str, settings: Settings) -> str:
    """Assembly of LLVM IR text."""
    from tadc.backend.object_code import assembly

    return assembly(text, settings.level, processor_of(settings.target.architecture, settings.target.backend))


def _object(text: str, settings: Settings) -> bytes:
    from tadc.backend.object_code import object_code

    return object_code(
        text, settings.level, processor_of(settings.target.architecture, settings.target.backend)
    )


@dataclass(frozen=True)
class Cpu:
    """Loops, vectors and threads of a CPU, called in this process."""

    name: str = "cpu"
    architectures: tuple[str, ...] = tuple(PROCESSORS)
    launches_kernels: bool = False
    dialect: tuple[str, str] = ("llvm-dialect", "the llvm dialect")
    forms: tuple[Form, ...] = (
        Form("asm", ".s", "assembly", assembly_of),
        Form("obj", ".o", "object code, which linkers take", _object, unit=True),
        Form("lib", ".a", "a static library", unit=True),
        Form("so", ".so", "a shared library", unit=True),
        Form("h", ".h", "a header of C", unit=True),
    )

    def target(self, architecture: str) -> Target:
        """The host without an architecture."""
        has = PROCESSORS[architecture].features if architecture else ()
        return Target(self.name, architecture, tuple(has))

    def machine(self, target: Target) -> Facts:
        """Vectors, registers and caches, and what is worth vectors."""
        processor = processor_of(target.architecture, target.backend)
        (size, number), caches = processor.vectors, processor.caches
        return {
            "vector_bytes": size,
            "registers": number,
            "least_work": WORTH_VECTORS,
            "latency": processor.latency,
            "folds": int(processor.folds),
            "sets": caches.sets,
            "ways": caches.ways,
            "l2": caches.l2,
        }

    def lower(self, module: Any, settings: Settings) -> None:
        """Loops to the llvm dialect."""
        from tadc.backend.cpu.lowering import lower

        lower(module, settings.fast_math)

    def complete(self, text: str, settings: Settings) -> str:
        """The scalar functions that it calls included, and loops over ranges."""
        from tadc.backend.llvm_ir import complete, functions_for, fused_if_fast
        from tadc.backend.splitting import define_splits

        processor = processor_of(settings.target.architecture, settings.target.backend)
        text = define_splits(fused_if_fast(text, processor), processor.pause)
        return complete(text, functions_for(processor))

    def runnable(self, target: Target) -> Target:
        """The target, where this machine has what it asks for."""
        missing = missing_here(target.architecture) if target.architecture else ""
        if missing:
            help = "`--emit obj -o FILE` writes object code for it; `cpu` is the CPU of this machine"
            raise cannot_run(target, missing, help)
        return target

    def tools(self) -> str:
        """Nothing outside makes code."""
        return ""

    def image(self, unit: Unit, settings: Settings) -> bytes:
        """A line of JSON, which says how the code is called, and object code."""
        from tadc.backend.runtime.thread_count import get_num_threads

        # What is wrong with the environment is said of every program, not of those alone that are worth
        # threads.
        get_num_threads()
        head = json.dumps(unit.interface.as_json()).encode()
        return head + b"\n" + _object(unit.llvm_ir, settings)

    def load(
        self, image: bytes, target: Target, source: Source, recheck: Callable[[Mapping[str, int]], Recheck]
    ) -> Any:
        """The code in this process."""
        from tadc.backend.runtime.host_kernel import loaded
        from tadc.backend.runtime.interface import Interface

        head, _, code = image.partition(b"\n")
        interface = Interface.from_json(json.loads(head))
        return loaded(interface, code, recheck(dict(interface.given)), source)

    def bundle(
        self, compiled: Callable[[Target], Unit], settings: Settings, program: str
    ) -> dict[str, bytes | None]:
        """There is none."""
        help = "`--emit obj -o FILE` writes object code, and `--emit asm` says how it is called"
        raise cannot_run(settings.target, "a bundle holds kernels of a GPU", help)

    def holds(self, value: Any) -> bool:
        """They are in the memory of the host: every array that no other backend holds."""
        return False

    def devices(self) -> list[str]:
        """It runs."""
        width = 14
        return [f"{'cpu':{width}}runs here", f"{'cpu:NAME':{width}}code for {' '.join(PROCESSORS)}"]
