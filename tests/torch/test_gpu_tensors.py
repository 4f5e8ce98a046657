"""Tensors on a GPU, by the emulated driver: the operator gives them to kernels of the GPU."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tadc
from tests.backend.test_cuda import Library, fake_torch, gpu, on_gpu
from tests.torch import programs

__all__ = ["gpu"]

TEXT = "x: f64[3]; f[i] = x[i]**2; s = sum{i} (x[i])"


def test_kernels_of_the_gpu_compute(gpu: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    operator = programs.operators.operator_of(tadc.function(TEXT))
    fake: Any = fake_torch(monkeypatch)
    y, s = operator._on_gpu(fake.Tensor(on_gpu([1, 2, 3]), requires_grad=True))
    assert type(y) is type(s) is fake.Tensor
    assert np.asarray(y.array).tolist() == [1, 4, 9]
    assert gpu.streams == [77] * len(gpu.streams)


def test_tensors_that_are_not_contiguous_are_copied(gpu: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    """As the cotangent of `sum`, which is one number, and what `vmap` has moved."""
    f = tadc.function("x: f64[2, 3]; y[i, j] = (i + 1) * x[i, j]**2")
    gradients = programs.operators.operator_of(f).derived(programs.operators.GRADIENTS, ("x",))
    fake: Any = fake_torch(monkeypatch)
    x = np.arange(6.0).reshape(3, 2)
    moved, one = fake.Tensor(on_gpu(x)).permute(1, 0), fake.Tensor(on_gpu(3.0)).expand(2, 3)
    assert not moved.is_contiguous()
    assert not one.is_contiguous()
    dx = gradients._on_gpu(moved, one)
    np.testing.assert_array_equal(np.asarray(dx.array), 3 * 2 * x.T * [[1], [2]])


def test_pytorch_gives_its_tensors_on_gpus_to_it() -> None:
    name = programs.operators.operator_of(tadc.function(TEXT)).name
    has: Any = programs.torch._C._dispatch_has_kernel_for_dispatch_key
    for key in ("CUDA", "CPU", "Autograd", "AutocastCPU", "AutocastCUDA", "Meta", "FuncTorchBatched"):
        assert has(f"tadc::{name}", key), key
    assert not has(f"tadc::{name}", "MPS")
    assert not has(f"tadc::{name}.direct", "CUDA")
    assert has(f"tadc::{name}.direct", "CompositeExplicitAutograd")
