"""Code for other CPUs than that of this machine; under qemu where Debian's are installed."""

from __future__ import annotations

import shutil
import struct
import subprocess
from pathlib import Path

import numpy as np
import pytest

import tadc
import tadc.cli
from tadc.api.execute import compile_program
from tadc.backend.cpu.processors import PROCESSORS, missing_here
from tadc.backend.target import parse_target
from tadc.compiler.all_stages import compile_until
from tadc.compiler.compile_options import Options
from tadc.compiler.stages import Compilation
from tadc.frontend.source import Source

TEXT = "x: f64[1000]; f[i] = exp(sin(x[i])) + x[i]**2; g = sum{i} (tanh(x[i]))"

#: Of ELF: what says for which processor an object is (EM_X86_64, EM_AARCH64, EM_RISCV).
MACHINES = {"x86_64": 62, "aarch64": 183, "riscv64": 243}

MAIN = """
#include <stdint.h>
#include <stdio.h>
SIGNATURE
int main(void) {
  static double x[1000], f[1000], g[1], scratch[4096];
  for (int i = 0; i < 1000; i++) x[i] = (i - 500) * 0.0078125;
  CALL;
  for (int i = 0; i < 1000; i++) printf("%.17g\\n", f[i]);
  printf("%.17g\\n", g[0]);
  return 0;
}
"""


def emitted(form: str, name: str) -> str | bytes:
    state = Compilation(Options(target=parse_target(f"cpu:{name}")), Source(TEXT, "test"))
    return compile_until(state, form).show(state)


def runner(name: str) -> list[str]:
    """What runs programs of a processor; the test is skipped where it or its compiler is not installed."""
    machine = PROCESSORS[name].machine
    program = shutil.which(f"qemu-{machine}") or shutil.which(f"qemu-{machine}-static")
    if not program or not shutil.which(f"{machine}-linux-gnu-gcc"):
        pytest.skip(f"no qemu-{machine} with {machine}-linux-gnu-gcc")
    vectors = ["-cpu", "rv64,v=true,vext_spec=v1.0"] if PROCESSORS[name].has("v") else []
    return [program, *vectors]


@pytest.mark.parametrize("name", sorted(PROCESSORS))
def test_objects_are_of_the_processor(name: str, tmp_path: Path) -> None:
    file = tmp_path / "f.o"
    assert tadc.cli.main(["emit", "obj", "-e", TEXT, "--target", f"cpu:{name}", "-o", str(file)]) == 0
    code = file.read_bytes()
    assert struct.unpack_from("<HH", code, 16) == (1, MACHINES[PROCESSORS[name].machine])
    assert b"tad_f\0" in code


@pytest.mark.parametrize(
    ("name", "register", "lacks"),
    [
        ("x86-64", "xmm", "ymm"),
        ("x86-64-v3", "ymm", "zmm"),
        ("x86-64-v4", "zmm", "nothing of the kind"),
        ("aarch64", ".2d", "xmm"),
        ("riscv64", "fmul.d", "vsetivli"),
        ("riscv64-v", "vfmul.v", "xmm"),
    ],
)
def test_vectors_are_those_of_the_processor(name: str, register: str, lacks: str) -> None:
    """Whatever this machine has."""
    code = str(emitted("asm", name))
    assert code.startswith("# void tad_f(")
    assert register in code
    assert lacks not in code


@pytest.mark.parametrize("name", ["aarch64", "riscv64", "riscv64-v"])
def test_values_under_qemu(name: str, tmp_path: Path) -> None:
    command = runner(name)
    x = (np.arange(1000) - 500) * 0.0078125
    f, g = tadc.compile(tadc.function(TEXT))(x)
    head = [line.removeprefix("# ") for line in str(emitted("asm", name)).splitlines() if line[:1] == "#"]
    signature = " ".join(head).split(";")[0] + ";"
    call = f"tad_f(x, f, g{', scratch' if 'scratch' in signature else ''})"
    (tmp_path / "main.c").write_text(MAIN.replace("SIGNATURE", signature).replace("CALL", call))
    code = emitted("obj", name)
    assert isinstance(code, bytes)
    (tmp_path / "f.o").write_bytes(code)
    compiler = f"{PROCESSORS[name].machine}-linux-gnu-gcc"
    whole = [compiler, "-static", "main.c", "f.o", "-o", "main", "-lm"]
    subprocess.run(whole, cwd=tmp_path, check=True)
    done = subprocess.run([*command, "./main"], cwd=tmp_path, check=True, capture_output=True, text=True)
    found = np.array([float(line) for line in done.stdout.split()])
    np.testing.assert_allclose(found[:-1], f, rtol=1e-15)
    np.testing.assert_allclose(found[-1], g, rtol=1e-13)


@pytest.mark.parametrize("name", sorted(PROCESSORS))
def test_what_this_machine_has_runs_here(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    f = tadc.function("x: f64[100]; f[i] = exp(x[i]); g = sum{i} (x[i]**2)")
    if missing_here(name):
        assert tadc.cli.main(["run", "-e", "x: f64; f = x", "x=1", "--target", f"cpu:{name}"]) == 1
        said = capsys.readouterr().err
        assert f"error[TAD0706]: target `cpu:{name}` cannot be run here" in said
        assert missing_here(name) in said
        return
    x = np.linspace(-3, 3, 100)
    found = compile_program(f.program, Options(target=parse_target(f"cpu:{name}")))(x)
    for a, b in zip(found, f(x), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-15)
