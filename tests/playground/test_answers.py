"""What the playground answers, in a Python that has neither NumPy nor MLIR nor the rest of tadc."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import tadc
from docs.site.playground_examples import SMALL, TASKS, Example
from docs.site.playground_files import sources
from tadc.analysis.statistics import statistics
from tadc.certificates.certify import certify
from tadc.frontend.per_value import read_program
from tadc.frontend.program import Program
from tadc.frontend.source import Source
from tadc.frontend.specialise import specialised
from tests.pages import ROOT

CONV = "x: f64[N]\nw: f64[K]\ny[i: N - K + 1] = sum{k} (x[i + k] * w[k])\n"
SIZES = {"N": 12, "K": 5}
WORKER = (ROOT / "docs" / "site" / "playground" / "worker.js").read_text(encoding="utf-8")
#: Asks questions that stdin has, by the modules of a folder alone, as the worker of the page sets these up.
ASK = f"""
import json, sys
sys.path.insert(0, sys.argv[1])
{WORKER.split("python.runPython(`")[1].split("`")[0]}
print(json.dumps([json.loads(ANSWERS(*question)) for question in json.load(sys.stdin)]))
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("browser")
    for name, text in sources():
        path = made / "tadc" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return made


def asked(folder: Path, *questions: tuple[str, str, dict[str, int]]) -> list[Any]:
    """The answers in a process without packages."""
    given = json.dumps([(question, text, json.dumps(sizes)) for question, text, sizes in questions])
    command = [sys.executable, "-I", "-S", "-c", ASK, str(folder)]
    done = subprocess.run(command, input=given, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_answers_are_those_of_the_compiler(folder: Path) -> None:
    f = tadc.function(CONV)
    names = "check gradient latex counts certificate header picture kernel".split()
    answers = dict(zip(names, asked(folder, *((name, CONV, SIZES) for name in names)), strict=True))
    assert not any(answer.get("errors") for answer in answers.values())
    assert str(f) in answers["check"]["text"]
    assert answers["gradient"]["text"].strip() == str(tadc.vjp(f)).strip()
    assert answers["latex"]["formulas"] == [f.latex(), tadc.vjp(f).latex()]
    program = read_program(Source(CONV, "program.tad"))
    assert isinstance(program, Program)
    assert answers["certificate"]["text"] == str(certify(program))
    found = statistics(specialised(f.program, SIZES))
    written, value, gradients = (c.work for c in (found.written, found.value, found.gradients))
    rows = {title: cells for title, *cells in answers["counts"]["rows"]}
    assert rows["operations"] == [f"{work.operations:,}" for work in (written, value, gradients)]
    assert "int tad_y(const double *x" in answers["header"]["text"]
    assert len(answers["picture"]["pictures"]) == 2
    assert [i["cotangent"] for i in answers["kernel"]["inputs"]] == [None, None, "y"]


@pytest.mark.parametrize(
    "examples", [SMALL, *([task] for task in TASKS)], ids=lambda examples: examples[0].file
)
def test_every_view_of_every_example_answers(folder: Path, examples: Sequence[Example]) -> None:
    """A program without errors has no view with one, and a view of domains draws one or says why not."""
    page = (ROOT / "docs" / "site" / "playground" / "page.js").read_text(encoding="utf-8")
    views = re.search(r"const VIEWS = {(.*?)\n  };", page, re.DOTALL)
    assert views
    names = [*re.findall(r"(\w+): \"", views[1]), "kernel"]
    assert len(names) == 8
    pairs = [(name, each) for each in examples for name in names]
    answers = asked(folder, *((name, each.text, dict(each.sizes)) for name, each in pairs))
    for (name, each), answer in zip(pairs, answers, strict=True):
        assert bool(answer.get("errors")) == (not each.file), (name, each.title)
        assert name != "picture" or answer.get("errors") or answer["pictures"] or answer["missing"]


def test_the_header_is_what_the_command_writes(folder: Path, tmp_path: Path) -> None:
    (answer,) = asked(folder, ("header", CONV, SIZES))
    tadc.export(tadc.function(CONV), tmp_path / "f.h", wrt=["x", "w"])
    assert answer["text"] == (tmp_path / "f.h").read_text(encoding="utf-8")


def test_errors_come_with_places_and_edits(folder: Path) -> None:
    wrong = "x: f64[8]\nd[i: 8] = x[i + 1] - sine(x[i])\n"
    check, gradient, kernel = asked(folder, *((q, wrong, {}) for q in ("check", "gradient", "kernel")))
    assert [e["code"] for e in check["errors"]] == [e["code"] for e in gradient["errors"]] != []
    assert kernel["errors"] == gradient["errors"]
    first = check["errors"][0]
    assert wrong[first["primary"]["start"] : first["primary"]["end"]] in first["rendered"]
    assert [wrong[start:end] for start, end, _ in check["words"][:4]] == ["x", ":", "f64", "["]


def test_what_is_too_deep_for_a_browser_is_an_error(folder: Path) -> None:
    chains = [f"x: f64\ny = {'+'.join(['x'] * count)}" for count in (150, 3000)]
    fits, deep = asked(folder, *(("check", text, {}) for text in chains))
    assert fits["errors"] == []
    assert [error["code"] for error in deep["errors"]] == ["TAD0107"]


@pytest.mark.parametrize(
    ("text", "sizes"),
    [
        ("x: f64[N]; y[i: N - 20] = x[i + 20]", ["N"]),
        ("a: f64[N, M]; b: f64[M, N]; c[i, j] = sum{k} (a[i, k] * b[k, j])", ["M", "N"]),
        ("x: f64[M]; y[i: N, j: 3] = x[N*j + i]; size N", ["M", "N"]),
    ],
)
def test_sizes_are_found_that_fit(folder: Path, text: str, sizes: list[str]) -> None:
    check, kernel = asked(folder, ("check", text, {}), ("kernel", text, {}))
    assert sorted(check["sizes"]) == sizes
    assert "code" in kernel


def test_what_does_not_run_says_why(folder: Path) -> None:
    half, large = asked(
        folder,
        ("kernel", "x: f16[3]; y[i] = 2*x[i]", {}),
        ("kernel", "x: f64[N, N]; y[i, j] = x[j, i]", {"N": 60_000}),
    )
    assert "f32 and f64" in half["errors"][0]["rendered"]
    assert "smaller sizes" in large["errors"][0]["rendered"]
