"""The command, from the outside."""

import json
import subprocess
import sys

import numpy as np
import pytest
from scipy import sparse

from tadc.backend.target import UNIT_FORMS
from tadc.cli import main
from tadc.compiler.all_stages import STAGES

PAPER = """\
a: f64[3, 5]
b: f64[4, 5]
c: f64[3, 3]
d: f64[8]
f[i, j] = exp(-sum{k}_0^4 ((a[i, k] + b[j, k])**2 * c[i, i] + d[i + k]**3))
"""
SHAPES = {"a": (3, 5), "b": (4, 5), "c": (3, 3), "d": (8,), "df": (3, 4)}


@pytest.fixture
def paper(tmp_path):
    """The paper's example and arrays for it, in a folder."""
    (tmp_path / "paper.tad").write_text(PAPER)
    random = np.random.default_rng(1)
    for name, shape in SHAPES.items():
        np.save(tmp_path / f"{name}.npy", random.uniform(-1, 1, shape))
    return tmp_path


def run(capsys, *argv):
    """Exit code, stdout and stderr."""
    code = main([str(word) for word in argv])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def files(folder, *names):
    return [f"{n}={folder / n}.npy" for n in names]


def value(folder):
    """The paper's example by NumPy."""
    a, b, c, d = (np.load(folder / f"{n}.npy") for n in "abcd")
    i, j, k = np.ogrid[:3, :4, :5]
    return np.exp(-((a[i, k] + b[j, k]) ** 2 * c[i, i] + d[i + k] ** 3).sum(2))


def test_prints_the_program(capsys, paper):
    code, out, err = run(capsys, paper / "paper.tad")
    assert (code, err) == (0, "")
    assert "f[i, j] = exp(-sum{k}_0^4 (" in out


def test_prints_derivatives_as_programs(capsys, paper):
    code, out, _ = run(capsys, paper / "paper.tad", "--wrt", "a,d")
    assert code == 0
    assert "sum{k}_(max [0; d_0 - 2])^(min [4; d_0]) (" in out
    again = paper / "again.tad"
    again.write_text(out)
    assert run(capsys, again)[1] == out


@pytest.mark.parametrize("stage", [s.name for s in STAGES if s.name != "cubin"])
def test_every_stage(capsys, paper, stage):
    target = {"gpu": "cuda:sm_90", "nvvm": "cuda:sm_90", "ptx": "cuda:sm_90", "rocdl": "rocm:gfx942"}
    written = paper / f"out{next(s.suffix for s in STAGES if s.name == stage)}"
    code, _, err = run(
        capsys, paper / "paper.tad", "--wrt", "a", "--target", target.get(stage, "cpu"), "--emit", stage,
        "-o", written,
    )  # fmt: skip
    assert code == 0, err
    # Maps so small have no steps.
    text = written.read_bytes()
    assert text.startswith(b"function f") if stage == "schedule" else len(text) > 100


def test_a_stage_can_be_taken_up_again(capsys, paper):
    """Each IR stage, written to a file and read, goes on to the same assembly."""
    expected = run(capsys, paper / "paper.tad", "--wrt", "a", "--emit", "llvm")[1]
    for stage in ("diff", "cancel", "opt", "loops", "llvm-dialect"):
        file = paper / f"{stage}.mlir"
        assert run(capsys, paper / "paper.tad", "--wrt", "a", "--emit", stage, "-o", file)[0] == 0
        code, out, err = run(capsys, file, "--emit", "llvm")
        assert code == 0, err
        assert out.count("define") == expected.count("define")


def test_delta_stages_differentiate_by_all(capsys):
    code, out, _ = run(
        capsys, "-e", "x: f64[8]; f[i: 3, j: 4] = exp(x[i + j])", "--emit", "cancel", "-o", "-"
    )
    assert code == 0
    assert "tad.sum (%j)" in out


def test_run_value_and_gradients(capsys, paper):
    arrays = files(paper, "a", "b", "c", "d")
    assert run(capsys, paper / "paper.tad", "--run", *arrays, "-o", paper / "out.npz")[0] == 0
    np.testing.assert_allclose(np.load(paper / "out.npz")["f"], value(paper), rtol=1e-12)
    arrays = files(paper, *SHAPES)
    code, _, err = run(
        capsys, paper / "paper.tad", "--wrt", "a,d", "--values", "--run", *arrays, "-o", paper / "g.npz"
    )
    assert code == 0, err
    found = np.load(paper / "g.npz")
    assert sorted(found.files) == ["da", "dd", "f"]
    a = np.load(paper / "a.npy")
    step = np.zeros_like(a)
    step[1, 2] = 1e-6
    np.save(paper / "a.npy", a + step)
    above = value(paper)
    np.save(paper / "a.npy", a - step)
    slope = ((above - value(paper)) / 2e-6 * np.load(paper / "df.npy")).sum()
    np.testing.assert_allclose(found["da"][1, 2], slope, rtol=1e-6)


def test_run_prints_without_a_file(capsys):
    code, out, _ = run(capsys, "-e", "x: f64; f = x**2", "--run", "x=3")
    assert (code, out) == (0, "f =\n9.0\n")


def test_arrays_of_archives_go_by_name(capsys, tmp_path):
    """The argument's name, or the one that stands behind the file; never another that happens to be there."""
    program = ["-e", "b: f64[2]; f[i] = b[i]**2", "--run"]
    archive = tmp_path / "some.npz"
    np.savez(archive, a=np.array([1.0, 2]), b=np.array([3.0, 4]))
    assert run(capsys, *program, f"b={archive}")[:2] == (0, "f =\n[ 9. 16.]\n")
    assert run(capsys, *program, f"b={archive}:a")[:2] == (0, "f =\n[1. 4.]\n")
    others = [
        (
            lambda: np.savez(archive, a=np.array([1.0, 2])),
            "",
            ["no array `b`", "it has `a`", f"`b={archive}:a`"],
        ),
        (lambda: np.savez(archive, np.array([1.0, 2])), "", ["no array `b`", "it has `arr_0`"]),
        (lambda: np.savez(archive, a=1, c=2), ":d", ["no array `d`", "it has `a`, `c`"]),
        (
            lambda: np.savez(archive, vector=1, c=2),
            ":vectro",
            ["no array `vectro`", "did you mean `vector`?"],
        ),
        (lambda: np.savez(archive), "", ["no array `b`", "the archive is empty"]),
    ]
    for write, entry, words in others:
        write()
        code, out, err = run(capsys, *program, f"b={archive}{entry}")
        assert (code, out) == (1, "")
        assert "error[TAD0801]" in err
        for word in words:
            assert word in err
    np.savez(archive, arr_0=np.array([1.0, 2]))
    assert run(capsys, *program, f"b={archive}:arr_0")[:2] == (0, "f =\n[1. 4.]\n")


def test_a_file_of_a_sparse_array(capsys, tmp_path):
    file = tmp_path / "A.npz"
    sparse.save_npz(file, sparse.csr_array([[0.0, 2], [3, 0]]))
    text = (
        "row: index[E] in N; col: index[E] in M; A: f64[N, M] at (row, col); y[i] = sum{j} (A[i, j]**2 * j)"
    )
    assert run(capsys, "run", "-e", text, f"A={file}")[:2] == (0, "y =\n[4. 0.]\n")
    np.save(tmp_path / "dy.npy", np.ones(2))
    found = run(capsys, "run", "-e", text, "--wrt", "A", f"A={file}", f"dy={tmp_path / 'dy.npy'}")
    assert found[:2] == (0, "dA =\n[4. 0.]\n")
    code, _, err = run(capsys, "-e", text, "--check-gradient", "--run", f"A={file}")
    assert code == 1
    assert "is a sparse array of SciPy, which" in err


def objects(file):
    np.savez(file, x=np.array([None, 1]))


def damaged(file):
    np.savez(file, x=np.arange(5.0))
    content = bytearray(file.read_bytes())
    content[150] ^= 255
    file.write_bytes(content)


def too_large(file):
    head = b"{'descr': '<f8', 'fortran_order': False, 'shape': (10000000000000000,), }".ljust(117) + b"\n"
    file.write_bytes(b"\x93NUMPY\x01\x00" + len(head).to_bytes(2, "little") + head)


@pytest.mark.parametrize(
    ("write", "words"),
    [(objects, "are Python objects"), (damaged, "Bad CRC-32"), (too_large, "Unable to allocate")],
)
def test_arrays_that_cannot_be_read(capsys, tmp_path, write, words):
    write(tmp_path / "x.npz")
    code, _, err = run(
        capsys, "-e", "x: f64[5]; f[i] = x[i]", "--run", f"x={tmp_path / 'x.npz'}", "-o", tmp_path / "f.npy"
    )
    assert code == 1
    assert "TAD0801" in err
    assert words in err
    assert not (tmp_path / "f.npy").exists()


def test_check_gradient(capsys, paper):
    code, out, _ = run(capsys, paper / "paper.tad", "--check-gradient")
    assert code == 0
    assert out.count("ok") == 4


def test_standard_input(capsys, monkeypatch):
    import io

    monkeypatch.setattr(sys, "stdin", io.StringIO("x: f64[3]; f[i] = x[i]\n"))
    code, out, _ = run(capsys, "-")
    assert code == 0
    assert "f[i] = x[i]" in out


def test_dump_dir_and_time(capsys, paper):
    code, _, err = run(
        capsys, paper / "paper.tad", "--wrt", "a", "--emit", "asm", "-o", paper / "x.s",
        "--dump-dir", paper / "dump", "--time",
    )  # fmt: skip
    assert code == 0
    names = sorted(p.name for p in (paper / "dump").iterdir())
    assert names[0] == "00-ast.txt"
    assert "03-diff.mlir" in names
    assert all(stage in err for stage in ("ast", "typed", "cancel", "loops", "asm"))


def test_print_ir_after_all(paper):
    done = subprocess.run(
        [sys.executable, "-m", "tadc", paper / "paper.tad", "--wrt", "a", "--print-ir-after-all"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert "IR Dump After" in done.stderr
    assert "tad-cancel-deltas" in done.stderr


def test_help_fits_a_screen_and_is_quick():
    program = (
        "import sys; from tadc.cli import main; code = main(sys.argv[1:]);"
        "heavy = [m for m in sys.modules if 'mlir' in m.lower() or m in ('numpy', 'llvmlite')];"
        "assert not heavy;"
        "sys.exit(code)"
    )
    for flag, limit in (("-h", 30), ("--help", 51), ("run", 25)):
        done = subprocess.run(
            [sys.executable, "-c", program, flag], capture_output=True, text=True, check=True
        )
        lines = done.stdout.splitlines()
        assert len(lines) <= limit
        assert max(map(len, lines)) <= 100


def test_front_end_errors_do_not_import_mlir():
    program = (
        "import sys; from tadc.cli import main;"
        "code = main(['-e', 'x: f64[3]; f[i] = y[i]', '--emit', 'asm']);"
        "assert code == 1; assert not [m for m in sys.modules if 'mlir' in m.lower()]"
    )
    subprocess.run([sys.executable, "-c", program], check=True, capture_output=True)


@pytest.mark.parametrize(
    ("argv", "code", "words"),
    [
        (["--emit", "loop", "x.tad"], 2, ["cannot be `loop`", "did you mean `loops`?"]),
        (["--emt", "loops", "x.tad"], 2, ["unknown option `--emt`", "did you mean `--emit`?"]),
        (["x.tad", "-e", "f = 1"], 2, ["both a FILE and -e TEXT"]),
        (["x.tad", "y.tad"], 2, ["a second FILE, `y.tad`"]),
        (["-e", "a: f64; b: f64; f = a*b", "--wrt", "a", "--wrt", "a"], 1, ["`a` is asked for twice"]),
        (["-e", "f = 1", "--emit", "ast", "--emit=typed"], 2, ["`--emit` is given twice"]),
        (["-e", "f = 1", "-e", "g = 1"], 2, ["`-e` is given twice"]),
        (["-e", "f = 1", "--emit"], 2, ["`--emit` lacks a value"]),
        (["-e", "f = 1", "--opt-level", "two"], 2, ["`--opt-level` cannot be `two`"]),
        (["-e", "f = 1", "-o", ""], 2, ["the name of a file is empty"]),
        ([""], 2, ["the name of a file is empty"]),
        (["--wrt", "a"], 2, ["no program"]),
        (["-e", "f = 1", "--emit", "ptx"], 2, ["cuda"]),
        (["-e", "f = 1", "--emit", "loops", "--target", "cuda"], 2, ["of target `cpu`"]),
        (["-e", "f = 1", "--target", "cuda:sm_1", "--emit", "ptx"], 1, ["unknown target"]),
        (["no.tad"], 1, ["no file `no.tad`"]),
        (["-e", "f[i: 3] = x[i"], 1, ["TAD0101"]),
        (["-e", "x: f64[3]; f[i] = x[i, i]"], 1, ["TAD0301"]),
        (["-e", "x: f64[3]; f[i: 4] = x[i]"], 1, ["TAD0302", "i = 3"]),
        (["-e", "x: f64[3]; f[i] = x[i]", "--wrt", "z"], 1, ["no argument `z`"]),
        (["-e", "x: f64[3]; f[i] = x[i]", "--run", "x"], 1, ["not of the form NAME=FILE"]),
        (["-e", "x: f64[3]; f[i] = x[i]", "--run", "x=none.npy"], 1, ["no file `none.npy`"]),
        (["-e", "x: f64[3]; f[i] = x[i]", "--run", "x=2", "-o", "z.npz"], 1, ["TAD0503"]),
        (["-e", "x: f64[3]; f[i] = x[i]", "--run", "x=2", "-o", "z.txt"], 1, ["cannot tell the format"]),
        (["-e", "x: f64; f = x", "--run", "x=2", "y=3", "-o", "z.npz"], 1, ["TAD0502"]),
        (["-e", "x: f64; f = x", "--passes", "tad-simplfy"], 1, ["did you mean `tad-simplify`?"]),
        (["-e", "x: f64; f = x", "-o", "/nowhere/x.tad"], 1, ["cannot write"]),
    ],
)
def test_wrong_use(capsys, tmp_path, monkeypatch, argv, code, words):
    """Each mistake: its exit code, words that help, nothing on stdout, nothing written."""
    monkeypatch.chdir(tmp_path)
    found, out, err = run(capsys, *argv)
    assert found == code
    assert out == ""
    for word in words:
        assert word in err
    assert "Traceback" not in err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("argv", [["-h"], ["--help"], ["--version"], ["cache", "-h"], ["--list", "passes"]])
def test_stdout_that_is_full_is_no_bug(argv):
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "tadc", *argv], stdout=full, stderr=subprocess.PIPE, text=True
        )
    assert done.returncode == 1
    assert "cannot write to stdout: No space left on device" in done.stderr


def test_a_bug_leaves_a_reproducer(capsys, monkeypatch):
    import tadc.commands.main

    def broken(arguments):
        raise RuntimeError("a bug on purpose")

    monkeypatch.setattr(tadc.commands.main, "execute", broken)
    code, _, err = run(capsys, "-e", "x: f64; f = x")
    assert code == 70
    file = err.split(" are in ")[1].split()[0]
    with open(file) as text:
        content = text.read()
    assert "a bug on purpose" in content
    assert content.rstrip().endswith("x: f64; f = x")


def test_interrupt(capsys, monkeypatch):
    import tadc.commands.main

    def interrupted(arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(tadc.commands.main, "execute", interrupted)
    assert run(capsys, "-e", "f = 1")[0] == 130


def test_the_process_ends_at_once_where_it_is_interrupted():
    """What is printed is out, and nothing of the end of Python is waited for."""
    program = (
        "import atexit; from tadc import cli; atexit.register(print, 'end');"
        "cli.main = lambda _: print('said') or 130; cli.script()"
    )
    done = subprocess.run([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert (done.returncode, done.stdout) == (130, "said\n")


def test_lists(capsys):
    assert "tad-cancel-deltas" in run(capsys, "--list", "passes")[1]
    assert "sigmoid(x)" in run(capsys, "--list", "functions")[1]
    names = dict.fromkeys([*(stage.name for stage in STAGES), *UNIT_FORMS])
    assert [line.split()[0] for line in run(capsys, "--list", "stages")[1].splitlines()] == [*names]


def test_statistics(capsys, paper):
    code, out, err = run(capsys, paper / "paper.tad", "--stats")
    assert (code, err) == (0, "")
    assert "operations, weighted               552" in out
    path = paper / "paper.json"
    assert run(capsys, paper / "paper.tad", "--stats", "-o", path)[0] == 0
    found = json.loads(path.read_text())
    assert found["written"]["work"]["weighted"] == 552
    assert found["wrt"] == ["a", "b", "c", "d"]
    assert found["ratio"] == found["gradients"]["work"]["weighted"] / 552


def test_statistics_need_values_of_sizes(capsys):
    program = "x: f64[N]; f = sum{i} (x[i]**2)"
    code, _, err = run(capsys, "-e", program, "--stats")
    assert code == 1
    assert "error[TAD0212]: size `N` needs a value" in err
    code, out, _ = run(capsys, "-e", program, "--stats", "--size", "N=100")
    assert code == 0
    assert "value and gradients by x cost 1.50 times" in out
    assert run(capsys, "-e", program, "--stats", "--run")[0] == 2
