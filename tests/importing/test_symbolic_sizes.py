"""Functions of JAX and PyTorch with sizes that are symbols: each at two sizes, values and gradients."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax, nn

import tadc
from tests.importing.test_functions import CLOSE, apart, gradients

b, n, m = jax.export.symbolic_shape("b, n, m")
SIZES = ({"b": 5, "n": 4, "m": 3}, {"b": 2, "n": 7, "m": 6})


@pytest.fixture(autouse=True)
def in_doubles() -> Any:
    with jax.enable_x64(True):
        yield


def f64(*shape: Any) -> Any:
    """Numbers."""
    return jax.ShapeDtypeStruct(shape, np.float64)


def places(*shape: Any) -> Any:
    """Integers below 4."""
    return jax.ShapeDtypeStruct(shape, np.int32)


def attention(q: Any, k: Any, v: Any) -> Any:
    scores = jnp.einsum("bhqd,bhkd->bhqk", q, k) / np.sqrt(q.shape[-1])
    causal = jnp.tril(jnp.ones(scores.shape[-2:], bool))
    return jnp.einsum("bhqk,bhkd->bhqd", nn.softmax(jnp.where(causal, scores, -jnp.inf)), v)


def layer(w: Any, x: Any) -> Any:
    h = nn.gelu(x @ w["w"] + w["b"])
    return (h - h.mean(0)) / jnp.sqrt(h.var(0) + 1e-5)


def convolution(x: Any, w: Any) -> Any:
    return lax.conv_general_dilated(
        x, w, (2, 1), ((1, 1), (0, 2)), rhs_dilation=(1, 2), feature_group_count=2
    )


def recurrence(x: Any) -> Any:
    return lax.scan(lambda c, t: (jnp.tanh(c + t), c * 2), jnp.zeros((x.shape[0], 3)), x.swapaxes(0, 1))[1]


CASES: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "layer": (layer, ({"w": f64(4, 3), "b": f64(3)}, f64(b, 4))),
    "matmul": (lambda x, w: jnp.tanh(x @ w), (f64(b, n), f64(n, 3))),
    "softmax": (nn.softmax, (f64(b, n),)),
    "attention": (attention, (f64(b, 2, n, 3), f64(b, 2, n, 3), f64(b, 2, n, 3))),
    "differences": (lambda x: x[1:] - x[:-1], (f64(n, 3),)),
    "half": (lambda x: x[: x.shape[0] // 2], (f64(2 * n, 3),)),
    "strides": (lambda x: x[::2] * 2, (f64(2 * n, 3),)),
    "merge": (lambda x: jnp.sin(x).reshape(-1), (f64(b, 3),)),
    "heads": (lambda x: x.reshape(*x.shape[:2], 2, 3).transpose(0, 2, 1, 3), (f64(b, n, 6),)),
    "flip": (lambda x: x[::-1] * x, (f64(n, 3),)),
    "roll": (lambda x: jnp.roll(x, 1, 0) * x, (f64(n, 3),)),
    "tile": (lambda x: jnp.tile(x, (3, 1)), (f64(n, 2),)),
    "pad": (lambda x: jnp.pad(x, ((1, 2), (0, 0))), (f64(n, 3),)),
    "concatenate": (lambda x, y: jnp.concatenate([x, y * 2]), (f64(b, 3), f64(n, 3))),
    "places": (lambda x: x * jnp.arange(x.shape[0])[:, None], (f64(b, 3),)),
    "pairs": (lambda x: jnp.exp(-((x[:, None] - x[None]) ** 2).sum(-1)), (f64(n, 3),)),
    "gather": (lambda x, i: x[i] * 2, (f64(n, 3), places(b))),
    "segment sum": (lambda x, i: jax.ops.segment_sum(x, i, 5), (f64(b, 3), places(b))),
    "update": (lambda x: x.at[0].set(2.0) * x, (f64(n, 3),)),
    "cumulative sum": (lambda x: jnp.cumsum(x, 0), (f64(n, 3),)),
    "recurrence": (recurrence, (f64(b, 4, 3),)),
    "long recurrence": (
        lambda x: lax.scan(lambda c, t: (jnp.tanh(c + t), c), jnp.zeros(3), x),
        (f64(n, 3),),
    ),
    "convolution": (convolution, (f64(b, 4, 6, 5), f64(6, 2, 3, 2))),
    "long convolution": (
        lambda x, w: lax.conv_general_dilated(x, w, (1,), "VALID"),
        (f64(b, 2, n + 4), f64(3, 2, 3)),
    ),
    "max pooling": (
        lambda x: lax.reduce_window(x, -np.inf, lax.max, (1, 2), (1, 2), "VALID"),
        (f64(b, 6),),
    ),
    "moving sums": (lambda x: lax.reduce_window(x, 0.0, lax.add, (1, 3), (1, 1), "SAME"), (f64(b, n),)),
    "einsum": (lambda x, y: jnp.einsum("bnd,bmd->bnm", x, y), (f64(b, n, 2), f64(b, m, 2))),
    "slope inside": (lambda x: jax.grad(lambda x: jnp.sin(x).mean())(x), (f64(b, 3),)),
}
EACH_TIME = ("matmul",)


def _array(spec: Any, sizes: dict[str, int], rng: Any) -> Any:
    shape = [size if isinstance(size, int) else eval(str(size), {}, sizes) for size in spec.shape]
    if spec.dtype == np.int32:
        return jnp.asarray(rng.integers(0, 2, size=shape))
    return jnp.asarray(rng.normal(size=shape))


def check(name: str) -> None:
    function, spec = CASES[name]
    f = tadc.from_jax(function, *spec)
    rng = np.random.default_rng(3)
    for sizes in SIZES:
        args = jax.tree.map(lambda leaf: _array(leaf, sizes, rng), spec)
        values, found = jax.tree.leaves(function(*args)), jax.tree.leaves(f(*args))
        assert max(map(apart, found, values)) < CLOSE
        cotangents = [rng.normal(size=value.shape) for value in values]
        leaves, tree = jax.tree.flatten(args)
        floats = [i for i, leaf in enumerate(leaves) if leaf.dtype == jnp.float64]

        def of_floats(*given: Any) -> Any:
            all_ = list(leaves)
            for place, leaf in zip(floats, given, strict=True):
                all_[place] = leaf
            return jax.tree.leaves(function(*jax.tree.unflatten(tree, all_)))

        wanted = jax.vjp(of_floats, *[leaves[i] for i in floats])[1](cotangents)
        assert max(map(apart, gradients(f, f.arguments(*args), cotangents).values(), wanted)) < CLOSE


@pytest.mark.parametrize("name", EACH_TIME)
def test_sizes_of_jax(name: str) -> None:
    check(name)


@pytest.mark.parametrize("name", [name for name in CASES if name not in EACH_TIME])
def test_all_sizes_of_jax(name: str) -> None:
    check(name)


def test_the_program_has_the_symbols_of_the_function() -> None:
    f = tadc.from_jax(lambda x, b: x[1:] * b, f64(b, 2 * n), f64(2 * n))
    assert str(f).splitlines()[:3] == ["x: f64[b_1, 2*n]", "b: f64[2*n]", "result: f64[b_1 - 1, 2*n]"]


@pytest.mark.parametrize(
    ("function", "given", "message"),
    [
        (lambda x, y: x + y, (f64(b), f64(n)), "(?:cannot trace|compare sizes)"),
        (lambda x, y: (x * 2, y), (f64(b), f64(*jax.export.symbolic_shape("k"))), "made apart"),
        (lambda x: x.reshape(-1, 2), (f64(b, n, 2),), "sizes that nothing tells become one"),
        (lambda x: jnp.sort(x), (f64(b),), "sorting"),
        (lambda x: jnp.roll(x, 2), (f64(b),), "a size that nothing tells before the call"),
        (lambda x: x * 2, (f64(b * n),), "no sum of symbols"),
    ],
)
def test_mistakes_are_said_at_their_lines(function: Any, given: tuple[Any, ...], message: str) -> None:
    with pytest.raises(tadc.UsageError, match=rf"(?s)TAD0513.*{message}.*test_symbolic_sizes\.py:\d+.*help:"):
        tadc.from_jax(function, *given)


def test_sizes_of_pytorch() -> None:
    torch = pytest.importorskip("torch")
    batch, length = torch.export.Dim("batch", min=2), torch.export.Dim("length", min=4)

    def attend(q: Any, k: Any, v: Any) -> Any:
        return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)

    cases: list[tuple[Any, tuple[tuple[int, ...], ...], tuple[Any, ...]]] = [
        (attend, ((3, 2, 5, 4),) * 3, ({0: batch, 2: length},) * 3),
        (lambda x, y: x @ y, ((3, 4, 5), (3, 5, 2)), ({0: batch, 1: length}, {0: batch})),
        (lambda x: x[1:] - x[:-1], ((5, 2),), ({0: length},)),
        (lambda x: x.reshape(-1, 2, 3).sum(1), ((6, 3),), ({0: 2 * batch},)),
        (torch.nn.Conv1d(1, 2, 3).double(), ((3, 1, 9),), ({0: batch, 2: length},)),
    ]
    for function, shapes, dynamic in cases:
        f = tadc.from_torch(function, *[torch.ones(s).double() for s in shapes], dynamic_shapes=dynamic)
        for more in (0, 4):
            args = [
                torch.randn([size + more * (i in open_) for i, size in enumerate(shape)]).double()
                for shape, open_ in zip(shapes, dynamic, strict=True)
            ]
            assert apart(f(*args).detach().numpy(), function(*args).detach().numpy()) < CLOSE


@pytest.mark.sweep
def test_sizes_of_files_of_pytorch(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    batch, length = torch.export.Dim("batch", min=2), torch.export.Dim("length", min=4)

    class Pairs(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            return x.reshape(-1, 2, 3).sum(1)

    cases: list[tuple[Any, tuple[int, ...], dict[int, Any]]] = [
        (torch.nn.Linear(4, 5), (3, 4), {0: batch}),
        (torch.nn.Linear(4, 5), (3, 4), {0: torch.export.Dim.AUTO}),
        (torch.nn.Conv1d(1, 2, 3), (3, 1, 9), {0: batch, 2: length}),
        (Pairs(), (6, 3), {0: 2 * batch}),
    ]
    for number, (module, shape, open_) in enumerate(cases):
        exported = torch.export.export(
            module.double(), (torch.ones(shape).double(),), dynamic_shapes=(open_,)
        )
        torch.export.save(exported, tmp_path / f"m{number}.pt2")
        f = tadc.load(tmp_path / f"m{number}.pt2")
        for more in (0, 4):
            x = torch.randn([size + more * (i in open_) for i, size in enumerate(shape)]).double()
            assert apart(f(x).detach().numpy(), module(x).detach().numpy()) < CLOSE


@pytest.mark.sweep
def test_open_sizes_of_pytorch_that_become_one_are_refused() -> None:
    torch = pytest.importorskip("torch")
    sizes = {0: torch.export.Dim("batch", min=2), 1: torch.export.Dim("length", min=4)}

    def layer(x: Any, w: Any) -> Any:
        return (x.reshape(-1, 4) @ w).reshape(x.shape[0], x.shape[1], 3)

    given = torch.ones(3, 5, 4), torch.ones(4, 3)
    message = r"(?s)sizes that nothing tells become one.*test_symbolic_sizes\.py:\d+"
    with pytest.raises(tadc.UsageError, match=message):
        tadc.from_torch(layer, *given, dynamic_shapes=(sizes, None))
