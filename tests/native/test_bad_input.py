"""What can be got wrong in writing native code: a diagnostic, and no file."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from unittest import mock

import pytest

import tadc
import tadc.cli
from tadc.backend.cpu.processors import PROCESSORS
from tadc.frontend.packages import install_command
from tadc.native.c_names import is_symbol, parameter_names

TEXT = "x: f64[N]; y[i] = 2*x[i]"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--emit dll -o f.dll", "`--emit` cannot be `dll`"),
        ("--emit lib", "needs `-o FILE`"),
        ("--emit so", "needs `-o FILE`"),
        ("--emit wasm --target wasm32", "needs `-o FILE`"),
        ("--emit lib -o f.o", "`-o f.o` is the name of object code"),
        ("--emit h -o f.c", "`-o f.c` is the name of C"),
        ("-o f.a", "`--emit lib --target cpu` writes it"),
        ("--emit lib --target cuda -o f.a", "stage `lib` is of target `cpu`"),
        ("--emit lib --target wasm32 -o f.a", "stage `lib` is of target `cpu`"),
        ("--emit wasm -o f.wasm", "stage `wasm` is of target `wasm32`"),
        ("--emit obj --prefix 2f -o f.o", "no name for functions of C"),
        ("--emit obj --prefix int -o f.o", "no name for functions of C"),
        ("--emit obj --prefix exp -o f.o", "no name for functions of C"),
        ("--emit obj --prefix a__b -o f.o", "no name for functions of C"),
        ("--prefix f", "`--prefix` goes with `--emit`"),
        ("--emit asm --threads pool", "`--threads` goes with `--emit`"),
        ("--emit obj --threads many -o f.o", "`--threads` cannot be `many`"),
        ("--emit wasm --target wasm32 --threads pool -o f.wasm", "one thread"),
        ("--emit lib --wrt z -o f.a", "no argument `z`"),
        ("--emit lib --wrt x --schedule s.sched -o f.a", "`--schedule` does not go with"),
        ("--emit lib --dump-dir out -o f.a", "`--dump-dir` does not go with"),
        ("--emit lib -o no/f.a", "cannot write `no/f.a`"),
        ("--run x=1 --target wasm32", "target `wasm32` cannot be run here"),
        ("--bundle out --target wasm32", "a bundle holds kernels of a GPU"),
    ],
)
def test_a_command_that_is_wrong(
    words: str,
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s.sched").write_text("")
    assert tadc.cli.main(["-e", TEXT, *words.split()]) in (1, 2)
    assert said in capsys.readouterr().err
    assert {path.name for path in tmp_path.iterdir()} == {"s.sched"}


def test_a_program_without_outputs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "f.a"
    assert tadc.cli.main(["-e", "x: f64[3]", "--emit", "lib", "-o", str(file)]) == 1
    assert "TAD0405" in capsys.readouterr().err
    assert not file.exists()


@pytest.mark.parametrize(
    ("files", "how", "said"),
    [
        ((), {}, "no file to write"),
        (("f.x",), {}, "`f.x` says nothing that target `cpu` writes"),
        (("f.a",), {"target": "cuda"}, "`f.a` says nothing that target `cuda"),
        (("f.wasm",), {}, "`f.wasm` says nothing"),
        (("f.a",), {"prefix": "double"}, "no name for functions"),
        (("f.a",), {"threads": "two"}, "threads"),
        (("f.a",), {"mode": "grad"}, "mode"),
        (("f.a",), {"wrt": "z"}, "no argument `z`"),
        (("f.a", "no/f.h"), {}, "cannot write"),
        (("f.wasm",), {"target": "wasm32", "threads": "pool"}, "one thread"),
        (("f.a",), {"target": "cpu:riscv64", "threads": "pool"}, "x86-64"),
    ],
)
def test_an_export_that_is_wrong(
    files: tuple[str, ...], how: dict[str, str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(tadc.CompileError, match=said):
        tadc.export(tadc.function(TEXT), *files, **how)  # pyright: ignore[reportArgumentType]
    assert "no/f.h" in files or not list(tmp_path.iterdir())


def test_names_of_functions_and_parameters() -> None:
    assert all(map(is_symbol, ("f", "conv2d", "my_layer", "tad_y")))
    no_c = ("", "2f", "f-g", "f g", "_f", "é", "while", "class", "main", "f__g", "int64_t", "INT_MAX")
    others = ("expf", "sqrtl", "strlen", "tadc_parallel", "memory", "array")
    assert not any(map(is_symbol, no_c + others))
    assert parameter_names(["x", "int", "int_", "scratch", "TADC_OK", "SIZE_MAX"]) == {
        "x": "x", "int": "int__1", "int_": "int_", "scratch": "scratch_", "TADC_OK": "TADC_OK_",
        "SIZE_MAX": "SIZE_MAX_",
    }  # fmt: skip


def test_a_header_of_names_that_it_uses_itself(tmp_path: Path) -> None:
    """Tensors and sizes that are called as parameters and macros of the header are."""
    compiler = shutil.which("cc") or pytest.skip("no C compiler")
    text = "scratch: f64[TADC_OK]; INT64_MAX: f64[scratch_]; N[i] = sum{k} (scratch[k] * scratch[i])"
    tadc.export(tadc.function(f"{text}; M[i] = INT64_MAX[i]"), tmp_path / "f.h", prefix="f")
    header = " ".join((tmp_path / "f.h").read_text().split())
    assert "const double *scratch__1, const double *INT64_MAX_, double *N, double *M" in header
    assert "void *scratch, int64_t TADC_OK_, int64_t scratch_)" in header
    (tmp_path / "f.c").write_text('#include "f.h"\n')
    words = [compiler, "-std=c99", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "f.c"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def run_without_tools(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """The command, with nothing in PATH and without `ziglang`."""
    text = (
        "import sys, importlib.util as u; found = u.find_spec\n"
        "u.find_spec = lambda name, *rest: None if name == 'ziglang' else found(name, *rest)\n"
        "from tadc.cli import main; sys.exit(main(sys.argv[1:]))"
    )
    environment = {**os.environ, "PATH": ""}
    command = [sys.executable, "-c", text, *words]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def test_without_tools(tmp_path: Path) -> None:
    """A static library needs none; a shared one says what it needs."""
    done = run_without_tools(tmp_path, "-e", TEXT, "--wrt", "x", "--emit", "lib", "-o", "f.a")
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "f.a").stat().st_size
    done = run_without_tools(tmp_path, "-e", TEXT, "--emit", "so", "-o", "f.so")
    assert done.returncode == 1
    assert "TAD0711" in done.stderr
    assert "`cc`" in done.stderr
    assert install_command("so") in done.stderr
    assert not (tmp_path / "f.so").exists()


def test_a_linker_that_fails(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "cc").write_text("#!/bin/sh\necho 'cannot do that' >&2\nexit 1\n")
    (tmp_path / "cc").chmod(0o755)
    with mock.patch.dict(os.environ, {"PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"}):
        assert tadc.cli.main(["-e", TEXT, "--emit", "so", "-o", str(tmp_path / "f.so")]) == 1
    said = capsys.readouterr().err
    assert "TAD0711" in said
    assert "cannot do that" in said
    assert not (tmp_path / "f.so").exists()


@pytest.mark.parametrize("name", sorted(PROCESSORS))
def test_other_processors(name: str, tmp_path: Path) -> None:
    """Libraries are made for each; `tests/backend/test_processors.py` looks at what objects are of."""
    files = [tmp_path / f"f.{suffix}" for suffix in ("o", "a", "h")]
    tadc.export(tadc.function(TEXT), *files, wrt="x", target=f"cpu:{name}")
    code = files[0].read_bytes()
    assert code.startswith(b"\x7fELF")
    assert code in files[1].read_bytes()


def test_names_of_objects(tmp_path: Path) -> None:
    for name in ("f.o", "f.obj"):
        assert tadc.cli.main(["-e", TEXT, "--emit", "obj", "-o", str(tmp_path / name)]) == 0
    assert tadc.cli.main(["-e", TEXT, "--emit", "lib", "-o", str(tmp_path / "g.obj")]) == 2
    assert {path.name for path in tmp_path.iterdir()} == {"f.o", "f.obj"}


def test_headers_of_prefixes_that_differ_by_case(tmp_path: Path) -> None:
    compiler = shutil.which("cc") or pytest.skip("no C compiler")
    for prefix, name in (("f", "small.h"), ("F", "large.h")):
        tadc.export(tadc.function(TEXT), tmp_path / name, prefix=prefix)
    (tmp_path / "f.c").write_text('#include "small.h"\n#include "large.h"\nvoid *all[] = {f, F};\n')
    words = [compiler, "-std=c99", "-fsyntax-only", "f.c"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
