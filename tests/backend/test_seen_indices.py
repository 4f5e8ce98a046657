"""Index arrays that a GPU has seen: what is not looked at again, and what has to be."""

from __future__ import annotations

import gc
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import tadc
from tadc.backend.cuda.device import cuda_device
from tadc.backend.cuda.seen_indices import told_of
from tests.backend.test_cuda import Strided, fake_torch, install, on_gpu
from tests.backend.test_cuda_repeats import Counting

N, E = 60, 400
SPRINGS = """
i: index[E] in N; j: index[E] in N; x: f64[N, 2]; k: f64[E]
f = sum{e} (k[e]*sum{c} ((x[i[e], c] - x[j[e], c])**2))
"""
COPIES = {"cuMemcpyDtoHAsync_v2", "cuMemcpyHtoDAsync_v2", "cuStreamSynchronize"}
RANDOM = np.random.default_rng(8)


@pytest.fixture
def counting(monkeypatch: pytest.MonkeyPatch) -> Counting:
    return install(monkeypatch, Counting(architecture=90))


@pytest.fixture
def compiled() -> Any:
    return tadc.compile(tadc.grad(tadc.function(SPRINGS), wrt="x"), target="cuda")


def edges() -> tuple[Any, Any]:
    i, j = RANDOM.integers(0, N, (2, E), dtype=np.int32)
    return i, j


X, K = RANDOM.normal(size=(N, 2)), RANDOM.normal(size=E)


def forces(i: Any, j: Any) -> Any:
    """The gradient by NumPy's scatter."""
    pulls = 2 * K[:, None] * (X[i] - X[j])
    found = np.zeros((N, 2))
    np.add.at(found, i, pulls)
    np.add.at(found, j, -pulls)
    return found


def check(found: Any, i: Any, j: Any) -> None:
    np.testing.assert_allclose(
        np.asarray(getattr(found, "array", found)), forces(i, j), rtol=1e-12, atol=1e-12
    )


def calls_of(counting: Counting, call: Any) -> tuple[Any, int, list[str]]:
    """What a call gives, its launches, and its copies and waits."""
    counting.calls.clear()
    found = call()
    return found, counting.calls.count("cuLaunchKernel"), [name for name in counting.calls if name in COPIES]


def test_relations_stay_on_the_gpu(counting: Counting, compiled: Any) -> None:
    """Of an index array that cannot change nothing is copied or made again."""
    i, j = edges()
    ri, rj, x, k = tadc.relation(i, N), tadc.relation(j, N), on_gpu(X), on_gpu(K)
    check(compiled(ri, rj, x, k), i, j)
    for _ in range(2):
        found, launches, copies = calls_of(counting, lambda: compiled(ri, rj, x, k))
        check(found, i, j)
        assert launches <= 3
        assert copies == []
    other = tadc.relation(j[::-1].copy(), N)
    check(compiled(ri, other, x, k), i, j[::-1])
    check(compiled(ri, rj, x, k, stream=5), i, j)


def test_arrays_of_the_host_are_copied_once(counting: Counting, compiled: Any) -> None:
    """They are compared there, and copied again where an element is another."""
    i, j = edges()
    x, k = on_gpu(X), on_gpu(K)
    check(compiled(i, j, x, k), i, j)
    found, launches, copies = calls_of(counting, lambda: compiled(i, j, x, k))
    check(found, i, j)
    assert launches <= 3
    assert copies == []
    i[7] = (i[7] + 1) % N
    check(compiled(i, j, x, k), i, j)
    found = compiled(i, j, X, K)
    assert type(found) is np.ndarray
    check(found, i, j)


def test_tensors_of_pytorch_to_which_nobody_writes(
    counting: Counting, compiled: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A write that PyTorch counts is seen; so is another tensor in the same memory."""
    torch = fake_torch(monkeypatch)
    i, j = edges()
    owner = torch.Tensor(on_gpu(i, np.int32))
    j_tensor = torch.Tensor(on_gpu(j, np.int32))
    x, k = torch.Tensor(on_gpu(X)), torch.Tensor(on_gpu(K))

    def part() -> Any:
        """As `edges[0]` gives one, which is another object each time."""
        made = torch.Tensor(owner.array)
        made._is_view, made._base, made._version = lambda: True, owner, owner._version
        return made

    check(compiled(part(), j_tensor, x, k), i, j)
    found, launches, copies = calls_of(counting, lambda: compiled(part(), j_tensor, x, k))
    check(found, i, j)
    assert launches <= 3
    assert copies == ["cuMemcpyHtoDAsync_v2"]  # in what stands for `torch.empty`
    i[3] = (i[3] + 5) % N
    memory = owner.array
    with cuda_device().current() as driver:
        driver.copy_in(memory.address, i.ctypes.data, i.nbytes, 77)
    owner._version += 1
    check(compiled(part(), j_tensor, x, k), i, j)
    # A new owner of the same memory, with as many writes.
    i[3] = (i[3] + 5) % N
    with cuda_device().current() as driver:
        driver.copy_in(memory.address, i.ctypes.data, i.nbytes, 77)
    count = owner._version
    owner = torch.Tensor(memory)
    owner._version = count
    check(compiled(part(), j_tensor, x, k), i, j)


def test_arrays_of_ours_to_which_others_may_write(counting: Counting, compiled: Any) -> None:
    """Until they are handed to another library, kernels alone write to them."""
    i, j = edges()
    given = on_gpu(i, np.int32), on_gpu(j, np.int32), on_gpu(X), on_gpu(K)
    check(compiled(*given), i, j)
    found, launches, copies = calls_of(counting, lambda: compiled(*given))
    check(found, i, j)
    assert launches <= 3
    assert copies == []
    i[3] = (i[3] + 1) % N
    address, _ = given[0].__cuda_array_interface__["data"]
    with cuda_device().current() as driver:
        driver.copy_in(address, i.ctypes.data, i.nbytes, 0)
    check(compiled(*given), i, j)
    assert given[1].writes == 0
    assert given[0].writes is None


def test_others_are_compared_on_the_gpu(counting: Counting, compiled: Any) -> None:
    """In a launch each, and one wait."""
    i, j = edges()
    given = on_gpu(i, np.int32), on_gpu(j, np.int32), on_gpu(X), on_gpu(K)
    check(compiled(*map(Strided, given)), i, j)
    found, launches, copies = calls_of(counting, lambda: compiled(*map(Strided, given)))
    check(found, i, j)
    assert launches <= 6
    assert [name for name in copies if name != "cuStreamSynchronize"] == ["cuMemcpyDtoHAsync_v2"]
    for place in (0, E - 1):
        i[place] = (i[place] + 1) % N
        with cuda_device().current() as driver:
            driver.copy_in(given[0].address, i.ctypes.data, i.nbytes, 0)
        check(compiled(*map(Strided, given)), i, j)
    i[5] = N
    with cuda_device().current() as driver:
        driver.copy_in(given[0].address, i.ctypes.data, i.nbytes, 0)
    with pytest.raises(tadc.ArgumentError, match=r"`i\[5\]` is 60"):
        compiled(*map(Strided, given))


def test_what_was_made_goes_with_the_array(
    counting: Counting, compiled: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A new graph in each step of a training leaves nothing on the GPU."""
    torch = fake_torch(monkeypatch)
    x, k = torch.Tensor(on_gpu(X)), torch.Tensor(on_gpu(K))
    used: list[int] = []
    for _ in range(4):
        i, j = edges()
        check(compiled(torch.Tensor(on_gpu(i, np.int32)), torch.Tensor(on_gpu(j, np.int32)), x, k), i, j)
        ri, rj = tadc.relation(i, N), tadc.relation(j, N)
        check(compiled(ri, rj, x, k), i, j)
        del ri, rj
        gc.collect()
        used.append(counting.memory.used)
    assert used[1:] == used[:1] * 3


def test_writes_of_ours_are_counted(counting: Counting, monkeypatch: pytest.MonkeyPatch) -> None:
    """PyTorch counts what it does itself; of what goes into `out=` we tell it."""
    torch = fake_torch(monkeypatch)
    counted: list[Any] = []
    torch.autograd = SimpleNamespace(graph=SimpleNamespace(increment_version=counted.append))
    square = tadc.compile(tadc.function("x: f64[3]; f[i] = x[i]**2"), target="cuda")
    x, out = torch.Tensor(on_gpu([1, 2, 3])), torch.Tensor(on_gpu([0, 0, 0]))
    for times in (1, 2, 3):
        assert square(x, out=out) is out
        assert counted == [out] * times


def test_what_libraries_tell() -> None:
    """An array of JAX is its own memory; who has a counter of none tells nothing."""
    import jax.numpy as jnp

    array = jnp.arange(3)
    told = told_of([array])
    assert told is not None
    assert told.owners[0] is array
    assert told_of([array, np.arange(3)]) is None
