"""Tensors of float16 and bfloat16: operators, gradients, modules that `torch.compile` takes."""

from __future__ import annotations

import pytest

import tadc
from tests.torch.programs import torch

KINDS = {"f16": torch.float16, "bf16": torch.bfloat16}
TEXT = "x: T[N, K]; w: T[M, K]; y[i, j] = tanh(sum{k} (x[i, k] * w[j, k]))"


@pytest.mark.parametrize("name", KINDS)
def test_values_and_gradients_in_the_type_of_their_tensors(name: str) -> None:
    f, kind = tadc.function(TEXT.replace("T[", f"{name}[")), KINDS[name]
    torch.manual_seed(0)
    x, w = (torch.randn(n, 23).to(kind).requires_grad_() for n in (7, 5))
    wide = [t.detach().float().requires_grad_() for t in (x, w)]
    y, expected = f.torch(x, w), torch.tanh(wide[0] @ wide[1].T)
    assert y.dtype == kind
    torch.testing.assert_close(y, expected.to(kind), rtol=torch.finfo(kind).eps, atol=1e-3)
    cotangent = torch.randn(7, 5).to(kind)
    y.backward(cotangent)
    expected.backward(cotangent.float())
    for tensor, reference in zip((x, w), wide, strict=True):
        assert tensor.grad is not None
        assert reference.grad is not None
        assert tensor.grad.dtype == kind
        torch.testing.assert_close(
            tensor.grad, reference.grad.to(kind), rtol=2 * torch.finfo(kind).eps, atol=1e-2
        )


@pytest.mark.parametrize("name", KINDS)
def test_arrays_of_numpy_s_calls(name: str) -> None:
    """A call with tensors gives one; NumPy itself knows no bfloat16."""
    x = torch.arange(6).to(KINDS[name])
    y = tadc.function(f"x: {name}[N]; y[i] = 2*x[N - 1 - i]")(x)
    assert y.dtype == KINDS[name]
    assert y.tolist() == [10, 8, 6, 4, 2, 0]


def test_a_module_follows_its_parameters() -> None:
    """`module.to(…)` and `.double()`: parameters convert, and the function is that of their type."""
    f = tadc.function("x: T[N]; w: T[M, N]; b: T[M]; y[i] = sum{k} (w[i, k] * x[k]) + b[i]")
    module = f.torch.module(w=(3, 4), b=torch.zeros(3))
    w = module.w.detach().clone()
    for kind in (torch.float32, torch.float64, torch.bfloat16, torch.float16):
        module = module.to(kind)
        x = torch.linspace(-1, 1, 4, dtype=kind, requires_grad=True)
        y = module(x)
        assert y.dtype == kind
        torch.testing.assert_close(y.float(), w @ x.detach().float(), rtol=2e-2, atol=2e-2)
        y.sum().backward()
        assert x.grad is not None
        assert (x.grad.dtype, module.w.grad.dtype) == (kind, kind)
        module.zero_grad()
