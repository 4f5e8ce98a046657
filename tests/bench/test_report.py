"""What is made of results: JSON, tables, the chart, parts of pages."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from xml.etree import ElementTree

import pytest
from rich.console import Console

from bench import processes, speed
from bench.chart import draw
from bench.interleave import interleaved
from bench.processes import Job, run
from bench.publish import PARTS, markers, publish, replaced
from bench.report import absences, all_times, caption, first_example, markdown, size, summary
from bench.results import Cell, Results, Roofline, geometric_mean, read


def made_up() -> Results:
    """Two workloads and a Hessian, on one and two threads."""
    machine = {"cpu": "Z80", "cores": 2, "date": "1976-07-01", "python": "3.11", "versions": {"numpy": "2.4"}}
    counts = {"operations": 2_000_000, "transcendental": 500_000, "weighted": 6_500_000, "written": 2_000_000}
    results = Results(machine, counts={name: counts for name in ("paper", "fir", "hessian_500")})
    for threads in (1, 2):
        results.rooflines.append(Roofline("f32", threads, 1.5e9 * threads, 1e9 * threads, 1e9))
        results.cells += [
            Cell(
                "paper", "f32", threads,
                {"tadc": [0.004, 0.003, 0.100], "NumPy": [0.008] * 3, "JAX, tuned": [0.012] * 3},
                skipped={"KeOps": "not installed"}, arrays=1_000_000,
                temporaries={"tadc": 1500}, compile_seconds={"tadc": 0.25},
            ),
            Cell("fir", "f32", threads, {"tadc": [0.010], "NumPy": [0.005]}, arrays=4_000_000),
            Cell("hessian_500", "f32", threads, {"tadc": [0.001], "NumPy": [0.016]}),
        ]  # fmt: skip
    return results


def test_ratios_are_of_medians_to_the_best_peer() -> None:
    paper, fir, hessian, *_ = made_up().cells
    assert paper.best_peer() == ("NumPy", 0.008)
    assert paper.ratio() == 2
    assert fir.ratio() == 0.5
    assert geometric_mean([paper, fir, hessian]) == pytest.approx(1)
    assert Cell("fir", "f32", 1, {"tadc": [1.0]}).ratio() is None
    assert geometric_mean([]) is None


def test_floors() -> None:
    """1.5 million operations at 1.5 a nanosecond, and half a million exponentials at 1; bytes at 1."""
    results = made_up()
    paper, fir, _, two, *_ = results.cells
    assert results.floor(paper) == pytest.approx((0.0015, 0.001))
    assert results.floor(two) == pytest.approx((0.00075, 0.001))
    assert results.reached(paper) == pytest.approx(0.375)
    assert results.reached(fir) == pytest.approx(0.4)
    assert results.overhead("paper") == 3.25
    assert results.floor(Cell("fir", "f64", 1)) is None


def test_json_keeps_all(tmp_path: Path) -> None:
    made_up().write(tmp_path / "results.json")
    assert asdict(read(tmp_path / "results.json")) == asdict(made_up())


def test_tables_say_times_and_reasons() -> None:
    console = Console(width=150, record=True, file=open("/dev/null", "w"))
    results = made_up()
    console.print(summary(results, "f32", 2))
    console.print(all_times(results, "f32", 2))
    text = console.export_text()
    row = next(line for line in text.splitlines() if "paper example" in line)
    assert [cell.strip() for cell in row.split("│")[1:-1]] == [
        "paper example", "4.00", "NumPy", "8.00", "2.00", "0.75", "1.00", "25 %", "3.25", "1.50 KB", "250",
    ]  # fmt: skip
    assert "Z80" in text
    assert "12.0" in text
    assert absences(results, "f32", 1) == ["KeOps: not installed (paper example)"]


def test_markdown_is_a_table() -> None:
    *rows, blank, note = markdown(made_up()).splitlines()
    assert len({row.count("|") for row in rows}) == 1
    assert rows[2].startswith("| paper example | 4.00 | NumPy | 8.00 | 2.00 | 2.00 | 25 % | 3.25 |")
    assert rows[-1].startswith("| geometric mean")
    assert not blank
    assert note.startswith("ms and roofline: f32, 2 threads. Z80, 2 cores, 1976-07-01")


def test_the_chart_is_svg_with_a_label_for_each_bar(tmp_path: Path) -> None:
    for name in ("one.svg", "two.svg"):
        draw(made_up(), tmp_path / name)
    text = (tmp_path / "one.svg").read_text()
    ElementTree.fromstring(text)
    assert all(title in text for title in ("paper example", "FIR filter (Toeplitz)", "Hessian, n = 500"))
    assert text == (tmp_path / "two.svg").read_text()


def test_the_first_example_is_a_sentence() -> None:
    results = made_up()
    results.cells.append(Cell("fir", "f32", 2, {"tadc": [0.002], "JAX": [0.009], "JAX, tuned": [0.005]}))
    sentence = first_example(Results(results.machine, cells=results.cells[-1:]))
    head = "Value and both gradients for N = 100,128 and K = 129, f32, on 2 threads"
    peer = "JAX, tuned 5.00 ms (2.50 times as long)"
    assert sentence == f"{head}: tadc takes 2.00 ms; {peer} (Z80, 2 cores, 1976-07-01)."
    results.cells[-1].seconds["NumPy"] = [0.004]
    both = "NumPy 4.00 ms (2.00 times as long); JAX 5.00 ms (2.50 times as long)"
    assert both in first_example(Results(results.machine, cells=results.cells[-1:]))
    assert "JAX" not in first_example(made_up())


def test_chart_and_caption_say_machine_and_date(tmp_path: Path) -> None:
    where = "Z80, 2 cores, 1976-07-01"
    draw(made_up(), tmp_path / "one.svg")
    assert where in (tmp_path / "one.svg").read_text()
    assert f"f32,\n2 threads, {where}" in caption(made_up(), "performance.md")


def test_publish_writes_between_the_markers(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    for name, mark, _ in PARTS:
        begin, end = markers(mark)
        with (tmp_path / name).open("a") as page:
            page.write(f"before\n{begin}\nold\n{end}\nafter\n")
    for _ in range(2):
        publish(made_up(), tmp_path)
        for name, mark, made in PARTS:
            begin, end = markers(mark)
            written = (tmp_path / name).read_text()
            assert f"before\n{begin}\n{made(made_up())}\n{end}\nafter\n" in written
    assert json.loads((tmp_path / "docs" / "benchmark.json").read_text())["machine"]["cpu"] == "Z80"
    with pytest.raises(ValueError, match="no lines"):
        replaced("a page without markers", "benchmark", "table")


@pytest.mark.parametrize(("name", "mark", "made"), PARTS)
def test_pages_hold_what_the_data_says(name: str, mark: str, made: Callable[[Results], str]) -> None:
    page = (speed.ROOT / name).read_text()
    assert replaced(page, mark, made(read(speed.ROOT / "docs" / "benchmark.json"))) == page


@pytest.mark.parametrize(
    ("count", "text"), [(None, ""), (999, "999 B"), (2500, "2.50 KB"), (536870912, "537 MB")]
)
def test_sizes_read_well(count: int | None, text: str) -> None:
    assert size(count) == text


def test_slow_calls_are_timed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """But for the one that is always in; a single time that is long by chance puts no one out."""
    monkeypatch.setattr("bench.interleave.seconds", lambda call: call())
    chance = iter([20.0])
    calls = {
        "a": lambda: 1.0, "b": lambda: next(chance, 2.0), "c": lambda: 30.0, "ours": lambda: 70.0,
    }  # fmt: skip
    monkeypatch.setattr("bench.interleave.MOST", 3)
    found = interleaved(calls, 100.0, {"a": 0.1, "b": 0.2, "c": 20, "ours": 70}, always="ours")
    assert {name: len(times) for name, times in found.items()} == {"a": 5, "b": 5, "c": 1, "ours": 3}
    assert found["c"] == [20]


def test_a_process_that_dies_is_begun_behind_what_killed_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """The second workload of the first process ends it."""
    jobs: list[list[str]] = []

    def command(job: Job) -> list[str]:
        jobs.append([name for name, _ in job.cells])
        done = [{"cell": asdict(Cell(name, dtype, job.threads))} for name, dtype in job.cells]
        if "two" in jobs[-1]:
            done = [{"roofline": asdict(Roofline("f32", 1, 1, 1, 1))}, done[0]]
        lines = "\n".join(map(json.dumps, done))
        return [sys.executable, "-c", f"import sys; print({lines!r}); sys.stderr.write('gone'); sys.exit(9)"]

    monkeypatch.setattr(processes, "_command", command)
    started: list[str] = []
    job = Job([(name, "f32") for name in ("one", "two", "three")], ["f32"], 1, 0.0, False)
    found = list(run(job, lambda name: started.append(name[0])))
    assert [item.workload for item in found if isinstance(item, Cell)] == ["one", "two", "three"]
    assert [item.skipped for item in found if isinstance(item, Cell)] == [
        {}, {"all": "the process ended with 9: gone"}, {},
    ]  # fmt: skip
    assert jobs == [["one", "two", "three"], ["three"]]
    assert started == ["one", "two", "three"]
    assert sum(isinstance(item, Roofline) for item in found) == 1


@pytest.mark.parametrize(
    "words", [["no_such_workload"], ["--threads", "0"], ["--dtype", "f16"], ["fir", "--publish"]]
)
def test_wrong_words_are_usage_errors(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        speed.main(words)
    assert end.value.code == 2
    assert "error:" in capsys.readouterr().err


def test_results_can_be_shown_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made_up().write(tmp_path / "results.json")
    speed.main(["--read", str(tmp_path / "results.json")])
    shown = capsys.readouterr().out
    assert "paper example" in shown
    assert "KeOps: not installed" in shown
