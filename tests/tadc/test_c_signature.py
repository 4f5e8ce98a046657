"""The head of emitted code: a call that does as it says gives what a call from Python gives."""

from __future__ import annotations

import ctypes
import re
from pathlib import Path

import numpy as np
import pytest

import tadc
from tadc.backend.cpu.jit import load
from tadc.backend.object_code import object_code
from tadc.cli import main

EXAMPLES = Path(__file__).parents[2] / "examples"
SINGLE = "x: f32[N, N]\ny[i] = exp(sum{j} (x[i, j])) * sum{j} (x[j, i])"
KEPT = "x: f32[40]\nlet c[k: 40, n: 40] = cos(0.1 * k * n)\ny[k] = sum{n} (c[k, n] * x[n])"
C_TYPES = {"f32": "float", "f64": "double"}
COMMENTS = {"llvm": ";", "asm": "#"}


def emitted(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[str, list[str]]:
    """The text of a stage, and the lines of its head without what makes them comments."""
    assert main([*map(str, words), "-o", "-"]) == 0
    text = capsys.readouterr().out
    head = text[: text.index("\n\n")].splitlines()
    comment = COMMENTS[str(words[-1])]
    assert all(line.startswith(f"{comment} ") for line in head)
    return text, [line.removeprefix(f"{comment} ") for line in head]


def call_as_declared(
    text: str, head: list[str], arrays: dict[str, np.ndarray], sizes: dict[str, int]
) -> dict[str, np.ndarray]:
    """Call LLVM IR text by nothing but what its head says."""
    found = re.search(r"void (\w+)\((.*?)\);", " ".join(head))
    assert found is not None
    line = r"  (\w+): (f32|f64)(?:\[(.*)\])?(|, written|, scratch of (.+) bytes, of any content)"
    tensors = {match[1]: match for match in filter(None, (re.fullmatch(line, text) for text in head))}
    given: list[ctypes.c_void_p | ctypes.c_int64] = []
    written: dict[str, np.ndarray] = {}
    others: list[np.ndarray] = []
    for parameter in re.split(r",\s*", found[2]):
        name = re.split(r"[ *]+", parameter)[-1]
        if parameter.startswith("int64_t "):
            given.append(ctypes.c_int64(sizes[name]))
            continue
        _, type, shape, role, size = tensors[name].groups()
        assert parameter == f"{'' if role else 'const '}{C_TYPES[type]} *{name}"
        array = arrays.get(name)
        if array is None:
            extents = eval(f"({shape},)" if shape else "()", {}, dict(sizes))
            array = np.full(extents, np.nan, type.replace("f", "float"))
            assert size is None or eval(size, {}, dict(sizes)) == array.nbytes
        if role == ", written":
            written[name] = array
        else:
            others.append(array)  # and thereby alive during the call
        given.append(ctypes.c_void_p(array.ctypes.data))
    library = load(object_code(text), [found[1]])
    ctypes.CFUNCTYPE(None, *[g.__class__ for g in given])(library[found[1]])(*given)
    return written


@pytest.mark.parametrize(
    ("source", "sizes"),
    [
        (EXAMPLES / "paper.tad", {}),
        (EXAMPLES / "stencil.tad", {"N": 7, "M": 5}),
        (SINGLE, {"N": 6}),
        (KEPT, {}),
    ],
    ids=["paper", "stencil", "f32", "kept"],
)
@pytest.mark.parametrize("gradient", [False, True], ids=["value", "gradient"])
def test_a_call_that_follows_the_head(
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    source: Path | str,
    sizes: dict[str, int],
    gradient: bool,
) -> None:
    file = source if isinstance(source, Path) else tmp_path / "f.tad"
    if isinstance(source, str):
        file.write_text(source)
    f = tadc.function(file.read_text())
    names = [a.name for a in f.program.arguments]
    g = tadc.vjp(f, wrt=names) if gradient else f
    rng = np.random.default_rng(0)
    arrays = {
        a.name: rng.uniform(
            0.1, 0.3, [n if isinstance(n, int) else n.evaluate(sizes) for n in a.shape]
        ).astype(a.type.replace("f", "float"))
        for a in g.program.arguments
    }
    wanted = g(**arrays)
    wrt = ["--wrt", ",".join(names)] if gradient else []
    text, head = emitted(capsys, file, *wrt, "--emit", "llvm")
    results = call_as_declared(text, head, arrays, sizes)
    outputs = [d.name for d in g.program.outputs]
    assert list(results) == outputs
    expected = wanted if isinstance(wanted, tuple | list) else [wanted]
    for array, name in zip(expected, outputs, strict=True):
        np.testing.assert_allclose(results[name], array, rtol=1e-6 if array.dtype == np.float32 else 1e-13)
    assert emitted(capsys, file, *wrt, "--emit", "asm")[1] == head
