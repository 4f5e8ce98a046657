"""Kernels on a GPU of this machine against the CPU, and against what frameworks hand over.

`make test-gpu` runs the same from bundles, where there is no compiler.
"""

from __future__ import annotations

import os
import subprocess
import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tadc
from bench.gpu.check import check
from bench.gpu.write import write
from tadc.backend.cuda.device import cuda_device
from tadc.backend.cuda.device_arrays import DeviceArray, copied_in
from tadc.cli import main


def why_not() -> str:
    """The reason why there is no GPU to test on, or nothing."""
    try:
        cuda_device(0)
    except tadc.CompileError as error:
        return error.diagnostics[0].notes[0]
    return ""


REASON = why_not()
pytestmark = pytest.mark.skipif(bool(REASON), reason=f"no GPU: {REASON}")

PROGRAM = "x: f64[N]; w: f64[K]; y[i: N - K + 1] = sum{k} (x[i + k] * w[k])"


def arrays() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    return rng.uniform(size=5000), rng.uniform(size=9)


def test_numpy_arrays() -> None:
    f = tadc.function(PROGRAM)
    x, w = arrays()
    np.testing.assert_allclose(tadc.compile(f, target="cuda")(x, w), f(x, w), rtol=1e-13)


def test_arrays_on_the_gpu() -> None:
    device = cuda_device(0)
    x, w = (DeviceArray(copied_in(a, device, 0), a.shape, a.dtype) for a in arrays())
    f = tadc.function(PROGRAM)
    found = f(x, w)
    assert isinstance(found, DeviceArray)
    np.testing.assert_allclose(np.asarray(found), f(*arrays()), rtol=1e-13)


@pytest.mark.parametrize(
    ("text", "shapes"),
    [
        ("x: f32[N]; f = sum{i} (x[i]**2)", [(10**8,)]),
        ("a: f32[64, K]; b: f32[K, 64]; f[i, j] = sum{k} (a[i, k] * b[k, j])", [(64, 10**6), (10**6, 64)]),
    ],
)
def test_parts_are_joined_in_one_order(text: str, shapes: list[tuple[int, ...]]) -> None:
    """The same bits in every run, for sizes given and not."""
    device, random = cuda_device(0), np.random.default_rng(0)
    hosts = [random.uniform(0.5, 1, shape).astype(np.float32) for shape in shapes]
    exact = (hosts[0].astype(np.float64) ** 2).sum() if len(hosts) == 1 else hosts[0] @ hosts[1]
    given = [DeviceArray(copied_in(a, device, 0), a.shape, a.dtype) for a in hosts]
    name = "N" if len(hosts) == 1 else "K"
    for sizes in ({}, {name: shapes[0][-1]}):
        f = tadc.compile(tadc.function(text), target="cuda", sizes=sizes)
        found = [np.asarray(f(*given)) for _ in range(5)]
        np.testing.assert_allclose(found[0], exact, rtol=1e-4)
        assert len({a.tobytes() for a in found}) == 1


@pytest.mark.skipif(not find_spec("torch"), reason="PyTorch is not installed")
def test_tensors_of_pytorch_on_a_stream_of_their_own() -> None:
    torch: Any = import_module("torch")
    if not torch.cuda.is_available():
        pytest.skip("PyTorch has no CUDA")
    f = tadc.function(PROGRAM)
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        x, w = (torch.from_numpy(a).cuda() for a in arrays())
        with pytest.raises(tadc.ArgumentError, match="it requires a gradient"):
            f((2 * x).requires_grad_(), w)
        y = f(2 * x, w)
        assert isinstance(y, torch.Tensor)
        z = y + 1
    np.testing.assert_allclose(z.cpu().numpy(), 2 * f(*arrays()) + 1, rtol=1e-13)


@pytest.mark.skipif(not find_spec("jax"), reason="JAX is not installed")
def test_arrays_of_jax(root: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "JAX_PLATFORMS"}
    environment["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"
    command = [sys.executable, "-m", "tests.gpu.jax_arrays"]
    done = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, check=False)
    if done.returncode == 77:
        pytest.skip("JAX finds no GPU")
    assert done.returncode == 0, done.stderr


def test_more_memory_than_there_is() -> None:
    f = tadc.compile(tadc.function("x: f64[N]; f[i, j: N] = x[i] * x[j]"), target="cuda")
    with pytest.raises(tadc.CompileError, match="bytes are asked for") as error:
        f(DeviceArray(copied_in(np.ones(1 << 21), cuda_device(0), 0), (1 << 21,), np.dtype(np.float64)))
    assert error.value.diagnostics[0].code == "TAD0506"


def test_bundles_of_all_examples_and_workloads(tmp_path: Path) -> None:
    write(tmp_path, ["test"], 80, None)
    assert check(tmp_path, "cuda", None, tmp_path) == 0


def test_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--list", "targets"]) == 0
    assert "runs here: sm_" in capsys.readouterr().out
    assert main(["-e", "x: f64; f = x**2", "--target", "cuda", "--run", "x=3"]) == 0
    assert "9" in capsys.readouterr().out
