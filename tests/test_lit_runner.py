"""The in-process runner of lit tests passes what holds and fails what does not."""

import os
import sys
from pathlib import Path

import pytest

from lit_tests.runner import Failure, run


def echo(args: list[str]) -> int:
    """Stands for the command: says its arguments and standard input, and exits as told."""
    print("out", *args)
    print("err", *args, file=sys.stderr)
    if "-" in args:
        print(sys.stdin.read())
    if "native" in args:
        os.write(1, b"written by native code\n")
    if "crash" in args:
        raise RuntimeError("crashed here")
    return next((int(arg.removeprefix("exit=")) for arg in args if arg.startswith("exit=")), 0)


def run_text(folder: Path, text: str) -> None:
    path = folder / "case.tad"
    path.write_text(text)
    run(path, echo)


@pytest.mark.parametrize(
    "text",
    [
        "# RUN: tadc %s --one | filecheck %s\n# CHECK: out {{.*}}case.tad --one\n# CHECK-NOT: err",
        "# RUN: tadc one 2>&1 | filecheck %s\n# CHECK: err one",
        "# RUN: not tadc exit=1 2>&1 | filecheck %s\n# CHECK: err exit=1",
        "# RUN: not tadc exit=2",
        "# RUN: tadc native | filecheck %s\n# CHECK-DAG: written by native code",
        "# RUN: tadc one | tadc - | filecheck %s\n# CHECK: out -\n# CHECK-NEXT: out one",
        "# RUN: tadc one > %t.txt && tadc - two < %t.txt | filecheck %s\n# CHECK: out one",
        "# RUN: tadc one \\\n# RUN:   two | filecheck %s --check-prefix=TWO\n# TWO: out one two",
        "# RUN: tadc 'a * b' | filecheck %s --check-prefixes A,B\n# A: out\n# B-SAME: a * b",
        "// RUN: tadc | filecheck %s\n// CHECK: out\n// Check that prose\n// A CHECK is left alone.",
    ],
)
def test_passes(tmp_path: Path, text: str) -> None:
    run_text(tmp_path, text)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("# RUN: tadc one | filecheck %s\n# CHECK: out two", 'Couldn\'t match "out two"'),
        ("# RUN: tadc one | filecheck %s\n# CHECK: out\n# CHECK-NEXT: more", "Its input was:\nout one"),
        ("# RUN: tadc exit=1 | filecheck %s\n# CHECK: out", "exit code 1, not 0"),
        ("# RUN: not tadc one", "exit code 0, not 1 or 2"),
        ("# RUN: not tadc exit=70", "exit code 70, not 1 or 2"),
        ("# RUN: not tadc crash", "RuntimeError: crashed here"),
        ("# RUN: tadc one && tadc exit=3", "exit code 3"),
        ("# RUN: tadc one || tadc two", "`||` is not supported"),
        ("# RUN: cat %s", "`cat` is not a command"),
        ("# RUN: tadc \\", "does not end"),
        ("# no line to run", "no RUN line"),
    ],
)
def test_fails(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(Failure) as failure:
        run_text(tmp_path, text)
    assert said in str(failure.value)


@pytest.mark.parametrize(
    "line",
    ["CHECK_NEXT: out", "CHECK-NXT: out", "CHECK-NEXT out", "CHECKS: out", "check-next: out", "OTHER: out"],
)
def test_rejects_directives_that_filecheck_passes_over(tmp_path: Path, line: str) -> None:
    with pytest.raises(Failure, match="is no directive"):
        run_text(tmp_path, f"# RUN: tadc | filecheck %s\n# CHECK: out\n# {line}")


def test_rejects_a_prefix_without_lines(tmp_path: Path) -> None:
    with pytest.raises(Failure, match="no directive starts with B"):
        run_text(tmp_path, "# RUN: tadc | filecheck %s --check-prefixes=A,B\n# A: out")


def test_leaves_the_process_as_it_was(tmp_path: Path) -> None:
    before = Path.cwd(), sys.stdin, sys.stdout, sys.stderr, dict(os.environ)
    run_text(tmp_path, "# RUN: not tadc exit=1")
    assert before == (Path.cwd(), sys.stdin, sys.stdout, sys.stderr, dict(os.environ))
