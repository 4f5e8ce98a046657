"""Kernels for AMD's GPUs: assembly and object code of programs, and lanes that exchange values."""

from __future__ import annotations

import ctypes
import struct
from pathlib import Path

import pytest

import tadc.cli
from tadc.backend.cpu.jit import load
from tadc.backend.functions.scalar_functions import DEFINED
from tadc.backend.object_code import object_code
from tadc.backend.rocm.architectures import WAVES
from tadc.backend.rocm.device_functions import rocm_function
from tadc.backend.target import parse_target
from tadc.compiler.all_stages import compile_until
from tadc.compiler.compile_options import Options
from tadc.compiler.stages import Compilation
from tadc.frontend.source import Source
from tests.backend.kernels import llvm_text

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.tad"))


def assembled(text: str, mode: str, chip: str = "gfx942") -> Compilation:
    state = Compilation(Options(mode, target=parse_target(f"rocm:{chip}")), Source(text, "test"))
    compile_until(state, "asm")
    return state


@pytest.mark.parametrize("mode", ["value", "vjp"])
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_examples_assemble(path: Path, mode: str) -> None:
    """One architecture after the other."""
    text, chip = path.read_text(encoding="utf-8"), sorted(WAVES)[EXAMPLES.index(path) % len(WAVES)]
    state = assembled(text, mode, chip)
    assert str(state.code["asm"]).count(".amdhsa_kernel ") == len(state.launches)


def test_ways_of_recurrences() -> None:
    """Blocks whose threads meet after each step, and launches of a step, with its number after the sizes."""
    text = "x: f64[N]; size T; scan{t} u[t: T, i: N] = if {t = 0} then (x[i]) else (u[t - 1, N - 1 - i])"
    state = assembled(text, "value")
    block, launch = str(state.code["asm"]).split("\ntad_u_0_1:")
    assert [bool(one.steps) for one in state.launches] == [False, True]
    assert "s_barrier" in block
    assert "s_barrier" not in launch


@pytest.mark.parametrize(("chip", "wave"), WAVES.items())
def test_waves_of_an_architecture(chip: str, wave: int) -> None:
    state = assembled("x: f64[N]; s = sum{i} (sin(x[i]))", "value", chip)
    code = str(state.code["asm"])
    assert f'.amdgcn_target "amdgcn-amd-amdhsa--{chip}"' in code
    assert f".wavefront_size: {wave}" in " ".join(code.split())
    # Functions of the device library, which no one has here, are our own.
    assert "__ocml" not in code


def test_object_code(tmp_path: Path) -> None:
    file = tmp_path / "f.o"
    given = ["emit", "obj", "-e", "x: f32[8]; f[i] = exp(x[i])", "--target", "rocm", "-o", str(file)]
    assert tadc.cli.main(given) == 0
    code = file.read_bytes()
    assert code.startswith(b"\x7fELF")
    assert struct.unpack_from("<H", code, 18) == (224,)  # EM_AMDGPU
    assert b"tad_f_0.kd\0" in code  # what a loader looks for


@pytest.mark.parametrize("name", sorted(DEFINED))
def test_every_function_of_the_device_library_is_defined(name: str) -> None:
    for bits in (32, 64):
        text = rocm_function(f"__ocml_{name}_f{bits}")
        assert text
        assert f"@__ocml_{name}_f{bits}(" in text


def test_no_other_function_is() -> None:
    assert rocm_function("__ocml_zeta_f64") is None


def test_it_does_not_run_here(capsys: pytest.CaptureFixture[str]) -> None:
    for given in (["run", "-e", "x: f64; f = x", "x=1"], ["bundle", "-e", "x: f64; f = x", "-o", "nowhere"]):
        assert tadc.cli.main([*given, "--target", "rocm:gfx942"]) == 1
        assert "error[TAD0706]: target `rocm:gfx942` cannot be run here" in capsys.readouterr().err
    assert not Path("nowhere").exists()


SHUFFLE = """module attributes {gpu.container_module} {
gpu.module @m {
gpu.func @k(%out: memref<1xi32>) kernel attributes {known_block_size = array<i32: 64, 1, 1>} {
  %zero = arith.constant 0 : index
  %value = arith.constant 7 : i32
  %offset = arith.constant OFFSET : i32
  %width = arith.constant 32 : i32
  %found, %valid = gpu.shuffle MODE %value, %offset, %width : i32
  memref.store %found, %out[%zero] : memref<1xi32>
  gpu.return
}
}
}"""

#: A wave of one lane at a time, whose exchange returns the address that it would read.
WAVE = """
@lane = internal global i32 0
define void @set(i32 %n) {
  store i32 %n, ptr @lane
  ret void
}
define i32 @low(i32 %mask, i32 %base) {
  ret i32 0
}
define i32 @high(i32 %mask, i32 %base) {
  %n = load i32, ptr @lane
  ret i32 %n
}
define i32 @exchange(i32 %address, i32 %value) {
  ret i32 %address
}
"""


@pytest.mark.parametrize(("mode", "offset"), [("idx", 0), ("idx", 5), ("down", 16), ("down", 1), ("xor", 3)])
def test_lanes_read_lanes_of_their_group(mode: str, offset: int) -> None:
    """On a wave of 64 two groups of 32 lanes exchange values, each among themselves."""
    text = llvm_text(
        SHUFFLE.replace("MODE", mode).replace("OFFSET", str(offset)), parse_target("rocm:gfx942")
    )
    body = text[text.index("define amdgpu_kernel") :].split("\n}\n")[0] + "\n}\n"
    body = "define void @k(ptr %0) {\n" + body.split("{\n", 1)[1]
    for intrinsic, name in (("mbcnt.lo", "low"), ("mbcnt.hi", "high"), ("ds.bpermute", "exchange")):
        body = body.replace(f"@llvm.amdgcn.{intrinsic}(", f"@{name}(")
    library = load(object_code(WAVE + body, 1), ["set", "k"])
    set_lane = ctypes.CFUNCTYPE(None, ctypes.c_int32)(library["set"])
    kernel = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(library["k"])
    found = ctypes.c_int32()
    for lane in range(64):
        set_lane(lane)
        kernel(ctypes.addressof(found))
        group, within = lane // 32 * 32, lane % 32
        read = {"idx": offset, "xor": within ^ offset, "down": within + offset}[mode]
        assert found.value == 4 * (group + (read if read < 32 else within)), lane
