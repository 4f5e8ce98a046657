"""Warnings about programs that are unlikely to be meant, and none about any that is."""

import copy
import pickle
import re
import warnings
from pathlib import Path

import pytest

import tadc
from tadc.cli import main
from tadc.frontend.per_value import PerValue, read_program
from tadc.frontend.source import Source


def doubts(text: str) -> list[tuple[str, str]]:
    found = read_program(Source(text))
    program = found.example if isinstance(found, PerValue) else found
    assert all(doubt.severity == "warning" and doubt.helps for doubt in program.doubts)
    return [(doubt.code, doubt.message) for doubt in program.doubts]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x: f64[N]; w: f64[K]; y[i: N] = sum{k} (w[k]*x[i + k])", "`K` can be at most 1"),
        ("x: f64[N]; f[i: N] = x[2*i]", "`N` can be at most 1"),
        ("x: f64[8]; size N; f[i: N] = x[i]", "`N` can be at most 8"),
        (
            "x: f64[N]; y: f64[M]; f[i: N] = y[i + 1]; g[j: M] = x[j + 1]",
            "no sizes of 2 and more fit together",
        ),
    ],
)
def test_sizes_that_cannot_be_large(text: str, message: str) -> None:
    assert doubts(text) == [("TAD0407", message)]


@pytest.mark.parametrize(
    "text",
    [
        "x: f64[N]; w: f64[K]; y[i: N - K + 1] = sum{k} (w[k]*x[i + k])",
        "x: f64[N]; f = x[3]",
        "x: f64[N]; y: f64[M]; f[i: N] = y[2*i]",
        "x: f64[N]; y: f64[N]; f[i: N - 2] = x[i + 2] * y[i]",
        "x: f64[N]; size M; r[i: N // M, j: M] = x[M*i + j]",
    ],
)
def test_sizes_that_are_only_related(text: str) -> None:
    assert doubts(text) == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x: f64[3]; y: f64; f[i] = x[i]", "argument `y`"),
        ("x: f64[N]; y: f64[N]; f[i] = x[i]", "argument `y`"),
        ("x: f64[3]; let h[i] = x[i]**2; f[i] = x[i]", "intermediate `h`"),
        (
            "x: f64[9]; let scan{t} h[t: 9] = if {t = 0} then (1) else (h[t - 1]); f[i] = x[i]",
            "intermediate `h`",
        ),
        ("x: f64[3]; size M; f[i] = x[i]", "size `M`"),
        ("x: f64; a: f64; b: f64; f = x", "arguments `a`, `b`"),
        (
            "x: f64;" + "".join(f"a{n}: f64;" for n in range(9)) + "f = x",
            "arguments `a0`, `a1`, `a2`, `a3` and 5 more",
        ),
        ("x: f64[3]; f[i: 3] = sum{i} (x[i])", "index `i`"),
        ("x: f64[3]; f = sum{i: 2} (sum{i} (x[i]))", "index `i`"),
    ],
)
def test_what_nothing_reads(text: str, message: str) -> None:
    assert doubts(text) == [("TAD0408", f"nothing reads the {message}")]


@pytest.mark.parametrize(
    "text",
    [
        "x: f64[N]; f[i: N] = 2*i",  # x tells N
        "x: f64[3]; f[i] = x[i] * sum{i} (x[i])",  # both are read
        "f[i: 3] = 1",
        "x: f64; y: f64; df: f64; dx = df * y",  # a gradient has all arguments
        "x: f64; y: f64; x_dot: f64; f_dot = x_dot",
        "x: f64[3]; y: f64[3]",
        "x: f64[3]; let h[i] = x[i]",
    ],
)
def test_what_is_not_missed(text: str) -> None:
    assert doubts(text) == []


def test_nothing_that_is_shown_is_doubted(root: Path) -> None:
    texts = {str(path): path.read_text() for path in (root / "examples").glob("*.tad")}
    for page in [root / "README.md", *(root / "docs").glob("*.md")]:
        blocks = re.findall(r"^```tad\n(.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL)
        texts |= {f"{page.name} {n}": text for n, text in enumerate(blocks)}
    for path in (root / "bench").rglob("*.py"):
        quoted = re.findall(r'"""(.*?)"""', path.read_text(), re.DOTALL)
        texts |= {f"{path.name} {n}": t for n, t in enumerate(quoted) if re.search(r"^\s*\w+ *: f(32|64)", t)}
    assert len(texts) > 40
    for name, text in texts.items():
        try:
            assert doubts(text) == [], name
        except tadc.CompileError:
            assert ".py" in name, name  # a part of a program


def test_derivatives_that_are_printed_are_not_doubted() -> None:
    f = tadc.function("x: f64[N]; w: f64; b: f64\nf[i] = w * x[i] + b")
    first = tadc.vjp(f)
    for derived in (first, tadc.jvp(f), tadc.vjp(first)):
        assert doubts(str(derived)) == []


CONVOLUTION = "x: f64[N]\nw: f64[K]\ny[i: N - K + 1] = sum{k} (w[k]*x[i + k])\nf = x[1]\n"


def test_conditions_are_printed_and_read_back(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first, again = tmp_path / "f.tad", tmp_path / "g.tad"
    first.write_text(CONVOLUTION)
    assert main([str(first)]) == 0
    again.write_text(shown := capsys.readouterr().out)
    assert shown.startswith("# holds for N + 1 >= K\n# holds for N >= 2\nx: f64[N]\n")
    assert main([str(again)]) == 0
    assert capsys.readouterr().out == shown


def test_warnings_of_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    text = "x: f64[3]; y: f64; f[i] = x[i]"
    assert main(["-e", text]) == 0
    assert capsys.readouterr().err.startswith("warning[TAD0408]: nothing reads the argument `y`")
    assert main(["-e", text, "--allow", "TAD0408"]) == 0
    assert capsys.readouterr().err == ""


def test_sizes_that_are_given_bound_others_as_asked(capsys: pytest.CaptureFixture[str]) -> None:
    text = "x: f64[N]; w: f64[K]; y[i: N - K + 1] = sum{k} (w[k]*x[i + k])"
    assert main(["check", "-e", text, "--size", "N=9"]) == 0
    assert "TAD0407" not in capsys.readouterr().err


def test_warnings_in_python() -> None:
    with pytest.warns(tadc.CompileWarning, match="nothing reads the argument `y`") as seen:
        tadc.function("x: f64[3]; y: f64; f[i] = x[i]")
    assert seen[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tadc.function("x: f64[3]; f[i] = x[i]")


def test_copies_do_not_warn_again() -> None:
    for text in ("x: f64[3]; y: f64; f[i] = 2*x[i]", "x: f64[N]; y: f64; f[i] = x[i] + x[i // N]"):
        with pytest.warns(tadc.CompileWarning):
            f = tadc.function(text)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert str(copy.deepcopy(f)) == str(f)
            assert str(pickle.loads(pickle.dumps(f))) == str(f)


@pytest.mark.parametrize(
    ("declared", "found"),
    [("", [("TAD0411", "rows between neighbours in `ptr`, which may overlap")]), (" increasing", [])],
)
def test_rows_that_may_overlap(declared: str, found: list[tuple[str, str]]) -> None:
    ptr = f"ptr: index[N + 1] in E + 1{declared}; v: f64[E];"
    assert doubts(f"{ptr} y[n: N] = sum{{e}}_(ptr[n])^(ptr[n + 1] - 1) (v[e]**2)") == found
    assert doubts(f"{ptr} y[n: N] = sum{{e}}_0^(ptr[n] - 1) (v[e]**2)") == []
