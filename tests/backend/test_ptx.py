from __future__ import annotations

import re

import numpy as np
import pytest

from tadc.backend.cuda import ptx
from tadc.backend.cuda.architectures import CUDA_ARCHITECTURES
from tadc.backend.cuda.ptx import assemble, emit_ptx
from tadc.backend.functions.scalar_functions import BINARY, BRANCHING, DEFINED
from tadc.backend.target import parse_target
from tadc.frontend.diagnostics import CompileError
from tests.backend.kernels import elementwise, llvm_text
from tests.backend.test_binary_functions import OPERATIONS
from tests.emulator.ptx_text import launch

MULTIPLY_ADD = "%p = arith.mulf %x, %x : TYPE\n    %y = arith.addf %p, %x : TYPE"


def ptx_of(compute: str, kind: str = "f64", sm: int = 80, use_libdevice: bool = True) -> str:
    return emit_ptx(
        llvm_text(elementwise(compute, kind, gpu=True), parse_target(f"cuda:sm_{sm}")),
        sm,
        use_libdevice=use_libdevice,
    )


MINIMUM = """
declare i32 @llvm.smin.i32(i32, i32)
define ptx_kernel void @k(ptr addrspace(1) %x, ptr addrspace(1) %y) {
  %n = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %at = getelementptr i32, ptr addrspace(1) %y, i32 %n
  %a = load i32, ptr addrspace(1) %x, align 4
  %b = sub i32 0, %n
  %c = load i32, ptr addrspace(1) %at, align 4
  %d = call i32 @llvm.smin.i32(i32 %a, i32 %b)
  %e = call i32 @llvm.smin.i32(i32 %d, i32 %c)
  store i32 %e, ptr addrspace(1) %at, align 4
  ret void
}
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
"""


def test_a_minimum_of_three_has_no_negation_that_ptxas_loses() -> None:
    """It is computed otherwise: nothing is negated, and the numbers are the same."""
    text = emit_ptx(MINIMUM, 90)
    assert text.count("min.s32") == 2
    assert "neg.s32" not in text
    assert assemble(text, 90)
    values = [np.array([-20], np.int32), np.arange(64, dtype=np.int32) * 7 % 64 - 40]
    found = launch(text, values, 64)[-1]
    assert found.tolist() == np.minimum(np.minimum(-20, -np.arange(64)), values[1]).tolist()


@pytest.mark.parametrize("sm", CUDA_ARCHITECTURES)
def test_ptxas_accepts_every_architecture(sm: int) -> None:
    text = ptx_of("%y = math.tanh %x : TYPE", "f64", sm)
    assert f".target sm_{sm}" in text
    assert assemble(text, sm)[:4] == b"\x7fELF"


def test_a_kernel_is_an_entry_with_its_block_size() -> None:
    text = ptx_of("%y = arith.negf %x : TYPE")
    assert ".visible .entry k(" in text
    assert ".maxntid 256, 1, 1" in text


@pytest.mark.parametrize("kind", ["f32", "f64"])
def test_a_product_and_a_sum_stay_two_roundings(kind: str) -> None:
    text = ptx_of(MULTIPLY_ADD, kind)
    # Without `.rn` ptxas may fuse the two.
    assert f"mul.rn.{kind}" in text
    assert f"add.rn.{kind}" in text
    assert "fma" not in text


@pytest.mark.parametrize("kind", ["f32", "f64"])
def test_division_and_square_root_are_rounded_as_on_the_cpu(kind: str) -> None:
    text = ptx_of("%s = math.sqrt %x : TYPE\n    %y = arith.divf %x, %s : TYPE", kind)
    assert f"sqrt.rn.{kind}" in text
    assert f"div.rn.{kind}" in text
    assert ".ftz" not in text


@pytest.mark.parametrize("use_libdevice", [True, False])
@pytest.mark.parametrize("kind", ["f32", "f64"])
@pytest.mark.parametrize("name", sorted(DEFINED))
def test_functions_from_libdevice_or_our_own(name: str, kind: str, use_libdevice: bool) -> None:
    operands = "%x, %x" if name in BINARY or BRANCHING.get(name) == 2 else "%x"
    text = ptx_of(f"%y = {OPERATIONS.get(name, f'math.{name}')} {operands} : TYPE", kind, 90, use_libdevice)
    assert "extern" not in text
    assert "__nv_" not in text
    assemble(text, 90)


@pytest.mark.parametrize("name", ["sqrt", "absf", "floor", "ceil", "trunc", "roundeven"])
def test_functions_that_are_one_instruction_need_no_library(name: str) -> None:
    text = ptx_of(f"%y = math.{name} %x : TYPE", "f32", 80, use_libdevice=False)
    assert "call" not in text
    assemble(text, 80)


@pytest.mark.parametrize("kind", ["f32", "f64"])
def test_all_functions_of_the_language_assemble(kind: str) -> None:
    names = (
        "exp exp2 expm1 log log2 log10 log1p sqrt cbrt sin cos tan asin acos atan sinh cosh tanh asinh acosh"
    )
    steps = [
        f"%v{n} = math.{name} %x : TYPE"
        for n, name in enumerate([*names.split(), "atanh", "erf", "erfc", "absf", "ceil"])
    ]
    steps += [
        "%p = math.powf %x, %v0 : TYPE",
        "%q = math.atan2 %p, %x : TYPE",
        "%r = math.copysign %q, %x : TYPE",
    ]
    steps += ["%m = arith.maximumf %r, %x : TYPE", "%y0 = arith.remf %m, %v1 : TYPE"]
    total = "%y0"
    for n in range(len(names.split()) + 4):
        name = "%y" if n == len(names.split()) + 3 else f"%t{n}"
        steps.append(f"{name} = arith.addf {total}, %v{n} : TYPE")
        total = name
    assemble(ptx_of("\n".join(steps), kind, 70), 70)


def test_a_function_that_nothing_defines_names_the_package() -> None:
    with pytest.raises(CompileError) as found:
        ptx_of("%y = math.round %x : TYPE", "f32", use_libdevice=False)
    (problem,) = found.value.diagnostics
    assert problem.code == "TAD0702"
    assert "`roundf`" in problem.message
    assert problem.helps == ["install it with `pip install 'tadc-compiler[cuda]'`"]


def test_without_the_package_our_own_functions_serve(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ptx, "toolkit_file", lambda path: None)
    monkeypatch.setattr(ptx, "find_ptxas", lambda: None)
    assert "ex2.approx" not in ptx_of("%y = math.exp %x : TYPE", "f32")
    with pytest.raises(CompileError, match=r"TAD0704.*no ptxas"):
        assemble("", 80)


def test_errors_of_ptxas_are_quoted() -> None:
    text = ptx_of("%y = arith.negf %x : TYPE").replace("ret;", "retour;")
    with pytest.raises(CompileError) as found:
        assemble(text, 80)
    (problem,) = found.value.diagnostics
    assert problem.code == "TAD0703"
    assert any(re.search(r"kernel\.ptx, line \d+; error.*retour", note) for note in problem.notes)


def test_an_unknown_architecture_is_an_error_not_an_abort() -> None:
    with pytest.raises(CompileError, match="TAD0705"):
        emit_ptx("define void @k() {\n  ret void\n}", 42)


SHARED = """
module attributes {gpu.container_module} {
gpu.module @m {
gpu.func @first(%X: memref<256xf32>, %Y: memref<256xf32>)
    workgroup(%s: memref<256xf32, #gpu.address_space<workgroup>>)
    kernel attributes {known_block_size = array<i32: 256, 1, 1>} {
  %t = gpu.thread_id x
  %x = memref.load %X[%t] : memref<256xf32>
  memref.store %x, %s[%t] : memref<256xf32, #gpu.address_space<workgroup>>
  gpu.barrier
  %u = affine.apply affine_map<(d0) -> (255 - d0)>(%t)
  %y = memref.load %s[%u] : memref<256xf32, #gpu.address_space<workgroup>>
  memref.store %y, %Y[%t] : memref<256xf32>
  gpu.return
}
gpu.func @second(%Y: memref<f32>) kernel attributes {known_block_size = array<i32: 1, 1, 1>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c9 = arith.constant 9 : index
  %zero = arith.constant 0.1 : f32
  %sum = scf.for %i = %c0 to %c9 step %c1 iter_args(%a = %zero) -> f32 {
    %b = arith.addf %a, %a : f32
    scf.yield %b : f32
  }
  memref.store %sum, %Y[] : memref<f32>
  gpu.return
}
}
}
"""


def test_several_kernels_shared_memory_and_barriers() -> None:
    text = emit_ptx(llvm_text(SHARED, parse_target("cuda:sm_80")), 80)
    assert text.count(".visible .entry") == 2
    assert "bar.sync" in text or "barrier" in text
    assert ".shared" in text
    assemble(text, 80)


def test_two_gpu_modules_are_refused() -> None:
    text = "module attributes {gpu.container_module} {\ngpu.module @a {}\ngpu.module @b {}\n}"
    with pytest.raises(CompileError, match="2 gpu modules"):
        llvm_text(text, parse_target("cuda:sm_80"))


#: A copy of a box by the tensor memory accelerator, and a fence for matrices of a group of warps.
BULK = """
declare void @llvm.nvvm.cp.async.bulk.tensor.g2s.tile.1d(ptr addrspace(7), ptr addrspace(3), ptr, i32, i16, i64, i1, i1, i32)
define ptx_kernel void @k(ptr %map, ptr addrspace(7) %to, ptr addrspace(3) %barrier) {
  call void @llvm.nvvm.cp.async.bulk.tensor.g2s.tile.1d(ptr addrspace(7) %to, ptr addrspace(3) %barrier, ptr %map, i32 0, i16 0, i64 0, i1 0, i1 0, i32 0)
  ret void
}
"""  # noqa: E501
MATRICES = """
declare void @llvm.nvvm.wgmma.fence.sync.aligned()
define ptx_kernel void @k() {
  call void @llvm.nvvm.wgmma.fence.sync.aligned()
  ret void
}
"""


@pytest.mark.parametrize(
    ("text", "target", "instruction"),
    [(BULK, "sm_90", "cp.async.bulk.tensor.1d"), (MATRICES, "sm_90a", "wgmma.fence.sync.aligned")],
)
def test_instructions_of_newer_versions_of_ptx(text: str, target: str, instruction: str) -> None:
    """LLVM would end the process on them with the PTX that it picks for sm_90, or for sm_80."""
    ptx = emit_ptx(text, 90)
    assert f".target {target}\n" in ptx
    assert instruction in ptx
    assert assemble(ptx, 90)
    with pytest.raises(CompileError, match=r"sm_80 does not have all of llvm\.nvvm\.") as error:
        emit_ptx(text, 80)
    assert error.value.diagnostics[0].code == "TAD0705"
