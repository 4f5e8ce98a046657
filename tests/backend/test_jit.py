from __future__ import annotations

import ctypes
import gc
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from tadc.backend.cpu.jit import load
from tadc.backend.cpu.linking import LinkError
from tadc.backend.object_code import object_code
from tadc.backend.runtime.host_kernel import HostKernel
from tadc.backend.runtime.parameters import Parameter
from tests.backend.kernels import compiled, elementwise, llvm_text

VECTOR = [Parameter("x", "f64", (4,))], [Parameter("y", "f64", (4,))]


def adding(number: int) -> HostKernel:
    compute = f"%q = arith.constant {number}.0 : TYPE\n    %y = arith.addf %x, %q : TYPE"
    return compiled(elementwise(compute, "f64", 4), *VECTOR)


def test_kernels_of_the_same_name_coexist() -> None:
    kernels = [adding(n) for n in range(5)]
    gc.collect()
    for n, kernel in enumerate(kernels):
        np.testing.assert_array_equal(kernel([np.zeros(4)])[0], np.full(4, n))


def test_code_lives_as_long_as_its_kernel() -> None:
    kernel = adding(7)
    for n in range(20):
        adding(n)
    gc.collect()
    np.testing.assert_array_equal(kernel([np.zeros(4)])[0], np.full(4, 7.0))


def test_the_same_bytes_load_twice() -> None:
    code = object_code("define i32 @five() {\n  ret i32 5\n}")
    first, second = load(code, ["five"]), load(code, ["five"])
    for library in (first, second):
        assert ctypes.CFUNCTYPE(ctypes.c_int)(library["five"])() == 5


def test_a_symbol_that_the_code_lacks() -> None:
    with pytest.raises(LinkError, match="nothing"):
        load(object_code("define void @k() {\n  ret void\n}"), ["nothing"])


def test_a_symbol_that_the_process_lacks() -> None:
    text = (
        "declare void @no_such_function()\ndefine void @k() {\n  call void @no_such_function()\n  ret void\n}"
    )
    with pytest.raises(LinkError):
        load(object_code(text), ["k"])


def test_what_is_not_object_code() -> None:
    with pytest.raises(LinkError):
        load(b"not an object file", ["k"])


def test_threads_compile_and_run_at_once() -> None:
    with ThreadPoolExecutor(4) as pool:
        kernels = list(pool.map(adding, range(8)))
        results = list(pool.map(lambda n: kernels[n % 8]([np.full(4, float(n))])[0], range(64)))
    for n, result in enumerate(results):
        np.testing.assert_array_equal(result, np.full(4, n + n % 8))


def test_text_that_llvm_rejects_names_the_line() -> None:
    with pytest.raises(RuntimeError, match="expected"):
        object_code(llvm_text(elementwise("%y = arith.negf %x : TYPE")) + "\nnonsense")
