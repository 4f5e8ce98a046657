"""`torch.compile` by programs of a part of a graph: values and gradients against PyTorch, in f64."""

from __future__ import annotations

import copy
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tadc
from tests.importing.test_functions import CLOSE, apart

torch = pytest.importorskip("torch")

import tadc.torch  # noqa: E402
from tadc.torch.operators import _made  # noqa: E402

nn, F = torch.nn, torch.nn.functional


@pytest.fixture(autouse=True)
def nothing_compiled() -> None:
    torch._dynamo.reset()
    from tadc.torch.compile_backend import LEFT

    LEFT.clear()


class Waves(nn.Module):
    """A Fourier transform between layers."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.norm, self.last = nn.Linear(4, 6), nn.LayerNorm(6), nn.Linear(6, 3)

    def forward(self, x: Any) -> Any:
        h = torch.fft.fft(torch.tanh(self.first(x)), dim=0).real
        return F.log_softmax(self.last(F.gelu(self.norm(h))), -1)


class Trained(nn.Module):
    """What writes to buffers and in place, and leaves out at random."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.norm = nn.Conv2d(1, 3, 3, padding=1), nn.BatchNorm2d(3)
        self.relu, self.drop, self.last = nn.ReLU(inplace=True), nn.Dropout(0.5), nn.Linear(12, 2)

    def forward(self, x: Any) -> Any:
        h = F.max_pool2d(self.relu(self.norm(self.conv(x))), 2)
        return self.last(self.drop(h.flatten(1)))


class Tokens(nn.Module):
    """An embedding and a block of a transformer."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(7, 4)
        self.block = nn.TransformerEncoderLayer(4, 2, 6, dropout=0.0, batch_first=True)

    def forward(self, tokens: Any) -> Any:
        return self.block(self.embedding(tokens)).sum(1)


def stops(x: Any, w: Any) -> Any:
    """Gradients that are stopped, writing to parts, a sort."""
    with torch.no_grad():
        z = torch.sin(x) * 2
    y = x.detach() * w + z
    y[0] = 2 * w[0]
    y[1].mul_(3)
    return torch.sort(y * torch.tensor([1.0, 2.0, 3.0]))[0] * w


def several(x: Any, w: Any) -> Any:
    """Conditions and integers as results."""
    at = torch.argmax(x, 1)
    return x.gather(1, at[:, None]) * w + (x > 0) * w, x > 0, at


def random(*shape: int) -> Any:
    return torch.tensor(np.random.default_rng(2).normal(size=shape))


CASES: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "waves": (Waves(), (random(5, 4),)),
    "trained": (Trained(), (random(3, 1, 4, 4),)),
    "evaluated": (Trained().eval(), (random(3, 1, 4, 4),)),
    "tokens": (Tokens(), (torch.tensor([[1, 2, 1], [6, 0, 3]]),)),
    "stops": (stops, (random(3, 3), random(3))),
    "several": (several, (random(4, 3), random(3))),
}


def _run(f: Any, called: Any, given: tuple[Any, ...]) -> tuple[list[Any], list[Any], list[Any]]:
    """Results, gradients of inputs and parameters, buffers."""
    torch.manual_seed(1)
    args = [x.clone().requires_grad_(x.is_floating_point()) for x in given]
    for x in args:
        if x.dim() > 1:
            torch._dynamo.mark_dynamic(x, 0)
    results = called(*args)
    results = list(results) if isinstance(results, tuple) else [results]
    loss = sum(torch.sin(r).sum() for r in results if r.is_floating_point())
    is_module = isinstance(f, nn.Module)
    wanted = [x for x in [*args, *(f.parameters() if is_module else ())] if x.requires_grad]
    slopes = torch.autograd.grad(loss, wanted, allow_unused=True)
    plain = [torch.zeros(()) if s is None else s for s in slopes]
    return [r.detach() for r in results], plain, list(f.buffers()) if is_module else []


def check(f: Any, given: tuple[Any, ...]) -> list[int]:
    """Compare with PyTorch at three sizes of a batch; how many operators there are after each."""
    f = f.double() if isinstance(f, nn.Module) else f
    other = copy.deepcopy(f)
    compiled = torch.compile(other, backend="tadc")
    counts: list[int] = []
    for times in (1, 2, 3):
        args = tuple(torch.cat([x] * times) if x.dim() > 1 else x for x in given)
        for left, right in zip(_run(f, f, args), _run(other, compiled, args), strict=True):
            for one, two in zip(left, right, strict=True):
                assert apart(two.detach().numpy(), one.detach().numpy()) < CLOSE
        counts.append(len(_made))
    return counts


@pytest.mark.parametrize("name", CASES)
def test_parts_of_graphs(name: str) -> None:
    counts = check(*CASES[name])
    # In `nn.MultiheadAttention` the batch is the second of two dimensions that become one.
    assert name == "tokens" or len(set(counts)) == 1


def test_one_program_serves_all_sizes() -> None:
    before = len(_made)
    counts = check(nn.Sequential(nn.Linear(4, 3), nn.Tanh()), (random(2, 4),))
    assert counts == [before + 2] * 3
    assert not tadc.torch.left_operations()


@pytest.mark.sweep
def test_equal_modules_have_one_program() -> None:
    """Three of them, which together read more than an operator takes."""
    before = len(_made)

    def block() -> Any:
        return nn.Sequential(*[layer for _ in range(7) for layer in (nn.Linear(3, 3), nn.Tanh())])

    counts = check(nn.Sequential(block(), block(), block()), (random(2, 3),))
    assert counts == [before + 2] * 3
    assert not tadc.torch.left_operations()


def test_sizes_that_no_program_has_are_numbers() -> None:
    def f(x: Any) -> Any:
        return torch.sin(x.permute(1, 0).reshape(-1)).cumsum(0) * 2

    assert len(set(check(f, (random(2, 3),)))) == 3
    assert not tadc.torch.left_operations()


def test_floats_beside_sizes() -> None:
    """With `dynamic=True`, Dynamo hands over floats of modules as tensors."""
    norm = nn.Sequential(nn.BatchNorm1d(3), nn.Tanh()).double()
    other = copy.deepcopy(norm)
    compiled = torch.compile(other, backend="tadc", dynamic=True)
    before = len(_made)
    for size in (4, 3, 5):
        for one, two in zip(
            _run(norm, norm, (random(size, 3),)), _run(other, compiled, (random(size, 3),)), strict=True
        ):
            assert all(torch.allclose(a, b, atol=1e-14) for a, b in zip(one, two, strict=True))
    assert len(_made) == before + 2


def test_what_is_left_is_told_with_its_line() -> None:
    def f(x: Any) -> Any:
        y = torch.sin(x) * 2
        return torch.sort(y)[0] * x + 1

    torch.compile(f, backend=tadc.torch.backend)(random(3))
    (left,) = tadc.torch.left_operations()
    assert (left.name, left.reason) == ("sort", "sorting")
    assert left.place is not None
    assert (left.place.file, left.place.number) == (__file__, f.__code__.co_firstlineno + 2)


@pytest.mark.parametrize("most", [0, pytest.param(2, marks=pytest.mark.sweep)])
def test_sizes_that_change(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tadc.torch.compile_backend.MOST_SIZES", most)
    f = torch.compile(lambda x: torch.sin(x) * 2 + x.sum(), backend=tadc.torch.backend)
    for size in range(2, 6):
        x = random(size)
        assert torch.allclose(f(x), torch.sin(x) * 2 + x.sum())


def test_what_cannot_be_traced_without_effects_is_left_whole() -> None:
    def f(x: Any) -> Any:
        return torch.utils.checkpoint.checkpoint(lambda y: torch.sin(y) * y, x, use_reentrant=False) + 1

    x = random(3).requires_grad_()
    y = torch.compile(f, backend=tadc.torch.backend)(x)
    assert torch.allclose(y, torch.sin(x) * x + 1)
    y.sum().backward()
    assert torch.allclose(x.grad, torch.cos(x) * x + torch.sin(x))
    assert [left.name for left in tadc.torch.left_operations()] == ["graph"]


def test_the_backend_has_a_name() -> None:
    project = tomllib.loads((Path(tadc.__file__).parent.parent / "pyproject.toml").read_text())
    module, _, name = project["project"]["entry-points"]["torch_dynamo_backends"]["tadc"].partition(":")
    assert getattr(__import__(module, fromlist=[name]), name) is tadc.torch.backend


def test_a_model_of_many_parameters_is_trained() -> None:
    torch.manual_seed(0)
    net = nn.Sequential(*[layer for _ in range(20) for layer in (nn.Linear(3, 3), nn.Tanh())]).double()
    f = torch.compile(net, backend=tadc.torch.backend)
    optimiser = torch.optim.SGD(net.parameters(), 0.5)
    x = random(8, 3)
    losses: list[float] = []
    for _ in range(20):
        optimiser.zero_grad()
        loss = (f(x) - 0.5).pow(2).mean()
        loss.backward()
        optimiser.step()
        losses.append(float(loss.detach()))
    assert losses[-1] < 0.2 * losses[0]
    assert not tadc.torch.left_operations()
