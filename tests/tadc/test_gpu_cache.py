"""Kernels of a GPU from disk: without the compiler, by architecture."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tadc
from tadc.api import execute
from tadc.backend.emulator.library import EmulatedCuda
from tests.backend.test_cuda import install, kernel_of

SIZED = "x: f64[N]; w: f64[K]; y[i: (N - K) // 2 + 1] = sum{k} (x[2*i + k] * w[k])"


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cache for the test alone."""
    monkeypatch.setenv("TADC_CACHE", "1")
    monkeypatch.setenv("TADC_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("TADC_CACHE_SIZE", raising=False)


#: Runs a program on the emulator, and says what was imported for it.
ON_GPU = """
import sys
import numpy as np
import tadc
f = tadc.compile(tadc.vjp(tadc.function(sys.argv[1])), target="emulated")
print(f(a=np.arange(6.0), df=2.0).tolist(), "llvmlite" in sys.modules or "tadc.dialect.mlir" in sys.modules)
"""


def test_kernels_of_a_gpu_are_kept(root: Path) -> None:
    """PTX, launches and what calls need: a second process imports no compiler."""
    text = "a: f64[N]; f = sum{i} (a[i]**2)"
    said: list[str] = []
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-c", ON_GPU, text], capture_output=True, text=True, check=True,
            env={**os.environ, "PYTHONPATH": str(root)},
        )  # fmt: skip
        said += done.stdout.splitlines()
    assert said == ["[0.0, 4.0, 8.0, 12.0, 16.0, 20.0] True", "[0.0, 4.0, 8.0, 12.0, 16.0, 20.0] False"]


def test_machine_code_is_kept_by_architecture(monkeypatch: pytest.MonkeyPatch) -> None:
    """A kernel is of the GPU that it is compiled for, and shows its errors in the program as before."""
    made: list[str] = []
    emit = execute.unit_of

    def counting(*arguments: Any) -> Any:
        made.append(str(arguments[1].target))
        return emit(*arguments)

    monkeypatch.setattr(execute, "unit_of", counting)
    x, w = np.arange(9.0), np.ones(3)
    for architecture in (90, 90, 80, 90):
        install(monkeypatch, EmulatedCuda(architecture=architecture))
        compiled = tadc.compile(tadc.function(SIZED), target="cuda")
        assert compiled(x=x, w=w).tolist() == [3, 9, 15, 21]
        assert f".target sm_{architecture}" in kernel_of(compiled).image.decode()
        assert kernel_of(compiled).code.startswith(b"\x7fELF")
        with pytest.raises(tadc.ArgumentError, match="N = 2, K = 5"):
            compiled(x=x[:2], w=np.ones(5))
    assert made == ["cuda:sm_90", "cuda:sm_80"]
    install(monkeypatch, OSError("no driver"))
    with pytest.raises(tadc.CompileError, match="TAD0706"):
        tadc.compile(tadc.function(SIZED), target="cuda")
