"""WebAssembly among the backends."""

from __future__ import annotations

from collections.abc import Callable

from tadc.backend.base import Form, Settings, Target, Unit, cannot_run
from tadc.backend.cpu.backend import Cpu, assembly_of
from tadc.lattice.late_dataclasses import dataclass

_HELP = "`--emit wasm -o f.wasm` writes a module, and `--emit js -o f.mjs` what runs it, in node or a browser"


@dataclass(frozen=True)
class Wasm(Cpu):
    """Loops and vectors of a CPU, as modules of WebAssembly with vectors of 128 bits, on one thread."""

    name: str = "wasm32"
    architectures: tuple[str, ...] = ()
    forms: tuple[Form, ...] = (
        Form("asm", ".s", "assembly", assembly_of),
        Form("wasm", ".wasm", "a module of WebAssembly", unit=True),
        Form("js", ".mjs", "a module of JavaScript that loads these", unit=True),
    )

    def runnable(self, target: Target) -> Target:
        """There is nothing here that runs it."""
        raise cannot_run(target, "kernels of this process are for its CPU", _HELP)

    def bundle(
        self, compiled: Callable[[Target], Unit], settings: Settings, program: str
    ) -> dict[str, bytes | None]:
        """There is none."""
        raise cannot_run(settings.target, "a bundle holds kernels of a GPU", _HELP)

    def devices(self) -> list[str]:
        """It is written, not run."""
        return [f"{self.name:14}code for node and browsers"]
