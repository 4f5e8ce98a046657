"""Functions with index arrays in PyTorch, against the same functions written in PyTorch."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import pytest
from scipy.sparse import csr_array

import tadc
from tadc.backend.cuda.seen_indices import told_of
from tadc.native.framed_kernels import Framed
from tests.torch.programs import torch

E, N = 20, 7
torch.manual_seed(0)
SRC, DST = torch.randint(0, N, (2, E))
X, W = torch.randn(N, 3, dtype=torch.float64), torch.randn(E, dtype=torch.float64)


@pytest.fixture(scope="module")
def messages() -> Any:
    return tadc.function("""
    src: index[E] in N; dst: index[E] in N; x: f64[N, 3]; w: f64[E]
    m[n: N, c] = sum{e: dst[e] = n} (w[e] * x[src[e], c]**2)
    """).torch


def plain(src: Any, dst: Any, x: Any, w: Any) -> Any:
    return torch.zeros_like(x).index_add(0, dst, w[:, None] * x[src] ** 2)


@pytest.mark.parametrize("kind", [torch.int8, torch.uint16, torch.int32, torch.int64, torch.uint64])
def test_integers_of_any_type_are_taken(messages: Any, kind: Any) -> None:
    torch.testing.assert_close(messages(SRC.to(kind), DST, X, W), plain(SRC, DST, X, W))
    torch.testing.assert_close(messages(SRC, x=X, w=W, dst=DST), plain(SRC, DST, X, W))


def test_index_arrays_may_change(messages: Any) -> None:
    """What is kept of the last call is that of the elements, not of the tensor."""
    src, dst = SRC.to(torch.int32), DST.to(torch.int32)
    for place in (0, 7, 7):
        dst[place] = (dst[place] + 1) % N
        torch.testing.assert_close(messages(src, dst, X, W), plain(src, dst.long(), X, W))


def test_long_fibres(messages: Any) -> None:
    """They are for kernels that cut them."""
    src, dst = torch.randint(0, N, (2, 40_000))
    dst[:30_000] = 3
    x, w = X.clone().requires_grad_(), torch.randn(40_000, dtype=torch.float64)
    found, expected = messages(src, dst, x, w), plain(src, dst, x, w)
    torch.testing.assert_close(found, expected)
    torch.testing.assert_close(*(torch.autograd.grad(torch.sin(y).sum(), x) for y in (found, expected)))


def test_derivatives_of_any_order(messages: Any) -> None:
    x, w = X.clone().requires_grad_(), W.clone().requires_grad_()

    def f(x: Any, w: Any) -> Any:
        return messages(SRC, DST, x, w)

    assert torch.autograd.gradcheck(f, (x, w))
    assert torch.autograd.gradgradcheck(f, (x, w))
    found, expected = (
        torch.func.hessian(lambda x, h=h: torch.sin(h(SRC, DST, x, W)).sum())(X) for h in (messages, plain)
    )
    torch.testing.assert_close(found, expected)


@pytest.mark.parametrize("axes", [(None, None, 0, None), (0, None, 0, None)])
def test_batches_of_floats_and_of_indices(messages: Any, axes: Any) -> None:
    src = torch.randint(0, N, (4, E)) if axes[0] == 0 else SRC
    args = src, DST, torch.randn(4, N, 3, dtype=torch.float64), W
    torch.testing.assert_close(torch.vmap(messages, axes)(*args), torch.vmap(plain, axes)(*args))


@pytest.mark.parametrize(
    ("bad", "text"),
    [
        (torch.where(torch.arange(E) == 3, N, SRC), r"`src\[3\]` is 7, but must be below N = 7"),
        (SRC + 2**40, r"`src\[0\]` is 10995116277\d\d, but must be below N = 7"),
        (torch.where(torch.arange(E) == 5, -1, SRC), r"`src\[5\]` is -1, but must be at least 0"),
        (SRC.double(), "indices are integers"),
        (SRC > 2, r"indices are integers(.|\n)*`torch\.nonzero\(src\)\.flatten\(\)`"),
        (tadc.relation(SRC.numpy() + 1, N + 1), r"`src\[\d+\]` is 7, but must be below N = 7"),
    ],
)
def test_what_is_no_index_is_an_error(messages: Any, bad: Any, text: str) -> None:
    with pytest.raises(tadc.ArgumentError, match=text):
        messages(bad, DST, X, W)


def test_a_relation_stands_for_its_elements(messages: Any) -> None:
    src, dst = tadc.relation(SRC.numpy(), N), tadc.relation(DST.numpy(), N)
    torch.testing.assert_close(messages(src, DST, w=W, x=X), plain(SRC, DST, X, W))
    torch.testing.assert_close(messages(SRC, dst, X, W), plain(SRC, DST, X, W))


def test_a_module_holds_index_arrays_as_buffers(messages: Any) -> None:
    layer = messages.module(src=SRC, dst=tadc.relation(DST.numpy(), N), w=torch.nn.Buffer(W))
    torch.testing.assert_close(layer(X), plain(SRC, DST, X, W))
    assert list(layer.parameters()) == []
    assert {name: b.dtype for name, b in layer.named_buffers()} == {
        "src": torch.int32,
        "dst": torch.int32,
        "w": torch.float64,
    }
    again = messages.module(src=torch.nn.Buffer(DST.int()), dst=DST, w=torch.nn.Buffer(0 * W))
    again.load_state_dict(layer.state_dict())
    torch.testing.assert_close(again(X), plain(SRC, DST, X, W))


@pytest.mark.parametrize(
    ("bad", "text"),
    [
        ((E,), "`src` is an index array, whose elements nothing trains"),
        (SRC.double(), "`src` has elements of type float64, but indices are integers"),
        (torch.nn.Buffer(SRC > 1), "torch.nonzero"),
        (SRC - 9, "`src` has the element -"),
        (SRC[None], "`src` has 2 dimensions"),
    ],
)
def test_what_a_module_does_not_hold_as_indices(messages: Any, bad: Any, text: str) -> None:
    with pytest.raises(tadc.CompileError, match=text):
        messages.module(src=bad)


@pytest.mark.filterwarnings("ignore")
def test_indices_in_a_graph_are_those_of_each_call(messages: Any) -> None:
    def f(src: Any, x: Any) -> Any:
        return messages(src, DST, x, W)

    class Layer(torch.nn.Module):
        def forward(self, src: Any, x: Any) -> Any:
            return f(src, x)

    exported = torch.export.export(Layer(), (SRC, X)).module()
    traced = torch.jit.trace(f, (SRC, X))
    for graph in (torch.compile(f, fullgraph=True), exported, traced):
        for src in (SRC, SRC.flip(0), (SRC + 1) % N):
            torch.testing.assert_close(graph(src, X), plain(src, DST, X, W))


def test_a_graph_says_that_indices_are_wrong(messages: Any) -> None:
    op = messages._op
    with pytest.raises(RuntimeError, match=r"TAD0511\]: `src` has an element that is out of range") as caught:
        op(SRC.int() + N, DST.int(), X, W)
    assert "= help: call the function outside of compiled code" in str(caught.value)


def test_a_scalar_index_is_a_number() -> None:
    f = tadc.function("s: index in N; x: f64[N]; y = 2*x[s]").torch
    assert f(2, torch.arange(4.0, dtype=torch.float64)) == 4
    with pytest.raises(tadc.ArgumentError, match="`s` is 4, but must be below N = 4"):
        f(4, torch.arange(4.0, dtype=torch.float64))


def test_the_function_itself_takes_tensors() -> None:
    f = tadc.function("s: index[E] in N; x: f64[N]; y[e] = 2*x[s[e]]")
    found = f(torch.tensor([2, 0]), torch.arange(4.0, dtype=torch.float64))
    assert torch.equal(found, torch.tensor([4.0, 0.0], dtype=torch.float64))


def test_sizes_that_no_tensor_tells() -> None:
    f = tadc.function("size N; d: index[E] in N; x: f64[E]; y[n: N] = sum{e: d[e] = n} (x[e])").torch
    found = f(torch.tensor([2, 0, 2]), torch.ones(3, dtype=torch.float64), N=3)
    assert found.tolist() == [1, 0, 2]
    assert f(tadc.relation([2, 0, 2], 4), torch.ones(3, dtype=torch.float64)).tolist() == [1, 0, 2, 0]


DENSE = torch.where(torch.rand(5, 7, dtype=torch.float64) < 0.4, torch.randn(5, 7, dtype=torch.float64), 0)
LAYOUTS = [torch.sparse_coo, torch.sparse_csr, torch.sparse_csc]


@pytest.fixture(scope="module")
def product() -> tadc.Function:
    return tadc.function("""
    row: index[E] in N; col: index[E] in M; A: f64[N, M] at (row, col); x: f64[M]
    z[i] = sum{j} (A[i, j] * x[j])
    """)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("layout", LAYOUTS[:2])  # PyTorch accumulates no gradient of CSC
def test_sparse_tensors_and_their_gradients(product: tadc.Function, layout: Any) -> None:
    x = torch.randn(7, dtype=torch.float64)
    torch.testing.assert_close(product(DENSE.to_sparse(layout=layout), x), DENSE @ x)
    found, dense = DENSE.to_sparse(layout=layout).requires_grad_(), DENSE.clone().requires_grad_()
    product.torch(found, x).sin().sum().backward()
    (dense @ x).sin().sum().backward()
    torch.testing.assert_close(found.grad.to_dense(), dense.grad * (DENSE != 0))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("layout", LAYOUTS)
def test_results_at_the_places_of_a_sparse_tensor(product: tadc.Function, layout: Any) -> None:
    x, dz = torch.randn(7, dtype=torch.float64), torch.randn(5, dtype=torch.float64)
    for f in (tadc.vjp(product, "A"), tadc.vjp(product, "A").torch):
        found = f(DENSE.to_sparse(layout=layout), x, dz)
        assert found.layout is layout
        torch.testing.assert_close(found.to_dense(), torch.outer(dz, x) * (DENSE != 0))


def test_a_module_and_a_graph_take_what_a_sparse_tensor_stores(product: tadc.Function) -> None:
    given, x = DENSE.to_sparse(), torch.randn(7, dtype=torch.float64)
    with pytest.raises(tadc.CompileError, match=r"row=S.indices\(\)\[0\], .* A=S.values\(\)"):
        product.torch.module(A=given)
    row, col = given.indices()
    layer = product.at({"N": 5}).torch.module(row=row, col=col, A=given.values())
    torch.testing.assert_close(layer(x), DENSE @ x)
    with pytest.raises(TypeError, match=r"TAD0504\]: no graph .* f\.at\({'N': …}\)\.torch"):
        product.torch._traced((given, x), {})


def test_sizes_that_a_sparse_tensor_tells_are_those_of_others(product: tadc.Function) -> None:
    with pytest.raises(tadc.ArgumentError, match="dimension 0 of `x` has 9 elements, expected 7"):
        product.torch(DENSE.to_sparse(), torch.ones(9, dtype=torch.float64))
    with pytest.raises(tadc.ArgumentError, match="`A` is a dense array, and the program takes a sparse one"):
        product.torch(DENSE, torch.ones(7, dtype=torch.float64))
    with pytest.raises(tadc.ArgumentError, match=r"declares `A: f64\[N, M\] at \(row, col\)`"):
        product.torch(DENSE.to(torch.float32).to_sparse(), torch.ones(7, dtype=torch.float64))
    with pytest.raises(
        tadc.ArgumentError,
        match=r"not a tensor but a value of type csr_array;.*\n.*\n.*torch.sparse_csr_tensor\(",
    ):
        product.torch(csr_array(DENSE.numpy()), torch.ones(7, dtype=torch.float64))


def test_what_kernels_keep_ends_with_the_function(monkeypatch: pytest.MonkeyPatch) -> None:
    """That of derivatives too."""
    forgotten: list[str] = []
    monkeypatch.setattr(Framed, "forget", lambda made: forgotten.append(made.interface.arguments[0].name))
    f = tadc.function("end: index[E] in N; x: f64[E]; u: f64[N]; y[n: N] = u[n] + sum{e: end[e] = n} (x[e])")
    f.torch(DST, W.clone().requires_grad_(), X[:, 0]).sum().backward()
    assert "end" not in forgotten
    f = weakref.ref(f)
    gc.collect()
    assert f() is None
    assert forgotten.count("end") == 2


def test_writes_to_index_arrays_are_counted() -> None:
    """What tells index arrays on a GPU from those of a call before: their memory, and writes to it."""
    edges = torch.zeros(2, 5, dtype=torch.int32)

    def told() -> Any:
        found = told_of([edges[0], edges[1]])
        assert found is not None
        return found

    first = told()
    assert first.owners[0] is first.owners[1] is edges
    assert told().facts == first.facts
    edges[1, 2] = 3
    assert told().facts != first.facts
    with torch.inference_mode():
        assert told_of([torch.zeros(3, dtype=torch.int32)]) is None
