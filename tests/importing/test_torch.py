"""Functions and modules of PyTorch that are imported: values and gradients against theirs, in f64."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tadc
from tests.importing.test_functions import CLOSE, apart, gradients

torch = pytest.importorskip("torch")

from tests.importing import torch_cases  # noqa: E402

#: These are tried each time; the others are in the sweep.
EACH_TIME = ("linear", "layer norm")


def check(name: str) -> None:
    function: Any
    function, given = torch_cases.CASES[name]
    is_module = isinstance(function, torch.nn.Module)
    function = function.double() if is_module else function
    f = tadc.from_torch(function, *given)
    leaves = [x.clone().requires_grad_(x.is_floating_point()) for x in given]
    values = function(*leaves)
    values = [values] if isinstance(values, torch.Tensor) else list(values)
    found = f(*given)
    found = [found] if isinstance(found, torch.Tensor) else list(found)
    plain = [value.detach().numpy() for value in values]
    assert max(map(apart, found, plain)) < CLOSE
    cotangents = [np.random.default_rng(3).normal(size=value.shape) for value in plain]
    named = f.arguments(*given)
    made = gradients(f, named, cotangents)
    by_name: dict[str, Any] = (
        {k.replace(".", "_"): p for k, p in function.named_parameters()} if is_module else {}
    )
    by_name |= {n: leaf for leaf, x in zip(leaves, given, strict=True) for n, v in named.items() if v is x}
    wanted = {n: leaf for n, leaf in by_name.items() if n in made and leaf.requires_grad}
    assert len(wanted) == sum(leaf.requires_grad for leaf in by_name.values())
    slopes = torch.autograd.grad(
        values, list(wanted.values()), [torch.as_tensor(c) for c in cotangents], allow_unused=True
    )
    for name_, slope in zip(wanted, slopes, strict=True):
        expected = np.zeros(wanted[name_].shape) if slope is None else slope.numpy()
        assert apart(made[name_], expected) < CLOSE


@pytest.mark.parametrize("name", EACH_TIME)
def test_functions_of_pytorch(name: str) -> None:
    check(name)


@pytest.mark.sweep
@pytest.mark.parametrize("name", [name for name in torch_cases.CASES if name not in EACH_TIME])
def test_all_functions_of_pytorch(name: str) -> None:
    check(name)


@pytest.mark.sweep
@pytest.mark.parametrize("name", torch_cases.REFUSED)
def test_what_the_language_has_not_is_refused_by_name(name: str) -> None:
    function, given = torch_cases.REFUSED[name]
    with pytest.raises(tadc.UsageError, match=rf"(?s)TAD0513.*{name}.*help: "):
        tadc.from_torch(function, *given)


def test_open_sizes_are_symbols() -> None:
    x = torch.ones(5, 3)
    f = tadc.from_torch(torch.nn.Linear(3, 2), x, dynamic_shapes=({0: torch.export.Dim("batch")},))
    assert "input: f32[N, 3]" in str(f)
    assert f(torch.ones(9, 3)).shape == (9, 2)
