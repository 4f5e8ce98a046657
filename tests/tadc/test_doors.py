"""What is wrong with a call is said in the same words by every way into a kernel."""

from __future__ import annotations

import ctypes
import json
import re
import shutil
import subprocess
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from scipy.sparse import csr_array

import tadc
from tadc.frontend.extents import told_sizes
from tests.backend.test_cuda_out import on_the_emulator

SCALED = tadc.function("x: f64[N]; w: f64[3]; a: f64; y[i: N] = a*x[i]*w[0] + w[2]")
SINGLE = tadc.function("x: f32[N]; z: f32[N]; y[i] = x[i]*z[i]")
DOUBLED = tadc.function("x: f64[N]; p: f64[2*N]; y[i] = x[i] + p[2*i]")
LOOKED_UP = tadc.function("x: f64[N]; src: index[E] in N; y[e] = x[src[e]]")
CORNERS = tadc.function("x: f64[N]; t: index[E, 2] in N; y[e] = x[t[e, 0]] + x[t[e, 1]]")
ROWS = tadc.function(
    "x: f64[E]; ptr: index[R + 1] in E + 1 increasing; y[r: R] = sum{e}_(ptr[r])^(ptr[r + 1] - 1) (x[e])"
)
COUNTED = tadc.function("size M; x: f64[M]; y[i: M] = x[i]")
DOUBLES = tadc.function("x: f64[N, M]; y[i: N, j: M] = 2*x[i, j]")
SHORTER = tadc.function("x: f64[N]; y[i: N - 3] = x[i]")

X, W, ONE = np.arange(4.0), np.arange(3.0), np.ones(1)
FINE = {"x": X, "w": W, "a": ONE[0]}


class Elsewhere:
    """An array on a device that no kernel runs on."""

    shape, dtype = (4,), np.dtype(np.float64)

    def __dlpack_device__(self) -> tuple[int, int]:
        return 8, 0

    def __dlpack__(self, **_: Any) -> Any:
        raise BufferError


ALL = "numpy torch jax gpu wasm"


class Mistake(NamedTuple):
    f: tadc.Function
    given: Mapping[str, Any]
    #: The message and its notes, or a part.
    says: str
    positional: tuple[Any, ...] = ()
    #: The doors at which this can be done, and is wrong.
    doors: str = ALL


def of(**changes: Any) -> dict[str, Any]:
    return {name: value for name, value in {**FINE, **changes}.items() if value is not Ellipsis}


IN_SHAPES = "numpy torch jax gpu"
SHAPES_ALONE = "meta eval_shape"
HELD = "torch gpu wasm"
ANY = "numpy torch jax"

MISTAKES = {
    "type": Mistake(
        SINGLE,
        {"x": X, "z": X.astype("f4")},
        "error[TAD0504]: `x` has elements of type float64, which f32 cannot hold without loss\n"
        "  = note: the program declares `x: f32[N]`",
        doors=f"numpy torch jax wasm {SHAPES_ALONE}",
    ),
    "integers": Mistake(
        SINGLE,
        {"x": X.astype("i8"), "z": X.astype("f4")},
        "`x` has elements of type int64, which f32 cannot hold without loss",
        doors="numpy torch",
    ),
    "narrower type": Mistake(
        SCALED, of(x=X.astype("f4")), "`x` has elements of type float32, expected float64", doors=HELD
    ),
    "complex": Mistake(
        SCALED,
        of(x=X + 1j),
        "`x` has elements of type complex128, which f64 cannot hold without loss",
        doors=f"{ANY} {SHAPES_ALONE}",
    ),
    "rank": Mistake(
        SCALED,
        of(x=X.reshape(2, 2)),
        "error[TAD0503]: `x` has 2 dimensions, shape (2, 2), expected 1",
        doors=f"{IN_SHAPES} {SHAPES_ALONE}",
    ),
    "extent": Mistake(
        SINGLE,
        {"x": X.astype("f4"), "z": np.ones(5, "f4")},
        "error[TAD0503]: dimension 0 of `z` has 5 elements, expected 4\n"
        "  = note: the program declares `z: f32[N]`\n  = note: `N` is 4, from dimension 0 of `x`",
        doors=f"{IN_SHAPES} {SHAPES_ALONE}",
    ),
    "elements": Mistake(
        SCALED, of(x=np.ones(5), N=4), "error[TAD0503]: `x` has 5 elements, expected 4", doors="wasm"
    ),
    "form": Mistake(
        DOUBLED,
        {"x": X, "p": np.ones(7)},
        "error[TAD0503]: dimension 0 of `p` has 7 elements, expected 8",
        doors=f"{IN_SHAPES} {SHAPES_ALONE}",
    ),
    "number": Mistake(
        SCALED,
        of(w=np.ones(5)),
        "error[TAD0503]: `w` has shape (5,), expected (3,)",
        doors=f"{IN_SHAPES} {SHAPES_ALONE}",
    ),
    "missing": Mistake(
        SCALED,
        of(a=...),
        "error[TAD0501]: argument `a` is missing\n"
        "  = note: the function takes `x: f64[N], w: f64[3], a: f64`",
    ),
    "unknown": Mistake(
        SCALED,
        of(b=X),
        "error[TAD0502]: there is no argument `b`\n"
        "  = note: the function takes `x: f64[N], w: f64[3], a: f64`",
    ),
    "too many": Mistake(
        SCALED,
        {},
        "error[TAD0502]: 4 positional arguments given, expected at most 3",
        (X, W, ONE[0], X),
        IN_SHAPES,
    ),
    "too few": Mistake(
        SCALED,
        {},
        "error[TAD0501]: argument `a` is missing\n"
        "  = note: the function takes `x: f64[N], w: f64[3], a: f64`",
        (X, W),
        IN_SHAPES,
    ),
    "twice": Mistake(
        SCALED,
        {"x": X},
        "error[TAD0502]: argument `x` is given twice\n"
        "  = note: once by name, and as positional argument number 1",
        (X, W, ONE[0]),
        IN_SHAPES,
    ),
    "None": Mistake(
        SCALED,
        of(x=None),
        "error[TAD0504]: `x` is not an array of numbers but a value of type NoneType",
        doors=IN_SHAPES,
    ),
    "text": Mistake(
        SCALED,
        of(x="abc"),
        "error[TAD0504]: `x` is not an array of numbers but a value of type str",
        doors=IN_SHAPES,
    ),
    "masked": Mistake(
        SCALED,
        of(x=np.ma.array(X, mask=X > 2)),
        "error[TAD0504]: `x` has masked elements, which have no value",
        doors=ANY,
    ),
    "extended": Mistake(
        SCALED,
        of(x=X.astype([("a", "f8")])),
        "`x` has elements of type void64, which f64 cannot hold without loss",
        doors=ANY,
    ),
    "sparse": Mistake(
        SCALED,
        of(x=csr_array(np.eye(4))),
        "error[TAD0504]: `x` is a sparse array, and the program has all its elements",
        doors=ANY,
    ),
    "mapping": Mistake(
        SCALED, of(x={"x": X}), "error[TAD0504]: `x` is a mapping, not an array", doors=IN_SHAPES
    ),
    "scalar for array": Mistake(
        SCALED, of(x=2.0), "error[TAD0503]: `x` has 0 dimensions, shape (), expected 1", doors=IN_SHAPES
    ),
    "array for scalar": Mistake(
        SCALED,
        of(a=X),
        "error[TAD0503]: `a` has 1 dimension, shape (4,), expected 0",
        doors=f"{IN_SHAPES} {SHAPES_ALONE}",
    ),
    "device": Mistake(
        SCALED,
        of(x=Elsewhere()),
        "error[TAD0504]: `x` cannot be read: it is on a device without kernels (Metal)",
        doors=IN_SHAPES,
    ),
    "index type": Mistake(
        LOOKED_UP,
        {"x": X, "src": np.zeros(2)},
        "error[TAD0504]: `src` has elements of type float64, but indices are integers",
        doors=f"numpy torch jax wasm {SHAPES_ALONE}",
    ),
    "index": Mistake(
        LOOKED_UP,
        {"x": X, "src": np.array([0, 7], np.int32)},
        "error[TAD0511]: `src[1]` is 7, but must be below N = 4\n"
        "  = note: the program declares `src: index[E] in N`",
    ),
    "negative index": Mistake(
        LOOKED_UP,
        {"x": X, "src": np.array([0, -1], np.int32)},
        "error[TAD0511]: `src[1]` is -1, but must be at least 0",
        doors=f"{ALL} c",
    ),
    "wrong indices": Mistake(
        CORNERS,
        {"x": X, "t": np.array([[0, 1], [9, 2], [-3, 9]], np.int32)},
        "error[TAD0511]: `t[1, 0]` is 9, but must be below N = 4\n"
        "  = note: so are 2 more of its 6 elements\n"
        "  = note: the program declares `t: index[E, 2] in N`",
        doors=f"{ALL} c",
    ),
    "falling": Mistake(
        ROWS,
        {"x": X, "ptr": np.array([0, 3, 2, 4], np.int32)},
        "error[TAD0511]: `ptr[2]` is 2, less than `ptr[1]`, which is 3\n"
        "  = note: the program declares `ptr: index[R + 1] in E + 1 increasing`",
        doors=f"{ALL} c",
    ),
    "other size": Mistake(
        SCALED,
        of(N=5),
        "error[TAD0503]: dimension 0 of `x` has 4 elements, expected 5\n"
        "  = note: the program declares `x: f64[N]`\n  = note: `N` is 5, as given by name",
        doors=IN_SHAPES,
    ),
    "negative size": Mistake(
        SCALED,
        of(N=-4),
        "error[TAD0508]: size `N` cannot be -4\n  = note: a size is in 0..2**40 - 1",
        doors=f"{ALL} c",
    ),
    "no size": Mistake(
        SCALED, of(N="4"), "error[TAD0508]: size `N` must be an integer, not str", doors=IN_SHAPES
    ),
    "missing size": Mistake(
        SCALED, of(N=None), "error[TAD0501]: size `N` is missing\n  = note: no array tells it", doors="wasm"
    ),
    "no meaning": Mistake(SHORTER, {"x": np.ones(2)}, "error[TAD0507]: ", doors=f"{ALL} c"),
}


def numpy_door(mistake: Mistake) -> Any:
    return mistake.f(*mistake.positional, **mistake.given)


def framework_door(view: str, make: Callable[[Any], Any]) -> Callable[[Mistake], Any]:
    def call(mistake: Mistake) -> Any:
        given = {
            n: make(v) if type(v) is np.ndarray and v.dtype.names is None else v
            for n, v in mistake.given.items()
        }
        return getattr(mistake.f, view)(*map(make, mistake.positional), **given)

    return call


def gpu_door(mistake: Mistake) -> Any:
    def placed(value: Any) -> Any:
        return on_the_emulator(np.require(value, None, "C")) if isinstance(value, np.ndarray) else value

    given = {name: placed(value) for name, value in mistake.given.items()}
    return _emulated(mistake.f)(*map(placed, mistake.positional), **given)


@cache
def _emulated(f: tadc.Function) -> Any:
    return tadc.compile(f, target="emulated")


def arrays_and_sizes(mistake: Mistake) -> tuple[dict[str, Any], dict[str, int]]:
    """What doors without shapes take: all sizes by name."""
    program = mistake.f.program
    arrays = {n: np.asarray(v) for n, v in mistake.given.items() if n not in program.sizes}
    sizes = {n: v for n, v in mistake.given.items() if n in program.sizes}
    told = [a for a in program.arguments if a.name in arrays]
    told_sizes([a.shape for a in told], [arrays[a.name].shape for a in told], sizes)
    return arrays, sizes


@pytest.fixture(scope="module")
def c_door(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Mistake], Any]:
    """Raises ValueError with what the header says of the status."""
    _ = shutil.which("cc") or pytest.skip("no cc in PATH")

    def call(mistake: Mistake) -> None:
        folder, f = tmp_path_factory.mktemp("c"), mistake.f
        tadc.export(f, folder / "f.so", folder / "f.h", prefix="f")
        arrays, sizes = arrays_and_sizes(mistake)
        room = [np.empty(64) for _ in f.outputs] + [np.empty(1 << 16)]
        given = [ctypes.c_void_p(a.ctypes.data) for a in [*(arrays[n] for n in f.inputs), *room]]
        numbers = [ctypes.c_int64(sizes[n]) for n in f.program.sizes]
        status = ctypes.CDLL(str(folder / "f.so")).f(*given, *numbers)
        found = re.findall(rf"#define TADC_[BN]\w+ {status} /\* (.*) \*/", (folder / "f.h").read_text())
        if status:
            raise ValueError(f"error[{found[0]}")

    return call


CALL = """
import { load } from "./f.mjs";
const types = { float64: Float64Array, float32: Float32Array, int32: Int32Array, int64: BigInt64Array };
const [given, sizes] = JSON.parse(process.argv[2]);
const made = Object.fromEntries(Object.entries(given).map(([n, [type, a]]) => [n, types[type].from(a)]));
const { f } = await load("f.wasm");
try { f(made, sizes); } catch (error) { console.log(error.message); }
"""


@pytest.fixture(scope="module")
def wasm_door(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Mistake], Any]:
    node = shutil.which("node") or pytest.skip("no node in PATH")
    folders: dict[tadc.Function, Path] = {}

    def call(mistake: Mistake) -> Any:
        f = mistake.f
        if f not in folders:
            folders[f] = tmp_path_factory.mktemp("wasm")
            tadc.export(f, folders[f] / "f.wasm", folders[f] / "f.mjs", prefix="f", target="wasm32")
            (folders[f] / "main.mjs").write_text(CALL)
        arrays, sizes = arrays_and_sizes(mistake)
        words = json.dumps([{n: [str(a.dtype), a.ravel().tolist()] for n, a in arrays.items()}, sizes])
        done = subprocess.run(
            [node, "main.mjs", words], cwd=folders[f], capture_output=True, text=True, check=True
        )
        if done.stdout:
            raise ValueError(done.stdout)

    return call


def doors(request: pytest.FixtureRequest, door: str) -> Callable[[Mistake], Any]:
    if door == "torch":
        torch: Any = pytest.importorskip("torch")
        return framework_door("torch", lambda v: torch.from_numpy(v) if isinstance(v, np.ndarray) else v)
    if door == "jax":
        jax: Any = pytest.importorskip("jax")
        jax.config.update("jax_enable_x64", True)
        return framework_door("jax", jax.numpy.asarray)
    if door == "meta":
        torch = pytest.importorskip("torch")
        return framework_door(
            "torch", lambda v: torch.from_numpy(v).to("meta") if isinstance(v, np.ndarray) else v
        )
    if door == "eval_shape":
        jax = pytest.importorskip("jax")
        jax.config.update("jax_enable_x64", True)
        return lambda mistake: jax.eval_shape(mistake.f.jax, *mistake.positional, **mistake.given)
    if door in ("c", "wasm"):
        return request.getfixturevalue(f"{door}_door")
    return {"numpy": numpy_door, "gpu": gpu_door}[door]


@pytest.mark.parametrize(("mistake", "door"), [(n, d) for n, m in MISTAKES.items() for d in m.doors.split()])
def test_the_same_words(request: pytest.FixtureRequest, mistake: str, door: str) -> None:
    with pytest.raises(ValueError, match="error") as error:
        doors(request, door)(MISTAKES[mistake])
    text = str(error.value)
    says = MISTAKES[mistake].says
    assert (says[len("error[") : says.index("]")] if door == "c" else says) in text
    assert text.count("error[") == 1


ROWS_OF_X = np.arange(6.0).reshape(2, 3)
GIVEN: dict[str, Any] = {
    "gaps": np.arange(8.0)[::2],
    "read-only": np.broadcast_to(np.float64(2), 4),
    "backwards": X[::-1],
    "byte order": X.astype(">f8"),
    "empty": np.zeros(0),
    "list": [0.0, 1.0, 2, 3.5],
    "column order": np.asfortranarray(ROWS_OF_X),
    "transposed": ROWS_OF_X.T,
    "no rows": np.zeros((0, 3)),
}


@pytest.mark.parametrize("door", ["numpy", "torch", "jax"])
@pytest.mark.parametrize("kind", GIVEN)
def test_what_is_read_as_it_is(request: pytest.FixtureRequest, kind: str, door: str) -> None:
    if door == "torch" and kind in ("byte order", "list"):
        pytest.skip("no tensor is one")
    x = GIVEN[kind]
    if door == "torch":
        # From NumPy it takes no negative strides, and warns of what cannot be written.
        x = x.copy()[::1] if kind in ("read-only", "backwards") else x
    given = {"x": x} if np.ndim(x) == 2 else {"x": x, "w": W, "a": 2.0}
    f = DOUBLES if np.ndim(x) == 2 else SCALED
    # JAX makes no arrays of another order, nor takes a list as one: the view itself does.
    as_it_is = door == "jax" and kind in ("byte order", "list")
    found = f.jax(**given) if as_it_is else doors(request, door)(Mistake(f, given, ""))
    added = W[2] if f is SCALED else 0
    np.testing.assert_array_equal(np.asarray(found), 2 * np.asarray(x) * (W[0] if added else 1) + added)


@pytest.mark.parametrize("door", ["numpy", "torch", "jax", "gpu"])
@pytest.mark.parametrize("a", [2, 2.0, np.float64(2), np.array(2.0)], ids=["int", "float", "number", "array"])
def test_scalars(request: pytest.FixtureRequest, a: Any, door: str) -> None:
    found = doors(request, door)(Mistake(SCALED, of(a=a), ""))
    np.testing.assert_array_equal(np.asarray(found), 2 * X * W[0] + W[2])


READ_ONLY, REPEATED = np.zeros(4), np.lib.stride_tricks.as_strided(np.zeros(4), (4,), (0,))
READ_ONLY.flags.writeable = False


@pytest.mark.parametrize(
    ("out", "says", "is_of_host"),
    [
        (np.zeros(4, "f4"), "`out` for `y` has elements of type float32, expected float64", False),
        (np.zeros(5), "`out` for `y` has shape (5,), expected (4,)", False),
        (np.zeros((2, 2)), "`out` for `y` has 2 dimensions, shape (2, 2), expected 1", False),
        ((np.zeros(4), np.zeros(4)), "`out` gives 2 arrays for 1 outputs", False),
        ({"z": np.zeros(4)}, "`out` names `z`, which is not an output", False),
        (READ_ONLY, "`out` for `y` is read-only", True),
        (REPEATED, "elements of `out` for `y` overlap", True),
        ([0.0] * 4, "`out` gives 4 arrays for 1 outputs", False),
        ("abcd", "`out` for `y` is of type str, not a NumPy array", True),
    ],
)
def test_what_results_are_not_written_to(out: Any, says: str, is_of_host: bool) -> None:
    def placed(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: placed(each) for name, each in value.items()}
        if isinstance(value, tuple):
            return tuple(map(placed, value))
        return on_the_emulator(value) if isinstance(value, np.ndarray) else value

    ways: list[tuple[Any, Any, Any]] = [(SCALED, X, out)]
    if not is_of_host:
        ways.append((_emulated(SCALED), on_the_emulator(X), placed(out)))
    for call, given, to in ways:
        with pytest.raises(tadc.ArgumentError) as error:
            call(given, W, 2.0, out=to)
        assert [(d.code, d.message) for d in error.value.diagnostics] == [("TAD0505", says)]
