"""The special functions through all doors into a kernel: values and slopes by mpmath."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import mpmath
import numpy as np
import pytest

import tadc
from tadc.passes.numpy_types import numpy_type
from tests.native.programs import compiler
from tests.native.test_wasm import called

MP: Any = mpmath.mp
#: Each function by mpmath, of one argument; `logaddexp` beside this number.
Z = 1.25
EXACT: dict[str, Callable[[Any], Any]] = {
    "lgamma": MP.loggamma,
    "digamma": MP.digamma,
    "trigamma": lambda x: MP.psi(1, x),
    "sinc": MP.sincpi,
    "j0": MP.j0,
    "j1": MP.j1,
    "i0": lambda x: MP.besseli(0, x),
    "i1": lambda x: MP.besseli(1, x),
    "logaddexp": lambda x: MP.log(MP.exp(x) + MP.exp(Z)),
}
#: Numbers that all types hold.
X = np.tile(np.arange(5, 145, 28) / 16, (len(EXACT), 1))
TEXT = "x: TYPE[9, N]; z: TYPE\n" + "\n".join(
    f"y{k}: TYPE[N]; y{k}[i] = {name}(x[{k}, i]{', z' if name == 'logaddexp' else ''})"
    for k, name in enumerate(EXACT)
)  # fmt: skip
#: Relative errors: 4 units in the last place, or little more than that of rounding.
ERRORS = {"f64": 4 * 2.0**-52, "f32": 4 * 2.0**-23, "f16": 0.51 * 2.0**-10, "bf16": 0.51 * 2.0**-7}
Found = tuple[Any, Any, Any]


def through_numpy(f: tadc.Function, x: Any, z: Any, folder: Path) -> Found:
    del folder
    return split(tadc.value_and_vjp(f)(x, z, *np.ones_like(x)))


def on_the_emulator(f: tadc.Function, x: Any, z: Any, folder: Path) -> Found:
    del folder
    return split(tadc.compile(tadc.value_and_vjp(f), target="emulated")(x, z, *np.ones_like(x)))


def through_jax(f: tadc.Function, x: Any, z: Any, folder: Path) -> Found:
    del folder
    with jax.enable_x64(True):
        y, back = jax.vjp(f.jax, *map(jax.numpy.asarray, (x, z)))
        return split((*y, *back(jax.tree.map(jax.numpy.ones_like, y))))


def through_torch(f: tadc.Function, x: Any, z: Any, folder: Path) -> Found:
    del folder
    torch: Any = pytest.importorskip("torch")
    kind = {"f64": torch.float64, "f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}
    given = [
        torch.tensor(a.astype(float), dtype=kind[f.program.arguments[0].type], requires_grad=True)
        for a in (x, z)
    ]
    y = f.torch(*given)
    torch.stack(y).sum().backward()
    return split([a.detach().double() for a in (*y, given[0].grad, given[1].grad)])


def through_wasm(f: tadc.Function, x: Any, z: Any, folder: Path) -> Found:
    g = tadc.value_and_vjp(f)
    given = dict(zip(g.inputs, (x, z, *np.ones_like(x)), strict=True))
    bits = {n: a.view(np.uint16) if a.itemsize == 2 else a for n, a in given.items()}
    found = called(folder, g, "f", bits, {"N": x.shape[1]}).values()
    return split([a.astype(np.uint16).view(x.dtype) if x.itemsize == 2 else a for a in found])


def through_c(f: tadc.Function, x: Any, z: Any, folder: Path) -> Found:
    compiler("cc")
    tadc.export(tadc.value_and_vjp(f), folder / "g.so", prefix="g")
    library, sizes = ctypes.CDLL(str(folder / "g.so")), [ctypes.c_int64(x.shape[1])]
    library.g_scratch.restype = ctypes.c_int64
    results = [*np.zeros_like(x), np.zeros_like(x), np.zeros_like(z)]
    arrays = [x, *np.ones_like(x), *results, np.empty(library.g_scratch(*sizes), np.uint8)]
    at = [ctypes.c_void_p(a.ctypes.data) for a in arrays]
    assert library.g(at[0], ctypes.c_void_p(z.ctypes.data), *at[1:], *sizes) == 0
    return split(results)


def split(found: Any) -> Found:
    """Values in one array, and both gradients."""
    *y, dx, dz = (np.asarray(a, float) for a in found)
    return np.array(y), dx.reshape(len(y), -1), dz


DOORS = {
    "numpy": through_numpy,
    "jax": through_jax,
    "torch": through_torch,
    "wasm": through_wasm,
    "c": through_c,
    "emulated": on_the_emulator,
}


@pytest.mark.parametrize("type", ERRORS)
@pytest.mark.parametrize("door", DOORS)
def test_values_and_gradients(door: str, type: str, tmp_path: Path) -> None:
    kind, f = numpy_type(type), tadc.function(TEXT.replace("TYPE", type))
    y, dx, dz = DOORS[door](f, X.astype(kind), np.asarray(Z).astype(kind), tmp_path)
    with mpmath.workdps(40):
        rows = list(zip(EXACT.values(), X, strict=True))
        values = np.array([[float(exact(MP.mpf(x))) for x in row] for exact, row in rows])
        slopes = np.array([[float(MP.diff(exact, x)) for x in row] for exact, row in rows])
    error = ERRORS[type]
    np.testing.assert_allclose(y, values, rtol=error, atol=error / 16)
    np.testing.assert_allclose(dx, slopes, rtol=error, atol=error / 16)
    np.testing.assert_allclose(dz, np.sum(1 - slopes[-1]), rtol=error)
