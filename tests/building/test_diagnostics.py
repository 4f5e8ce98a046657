"""What is wrong with a program in Python is shown at its line, under the expression."""

# What is wrong here is what a type checker would say too.
# pyright: reportArgumentType=false, reportCallIssue=false

from __future__ import annotations

import functools
import math
import pickle
import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tadc
from tadc.frontend.codes import CODES

HERE = Path(__file__)
i, j, k, t = tadc.indices("i j k t")
N = tadc.size("N")
x = tadc.argument("x", "f64", N)
a = tadc.argument("a", "f64", (3, 4))


def shown(make: Callable[[], Any]) -> str:
    """The only error of a function, as it is printed: it names a line of this file."""
    with pytest.raises(tadc.CompileError) as caught:
        make()
    assert all(d.code in CODES for d in caught.value.diagnostics)
    return str(caught.value)


#: Each with its code, and what is marked of the line.
CHECKED: list[tuple[str, str, Callable[[], Any]]] = [
    ("TAD0302", "i - 1", lambda: tadc.define("f", [i], x[i] + x[i - 1])),
    ("TAD0301", "a[i, j, k]", lambda: tadc.define("f", [i, j, k], a[i, j, k])),
    ("TAD0301", "x", lambda: tadc.define("f", [i], tadc.sum(k, x) + x[i])),
    ("TAD0202", "j", lambda: tadc.define("f", [i], x[i] * a[0, j])),
    ("TAD0303", "i * j", lambda: tadc.define("f", {i: 2, j: 2}, x[i * j])),
    ("TAD0307", "x[i]", lambda: tadc.define("f", {i: 2}, tadc.sin(a[x[i], 0]))),
    ("TAD0306", "j", lambda: tadc.define("f", [i, j], x[i])),
    ("TAD0305", "i", lambda: tadc.define("f", [i], a[i, 0] + a[0, i])),
    ("TAD0203", "j", lambda: tadc.define("f", [], tadc.sum([j, j], a[j, 0]))),
    ("TAD0106", "exp", lambda: tadc.define("exp", [i], x[i])),
    ("TAD0311", "x[i]", lambda: tadc.define("f", [i], 2 * (x[i] // 2))),
    (
        "TAD0316",
        "f[t + 1]",
        lambda: tadc.define("f", {t: 5}, lambda f: tadc.where(t < 4, f[t + 1], 1), order=t),
    ),
    ("TAD0206", "f", lambda: tadc.define("f", [i], lambda f: x[i] + f[i])),
    ("TAD0205", "x", lambda: tadc.define("f", [i], x[i] + tadc.argument("x", "f64")[()])),
    ("TAD0308", '"f64", -3', lambda: tadc.define("f", [i], tadc.argument("y", "f64", -3)[i])),
]


@pytest.mark.parametrize(("code", "marked", "make"), CHECKED, ids=[code for code, _, _ in CHECKED])
def test_what_the_checker_finds(code: str, marked: str, make: Callable[[], Any]) -> None:
    text = shown(make)
    assert text.startswith(f"error[{code}]")
    line = make.__code__.co_firstlineno
    at = re.search(rf"--> {re.escape(str(HERE))}:(\d+):(\d+)", text)
    assert at is not None
    assert int(at[1]) == line
    written = HERE.read_text().splitlines()[line - 1]
    lines = text.splitlines()
    place = next(n for n, row in enumerate(lines) if row.startswith(f"{line} |") or f" {line} |" in row[:6])
    gap = lines[place].index("|") + 2
    assert lines[place][gap:] == written
    under = lines[place + 1]
    first, last = under.index("^"), under.rindex("^")
    if code == "TAD0308":  # the call that declares it
        assert marked in written[first - gap : last - gap + 1]
    else:
        assert written[first - gap : last - gap + 1] == marked


#: Each with words of its message.
REFUSED: list[tuple[str, Callable[[], Any]]] = [
    ("holds is not known", lambda: 0 if i < 3 else 1),  # pyright: ignore[reportGeneralTypeIssues]
    ("holds is not known", lambda: 0 <= i < 3),
    ("holds is not known", lambda: i < 3 and j < 4),
    ("holds is not known", lambda: max(x[i], 0)),
    ("holds is not known", lambda: i in [j, k]),
    ("neither true nor false", lambda: x[i] or 0),
    ("one cannot iterate", lambda: list(x)),
    ("no length", lambda: len(x)),
    ("has no value before", lambda: math.exp(x[i])),
    ("has no value before", lambda: range(N)),
    ("`numpy.sort` is no function", lambda: np.sort(x)),
    ("`numpy.isnan` is no function", lambda: np.isnan(x[i])),
    ("`numpy.sum`: got an unexpected keyword argument 'initial'", lambda: np.sum(x, initial=3)),
    ("axis 1 is out of bounds for array of dimension 1", lambda: np.sum(x, axis=1)),
    ("broadcast together with shapes (N,) (3, 4)", lambda: x + a),
    ("broadcast together with shapes (3, 4) (3,)", lambda: a * np.ones(3)),
    ("matmul: shapes (3, 4) and (3, 4) do not match", lambda: a @ a),
    ("matmul: shapes (3, 4) and (N,) do not match", lambda: a @ x),
    ("reshape array of shape (N,) into shape (4, -1)", lambda: x.reshape(4, -1)),
    ("reshape array of shape (3, 4) into shape (5, 2)", lambda: np.reshape(a, (5, 2))),
    ("too many indices", lambda: tadc.exp(x)[i, j]),
    ("index 3 is out of bounds for axis with size 3", lambda: a[3]),
    ("not indexed by values", lambda: x[a]),
    ("not indexed by a str", lambda: a["b"]),
    ("not indexed by a list", lambda: x[[0, 2]]),
    ("put elements at known positions together", lambda: x[np.array([0, 2])]),
    ("two comparisons are not added", lambda: (x > 0) + (x < 1)),
    ("is a number other than 0", lambda: x[::0]),
    ("shape (3, 4) stands where a number does", lambda: tadc.sum(i, a[:, :] * x[i])),
    ("2 indices are given for an array", lambda: tadc.define("f", [i, j], a[:, :, None])),
    ("is stated of a dimension of size `3`", lambda: tadc.define("f", {i: 4, j: 4}, a + 1)),
    ("must match exactly", lambda: np.concatenate([a, a[:, 1:]])),
    ("mode 'median' is not supported", lambda: np.pad(x, 1, mode="median")),
    ("an array of 100 numbers", lambda: x + np.ones(100)),
    ("no method `argmax`", lambda: x.argmax()),
    ("no method `astype`", lambda: x.astype(np.float32)),
    ("not assigned to", lambda: (x + 1).__setitem__(0, 3)),
    ("`numpy.exp`: ", lambda: np.exp(x, out=np.ones(3))),
    ("holds is not known", lambda: 1 if x.sum() > 0 else 2),
    ("too many arrays", lambda: functools.reduce(lambda u, n: u * n + 1, range(600), a[i]).sum() + x[i]),
    ("accumulated depends on an index", lambda: np.cumsum(a[i])),
    ("takes `f` itself", lambda: tadc.define("f", [i], lambda: x[i])),
    ("cannot depend on an index", lambda: tadc.argument("y", "f64", (i,))),
    ("takes no array", lambda: tadc.exp(np.ones(3))),
    ("an array of 100 numbers stands in a program", lambda: x[i] * np.ones(100)),
    ("takes 1 expressions, not 2", lambda: tadc.exp(x[i], x[i])),
    ("has no elements", lambda: (x[i] + 1)[i]),
    ("not 'a'", lambda: x[i] + "a"),
    ("not True", lambda: x[i] + True),
    ("no number `inf`", lambda: x[i] * math.inf),
    ("not 1j", lambda: x[i] * 1j),
    ("is too large", lambda: x[i] * 10**5000),
    ("`&` joins comparisons", lambda: (i < 3) & 4),
    ("are between comparisons", lambda: i > 0 & j < 3),
    ("are between comparisons", lambda: i > 0 | (j < 3)),
    ("negates a comparison", lambda: ~i < 3),
    ("only `&` joins", lambda: (i < 3) | (j < 3)),
    ("negates one comparison", lambda: ~((i < 3) & (j < 3))),
    ("chooses by a comparison", lambda: tadc.where(x[i], 1, 0)),
    ("takes one comparison", lambda: tadc.select((i < 3) & (j < 3), 1, 0)),
    ("a comparison is no number", lambda: x[i] * (i < 3)),
    ("is over an index", lambda: tadc.sum(x[i])),
    ("`tadc.maximum(x, y)`", lambda: tadc.max(x[i], 0)),
    ("takes an index and an expression", lambda: tadc.sum(k, 0, x[k])),
    ("bounds are those of one index", lambda: tadc.sum([i, j], 0, 3, a[i, j])),
    ("an index stands here", lambda: tadc.define("f", [i + 1], x[i])),
    ("an index, or a list of them", lambda: tadc.define("f", "i", x[i])),
    ("is a word, not 'a b'", lambda: tadc.argument("a b")),
    ("is a word, not 3", lambda: tadc.index(3)),
    ("names stand in a string", lambda: tadc.indices(["i"])),
    ("is no element type", lambda: tadc.argument("y", "int32")),
    ("a size is a number, a name", lambda: tadc.argument("y", "f64", "2*N")),
    ("the value of a size is an integer", lambda: tadc.size("M", 2.5)),
    ("a program has a result", lambda: tadc.program()),
    ("a result is what `tadc.let`", lambda: tadc.program(x)),
    ("whose element type is stated", lambda: tadc.define("f", [i], x[i], dtype="f32")),
    ("has a default", lambda: tadc.kernel(lambda y=3: y)),
    ("has no `*y`", lambda: tadc.kernel(lambda *y: y)),
    ("has no `**y`", lambda: tadc.kernel(lambda **y: y)),
    ("by name alone", lambda: tadc.kernel(lambda *, y: y)),
    ("returns None", lambda: tadc.kernel(lambda: None)),
    ("decorates a function", lambda: tadc.kernel("f")),
]


@pytest.mark.parametrize(("words", "make"), REFUSED, ids=[str(n) for n in range(len(REFUSED))])
def test_what_python_cannot_say(words: str, make: Callable[[], Any]) -> None:
    text = shown(make)
    assert text.startswith("error[TAD0510]")
    assert words in text
    assert f"{HERE}:{make.__code__.co_firstlineno}:" in text
    assert "^" in text


def test_a_tree_that_grows_with_every_use() -> None:
    value = x[i]
    for _ in range(60):
        value = value * value
    assert "name it" in shown(lambda: tadc.define("f", [i], value))
    # Its text is longer than memory, and is in no message.
    assert "has no elements" in shown(lambda: value[i])
    assert "holds is not known" in shown(lambda: bool(value > 0))
    for _ in range(20_000):
        value = value * value
    assert "name it" in shown(lambda: tadc.define("f", [i], value))
    assert "pieces" in repr(value)


def test_code_without_a_file() -> None:
    code = "tadc.define('f', {i: 8},\n    tadc.argument('z', 'f64', 8)[i + 1])"
    text = shown(lambda: exec(code, {"tadc": tadc, "i": i}))
    assert "2 | f[i: 8] = z[i + 1]" in text
    assert "written in Python at <string>:2" in text
    text = shown(lambda: exec("\nz = tadc.argument('z', 'f64', 8)[i] + 'a'", {"tadc": tadc, "i": i}))
    assert "written in Python at <string>:2" in text


def test_an_annotation_that_fails() -> None:
    text = "from __future__ import annotations\n@tadc.kernel\ndef f(y: 1 / 0, z: {}['a']): return y"
    assert "an annotation of a kernel cannot be read" in shown(lambda: exec(text, {"tadc": tadc}))


def test_parts_of_two_files(tmp_path: Path) -> None:
    other = tmp_path / "other.py"
    other.write_text("import tadc\ny = tadc.argument('y', 'f64', 8)\n")
    names: dict[str, Any] = {}
    exec(compile(other.read_text(), str(other), "exec"), names)
    text = shown(lambda: tadc.define("f", {i: 8}, names["y"][i + 1]))
    assert f"at {other}:2: `y` holds only elements 0..7" in text


def test_a_call_names_lines_of_python_too() -> None:
    f = tadc.define("f", {i: 4}, x[i])
    with pytest.raises(tadc.ArgumentError) as caught:
        f(np.ones(3))
    assert str(HERE) in str(caught.value)


def test_warnings_are_given_at_the_line() -> None:
    unread = tadc.argument("unread", "f64", 3)
    with warnings.catch_warnings(record=True, action="always") as seen:
        tadc.program(tadc.let("f", [i], x[i]), arguments=[x, unread])
    assert [w.message.diagnostic.code for w in seen] == ["TAD0408"]  # pyright: ignore[reportAttributeAccessIssue]
    assert seen[0].filename == str(HERE)
    assert str(HERE) in str(seen[0].message)


def test_helps_are_python() -> None:
    assert "`tadc.where(i - 1 >= 0, x[i - 1], 0)`" in shown(lambda: tadc.define("f", [i], x[i - 1] + x[i]))
    assert "`{i: N - 1}`" in shown(lambda: tadc.define("f", [i], (x[i + 1] - x[i]) * a[i, 0]))
    assert "`tadc.sum({i: N - 1}, …)`" in shown(
        lambda: tadc.define("f", [], tadc.sum(i, (x[i + 1] - x[i]) * a[i, 0]))
    )
    assert "`tadc.sum(j, …)`" in shown(lambda: tadc.define("f", [i], x[i] + x[j]))


def test_pickles_are_the_text() -> None:
    f = tadc.define("f", [i], 2 * x[i])
    copy = pickle.loads(pickle.dumps(f))
    assert str(copy) == str(f)
    assert np.array_equal(copy([1, 2]), [2, 4])
