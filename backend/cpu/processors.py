"""CPUs to compile for: the one of this machine, and those that a target names."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from functools import cache
from typing import Any

from tadc.backend.binding import binding
from tadc.backend.cpu.data_caches import Caches, host_caches, usual_caches
from tadc.lattice.late_dataclasses import dataclass


@dataclass(frozen=True)
class Processor:
    """A CPU by LLVM's names, and its features: those that it is known to have, or to lack.

    `vectors` are the bytes of a vector register, and how many of them there are.
    """

    triple: str
    cpu: str
    features: Mapping[str, bool]
    vectors: tuple[int, int]
    told: Caches | None = None
    """Its caches, where they are known."""

    def has(self, *features: str) -> bool:
        """Whether it has all of these."""
        return all(self.features.get(name, False) for name in features)

    @property
    def has_ldexp(self) -> bool:
        """Whether it multiplies vectors by powers of two in one instruction: `vscalefps` of AVX-512."""
        return self.has("avx512f", "avx512vl", "avx512dq")

    @property
    def has_fma(self) -> bool:
        """Whether it rounds a product and a sum once in one instruction; x86 before AVX2 and WebAssembly do
        not."""
        return self.features.get("fma", not self.triple.startswith(("x86", "wasm")))

    @property
    def has_half(self) -> bool:
        """Whether it converts f16, vectors of them too, in one instruction."""
        return self.has("f16c") or self.triple.startswith("aarch64")

    @property
    def has_libm(self) -> bool:
        """Whether code may call functions of the system's libm."""
        return not self.triple.startswith("wasm")

    @property
    def caches(self) -> Caches:
        """Those that it has, or that its kind has usually."""
        return self.told or usual_caches(self.machine)

    @property
    def folds(self) -> bool:
        """Whether instructions on vectors take an operand from anywhere in memory: those of AVX do."""
        return self.has("avx")

    @property
    def latency(self) -> int:
        """So many products are added at a time by a processor that is busy: two are begun in a cycle, each of
        which takes four, and five on the first processors that have such an instruction."""
        return 2 * (5 if self.cpu in _SLOWER else 4)

    @property
    def pause(self) -> str:
        """LLVM's intrinsic for a thread that waits for another one; nothing where none is known."""
        return "llvm.x86.sse2.pause" if self.triple.startswith("x86") else ""

    def target_machine(self, level: int) -> Any:
        """A new TargetMachine for position-independent code at -O`level`.

        Features are passed one by one, since LLVM does not always recognise the name of the CPU.
        """
        features = ",".join(("+" if on else "-") + name for name, on in sorted(self.features.items()))
        target = binding().Target.from_triple(self.triple)
        return target.create_target_machine(
            cpu=self.cpu,
            features=features,
            opt=level,
            reloc="pic" if self.has_libm else "static",
            codemodel=_CODE_MODEL.get(self.machine, "small"),
        )

    @property
    def machine(self) -> str:
        """The architecture, as the first part of the triple names it."""
        return self.triple.partition("-")[0]


#: RISC-V reaches symbols anywhere only by its medium model.
_CODE_MODEL: Mapping[str, str] = {"riscv64": "medium"}

#: Agner Fog's tables: these, and the level that is named for the first of them.
_SLOWER = ("haswell", "broadwell", "znver1", "znver2", "x86-64-v3")

#: How many vector registers there are.
_MANY, _FEW = 32, 16


def _vectors(machine: str, features: Mapping[str, bool]) -> tuple[int, int]:
    if features.get("avx512f"):
        return 64, _MANY
    if features.get("avx"):
        return 32, _FEW
    if machine == "riscv64" and not features.get("v"):
        return 0, _FEW
    return 16, _MANY if machine in ("aarch64", "riscv64") else _FEW


def _processor(triple: str, cpu: str, *features: str) -> Processor:
    has = dict.fromkeys(features, True)
    return Processor(f"{triple}-unknown-linux-gnu", cpu, has, _vectors(triple, has))


_V2 = ("sse3", "ssse3", "sse4.1", "sse4.2", "popcnt", "cx16")
_V3 = (*_V2, "avx", "avx2", "fma", "bmi", "bmi2", "f16c", "lzcnt", "movbe")
_V4 = (*_V3, "avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl")
_RV64GC = ("m", "a", "f", "d", "c")

#: Processors by name: levels of the System V ABI for AMD64 (section 3.1.1), and the base of the others, all
#: for Linux.
PROCESSORS: dict[str, Processor] = {
    "x86-64": _processor("x86_64", "x86-64"),
    "x86-64-v2": _processor("x86_64", "x86-64-v2", *_V2),
    "x86-64-v3": _processor("x86_64", "x86-64-v3", *_V3),
    "x86-64-v4": _processor("x86_64", "x86-64-v4", *_V4),
    "aarch64": _processor("aarch64", "generic", "neon"),
    "riscv64": _processor("riscv64", "generic-rv64", *_RV64GC),
    "riscv64-v": _processor("riscv64", "generic-rv64", *_RV64GC, "v"),
}


@cache
def host_features() -> dict[str, bool]:
    """The features of the host CPU by LLVM's names."""
    return dict(binding().get_host_cpu_features())


def host_vectors() -> tuple[int, int]:
    """The bytes of a vector register of the host CPU, and how many of them there are."""
    machine = "aarch64" if platform.machine() in ("aarch64", "arm64") else platform.machine()
    return _vectors(machine, host_features())


def host() -> Processor:
    """The CPU of this machine."""
    llvm = binding()
    name, features = llvm.get_host_cpu_name(), host_features()
    return Processor(llvm.get_process_triple(), name, features, host_vectors(), host_caches())


#: WebAssembly with vectors of 128 bits, and with instructions that copy and fill memory.
WASM = Processor(
    "wasm32-unknown-unknown", "generic", {"simd128": True, "bulk-memory": True, "sign-ext": True}, (16, _FEW)
)


def processor_of(architecture: str, backend: str = "cpu") -> Processor:
    """The processor of a target: without an architecture the host, or that of WebAssembly."""
    if backend == "wasm32":
        return WASM
    return PROCESSORS[architecture] if architecture else host()


def missing_here(architecture: str) -> str:
    """What of an architecture this machine lacks, in words; "" where it runs its code."""
    wanted, here = PROCESSORS[architecture], host()
    if wanted.machine != here.machine:
        return f"this machine is of `{here.machine}`"
    lacks = sorted(name for name in wanted.features if not here.has(name))
    return f"this CPU lacks {', '.join(lacks)}" if lacks else ""
