"""`tadc plan`: blocks of a program, their cost and picture; what cannot be planned."""

from pathlib import Path

import pytest

from tadc.cli import main

SLIDING = "x: f64[N]; w: f64[3]; y[i: N - 2] = sum{k} (w[k]*x[i + k])"


def test_a_plan_for_a_thousand_workers(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "-e", SLIDING, "--size", "N=10**9", "--workers", "1000"]) == 0
    said = capsys.readouterr().out
    assert said.startswith("x: f64[i_size + 2]\n")
    assert "blocks on 1,000 workers" in said
    assert "7,629 MiB   15 KiB" in said


def test_operations_that_index_arrays_tell_are_estimated(capsys: pytest.CaptureFixture[str]) -> None:
    graph = "size N; dst: index[E] in N; w: f64[E]; y[n: N] = sum{e: dst[e] = n} (w[e])"
    assert main(["plan", "-e", graph, "--size", "N=100", "--size", "E=200"]) == 0
    assert "200, estimated" in capsys.readouterr().out


def test_gradients_and_pictures(tmp_path: Path) -> None:
    picture, text = tmp_path / "blocks.svg", tmp_path / "plan.txt"
    given = ["--size", "N=100", "--block", "i=30", "--wrt", "x", "--plot", str(picture), "-o", str(text)]
    assert main(["plan", "-e", SLIDING, *given]) == 0
    assert "dx: f64[" in text.read_text()
    assert "dy[58:90]" in picture.read_text()


def test_a_certificate(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "-e", SLIDING, "--size", "N=100", "--block", "i=50", "--certificate"]) == 0
    assert "dimension 0 of x, 99: y reads it as i + k at i = 97, k = 2\n" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["--block", "i=x"], 2, "names no lengths of blocks"),
        (["--block", "i=0"], 2, "names no lengths of blocks"),
        (["--workers", "0"], 2, "there is at least one"),
        (["--size", "N=2**x"], 2, "is not of the form"),
        ([], 1, "size `N` is missing"),
        (["--block", "n=3", "--size", "N=9"], 1, "TAD1001"),
        (["--block", "i=1", "--size", "N=10**9"], 1, "longer blocks"),
    ],
)
def test_mistakes(words: list[str], code: int, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "-e", SLIDING, *words]) == code
    assert message in capsys.readouterr().err
