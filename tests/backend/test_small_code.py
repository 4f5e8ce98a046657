"""Maps of few operations are compiled for the size of their code, not for speed."""

from __future__ import annotations

import re

import numpy as np
import pytest

import tadc
from tadc.backend.functions.scalar_functions import scalar_function
from tadc.backend.llvm_ir import defer, loops_for_speed, set_apart
from tadc.backend.object_code import object_code, optimised
from tests.backend.kernels import elementwise, llvm_text

FEW = "x: f64[40]\nf[i] = sin(x[i]) + x[i]"
MANY = "x: f64[100000]\nf[i] = sin(x[i]) + x[i]"
BOTH = "x: f64[40]; y: f64[100000]\nf[i] = sin(x[i]) + x[i]\ng[i] = y[i]**2"
CALL = re.compile(r"call [^\n]*@tadc_sin_f64\(")


pytestmark = pytest.mark.as_shipped


def llvm(text: str) -> str:
    return str(tadc.function(text).lower("cpu").as_text("llvm"))


def test_code_for_size_is_marked_in_llvm_ir() -> None:
    assert re.search(r"^attributes #\d+ = \{[^\n]*\boptsize\b", llvm(FEW), re.M)
    assert not re.search(r"^attributes #\d+ = \{[^\n]*\boptsize\b", llvm(MANY), re.M)


@pytest.mark.parametrize(("size", "is_small"), [(16, True), (64, False)])
def test_what_takes_a_microsecond_is_compiled_for_speed(size: int, is_small: bool) -> None:
    text = llvm(f"a: f64[{size}, {size}]; x: f64[{size}]\nf[i] = sum{{k}} (a[i, k] * x[k])")
    assert bool(re.search(r"^attributes #\d+ = \{[^\n]*\boptsize\b", text, re.M)) == is_small


def test_only_loops_over_much_are_for_speed() -> None:
    assert loops_for_speed(llvm(FEW)) == ""
    assert re.findall(r"^define [^\n]*@(tad_\w+\.\d+)\(", loops_for_speed(llvm(BOTH)), re.M) == ["tad_f.1"]


def test_what_is_for_size_is_optimised_apart_but_for_what_uses_memory_of_the_kernel() -> None:
    rest, names, small = set_apart(llvm(BOTH))
    assert names == ["tad_f.0"]
    assert "declare void @tad_f.0(" in rest
    assert re.findall(r"^define ([^\n(]*@tad_[^\n(]*)\(", small, re.M) == ["void @tad_f.0"]
    assert "define internal void @tad_f.0(" in optimised(llvm(BOTH))
    kept = small.replace("void @tad_f.0", "internal void @tad_f.0") + "@kept = private global i64 0\n"
    assert set_apart(kept)[1] == ["tad_f.0"]
    assert set_apart(kept.replace("{\n", "{\n  load i64, ptr @kept\n", 1))[1] == []


def test_a_function_that_branches_waits_for_vectors_of_loops_for_speed_alone() -> None:
    fast = llvm_text(elementwise("%y = math.sin %x : TYPE"))
    small = fast.replace("{\n", "#7 {\n", 1) + "\nattributes #7 = { noinline optsize }\n"
    assert CALL.search(defer(fast, scalar_function) or "")
    assert defer(small, scalar_function) is None
    assert not CALL.search(optimised(small))


def test_what_is_invariant_stands_outside_of_loops() -> None:
    """Passes for functions of little work move nothing out."""
    blocks = llvm("a: f64[3, 9]\nf[i] = sum{k: 4} (a[i, k + 2*i])").split("\n\n")
    (inner,) = [block for block in blocks if " = load double" in block]
    assert " = fadd double" in inner
    assert " = mul nsw " not in inner


def test_both_kinds_compute_the_same() -> None:
    x, y = np.linspace(-3, 3, 40), np.linspace(-2, 2, 100000)
    few, many = tadc.compile(tadc.function(BOTH))(x=x, y=y)
    np.testing.assert_allclose(few, np.sin(x) + x, rtol=1e-15)
    np.testing.assert_array_equal(many, y * y)


def test_a_function_whose_name_is_quoted_is_not_taken_along() -> None:
    """As that of code which calls the entry, and is made in another way."""
    body = "  ret void\n}\n"
    small = f"define void @tad_f.0() #0 {{\n{body}"
    caller = f'define void @"tadc_call"() {{\n  call void @"tad_f"()\n{body}'
    entry = f"define void @tad_f() {{\n  call void @tad_f.0()\n{body}"
    rest, names, alone = set_apart(f"{small}\n{entry}\n{caller}\nattributes #0 = {{ optsize }}\n")
    assert names == ["tad_f.0"]
    assert "define void @tad_f.0()" in alone
    assert "tadc_call" not in alone
    assert "define void @tadc_call()" in rest
    assert "declare void @tad_f.0()" in rest


def test_a_variable_stays_beside_the_functions_it_names() -> None:
    """As the table by which a framework's door finds the entry."""
    body = "  ret void\n}\n"
    small = f"define void @tad_f.0() #0 {{\n{body}"
    entry = f"define void @tad_f() {{\n  call void @tad_f.0()\n{body}"
    door = "@door = constant { ptr } { ptr @tad_f }"
    text = f"{small}\n{entry}\n{door}\nattributes #0 = {{ optsize }}\n"
    rest, names, alone = set_apart(text)
    assert names == ["tad_f.0"]
    assert door in rest
    assert "@door" not in alone
    assert object_code(text)
