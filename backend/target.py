"""Targets: the host CPU, or a CUDA architecture."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import Any

from tadc.backend.errors import backend_error
from tadc.frontend.diagnostics import CompileError

#: Architectures that LLVM's NVPTX target and ptxas 12 both know.
CUDA_ARCHITECTURES = (70, 72, 75, 80, 86, 87, 89, 90, 100, 101, 103, 120, 121)
DEFAULT_SM = 80

CUDA_TRIPLE = "nvptx64-nvidia-cuda"


@dataclass(frozen=True)
class Target:
    """Where a kernel runs: the host (`sm` is None) or a GPU of compute capability `sm / 10`.

    A GPU may be emulated; `of_device` leaves the architecture to the GPU that runs the kernel.
    """

    sm: int | None = None
    is_emulated: bool = False
    of_device: bool = False

    @property
    def is_cuda(self) -> bool:
        """Whether this is a GPU."""
        return self.sm is not None

    def __str__(self) -> str:
        if self.sm is None or self.of_device:
            return "cpu" if self.sm is None else "cuda"
        return f"{'emulated' if self.is_emulated else 'cuda'}:sm_{self.sm}"

    def on(self, architecture: int) -> Target:
        """For a GPU of this architecture: its own, or the latest before it that is known."""
        if not self.of_device:
            return self
        return Target(max([sm for sm in CUDA_ARCHITECTURES if sm <= architecture], default=self.sm))


CPU = Target()


def parse_target(text: str) -> Target:
    """Read `cpu`, `cuda`, `emulated`, `cuda:sm_90` or `emulated:sm_90`.

    Raises:
        CompileError: TAD0705, the text names no target.
    """
    if text == "cpu":
        return CPU
    if text in ("cuda", "emulated"):
        return Target(DEFAULT_SM, text == "emulated", text == "cuda")
    match = re.fullmatch(r"(cuda|emulated):sm_(\d{1,4})", text, re.ASCII)
    if match and int(match[2]) in CUDA_ARCHITECTURES:
        return Target(int(match[2]), match[1] == "emulated")
    raise unknown_target(text)


def unknown_target(text: str) -> CompileError:
    """The error for a target that does not exist."""
    known = ", ".join(f"sm_{sm}" for sm in CUDA_ARCHITECTURES)
    return backend_error(
        "TAD0705",
        f"unknown target `{text}`",
        [f"the architectures of CUDA are {known}"],
        ["write `cpu`, `cuda`, `emulated`, or an architecture as in `cuda:sm_90`"],
    )


@cache
def binding() -> Any:
    """llvmlite's binding to LLVM with every target it has initialised."""
    import llvmlite.binding as llvm  # pyright: ignore[reportMissingTypeStubs]

    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm


@cache
def host_features() -> dict[str, bool]:
    """The features of the host CPU by LLVM's names."""
    return dict(binding().get_host_cpu_features())


def host_vectors() -> tuple[int, int]:
    """The bytes of a vector register of the host CPU, and how many of them a loop may hold values in."""
    features = host_features()
    if features.get("avx512f"):
        # Tiles of 24 results, which read 4 vectors and one scalar a step.
        return 64, 29
    return (32, 12) if features.get("avx") else (16, 12)


def host_machine(level: int) -> Any:
    """A new TargetMachine for the host, for position-independent code at -O`level`.

    Features are passed one by one, since LLVM does not always recognise the name of the CPU.
    """
    llvm = binding()
    features = ",".join(("+" if on else "-") + name for name, on in sorted(host_features().items()))
    target = llvm.Target.from_triple(llvm.get_process_triple())
    return target.create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=features, opt=level, reloc="pic", codemodel="small"
    )


def cuda_machine(sm: int, level: int) -> Any:
    """A new TargetMachine for a GPU. LLVM picks the least PTX version that the GPU needs.

    Raises:
        CompileError: TAD0705, LLVM would abort the process on an architecture it does not know.
    """
    if sm not in CUDA_ARCHITECTURES:
        raise unknown_target(f"cuda:sm_{sm}")
    target = binding().Target.from_triple(CUDA_TRIPLE)
    return target.create_target_machine(cpu=f"sm_{sm}", features="", opt=level)
