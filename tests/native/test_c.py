"""Programs in C and C++ that call what `tadc` writes, by its header alone."""

from __future__ import annotations

import ctypes
import os
import sys
from pathlib import Path
from unittest import mock

import numpy as np
import pytest

import tadc
from tadc.backend.cpu.thread_pool import is_supported
from tadc.passes.numpy_types import numpy_type
from tests.native import programs
from tests.native.programs import compiler, numbers, run, wanted, write
from tests.pages import ROOT, blocks

pytestmark = pytest.mark.as_shipped

MAIN = Path(__file__).with_name("conv.c")


@pytest.mark.parametrize("form", [pytest.param("obj", marks=pytest.mark.sweep), "lib", "so"])
def test_value_and_gradients(form: str, tmp_path: Path) -> None:
    cc = compiler("cc")
    write(tmp_path, form, "h")
    file = {"obj": "conv.o", "lib": "conv.a", "so": "./conv.so"}[form]
    strict = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic"]
    run(tmp_path, cc, *strict, f"-I{tmp_path}", str(MAIN), file, "-o", "main", "-lm")
    np.testing.assert_allclose(numbers(run(tmp_path, "./main").stdout), wanted(), rtol=1e-13, atol=1e-15)


def test_cpp(tmp_path: Path) -> None:
    cpp = compiler("g++")
    write(tmp_path, "lib", "h")
    strict = ["-x", "c++", "-std=c++98", "-Wall", "-Wextra", "-Werror", f"-I{tmp_path}", str(MAIN)]
    run(tmp_path, cpp, *strict, "-x", "none", "conv.a", "-o", "main", "-lm")
    np.testing.assert_allclose(numbers(run(tmp_path, "./main").stdout), wanted(), rtol=1e-13, atol=1e-15)


def test_accesses_stay_inside(tmp_path: Path) -> None:
    """Scratch is as large as it says: what is allocated ends where AddressSanitizer sees it."""
    cc = compiler("gcc")
    write(tmp_path, "obj", "h")
    flags = ["-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all", f"-I{tmp_path}"]
    try:
        run(tmp_path, cc, *flags, str(MAIN), "conv.o", "-o", "main", "-lm")
    except AssertionError as problem:
        if "asan" in str(problem):
            pytest.skip("gcc has no AddressSanitizer")
        raise
    assert numbers(run(tmp_path, "./main").stdout).size == 2 * programs.N + 1


BITS = """
#include <stdio.h>
#include <stdlib.h>
#include "f.h"
static uint16_t x[1 << 16], y[1 << 16], ones[1 << 16], dx[1 << 16];
int main(void) {
    long i, n = sizeof x / sizeof *x;
    double z = 0.75, dz;
    void *scratch = malloc((size_t)f_scratch(n)), *more = malloc((size_t)f_vjp_scratch(n));
    for (i = 0; i < n; i++) { x[i] = (uint16_t)i; ones[i] = ONE; }
    if (f(x, &z, y, scratch, n) != TADC_OK || f_vjp(x, &z, ones, dx, &dz, more, n) != TADC_OK) return 1;
    for (i = 0; i < n; i++) printf("%u %u\\n", (unsigned)y[i], (unsigned)dx[i]);
    return 0;
}
"""


@pytest.mark.parametrize("type", ["f16", "bf16"])
def test_floats_of_16_bits(type: str, tmp_path: Path) -> None:
    """They are `uint16_t`; all that there are come in, and products with an f64 are rounded to them."""
    f, kind = tadc.function(f"x: {type}[N]; z: f64; y: {type}[N]; y[i] = z * x[i]"), numpy_type(type)
    tadc.export(f, tmp_path / "f.h", tmp_path / "f.o", prefix="f", wrt=f.inputs)
    (tmp_path / "main.c").write_text(BITS)
    strict = ["-std=c99", "-Wall", "-Wextra", "-Werror", f"-DONE={np.ones((), kind).view(np.uint16)}"]
    run(tmp_path, compiler("cc"), *strict, "main.c", "f.o", "-o", "main", "-lm")
    found = numbers(run(tmp_path, "./main").stdout).astype(np.uint16).view(kind).reshape(-1, 2)
    with np.errstate(invalid="ignore"):
        # Of 0.75 the products are exact in f32, by which ml_dtypes rounds.
        expected = (0.75 * np.arange(1 << 16, dtype=np.uint16).view(kind).astype(float)).astype(kind)
        np.testing.assert_array_equal(found[:, 0].astype(float), expected.astype(float))
    np.testing.assert_array_equal(found[:, 1], np.full_like(expected, 0.75))


@pytest.mark.skipif(not is_supported(), reason="there is no pool for this system")
@pytest.mark.parametrize("form", ["lib", pytest.param("so", marks=pytest.mark.sweep)])
def test_threads_of_a_library(form: str, tmp_path: Path) -> None:
    cc = compiler("cc")
    text = "a: f64[N, N]; y[i] = sum{j} (exp(a[i, j]))"
    suffix = {"lib": ".a", "so": ".so"}[form]
    tadc.export(
        tadc.function(text), *(tmp_path / f"rows{s}" for s in (suffix, ".h")), prefix="rows", threads="pool"
    )
    run(
        tmp_path,
        cc,
        f"-I{tmp_path}",
        str(MAIN.with_name("threads.c")),
        f"./rows{suffix}",
        "-o",
        "main",
        "-lm",
    )
    run(tmp_path, "./main")


def test_threads_of_a_library_for_another_processor(tmp_path: Path) -> None:
    emulator, cc = compiler("qemu-aarch64"), compiler("aarch64-linux-gnu-gcc")
    f = tadc.function("a: f64[N, N]; y[i] = sum{j} (exp(a[i, j]))")
    files = tmp_path / "rows.a", tmp_path / "rows.h"
    tadc.export(f, *files, prefix="rows", threads="pool", target="cpu:aarch64")
    main = str(MAIN.with_name("threads.c"))
    # qemu ends where a process with threads forks.
    run(
        tmp_path,
        cc,
        "-static",
        "-pthread",
        "-DNO_FORK",
        f"-I{tmp_path}",
        main,
        "./rows.a",
        "-o",
        "main",
        "-lm",
    )
    run(tmp_path, emulator, "./main")


def test_the_cmake_file_of_the_page(tmp_path: Path) -> None:
    cmake = compiler("cmake")
    compiler("cc")
    for block in blocks(ROOT / "docs" / "c.md"):
        if block.name in ("CMakeLists.txt", "main.c", "conv.tad"):
            (tmp_path / block.name).write_text(block.text)
    here = Path(sys.executable).parent
    with mock.patch.dict(os.environ, {"PATH": f"{here}{os.pathsep}{os.environ['PATH']}"}):
        run(tmp_path, cmake, "-B", "build")
        run(tmp_path, cmake, "--build", "build")
    assert run(tmp_path, "build/convolve").stdout.endswith(b"1\n")


RUST = """
use std::os::raw::{c_int, c_void};
use std::ptr::null_mut;

#[link(name = "conv")]
extern "C" {
    fn conv_scratch(n: i64, k: i64) -> i64;
    fn conv(x: *const f64, int: *const f64, double: *mut f64, scratch: *mut c_void, n: i64, k: i64) -> c_int;
    fn conv_vjp_scratch(n: i64, k: i64) -> i64;
    fn conv_vjp(x: *const f64, int: *const f64, ddouble: *const f64, dx: *mut f64, dint: *mut f64,
                scratch: *mut c_void, n: i64, k: i64) -> c_int;
}

fn main() {
    let (n, k) = (1000usize, 5usize);
    let x: Vec<f64> = (0..n).map(|i| ((i * 37 % 101) as f64 - 50.0) / 64.0).collect();
    let w: Vec<f64> = (0..k).map(|i| (i + 1) as f64 / 8.0).collect();
    let dy: Vec<f64> = (0..n - k + 1).map(|i| (i * 13 % 29) as f64 / 16.0).collect();
    let (mut y, mut dx, mut dw) = (vec![0.0; n - k + 1], vec![0.0; n], vec![0.0; k]);
    let (size, gradient_size) = unsafe { (conv_scratch(1000, 5), conv_vjp_scratch(1000, 5)) };
    let mut scratch = vec![0u8; size.max(gradient_size) as usize];
    let at = scratch.as_mut_ptr() as *mut c_void;
    unsafe {
        assert_eq!(conv(x.as_ptr(), w.as_ptr(), y.as_mut_ptr(), at, 1000, 5), 0);
        let (dx, dw) = (dx.as_mut_ptr(), dw.as_mut_ptr());
        assert_eq!(conv_vjp(x.as_ptr(), w.as_ptr(), dy.as_ptr(), dx, dw, at, 1000, 5), 0);
        assert_eq!(conv(x.as_ptr(), w.as_ptr(), y.as_mut_ptr(), null_mut(), 3, 5), 1);
    }
    for value in y.iter().chain(&dx).chain(&dw) {
        println!("{:?}", value);
    }
}
"""


def test_rust(tmp_path: Path) -> None:
    rustc = compiler("rustc")
    write(tmp_path, "lib")
    (tmp_path / "conv.a").rename(tmp_path / "libconv.a")
    (tmp_path / "main.rs").write_text(RUST)
    run(tmp_path, rustc, "-L", ".", "main.rs")
    np.testing.assert_allclose(numbers(run(tmp_path, "./main").stdout), wanted(), rtol=1e-13, atol=1e-15)


def test_foreign_calls(tmp_path: Path) -> None:
    """As Julia's `ccall` does it: a shared library, symbols by name, types by hand."""
    compiler("cc")
    write(tmp_path, "so")
    library = ctypes.CDLL(str(tmp_path / "conv.so"))
    size = library.conv_vjp_scratch
    size.restype, size.argtypes = ctypes.c_int64, [ctypes.c_int64] * 2
    scratch = np.empty(size(programs.N, programs.K), np.uint8)
    x, w, dy = programs.arrays()
    y, dx, dw = (np.full_like(array, np.nan) for array in (dy, x, w))
    sizes = [ctypes.c_int64(n) for n in (programs.N, programs.K)]

    def at(*given: np.ndarray) -> list[ctypes.c_void_p]:
        return [ctypes.c_void_p(array.ctypes.data) for array in given]

    assert library.conv(*at(x, w, y, scratch), *sizes) == 0
    assert library.conv_vjp(*at(x, w, dy, dx, dw, scratch), *sizes) == 0
    np.testing.assert_allclose(np.concatenate([y, dx, dw]), wanted(), rtol=1e-13, atol=1e-15)


@pytest.mark.slow
def test_a_shared_library_by_zig(tmp_path: Path) -> None:
    """Without a compiler of C in PATH; zig takes half a minute where it has linked nothing yet."""
    pytest.importorskip("ziglang", reason="ziglang is not installed")
    with mock.patch.dict(os.environ, {"PATH": ""}):
        write(tmp_path, "so")
    library = ctypes.CDLL(str(tmp_path / "conv.so"))
    library.conv_scratch.restype = ctypes.c_int64
    assert library.conv_scratch(ctypes.c_int64(3), ctypes.c_int64(5)) == -1
    assert library.conv_scratch(ctypes.c_int64(5), ctypes.c_int64(3)) >= 0
