"""Machines to compile for: what the host has, or less of it, with vectors of each width."""

from __future__ import annotations

import platform
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from unittest import mock

from tadc.backend.binding import binding
from tadc.backend.cpu import processors

_AVX = {"avx": True, "sse4.2": True}
_AVX2 = {**_AVX, **dict.fromkeys(("avx2", "fma", "bmi", "bmi2", "f16c"), True)}
_AVX512 = {**_AVX2, **dict.fromkeys(("avx512f", "avx512vl", "avx512dq", "avx512bw", "avx512cd"), True)}


@dataclass(frozen=True)
class Machine:
    """A CPU by LLVM's name, what it has, and the bytes and number of vectors that tiles are made for."""

    cpu: str
    features: dict[str, bool]
    vectors: tuple[int, int]


#: On AVX-512 masks are registers of their own, for vectors of each width; before it, vectors.
MACHINES = {
    "avx512": Machine("skylake-avx512", _AVX512, (64, 29)),
    "avx512-256": Machine("skylake-avx512", _AVX512, (32, 29)),
    "avx512-128": Machine("skylake-avx512", _AVX512, (16, 29)),
    "znver4": Machine("znver4", _AVX512, (64, 29)),
    "avx2": Machine("haswell", _AVX2, (32, 12)),
    "avx": Machine("sandybridge", _AVX, (32, 12)),
    "sse": Machine("x86-64", {}, (16, 12)),
}


def runs_here(name: str) -> bool:
    """Whether the host can run what is compiled for a machine."""
    has = processors.host_features()
    return platform.machine() == "x86_64" and all(has.get(feature) for feature in MACHINES[name].features)


def has_masks(name: str) -> bool:
    """Whether a machine has loads under masks; without, LLVM makes branches of them."""
    return "avx" in MACHINES[name].features


@contextmanager
def compiling_for(name: str) -> Generator[None]:
    """Compile for a machine in place of the host."""
    machine, llvm = MACHINES[name], binding()
    with (
        mock.patch.object(llvm, "get_host_cpu_name", return_value=machine.cpu),
        mock.patch.object(llvm, "get_host_cpu_features", return_value=machine.features),
        mock.patch.object(processors, "host_vectors", return_value=machine.vectors),
    ):
        _forget()
        try:
            yield
        finally:
            _forget()


def _forget() -> None:
    """What was found out about the host."""
    processors.host_features.cache_clear()
