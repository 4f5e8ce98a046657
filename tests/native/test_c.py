"""Programs in C and C++ that call what `tadc` writes, by its header alone."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.native import programs
from tests.native.programs import compiler, numbers, run, wanted, write

MAIN = Path(__file__).with_name("conv.c")


@pytest.mark.parametrize("form", ["obj", "lib", "so"])
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
