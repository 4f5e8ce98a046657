"""Kernels from disk: the same results, without the compiler; and `tadc cache`."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import tomllib
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tadc
from tadc.api import execute
from tadc.backend import fingerprint
from tadc.backend.cpu import jit, linking
from tadc.cli import main

ROOT = Path(__file__).parent.parent.parent

PAPER = """
a: f64[3, 5]
b: f64[4, 5]
c: f64[3, 3]
d: f64[8]
f[i, j] = exp(-sum{k}_0^4 ((a[i, k] + b[j, k])**2 * c[i, i] + d[i + k]**3))
"""
SIZED = "x: f64[N]; w: f64[K]; y[i: (N - K) // 2 + 1] = sum{k} (x[2*i + k] * w[k])"
PER_VALUE = "x: f64[R]; size W; y[i: R // W] = sum{k: W} (x[W*i + k])"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache for the test alone."""
    monkeypatch.setenv("TADC_CACHE", "1")
    monkeypatch.setenv("TADC_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("TADC_CACHE_SIZE", raising=False)
    return tmp_path / "cache"


@pytest.fixture
def compilations(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The last stage of each run of the compiler: `llvm` of a kernel, `opt` of a derivative."""
    from tadc.compiler import all_stages as driver
    from tadc.compiler import derive

    seen: list[str] = []

    def counting(state: Any, last: str, **options: Any) -> Any:
        seen.append(last)
        return driver.compile_until(state, last, **options)

    monkeypatch.setattr(execute, "compile_until", counting)
    monkeypatch.setattr(derive, "compile_until", counting)
    return seen


def entries(folder: Path) -> list[Path]:
    return sorted(folder.iterdir()) if folder.exists() else []


def arrays_of(f: tadc.Function, **sizes: int) -> dict[str, Any]:
    from tadc.frontend.extents import shape_at

    random = np.random.default_rng(3)
    return {a.name: random.uniform(-1, 1, shape_at(a.shape, sizes)) for a in f.program.arguments}


def outcome(f: tadc.Function, **arguments: Any) -> list[Any]:
    found = f(**arguments)
    return list(found) if isinstance(found, tuple) else [found]


def check_same(make: Callable[[], tadc.Function], compilations: list[str], **arguments: Any) -> None:
    """The second time nothing is compiled, and every bit is as before."""
    first = outcome(make(), **arguments)
    assert "llvm" in compilations
    compilations.clear()
    again = outcome(make(), **arguments)
    assert not compilations
    for one, other in zip(first, again, strict=True):
        assert one.tobytes() == other.tobytes()


def test_a_hit_gives_the_same_bits(compilations: list[str]) -> None:
    f = tadc.function(PAPER)
    arrays = arrays_of(tadc.value_and_vjp(f))
    i, j, k = np.ogrid[:3, :4, :5]
    a, b, c, d = (arrays[name] for name in "abcd")
    expected = np.exp(-((a[i, k] + b[j, k]) ** 2 * c[i, i] + d[i + k] ** 3).sum(2))
    compilations.clear()
    check_same(lambda: tadc.value_and_vjp(tadc.function(PAPER)), compilations, **arrays)
    np.testing.assert_allclose(tadc.value_and_vjp(tadc.function(PAPER))(**arrays).f, expected, rtol=1e-13)


def test_a_hit_of_any_size(compilations: list[str]) -> None:
    x, w = np.arange(9.0), np.array([1.0, -2.0, 4.0])
    check_same(lambda: tadc.function(SIZED), compilations, x=x, w=w)
    f = tadc.function(SIZED)
    np.testing.assert_array_equal(f(x=x, w=w), [x[2 * i : 2 * i + 3] @ w for i in range(4)])
    # The same kernel at other sizes, and refusing those that have no meaning.
    np.testing.assert_array_equal(f(x=x[:4], w=w[:1]), x[:4:2])
    with pytest.raises(tadc.ArgumentError, match="N = 2, K = 5"):
        f(x=x[:2], w=np.ones(5))
    assert not compilations
    g = tadc.vjp(f, wrt="x")
    check_same(lambda: tadc.vjp(tadc.function(SIZED), wrt="x"), compilations, x=x, w=w, dy=np.ones(4))
    assert g(x=x, w=w, dy=np.ones(4)).shape == (9,)


def test_a_hit_for_given_sizes(compilations: list[str]) -> None:
    x, w = np.arange(9.0), np.array([1.0, -2.0, 4.0])
    check_same(lambda: tadc.function(SIZED, sizes={"K": 3}), compilations, x=x, w=w)
    check_same(lambda: tadc.function(SIZED).at({"N": 9, "K": 3}), compilations, x=x, w=w)
    given = tadc.function(SIZED).at({"K": 3})
    np.testing.assert_array_equal(given(x=x, w=w), tadc.function(SIZED)(x=x, w=w))
    compilations.clear()
    with pytest.raises(tadc.ArgumentError, match="compiled for K = 3"):
        tadc.compile(tadc.function(SIZED), sizes={"N": 9, "K": 3})(x=x, w=w, K=4)
    assert not compilations
    tadc.function(SIZED, sizes={"K": 2})(x=x, w=w[:2])
    assert compilations == ["llvm"]


def test_a_hit_for_given_sizes_of_a_derivative(compilations: list[str]) -> None:
    """Nor are it and what it is derived of differentiated again."""
    x = np.arange(1.0, 4.0)
    for expected in (["opt", "opt", "opt", "opt", "llvm"], []):
        compilations.clear()
        hessian = tadc.hessian(tadc.function("x: f64[N]; f = sum{i} (x[i]**3)"))
        np.testing.assert_array_equal(hessian.at({"N": 3})(x), np.diag(6 * x))
        assert compilations == expected


def test_a_hit_once_a_value(compilations: list[str]) -> None:
    x = np.arange(12.0)
    check_same(lambda: tadc.function(PER_VALUE), compilations, x=x, W=3)
    np.testing.assert_array_equal(tadc.function(PER_VALUE)(x=x, W=3), x.reshape(4, 3).sum(1))
    assert not compilations
    np.testing.assert_array_equal(tadc.function(PER_VALUE)(x=x, W=4), x.reshape(3, 4).sum(1))
    assert compilations == ["llvm"]
    compilations.clear()
    dy = np.arange(4.0)
    check_same(lambda: tadc.vjp(tadc.function(PER_VALUE)), compilations, x=x, dy=dy, W=3)
    np.testing.assert_array_equal(tadc.vjp(tadc.function(PER_VALUE))(x=x, dy=dy, W=3), np.repeat(dy, 3))
    assert not compilations


def test_a_function_from_disk_is_a_function(compilations: list[str]) -> None:
    def make() -> tadc.Function:
        return tadc.grad(tadc.function("x: f64[4]; y: f64[4]; s = sum{i} (x[i]**2 * y[i])"), wrt=["y"])

    first = make()
    x = np.arange(4.0)
    first(x=x, y=x)
    compilations.clear()
    again = make()
    assert (again.inputs, again.outputs, again.gradients) == (first.inputs, first.outputs, first.gradients)
    assert again.cotangents == first.cotangents
    np.testing.assert_array_equal(again(x, x), x**2)
    assert not compilations
    # What needs the program makes it.
    assert str(again) == str(first)
    assert again.lower().as_text("llvm") == first.lower().as_text("llvm")
    copy = pickle.loads(pickle.dumps(again))
    assert copy.gradients == first.gradients
    np.testing.assert_array_equal(copy(x, x), x**2)


@pytest.mark.parametrize(
    "other",
    [
        lambda: tadc.vjp(tadc.function(PAPER)),
        lambda: tadc.value_and_vjp(tadc.function(PAPER), wrt="a"),
        lambda: tadc.value_and_vjp(tadc.function(PAPER), wrt=["b", "a", "c", "d"]),
        lambda: tadc.value_and_vjp(tadc.function(PAPER), materialize="never"),
        lambda: tadc.value_and_vjp(tadc.function(PAPER, memory_limit="1M")),
        lambda: tadc.value_and_vjp(tadc.function(PAPER.replace("**3", "**2"))),
        lambda: tadc.value_and_vjp(tadc.function(PAPER.replace("f64", "f32"))),
    ],
    ids=["mode", "wrt", "order", "materialize", "limit", "program", "type"],
)
def test_another_function_is_no_hit(other: Callable[[], tadc.Function], compilations: list[str]) -> None:
    f = tadc.value_and_vjp(tadc.function(PAPER))
    f(**arrays_of(f))
    compilations.clear()
    other().compiled()
    assert compilations == ["opt", "llvm"]


def test_limits_are_of_the_kernel(compilations: list[str]) -> None:
    """Of the same text kernels that store other tensors are others."""
    for limit in (None, "1M", "2M"):
        tadc.function(SIZED, memory_limit=limit).compiled()
    tadc.compile(tadc.function(SIZED), memory_limit="3M")
    assert compilations == ["llvm"] * 4
    tadc.compile(tadc.function(SIZED, memory_limit="2M"))
    tadc.compile(tadc.function(SIZED), memory_limit=3 << 20)
    assert compilations == ["llvm"] * 4


@pytest.mark.parametrize("what", ["cpu", "_sources", "_suppliers"])
def test_another_machine_or_compiler_is_no_hit(
    what: str, compilations: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    tadc.function(SIZED).compiled()
    before = getattr(fingerprint, what)()
    monkeypatch.setattr(fingerprint, what, lambda: [*before, "another"] if what != "cpu" else before + "avx9")
    fingerprint.fingerprint.cache_clear()
    try:
        tadc.function(SIZED).compiled()
    finally:
        fingerprint.fingerprint.cache_clear()
    assert compilations == ["llvm", "llvm"]


def test_a_changed_source_is_another_compiler() -> None:
    named = {line.split()[0].rpartition("/")[0] for line in fingerprint._sources()}
    assert any(line.startswith("passes/derivatives/reverse.py ") for line in fingerprint._sources())
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["setuptools"]
    beside = tuple(settings["package-dir"])
    places = {n.removeprefix("tadc.") if n.startswith(beside) else n for n in settings["packages"]}
    assert named == {place.replace(".", "/") for place in places}


@pytest.mark.parametrize("damage", [lambda b: b"", lambda b: b[: len(b) // 2], lambda b: b[:-9] + b"\0" * 9])
def test_damaged_entries_are_made_again(
    damage: Callable[[bytes], bytes], folder: Path, compilations: list[str]
) -> None:
    x, w = np.arange(9.0), np.ones(3)
    expected = tadc.function(SIZED)(x=x, w=w)
    for file in entries(folder):
        file.write_bytes(damage(file.read_bytes()))
    compilations.clear()
    np.testing.assert_array_equal(tadc.function(SIZED)(x=x, w=w), expected)
    assert compilations == ["llvm"]
    compilations.clear()
    np.testing.assert_array_equal(tadc.function(SIZED)(x=x, w=w), expected)
    assert not compilations


@pytest.mark.parametrize(
    "payload", [b"", b"{}", b"[1]\n", b"null\n\x7fELF", b"\xff\n", b'{"symbol": 3}\ncode']
)
def test_entries_of_another_form_are_made_again(
    payload: bytes, compilations: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a version would write them that has the same key."""
    from tadc.backend.disk_cache import DiskCache

    put = DiskCache.put
    with monkeypatch.context() as patch:
        patch.setattr(DiskCache, "put", lambda cache, key, _: put(cache, key, payload))
        tadc.function(SIZED).compiled()
    compilations.clear()
    np.testing.assert_array_equal(tadc.function(SIZED)(x=np.ones(3), w=np.ones(3)), [3.0])
    assert compilations == ["llvm"]


def test_code_that_does_not_link_is_made_again(
    compilations: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    tadc.function(SIZED).compiled()
    compilations.clear()
    calls: list[int] = []
    load = jit.load

    def once(*arguments: Any, **options: Any) -> Any:
        calls.append(1)
        if len(calls) == 1:
            raise linking.LinkError("the process lacks a symbol")
        return load(*arguments, **options)

    monkeypatch.setattr(jit, "load", once)
    np.testing.assert_array_equal(tadc.function(SIZED)(x=np.ones(3), w=np.ones(3)), [3.0])
    assert compilations == ["llvm"]


def test_a_warning_comes_every_time() -> None:
    for _ in range(2):
        with pytest.warns(tadc.CompileWarning, match="zero almost everywhere"):
            tadc.vjp(tadc.function("x: f64[3]; y[i] = floor(x[i])"))(x=np.ones(3), dy=np.ones(3))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tadc.vjp(tadc.function("x: f64[3]; y[i] = exp(x[i])"))


def test_an_error_comes_every_time(folder: Path) -> None:
    for _ in range(2):
        with pytest.raises(tadc.CompileError, match="out of range"):
            tadc.function("x: f64[3]; y[i: 4] = x[i]")
        with pytest.raises(tadc.CompileError, match="no argument `z`"):
            tadc.vjp(tadc.function("x: f64[3]; y[i] = x[i]"), wrt="z")
    assert not entries(folder)


def test_the_name_of_a_file_is_not_part_of_it(compilations: list[str]) -> None:
    tadc.function(SIZED, name="one.tad").compiled()
    compilations.clear()
    f = tadc.function(SIZED, name="other.tad")
    f.compiled()
    assert not compilations
    with pytest.raises(tadc.ArgumentError, match=r"other\.tad:1"):
        f(x=np.ones(2), w=np.ones(5))


def test_off_nothing_is_kept(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TADC_CACHE", "0")
    tadc.function(SIZED).compiled()
    assert not folder.exists()


def test_a_folder_that_cannot_be_used_breaks_nothing(folder: Path, compilations: list[str]) -> None:
    folder.mkdir()
    for mode in (0o777, 0o500):
        folder.chmod(mode)
        for _ in range(2):
            f = tadc.function(SIZED)
            np.testing.assert_array_equal(f(x=np.ones(3), w=np.ones(3)), [3.0])
    # The superuser can write to a read-only folder.
    assert len(compilations) == (3 if os.geteuid() == 0 else 4)
    folder.chmod(0o700)


FRESH = """
import sys
start = {*sys.modules}
import numpy as np
import tadc
before = {*sys.modules}
f = tadc.value_and_vjp(tadc.function("x: f64[4]; y[i] = exp(x[i])"))
print(f(x=np.zeros(4), dy=np.ones(4)).dx)
heavy = {"torch_mlir", "mlir", "llvmlite", "jax", "torch", "tadc.frontend.lexer", "pathlib", "tempfile"}
print(sorted((heavy & sys.modules.keys() | sys.modules.keys() - before) - start))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="LLVM links the objects of other systems")
def test_a_hit_in_another_process_imports_nothing_more() -> None:
    runs = [subprocess.run([sys.executable, "-c", FRESH], capture_output=True, text=True) for _ in range(2)]
    assert [r.stdout.splitlines()[0] for r in runs] == ["[1. 1. 1. 1.]"] * 2, runs
    assert "llvmlite" in runs[0].stdout
    assert runs[1].stdout.splitlines()[1] == "[]"


def command(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, str, str]:
    code = main([str(word) for word in words])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_the_command_shows_and_clears(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    # The first kernel for all sizes brings what such kernels share.
    tadc.function("x: f64[N]; y[i] = 3*x[i]").compiled()
    command(capsys, "cache", "clear")
    assert command(capsys, "cache") == (
        0,
        f"folder   {folder}\nentries  0\nsize     0 bytes\nlimit    256.0 MiB\n",
        "",
    )
    tadc.function(SIZED).compiled()
    code, out, _ = command(capsys, "cache")
    size = sum(file.stat().st_size for file in entries(folder))
    assert (code, "entries  2\n" in out, f"{size / 1024:.1f} KiB" in out) == (0, True, True)
    monkeypatch.setenv("TADC_CACHE_SIZE", "1G")
    assert "limit    1.0 GiB\n" in command(capsys, "cache")[1]
    monkeypatch.setenv("TADC_CACHE_SIZE", "huge")
    with pytest.warns(RuntimeWarning, match="TADC_CACHE_SIZE=`huge` is no size and counts as 256M"):
        assert "limit    256.0 MiB\n" in command(capsys, "cache")[1]
    assert command(capsys, "cache", "clear") == (0, f"removed 2 entries, {size / 1024:.1f} KiB\n", "")
    assert not entries(folder)


def test_the_command_says_why_there_is_none(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder.mkdir()
    folder.chmod(0o777)
    assert "(not used: other users can write to it)" in command(capsys, "cache")[1]
    code, _, err = command(capsys, "cache", "clear")
    assert (code, "cannot clear" in err, "other users can write to it" in err) == (1, True, True)
    monkeypatch.setenv("TADC_CACHE", "0")
    assert command(capsys, "cache") == (0, "off: TADC_CACHE is 0\n", "")
    assert command(capsys, "cache", "clear") == (0, "off: TADC_CACHE is 0\n", "")


def test_the_command_s_usage(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = command(capsys, "cache", "-h")
    assert code == 0
    assert "tadc cache clear" in out
    code, out, err = command(capsys, "cache", "cleer")
    assert (code, out, "did you mean `clear`?" in err) == (2, "", True)
    assert "tadc cache" in command(capsys, "-h")[1]
    assert "tadc cache" in command(capsys, "--help")[1]


def test_the_command_runs_kernels_from_disk(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "f.tad").write_text("x: f64[N]\ny[i] = x[i]**2\nz[i] = floor(x[i])\n")
    np.save(tmp_path / "x.npy", np.arange(3.0))
    kept = ("--run", f"x={tmp_path / 'x.npy'}")
    value = (tmp_path / "f.tad", *kept)
    gradient = (tmp_path / "f.tad", "--wrt", "x", *kept, "dy=" + kept[1][2:], "dz=" + kept[1][2:])
    sized = (*value, "--size", "N=3")
    first = [command(capsys, *words) for words in (value, gradient, sized)]
    assert first[0][1].startswith("y =\n[0. 1. 4.]")
    assert first[1][1].startswith("dx =\n[0. 2. 8.]")
    monkeypatch.setattr("tadc.api.execute.compile_program", None)
    assert [command(capsys, *words) for words in (value, gradient, sized)] == first


def test_the_command_warns_every_time(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "f.tad").write_text("x: f64[3]\ny[i] = floor(x[i])\n")
    np.save(tmp_path / "x.npy", np.arange(3.0))
    given = ("--run", f"x={tmp_path / 'x.npy'}", f"dy={tmp_path / 'x.npy'}")
    for allow in ((), ("--allow", "TAD0402"), ()):
        code, _, err = command(capsys, tmp_path / "f.tad", "--wrt", "x", *given, *allow)
        assert (code, "TAD0402" in err) == (0, not allow)
