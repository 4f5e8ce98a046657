"""Code for other CPUs than that of this machine; under qemu where Debian's are installed."""

from __future__ import annotations

import re
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
from tadc.backend.cpu.thread_pool import pool_text
from tadc.backend.object_code import object_code
from tadc.backend.target import parse_target
from tadc.compiler.all_stages import compile_until
from tadc.compiler.compile_options import Options
from tadc.compiler.stages import Compilation
from tadc.frontend.source import Source

TEXT = "x: f64[20000]; f[i] = exp(sin(x[i])) + x[i]**2; g = sum{i} (tanh(x[i]))"

#: Of ELF: what says for which processor an object is (EM_X86_64, EM_AARCH64, EM_RISCV).
MACHINES = {"x86_64": 62, "aarch64": 183, "riscv64": 243}

MAIN = """
#include <stdint.h>
#include <stdio.h>
SIGNATURE
static double x[20000], f[20000], g[1], scratch[100000];
BEFORE
int main(void) {
  for (int i = 0; i < 20000; i++) x[i] = (i % 1000 - 500) * 0.0078125;
  CALL;
  for (int i = 0; i < 20000; i++) printf("%.17g\\n", f[i]);
  printf("%.17g\\n", g[0]);
  return THREADS;
}
"""

#: Kernels call the pool through `tadc_parallel`, which counts threads here.
COUNTING = """
#include <pthread.h>
void tadc_pool_resize(int64_t);
void tadc_parallel(void (*)(void *, int64_t, int64_t), void *, int64_t, int64_t, int64_t);
static pthread_barrier_t meet;
static __thread int came;
static int threads, flushing, elements[1000];
static void body(void *nothing, int64_t begin, int64_t end) {
  if (!came) {
    came = 1;
    pthread_barrier_wait(&meet);
    __atomic_add_fetch(&threads, 1, __ATOMIC_SEQ_CST);
    if (__builtin_aarch64_get_fpcr() & 1 << 24) __atomic_add_fetch(&flushing, 1, __ATOMIC_SEQ_CST);
  }
  for (int64_t i = begin; i < end; i++) elements[i]++;
}
static int wrong(void) {
  unsigned before = __builtin_aarch64_get_fpcr();
  pthread_barrier_init(&meet, 0, 4);
  __builtin_aarch64_set_fpcr(before | 1 << 24);
  for (int n = 0; n < 100; n++) tadc_parallel(body, 0, 1000, 1, 1 << 30);
  __builtin_aarch64_set_fpcr(before);
  for (int i = 0; i < 1000; i++) if (elements[i] != 100) return 1;
  return threads == 4 && flushing == 4 ? 0 : 2;
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


@pytest.mark.parametrize(
    ("name", "system"),
    [("aarch64", ""), ("aarch64", "linux"), ("aarch64", "darwin"), ("riscv64", ""), ("riscv64-v", "")],
)
def test_values_under_qemu(name: str, system: str, tmp_path: Path) -> None:
    """On one thread, and on four: by the pool of Linux, and by that of macOS."""
    command = runner(name)
    x = (np.arange(20000) % 1000 - 500) * 0.0078125
    f, g = tadc.compile(tadc.function(TEXT))(x)
    head = [line.removeprefix("# ") for line in str(emitted("asm", name)).splitlines() if line[:1] == "#"]
    signature = " ".join(head).split(";")[0] + ";"
    call = f"tad_f(x, f, g{', scratch' if 'scratch' in signature else ''})"
    words = {
        "SIGNATURE": signature,
        "BEFORE": COUNTING if system else "",
        "CALL": f"tadc_pool_resize(4); {call}" if system else call,
        "THREADS": "wrong()" if system else "0",
    }
    (tmp_path / "main.c").write_text(re.sub("|".join(words), lambda word: words[word[0]], MAIN))
    code = emitted("obj", name)
    assert isinstance(code, bytes)
    (tmp_path / "f.o").write_bytes(code)
    pool = object_code(pool_text(system, name), 0, PROCESSORS[name]) if system else None
    (tmp_path / "pool.o").write_bytes(pool or code)
    compiler = f"{PROCESSORS[name].machine}-linux-gnu-gcc"
    objects = ["f.o", *(["pool.o"] if pool else [])]
    whole = [compiler, "-static", "-pthread", "main.c", *objects, "-o", "main", "-lm"]
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
