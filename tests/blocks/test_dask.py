"""Functions of Dask arrays: the bits of blocks computed one by one, whoever computes them and when."""

from __future__ import annotations

import pickle
import subprocess
import sys
import warnings
from typing import Any

import dask.array
import dask.config
import numpy as np
import pytest
from dask.base import compute
from dask.core import flatten
from dask.diagnostics.progress import ProgressBar
from scipy import sparse

import tadc
from tadc.apps.blocks import dask_arrays
from tadc.apps.blocks.block_tasks import JoinParts
from tadc.apps.blocks.mapped_files import mapped_file
from tests.blocks.test_blocks import CASES, PRODUCT, SERIES, SLIDING, Case, several

#: Dask's own types are of no use here.
da: Any = dask.array


def in_chunks(arguments: dict[str, Any], length: int) -> dict[str, Any]:
    """Arrays as Dask's; sizes stay numbers."""
    return {
        n: da.from_array(a, chunks=length) if isinstance(a, np.ndarray) else a for n, a in arguments.items()
    }


def computed(arrays: Any, **how: Any) -> tuple[Any, ...]:
    how.setdefault("scheduler", "threads")
    return compute(*arrays, **how) if isinstance(arrays, tuple) else compute(arrays, **how)


def assert_blocks(case: Case, length: int, **how: Any) -> None:
    """Dask arrays in chunks of a length have the bits of f's own blocks."""
    f = case.function
    arguments = case.arguments(f)
    want = several(f.block(**case.blocks)(**arguments))
    found = f.dask(**in_chunks(arguments, length), chunks=case.blocks)
    for name, lazy, one, other in zip(
        f.outputs, several_of(found), want, computed(found, **how), strict=True
    ):
        assert lazy.shape == one.shape == other.shape, name
        assert lazy.dtype == one.dtype == other.dtype
        np.testing.assert_array_equal(other, one, err_msg=name)


def several_of(arrays: Any) -> tuple[Any, ...]:
    return arrays if isinstance(arrays, tuple) else (arrays,)


@pytest.mark.parametrize("name", CASES)
def test_blocks_have_the_bits_of_those_one_by_one(name: str) -> None:
    """Whatever the chunks of arguments are: these do not divide as blocks do."""
    assert_blocks(CASES[name], 4)


@pytest.mark.parametrize("name", CASES)
def test_blocks_are_as_chunks_where_nothing_else_is_said(name: str) -> None:
    case = CASES[name]
    f = case.function
    arguments = case.arguments(f)
    for length in (5, 1000):
        found = computed(f.dask(**in_chunks(arguments, length)))
        for one, other in zip(several(f(**arguments)), found, strict=True):
            np.testing.assert_allclose(other, one, 1e-12, 1e-13)
            assert other.shape == one.shape


def test_results_have_the_chunks_of_arguments() -> None:
    f = tadc.function(SLIDING)
    y = f.dask(da.ones(50, chunks=(20, 7, 23)), [1, 2, 3])
    assert y.chunks == ((20, 7, 21),)
    a, b = da.ones((6, 8), chunks=(2, 4)), da.ones((8, 9), chunks=(4, 3))
    c = tadc.function(PRODUCT).dask(a, b)
    assert c.chunks == ((2, 2, 2), (3, 3, 3))
    np.testing.assert_array_equal(computed(c)[0], np.full((6, 9), 8.0))
    z = tadc.function(SERIES).dask(da.ones((9, 10), chunks=(3, 4)))
    assert z.chunks == ((3, 3, 3), (4, 4, 2))


@pytest.mark.parametrize(
    ("text", "shape", "chunks", "want"),
    [
        ("x: f64[2*N]; y[i: N] = x[2*i] - x[2*i + 1]**2", (40,), (10,), ((5, 5, 5, 5),)),
        ("x: f64[N]; y[i: N] = x[N - 1 - i]*2", (40,), ((7, 13, 20),), ((20, 13, 7),)),
        ("x: f64[N]; y[i: 3*N] = x[i // 3]*i", (7,), (4,), ((12, 9),)),
        ("x: f64[N]; y[i: N//3] = max{p: 3} (x[3*i + p])", (30,), (7,), ((3, 2, 2, 3),)),
        ("x: f64[2*N]; s = sum{i: N} (x[2*i])", (40,), (10,), ()),
        (
            "x: f64[B, 2*N + 1]; w: f64[3]; y[b, i: N] = sum{p} (w[p]*x[b, 2*i + p])",
            (4, 41),
            (2, 10),
            ((2, 2), (5, 5, 5, 5)),
        ),
    ],
    ids=["stride", "reflection", "repetition", "pooling", "sum", "convolution"],
)
def test_chunks_are_followed_through_index_maps(text: str, shape: Any, chunks: Any, want: Any) -> None:
    f = tadc.function(text)
    x = np.random.default_rng(5).uniform(size=shape)
    w = {"w": np.array([1.0, 2.0, 3.0])} if "w" in f.inputs else {}
    found = f.dask(x=da.from_array(x, chunks=chunks), **w)
    assert found.chunks == want
    np.testing.assert_allclose(computed(found)[0], f(x=x, **w), 1e-14)


def test_gradients_have_the_chunks_of_arguments() -> None:
    """Of what they read, where nothing has their own."""
    f = tadc.vjp(tadc.function("x: f64[2*N]; y[i: N] = x[2*i]*x[2*i + 1]"))
    x, dy = np.random.default_rng(6).uniform(size=20), np.arange(10.0)
    found = f.dask(da.from_array(x, chunks=(4, 6, 10)), dy)
    assert found.chunks == ((4, 6, 10),)
    np.testing.assert_array_equal(computed(found)[0], f(x, dy))
    reflected = tadc.vjp(tadc.function("x: f64[N]; y[i: N] = x[N - 1 - i]*2"))
    assert reflected.dask(np.zeros(10), da.from_array(dy, chunks=((3, 3, 4),))).chunks == ((4, 3, 3),)


def test_a_stage_is_a_layer() -> None:
    """And a block one task, where it is all of a result's chunk."""
    y = tadc.function(SLIDING).dask(da.ones(50, chunks=10), np.ones(3))
    assert len(y.dask.layers) == 3
    assert len(y.dask.layers[y.name]) == 5
    assert y.dask.layers[y.name].get_output_keys() == set(flatten(y.__dask_keys__()))


def test_an_array_of_dask_is_not_computed_by_a_call() -> None:
    with pytest.raises(tadc.ArgumentError, match=r"f\.dask") as caught:
        tadc.function(SLIDING)(da.ones(9, chunks=3), np.ones(3))
    assert [d.code for d in caught.value.diagnostics] == ["TAD0504"]


def test_a_chunk_that_all_blocks_need() -> None:
    f = tadc.function(SLIDING)
    x = da.ones(2**18, chunks=-1)
    with pytest.warns(tadc.CompileWarning, match=r"x\.rechunk\({0: 26214}\)") as seen:
        y = f.dask(x, np.ones(3), chunks={"i": 2**18 // 10})
    (warning,) = seen
    assert "TAD1003" in str(warning.message)
    assert warning.filename == __file__
    assert y.numblocks == (11,)
    with warnings.catch_warnings(action="error"):
        f.dask(x.rechunk(2**15), np.ones(3))
        f.dask(da.ones(2**10, chunks=-1), np.ones(3), chunks={"i": 100})
        f.dask(np.ones(2**18), np.ones(3), chunks={"i": 2**15})


def test_chunks_of_which_nobody_knows_the_lengths() -> None:
    x = da.ones(20, chunks=5)
    with pytest.raises(tadc.ArgumentError, match="compute_chunk_sizes"):
        tadc.function(SLIDING).dask(x[x > 0], np.ones(3))


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (lambda x: x.map_blocks(lambda c: c.astype("c16"), dtype="f8"), "TAD0504"),
        (lambda x: x.map_blocks(lambda c: c[1:], dtype="f8", chunks=x.chunks), "TAD0503"),
        (lambda x: x.map_blocks(sparse.csr_array, dtype="f8", meta=sparse.csr_array((0, 0))), "TAD0504"),
        (lambda x: da.ma.masked_greater(x, 3), "TAD0504"),
    ],
    ids=["type", "shape", "sparse", "masked"],
)
def test_chunks_that_are_not_what_is_promised(change: Any, code: str) -> None:
    f = tadc.function("x: f64[N, M]; y[i: N - 1, j] = x[i + 1, j] - x[i, j]")
    with pytest.raises(tadc.ArgumentError) as caught:
        computed(f.dask(change(da.ones((20, 3), chunks=(5, 3)))))
    assert [d.code for d in caught.value.diagnostics] == [code]


def test_blocks_that_there_is_no_memory_for() -> None:
    f = tadc.function("x: f64[N]; y[i: N, j: N] = x[i]*x[j]")
    lazy = f.dask(da.ones(1 << 22, chunks=-1), chunks={"i": 1 << 22})
    with pytest.raises(tadc.ArgumentError, match="chunks=") as caught:
        computed(lazy)
    assert [d.code for d in caught.value.diagnostics] == ["TAD0506"]


def test_a_process_without_tadc_says_so() -> None:
    """It hands tasks on as they are, and a process that has tadc computes them."""
    task = JoinParts("sum")
    program = """
import pickle, sys
class No:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "tadc":
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, No())
task = pickle.loads(bytes.fromhex(sys.argv[1]))
print(pickle.dumps(task).hex())
try:
    task(1, 2)
except RuntimeError as error:
    print(error)
"""
    words = [sys.executable, "-I", "-c", program, pickle.dumps(task).hex()]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=True)
    handed_on, *lines = done.stdout.splitlines()
    assert pickle.loads(bytes.fromhex(handed_on)) == task
    assert lines[0].startswith("error[TAD0802]")
    assert "tadc-compiler[dask]" in lines[-1]


def test_empty_chunks() -> None:
    f = tadc.function(SLIDING)
    x = np.arange(20.0)
    lazy = da.from_array(x, chunks=((0, 7, 0, 5, 8),))
    w = [1.0, 2.0, 3.0]
    for chunks in (None, {"i": 4}):
        np.testing.assert_array_equal(computed(f.dask(lazy, w, chunks=chunks))[0], f(x, w))
    assert computed(f.dask(da.ones(2, chunks=1), w))[0].shape == (0,)
    assert computed(tadc.function("x: f64[N]; s = sum{i} (x[i])").dask(da.ones(0, chunks=1)))[0] == 0


def test_parts_of_blocks_that_have_none() -> None:
    """Of a result that is shorter than others along an index: these join nothing."""
    f = tadc.function("x: f64[N]; y[i: N, j: 6] = x[i]*j; z[i: N - 2] = sum{j: 6} (x[i]*y[i, j])")
    x = np.arange(1.0, 6.0)
    y, z = computed(f.dask(da.from_array(x, chunks=2), chunks={"i": 2, "j": 2}))
    np.testing.assert_array_equal(y, f(x).y)
    np.testing.assert_allclose(z, f(x).z)


def test_blocks_that_read_nothing() -> None:
    """Of a tensor that is read in the first places alone."""
    f = tadc.function("x: f64[N]; y[i: 3*N] = if {i < N} then (x[i]) else (1)")
    x = np.random.default_rng(0).uniform(size=10)
    y = f.dask(da.from_array(x, chunks=4), chunks={"i": 4})
    np.testing.assert_array_equal(computed(y)[0], f(x))


@pytest.mark.parametrize(
    ("chunks", "code"),
    [({"i": 0}, "TAD0510"), ({"i": (3, 3)}, "TAD0510"), ({"q": 3}, "TAD1001"), ("i", "TAD0510")],
)
def test_chunks_that_are_none(chunks: Any, code: str) -> None:
    with pytest.raises(tadc.CompileError) as caught:
        tadc.function(SLIDING).dask(da.ones(9, chunks=3), np.ones(3), chunks=chunks)
    assert [d.code for d in caught.value.diagnostics] == [code]


def test_arguments_that_do_not_fit() -> None:
    """It is said when a function is called, not when something is computed."""
    f = tadc.function(PRODUCT)
    with pytest.raises(tadc.ArgumentError, match="TAD0503"):
        f.dask(da.ones((3, 4)), da.ones((5, 6)))
    with pytest.raises(tadc.ArgumentError, match="TAD0504"):
        f.dask(da.ones((3, 4), dtype="c16"), da.ones((4, 6)))
    with pytest.raises(tadc.CompileError, match="`b` is missing"):
        f.dask(da.ones((3, 4)))


def test_types_and_sizes_are_those_of_arrays() -> None:
    f = tadc.function("x: T[N]; y[i: N - 1] = x[i + 1] - x[i]")
    assert f.dask(da.ones(9, chunks=3, dtype="f4")).dtype == np.float32
    assert tadc.dask.wrap(f).__class__.__name__ == "DaskFunction"
    g = tadc.function("x: f64[N*M]; size M; y[i: N, j: M] = x[M*i + j]")
    y = g.dask(da.arange(12.0, chunks=5), N=4, M=3)
    np.testing.assert_array_equal(computed(y)[0], np.arange(12.0).reshape(4, 3))


def test_arrays_in_files(tmp_path: Any) -> None:
    """Mapped, of HDF5 and of Zarr: only chunks of them are read."""
    x = np.random.default_rng(1).uniform(size=1000)
    f = tadc.function(SLIDING)
    want = f(x, [1, 2, 3])
    mapped = np.memmap(tmp_path / "x", np.float64, "w+", shape=1000)
    mapped[:] = x
    found = f.dask(mapped, [1, 2, 3], chunks={"i": 100})
    assert found.numblocks == (10,)
    np.testing.assert_array_equal(computed(found)[0], want)
    lazy = da.from_array(mapped, chunks=100)
    np.testing.assert_array_equal(computed(f.dask(lazy, [1, 2, 3]))[0], want)
    y = np.memmap(tmp_path / "y", np.float64, "w+", shape=998)
    da.store(f.dask(lazy, [1, 2, 3]), y, scheduler="threads")
    np.testing.assert_array_equal(y, want)


def test_mapped_files_are_neither_copied_nor_sent(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each process maps the file; chunks are runs of it."""
    monkeypatch.setattr(dask_arrays, "BLOCK_BYTES", 8 * 60)
    x = np.memmap(tmp_path / "x", np.float64, "w+", offset=5000, shape=(100, 20))
    x[:] = np.random.default_rng(7).uniform(size=x.shape)
    f = tadc.function("x: f64[N, M]; y[i: N - 2, j] = x[i, j] - 2*x[i + 1, j] + x[i + 2, j]")
    for part in (x, x[7:90], x[::2], x[:, 3:9]):
        np.testing.assert_array_equal(computed(f.dask(part))[0], f(np.array(part)))
    lazy = f.dask(x[7:90])
    assert lazy.chunks[0][:2] == (3, 3)
    assert lazy.numblocks == (27, 1)
    x[50] += 1
    np.testing.assert_array_equal(computed(lazy)[0], f(np.array(x[7:90])))
    source = mapped_file(x[7:90])
    assert len(pickle.dumps(source)) < 2000
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(source))[3:5], x[10:12])
    assert mapped_file(x[::2]) is None


@pytest.mark.parametrize("scheduler", ["threads", pytest.param("processes", marks=pytest.mark.sweep)])
def test_blocks_are_written_into_arrays(tmp_path: Any, scheduler: str) -> None:
    """In memory, where threads write themselves; in files that are mapped; sums of blocks too."""
    f = tadc.value_and_vjp(tadc.function("x: f64[N]; y[i: N - 2] = x[i]*x[i + 2]; s = sum{i} (y[i])"))
    x, w = np.random.default_rng(8).uniform(size=50), np.ones(48)
    lazy = da.from_array(x, chunks=10)
    want = f.block(i=10)(x, w, 2.0)
    y, dx = np.zeros(48), np.memmap(tmp_path / "dx", np.float64, "w+", shape=60)[4:54]
    with dask.config.set(scheduler=scheduler, num_workers=2):
        found = f.dask(lazy, w, 2.0, chunks={"i": 10}, out={"y": y, "dx": dx})
    assert found.y is y
    assert found.dx is dx
    for one, other in zip(want, found, strict=True):
        np.testing.assert_array_equal(other, one)


def test_blocks_are_not_written_where_others_read() -> None:
    f = tadc.function("x: f64[N]; y[i: N] = if {i >= 1} then (x[i - 1]) else (x[i])")
    x = np.arange(50.0)
    for call in (lambda: f.block(i=10)(x, out=x), lambda: f.dask(x, chunks={"i": 10}, out=x[:])):
        with pytest.raises(tadc.UsageError, match="memory of `x`"):
            call()
    with pytest.raises(tadc.UsageError, match="shape"):
        f.dask(x, out=np.zeros(49))


def test_arrays_of_zarr(tmp_path: Any) -> None:
    """Read in their chunks, and written in those of blocks; `f.block` reads and writes them too."""
    zarr = pytest.importorskip("zarr")
    x = zarr.create_array(str(tmp_path / "x"), shape=(1000,), chunks=(100,), dtype="f8")
    x[:] = np.arange(1000.0) ** 2
    f = tadc.function(SLIDING)
    want = f(x[:], [1, 0, -1])
    lazy = f.dask(da.from_zarr(x), [1, 0, -1])
    assert lazy.numblocks == (10,)
    for found in (lazy, f.dask(x, [1, 0, -1])):
        np.testing.assert_array_equal(computed(found)[0], want)
    y = zarr.create_array(str(tmp_path / "y"), shape=(998,), chunks=(100,), dtype="f8")
    with dask.config.set({"array.chunk-size": 800}):  # else Dask joins chunks that are so small
        da.to_zarr(lazy, y)
    np.testing.assert_array_equal(y[:], want)
    y[:] = 0
    assert f.dask(x, [1, 0, -1], out=y) is y
    np.testing.assert_array_equal(y[:], want)
    y[:] = 0
    assert f.block(i=100)(x, [1, 0, -1], out=y) is y
    np.testing.assert_array_equal(y[:], want)


def test_arrays_of_hdf5(tmp_path: Any) -> None:
    h5py = pytest.importorskip("h5py")
    f = tadc.function(SLIDING)
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file.create_dataset("x", data=np.arange(1000.0) ** 2, chunks=(100,))
        want = f(file["x"][:], [1, 0, -1])
        lazy = f.dask(da.from_array(file["x"], chunks=100), [1, 0, -1])
        assert lazy.numblocks == (10,)
        np.testing.assert_array_equal(computed(lazy)[0], want)
        y = file.create_dataset("y", (998,), np.float32)
        da.store(lazy, y, scheduler="threads")
        np.testing.assert_array_equal(y[:], want.astype(np.float32))
        z = file.create_dataset("z", (998,), np.float64)
        assert f.block(i=100)(file["x"], [1, 0, -1], out=z) is z
        np.testing.assert_array_equal(z[:], want)


def test_dask_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "dask.array", None)
    with pytest.raises(tadc.UsageError, match=r"tadc-compiler\[dask\]"):
        tadc.dask.wrap(tadc.function(SLIDING))


def test_progress_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    y = tadc.function(SLIDING).dask(da.ones(50, chunks=5), np.ones(3))
    with ProgressBar(dt=0.01):
        computed(y)
    assert "100%" in capsys.readouterr().out


def test_errors_of_tasks_are_diagnostics() -> None:
    """An element of an index array that is out of range is seen where blocks are computed."""
    f = tadc.function("x: f64[N]; at: index[E] in N; y[e: E] = x[at[e]]")
    y = f.dask(da.ones(9, chunks=3), da.from_array(np.array([1, 2, 30]), chunks=2))
    with pytest.raises(tadc.ArgumentError, match="TAD0511"):
        computed(y)


def test_whole_arrays_are_put_together_once() -> None:
    """An array that every block reads all of is one task, however many chunks it has."""
    case = CASES["edges"]
    f = tadc.function(case.text)
    arguments = case.arguments(f)
    m = f.dask(**in_chunks(arguments, 7), chunks={"n": 2})
    tasks = m.dask.layers[m.name]
    boxes = [key for key in tasks if "_box-" in key[0]]
    assert {key[0].partition("_box")[0] for key in boxes} == {"x", "src", "dst", "w"}
    assert len(boxes) == 4


def test_small_pieces_of_large_chunks_are_cut_where_these_are() -> None:
    """A neighbour's halo moves, not its chunk."""
    f = tadc.function("x: f64[N]; y[i: N - 1] = x[i + 1] - x[i]")
    x = np.random.default_rng(2).uniform(size=10 * 2**17)
    y = f.dask(da.from_array(x, chunks=2**17))
    pieces = [key for key in y.dask.layers[y.name] if "_piece-" in key[0]]
    assert len(pieces) == 9
    np.testing.assert_array_equal(computed(y)[0], f(x))


@pytest.mark.parametrize("derive", [lambda f: f, tadc.vjp], ids=["value", "gradient"])
def test_what_reads_one_chunk_is_computed_from_that(derive: Any) -> None:
    """Only rims of a block are computed of what is put together; its middle reads its chunk where that is."""
    f = derive(tadc.function("x: f64[N, M]; y[i: N - 2, j] = x[i, j] - 2*x[i + 1, j] + x[i + 2, j]"))
    *others, argument = f.inputs
    u = np.random.default_rng(3).uniform(size=(40, 6))
    given = {argument: u, **{name: np.zeros((42, 6)) for name in others}}
    found = f.dask(**{name: da.from_array(array, chunks=(10, -1)) for name, array in given.items()})
    task = found.dask.layers[found.name][found.name, 1, 0][0]
    layout, dtype = task.layouts[argument]
    chunks = [np.zeros((10, 6)) for _ in layout.pieces]
    boxes = [layout.box(chunks, dtype, part.reads[argument]) for part in task.parts]
    assert any(len(box) == 10 for box in boxes)
    assert [len(box) == 10 for box in boxes] == [any(np.shares_memory(b, c) for c in chunks) for b in boxes]
    np.testing.assert_array_equal(computed(found)[0], f(**given))


def test_what_was_computed_is_known_by_its_name() -> None:
    f = tadc.function(SLIDING)
    x = da.ones(50, chunks=5)
    one, other = f.dask(x, [1, 2, 3]), tadc.function(SLIDING).dask(x, [1, 2, 3])
    assert one.name == other.name
    assert one.name != f.dask(x, [1, 2, 4]).name
    assert one.name != f.dask(x, [1, 2, 3], chunks={"i": 7}).name
