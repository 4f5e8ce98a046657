"""ROCm among the backends: code is made, and not run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NoReturn

from tadc.backend.base import Facts, Form, Settings, Target, Unit, cannot_run
from tadc.backend.rocm.architectures import WAVES
from tadc.lattice.late_dataclasses import dataclass

if TYPE_CHECKING:
    from tadc.backend.runtime.call_sizes import Recheck
    from tadc.frontend.source import Source

DEFAULT = "gfx942"


def _assembly(text: str, settings: Settings) -> str:
    from tadc.backend.rocm.code import assembly

    return assembly(text, settings.target.architecture, settings.level)


def _object(text: str, settings: Settings) -> bytes:
    from tadc.backend.rocm.code import object_code

    return object_code(text, settings.target.architecture, settings.level)


@dataclass(frozen=True)
class Rocm:
    """Kernels for AMD's GPUs."""

    name: str = "rocm"
    architectures: tuple[str, ...] = tuple(WAVES)
    launches_kernels: bool = True
    dialect: tuple[str, str] = ("rocdl", "the rocdl dialect")
    forms: tuple[Form, ...] = (
        Form("asm", ".s", "assembly", _assembly),
        Form("obj", ".o", "object code, which linkers take", _object),
    )

    def target(self, architecture: str) -> Target:
        """MI300 without an architecture."""
        name = architecture or DEFAULT
        return Target(self.name, name, (f"wavefrontsize{WAVES[name]}",))

    def machine(self, target: Target) -> Facts:
        """The architecture."""
        return {"gpu": target.architecture}

    def lower(self, module: Any, settings: Settings) -> None:
        """Kernels to the rocdl dialect."""
        from tadc.backend.rocm.lowering import lower

        lower(module, settings.target.architecture)

    def complete(self, text: str, settings: Settings) -> str:
        """The scalar functions that it calls included."""
        from tadc.backend.llvm_ir import complete
        from tadc.backend.rocm.device_functions import rocm_function

        return complete(text, rocm_function)

    def runnable(self, target: Target) -> NoReturn:
        """Nothing here calls ROCm. Raises CompileError, TAD0706."""
        note = "kernels of AMD's GPUs are compiled, and not run"
        raise cannot_run(target, note, "`--emit asm` or `--emit obj -o FILE` writes them")

    def tools(self) -> str:
        """Nothing outside makes code."""
        return ""

    def image(self, unit: Unit, settings: Settings) -> bytes:
        """Nothing is run."""
        self.runnable(settings.target)

    def load(
        self, image: bytes, target: Target, source: Source, recheck: Callable[[Mapping[str, int]], Recheck]
    ) -> Any:
        """Nothing is run."""
        self.runnable(target)

    def bundle(
        self, compiled: Callable[[Target], Unit], settings: Settings, program: str
    ) -> dict[str, bytes | None]:
        """There is none."""
        self.runnable(settings.target)

    def holds(self, value: Any) -> bool:
        """Nothing is run."""
        return False

    def devices(self) -> list[str]:
        """Code is made."""
        return [f"{'rocm:NAME':14}asm and obj for {' '.join(WAVES)}; does not run here"]
