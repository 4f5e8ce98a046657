"""`tadc tune` and `tadc.tune`: what is faster is kept and used, with the same bits."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tadc
from tadc.analysis.random_inputs import random_array
from tadc.api import tuning
from tadc.api.tuned import all_tuned
from tadc.cli import main

PROGRAMS = {
    "product": "a: f32[N, N]; b: f32[N, N]; c[i, j] = sum{k} (a[i, k] * b[k, j])",
    "softmax": """x: f64[N, 40]
let m[i] = max{j} (x[i, j])
let e[i, j] = exp(x[i, j] - m[i])
let s[i] = sum{j} (e[i, j])
y[i, j] = e[i, j] / s[i]""",
    "gather": "x: f64[N]; at: index[30] in N; y[i] = x[at[i]]**2 + sum{j: 30} (x[at[j]])",
}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache for the test alone."""
    monkeypatch.setenv("TADC_CACHE", "1")
    monkeypatch.setenv("TADC_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("TADC_TUNED", raising=False)
    return tmp_path / "cache"


@pytest.fixture
def everything_wins(monkeypatch: pytest.MonkeyPatch) -> None:
    """A clock by which each schedule is twice as fast as the one before, and five are tried."""
    monkeypatch.setattr(tuning, "once", lambda call: 1.0)
    monkeypatch.setattr(tuning, "race", lambda calls, seconds: [2.0, 1.0])
    monkeypatch.setattr(tuning, "TRIES", 5)


def arrays_of(f: tadc.Function) -> dict[str, Any]:
    random = np.random.default_rng(3)
    return {a.name: random_array(a, random, -1) for a in f.program.arguments}


@pytest.mark.parametrize("text", PROGRAMS.values(), ids=PROGRAMS)
@pytest.mark.parametrize("derive", [lambda f: f, tadc.value_and_vjp], ids=["value", "vjp"])
def test_what_is_found_is_kept_and_used_with_the_same_bits(
    text: str, derive: Any, everything_wins: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = tadc.tune(derive(tadc.function(text)), sizes={"N": 48})
    assert found.kept
    assert found.steps
    assert found.gain == 2
    again = derive(tadc.function(text)).at({"N": 48})
    assert again.lower().schedule.startswith("# tuned: 2.00 times as fast")
    arrays = arrays_of(again)
    results = found.function(**arrays), again(**arrays)
    monkeypatch.setenv("TADC_TUNED", "0")
    plain = derive(tadc.function(text)).at({"N": 48})
    assert "tuned" not in plain.lower().schedule
    for one in results:
        np.testing.assert_equal(one, plain(**arrays))


def test_steps_in_another_order_of_sums_need_a_word(everything_wins: None) -> None:
    f, x = tadc.function("x: f32[64, 999]; s[i] = sum{j} (x[i, j])"), np.random.default_rng(0)
    x = x.standard_normal((64, 999)).astype("f4")
    expected, plain = x.astype("f8").sum(1), f(x)
    assert (tadc.tune(f, x).function(x) == plain).all()
    loose = tadc.tune(f, x, reorder=True)
    np.testing.assert_allclose(loose.function(x), expected, rtol=1e-3, atol=1e-3)


def test_no_time_tries_nothing(folder: Path) -> None:
    found = tadc.tune(tadc.function(PROGRAMS["product"]), sizes={"N": 8}, limit=0)
    assert (found.tried, found.steps, found.gain) == (0, "", 1)
    assert "until the time was up" in str(found)
    assert not (folder / "tuned").exists()


def test_what_was_no_gain_after_all_is_not_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    f = tadc.function(PROGRAMS["product"])
    monkeypatch.setattr(tuning, "race", lambda calls, seconds: [1.0, 1.0])
    found = tadc.tune(f, sizes={"N": 16})
    assert found.tried
    assert "nothing was faster" in str(found)
    assert not list(all_tuned())


def test_an_interrupt_keeps_what_was_found(everything_wins: None, monkeypatch: pytest.MonkeyPatch) -> None:
    compiled, count = tuning.compile_program, 0

    def interrupted(*given: Any) -> Any:
        nonlocal count
        count += 1
        if count == 4:
            raise KeyboardInterrupt
        return compiled(*given)

    monkeypatch.setattr(tuning, "compile_program", interrupted)
    found = tadc.tune(tadc.function(PROGRAMS["product"]), sizes={"N": 48})
    assert found.interrupted
    assert found.kept
    assert len(list(all_tuned())) == 1


def test_arrays_are_those_of_a_call(everything_wins: None) -> None:
    f, x = tadc.function(PROGRAMS["product"]), np.ones((8, 8), "f4")
    found = tadc.tune(f, x, b=2 * x)
    assert (found.function(x, x) == 8).all()
    wrong: tuple[tuple[Any, dict[str, Any], str], ...] = (
        ((x,), {"q": x}, "TAD0502"),
        ((x, x, x), {}, "TAD0502"),
        ((x, x[:3]), {}, "TAD0503"),
        ((), {}, "TAD0212"),
        ((), {"sizes": {"M": 3}}, "TAD0209"),
        ((x, x), {"target": "cuda"}, "TAD0510"),
        ((x, x), {"limit": -1}, "TAD0510"),
    )
    for args, kwargs, code in wrong:
        with pytest.raises(tadc.CompileError) as raised:
            tadc.tune(f, *args, **kwargs)
        assert raised.value.diagnostics[0].code == code, (kwargs, str(raised.value))


def test_the_command(
    everything_wins: None, tmp_path: Path, capsys: pytest.CaptureFixture[str], folder: Path
) -> None:
    file, steps = tmp_path / "f.tad", tmp_path / "f.sched"
    file.write_text(PROGRAMS["product"])
    asked = [str(file), "--size", "N=48", "--wrt", "a"]
    assert main(["tune", *asked, "-o", str(steps), "--num-threads", str(tadc.get_num_threads())]) == 0
    printed = capsys.readouterr().out
    assert re.match(r"da: 2 s a call by .*, tuned 1 s: 2.00 times as fast\n5 schedules tried", printed)
    assert steps.read_text().rstrip() in printed
    assert main(["emit", "schedule", *asked]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("# tuned: 2.00 times as fast")
    f = tadc.vjp(tadc.load(file), "a").at({"N": 48})
    # It is one function by the name of its result, and by the name of what it was taken of.
    assert f.lower().schedule.replace("function da", "function c_vjp") == shown
    assert main(["emit", "schedule", *asked, "--schedule", str(steps)]) == 0
    assert capsys.readouterr().out.strip() in shown
    assert main(["cache"]) == 0
    assert "tuned    da: 2.00 times as fast as what is chosen" in capsys.readouterr().out
    assert main(["cache", "clear"]) == 0
    assert capsys.readouterr().out.rstrip().endswith("1 tuned schedule")
    assert not list(all_tuned())


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["--size", "N=8", "--target", "cuda"], 2, "times kernels of a CPU"),
        (["--size", "N=8", "--target", "cpu:aarch64"], 1, "TAD0706"),
        (["--size", "N=8", "--limit", "-3"], 2, "`--limit -3` is no number of seconds"),
        (["--size", "N=8", "--num-threads", "0"], 1, "TAD0509"),
        (["--size", "N=8", "a=none.npy"], 1, "TAD0801"),
        ([], 1, "no value to tune for"),
    ],
)
def test_what_is_wrong_is_said(
    words: list[str], code: int, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], folder: Path
) -> None:
    file = tmp_path / "f.tad"
    file.write_text(PROGRAMS["product"])
    assert main(["tune", str(file), *words]) == code
    assert said in capsys.readouterr().err
    assert not (folder / "tuned").exists()
