"""Functions and modules of PyTorch that are imported: values and gradients against theirs, in f64."""

from __future__ import annotations

from inspect import getsource
from typing import Any

import numpy as np
import pytest

import tadc
from tests.importing.test_functions import CLOSE, apart, gradients

torch = pytest.importorskip("torch")

from tests.importing import torch_cases, torch_models  # noqa: E402

#: These are tried each time; the others are in the sweep.
EACH_TIME = ("linear", "layer norm")


def check(function: Any, given: Any) -> Any:
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
    given_back = [torch.as_tensor(c) for c in cotangents]
    slopes = torch.autograd.grad(
        values, list(wanted.values()), given_back, allow_unused=True, retain_graph=True
    )
    # What the program does not read, as a bias of which only the derivative counts, has no slope.
    unread = [leaf for n, leaf in by_name.items() if leaf.requires_grad and n not in wanted]
    for slope in torch.autograd.grad(values, unread, given_back, allow_unused=True) if unread else ():
        assert slope is None or not slope.any()
    for name_, slope in zip(wanted, slopes, strict=True):
        expected = np.zeros(wanted[name_].shape) if slope is None else slope.numpy()
        assert apart(made[name_], expected) < CLOSE
    return f


@pytest.mark.parametrize("name", EACH_TIME)
def test_functions_of_pytorch(name: str) -> None:
    check(*torch_cases.CASES[name])


@pytest.mark.parametrize("name", [name for name in torch_cases.CASES if name not in EACH_TIME])
def test_all_functions_of_pytorch(name: str) -> None:
    check(*torch_cases.CASES[name])


@pytest.mark.parametrize("name", torch_cases.REFUSED)
def test_what_the_language_has_not_is_refused_by_name(name: str) -> None:
    function, given = torch_cases.REFUSED[name]
    with pytest.raises(tadc.UsageError, match=rf"(?s)TAD0513.*{name}.*help: "):
        tadc.from_torch(function, *given)


@pytest.mark.parametrize("name", torch_models.models())
def test_models_of_pytorch(name: str) -> None:
    torch.manual_seed(0)
    model, given = torch_models.models()[name]()
    f = check(model, given)
    kinds = [kind for kind in type(model).__mro__ if kind.__module__ == torch_models.__name__]
    lines = sum(len(getsource(kind).splitlines()) for kind in kinds)
    assert len(str(f).splitlines()) <= 2 * lines


def test_derivatives_inside_of_a_module() -> None:
    x = torch.linspace(0, 1, 3, dtype=torch.float64)
    f = tadc.from_torch(lambda v: torch.func.grad(lambda u: u.sin().sum())(v) * v, x)
    assert apart(f(x).numpy(), (x.cos() * x).numpy()) < CLOSE
    assert "cos(v[i])" in str(f)


def test_what_has_no_derivative_in_pytorch_is_refused() -> None:
    def without(x: Any) -> Any:
        with torch.no_grad():
            scale = x.sum()
        return scale * x

    for function in (lambda x: x.detach() * x, without):
        with pytest.raises(tadc.UsageError, match=r"(?s)TAD0513.*`detach` and `no_grad`.*test_torch\.py:\d+"):
            tadc.from_torch(function, torch.ones(3))


def test_a_branch_is_refused_without_the_graph_of_pytorch(capfd: pytest.CaptureFixture[str]) -> None:
    def branch(x: Any) -> Any:
        return x if x.sum() > 0 else -x

    with pytest.raises(tadc.UsageError, match="cannot export `branch`"):
        tadc.from_torch(branch, torch.ones(3))
    assert capfd.readouterr() == ("", "")


def test_open_sizes_are_symbols() -> None:
    x = torch.ones(5, 3)
    f = tadc.from_torch(torch.nn.Linear(3, 2), x, dynamic_shapes=({0: torch.export.Dim("batch")},))
    assert "input: f32[N, 3]" in str(f)
    assert f(torch.ones(9, 3)).shape == (9, 2)


def test_one_tensor_for_two_arguments_is_two() -> None:
    x = torch.ones(3, dtype=torch.float64)
    f = tadc.from_torch(lambda a, b: a - 2 * b, x, x)
    assert f(x, 3 * x).tolist() == [-5.0, -5.0, -5.0]


def test_causal_attention_has_no_guards_of_rows() -> None:
    attention = torch.nn.functional.scaled_dot_product_attention
    q, k = torch.randn(2, 4, 3), torch.randn(2, 5, 3)
    causal = str(tadc.from_torch(lambda q, k: attention(q, k, k, is_causal=True), q, k))
    assert "let largest[i: 2, j: 4] = max" in causal
    assert "smallest" not in causal
    assert len(causal.splitlines()) == 10


def test_a_row_of_attention_of_which_all_is_masked_is_zero() -> None:
    attention = torch.nn.functional.scaled_dot_product_attention
    q, k = torch.randn(2, 4, 3), torch.randn(2, 5, 3)
    mask = torch.tensor([[0], [1], [1], [1]]) > 0
    f = tadc.from_torch(lambda q, k, mask: attention(q, k, k, mask), q, k, mask.expand(4, 5))
    expected = attention(q, k, k, mask)
    assert not expected[:, 0].any()
    assert torch.allclose(f(q, k, mask.expand(4, 5)), expected, atol=1e-6)


def test_attention_with_heads_in_groups() -> None:
    def attention(q: Any, k: Any) -> Any:
        return torch.nn.functional.scaled_dot_product_attention(
            q, k, k, is_causal=True, enable_gqa=True, scale=0.3
        )

    check(attention, (torch.randn(1, 4, 3, 2).double(), torch.randn(1, 2, 5, 2).double()))


def test_a_constant_tensor_is_an_argument_without_a_copy() -> None:
    matrix = torch.randn(2**10, 2**10)
    f = tadc.from_torch(lambda x: matrix * x, torch.ones(2**10))
    assert f.inputs == ("constant", "x")
    assert f.constants["constant"].data_ptr() == matrix.data_ptr()
