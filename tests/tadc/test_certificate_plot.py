"""Pictures of certificates."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

import tadc
from tadc.certificates.certificate_points import NotDrawn, hull, picture
from tadc.certificates.certify import Certificates
from tadc.cli import main
from tadc.commands.certificate_plot import draw, picture_format

FIGURE_3 = "x: f64[16]; f[i: 8, j: 4] = x[i - 2*j + 6]**2"
FIGURE_4 = "x: f64[20]; f[i: 6, j: 4, k: 4] = x[i - 2*j - 2*k + 12]**2"

PROGRAMS = {
    "figure 3": FIGURE_3,
    "figure 4": FIGURE_4,
    "one index": "x: f64[9]; f[i: 4] = x[2*i]**2",
    "no index": "x: f64[9]; f = x[2]**2",
    "scalar": "x: f64; f[i: 3] = x * i",
    "three loops": "x: f64; f[i: 3, j: 2, k: 2] = x * i",
    "four indices": "x: f64[5]; f[i: 3, j: 2, k: 2, l: 2] = x[i + l] * i",
    "six indices": "x: f64[5, 2]; f[i: 3, j: 2, k: 2, l: 2, m: 2, n: 2] = x[i + l, m] * i",
    "no points": "x: f64[5]; f[i: 0] = x[i]; g[i: 5] = x[i]",
    "a triangle": "x: f64[6, 6]; f[i: 6] = sum{k}_0^i (x[i, k])",
}
MANY = "x: f64[40]; f[i: 4] = " + " + ".join(f"x[i + {n}]**2" for n in range(9))


def certificates(text: str) -> Certificates:
    return tadc.certificate(tadc.function(text))


@pytest.mark.parametrize("name", PROGRAMS)
def test_pictures(name: str) -> None:
    """There is one for every number of indices and loops."""
    svg = draw(certificates(PROGRAMS[name]), "svg").decode()
    assert svg.startswith("<?xml")
    assert "NaN" not in svg


@pytest.mark.parametrize("kind", ["svg", "png", "pdf"])
def test_kinds(kind: str) -> None:
    """Each is a file of its kind, the same every time."""
    found = certificates(FIGURE_3)
    made = draw(found, kind)
    assert made.startswith({"svg": b"<?xml", "png": b"\x89PNG", "pdf": b"%PDF"}[kind])
    assert draw(found, kind) == made


def test_figure_3_of_the_paper() -> None:
    """The points of preimages are those that read the element; the labels are there."""
    (read,) = certificates(FIGURE_3)
    made = picture(read)
    assert len(made.domain) == 32
    for preimage in made.preimages:
        b = preimage.element[0]
        expected = [p for p in made.domain if p[0] - 2 * p[1] + 6 == b]
        assert sorted(preimage.points) == expected
        assert preimage.loops == tuple((j,) for _, j in preimage.points)
    chosen = made.highlighted(6)
    assert 1 < len(chosen) <= 6
    assert max(len(p.points) for p in made.preimages) in {len(p.points) for p in chosen}
    svg = draw(certificates(FIGURE_3), "svg").decode()
    texts = re.findall(r">([^<>]+)</text>", svg)
    assert "x[i - 2*j + 6]  (line 1)  into  dx[x_0]" in texts
    assert {"i", "j", "x_0", "x_0 = 6", "range of each sum"} <= set(texts)


def test_figure_4_of_the_paper() -> None:
    (read,) = certificates(FIGURE_4)
    made = picture(read)
    assert sum(len(p.points) for p in made.preimages) == len(made.domain) == 96
    for preimage in made.preimages:
        assert all(i - 2 * j - 2 * k + 12 == preimage.element[0] for i, j, k in preimage.points)
    texts = re.findall(r">([^<>]+)</text>", draw(certificates(FIGURE_4), "svg").decode())
    assert {"i", "j", "k", "area of each sum"} <= set(texts)


def test_hull() -> None:
    grid = [(float(x), float(y)) for x in range(4) for y in range(3)]
    assert hull(grid) == [(0, 0), (3, 0), (3, 2), (0, 2)]
    assert hull([(0, 0), (1, 1), (2, 2)]) == [(0, 0), (2, 2)]
    assert hull([(1, 1)]) == [(1, 1)]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("x: f64; f[i: 900, j: 900] = x * i", "its domain has more than 20000 points"),
        ("x: f64[30000]; f[i: 3] = x[i]", "its gradient has more than 20000 elements"),
        ("x: f64; f[i: 99, j: 99, k: 99, l: 99] = x * i", "its sums have more than 200000 terms"),
        ("t: index[4] in 3; x: f64[4]; f[n: 3] = sum{e: t[e] = n} (x[e])", "the elements of t"),
        ("s: index[4] in 3; x: f64[3]; f[e] = x[s[e]]", "the elements of s"),
        ("x: f64[5]; f[i: 5] = if {i < 0} then (x[i]) else (0)", "it reads nothing"),
    ],
)
def test_what_is_not_drawn(text: str, reason: str) -> None:
    (read,) = certificates(text)
    with pytest.raises(NotDrawn, match=reason):
        _ = picture(read).preimages
    with pytest.raises(tadc.CompileError) as error:
        draw(certificates(text), "svg")
    assert error.value.diagnostics[0].code == "TAD0803"
    assert reason in str(error.value)


def test_reads_left_out_are_named() -> None:
    text = "x: f64[900, 900]; y: f64[9]; f[i: 900, j: 900] = x[i, j]; g[i: 9] = y[i]**2"
    svg = draw(certificates(text), "svg").decode()
    assert "not drawn: x[i, j] (line 1): its domain has more than 20000 points" in svg
    assert "1 more read: choose by --wrt" in draw(certificates(MANY), "svg").decode()


def test_without_matplotlib(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    file = tmp_path / "f.svg"
    assert main(["-e", FIGURE_3, "--plot", str(file)]) == 1
    message = capsys.readouterr().err
    assert "error[TAD0802]: drawing needs matplotlib" in message
    assert "help: install it with `pip install 'tadc-compiler[plot]'`" in message
    assert not file.exists()


def test_the_command_draws_and_prints(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "f.SVG"
    assert main(["-e", FIGURE_3, "--plot", str(file)]) == 0
    assert capsys.readouterr().out == ""
    assert file.read_bytes().startswith(b"<?xml")
    assert main(["-e", FIGURE_3, "--plot", str(file), "--certificate"]) == 0
    assert "into dx[x_0]" in capsys.readouterr().out
    assert [path.name for path in tmp_path.iterdir()] == ["f.SVG"]


@pytest.mark.parametrize("name", ["f.svg", "a.b/f.PNG", "f.x.pdf"])
def test_formats(name: str) -> None:
    assert picture_format(name) == name[-3:].lower()
