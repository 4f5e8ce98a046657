"""Notebooks: cells that are programs, and how functions are shown."""

import re
import sys
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import tadc
import tadc.caller.progress


@pytest.fixture(scope="module")
def shell() -> Any:
    """A shell as notebooks have it, with the extension."""
    module = pytest.importorskip("IPython.core.interactiveshell", reason="IPython is not installed")
    made = module.InteractiveShell.instance()
    made.run_line_magic("load_ext", "tadc")
    return made


def test_a_cell_is_a_program(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    result = shell.run_cell("%%tadc smooth\nx: f64[N]\ny[i: N - 1] = x[i + 1] - x[i]\n")
    assert result.success
    assert isinstance(result.result, tadc.Function)
    np.testing.assert_array_equal(shell.user_ns["smooth"]([1.0, 4.0, 9.0]), [3.0, 5.0])
    assert shell.run_cell("%%tadc\nf = 2\n").result() == 2
    capsys.readouterr()
    assert shell.run_cell("%%tadc broken\nx: f64[3]\ny[i] = x[i] + z\n").result is None
    out, err = capsys.readouterr()
    assert "TAD0204" in err
    assert "broken:2:15" in err
    assert "Traceback" not in out + err
    assert "broken" not in shell.user_ns
    assert shell.run_cell("%%tadc two words\nf = 2\n").result is None
    assert capsys.readouterr().err == (
        "`%%tadc two words`: behind `%%tadc` stands a name for the function, or nothing\n"
    )


def test_programs_have_colours() -> None:
    f = tadc.function("x: f64[N]\ny[i] = select(x[i] < 1, sum{k} (x[k]), 2)\n")
    shown = f._repr_html_()
    assert "select(x[i] &lt; 1, sum{k}" in re.sub("<.*?>", "", shown)
    assert re.search(r">sum</span>\{k\}", shown)
    assert re.search(r">f64</span>\[N\]", shown)
    # Whose columns stand below each other.
    assert re.search("<pre style=[^>]*monospace", shown)


def test_compiled_functions_and_blocks_are_shown() -> None:
    f = tadc.function("x: f64[3]; f[i] = 2*x[i]")
    shown = tadc.compile(f)._repr_html_()
    assert "<td>takes</td><td>x: f64[3]</td>" in shown
    assert "<td>gives</td><td>f: f64[3]</td>" in shown
    block = tadc.function("x: f64[N]; w: f64[K]; y[i: N - K + 1] = sum{k} (w[k] * x[i + k])").block(i=8)
    assert block._repr_html_().count("<details>") == len(block.functions)


def test_a_line_below_the_cell_shows_the_stage(
    shell: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    """As messages of a kernel: a display, its updates, and nothing at the end."""
    sent: list[tuple[str, bool]] = []

    def publish(data: Any, metadata: Any = None, *, update: bool = False, **_: Any) -> None:
        sent.append((data["text/plain"], update))

    monkeypatch.setitem(sys.modules, "ipykernel", ModuleType("ipykernel"))
    monkeypatch.setattr(tadc.caller.progress, "PATIENCE", 0.0)
    monkeypatch.setattr(shell.display_pub, "publish", publish)
    tadc.function("x: f64[8]; f[i] = exp(x[i]) + 0.1875")([0.0] * 8)
    assert sent[0][0].startswith("compiling: ")
    assert [update for _, update in sent] == [False] + [True] * (len(sent) - 1)
    assert sent[-1][0] == ""
