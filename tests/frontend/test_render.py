"""Diagnostics as text and as JSON."""

import json

import pytest

from tadc.frontend.diagnostics import CompileError, Diagnostic, Label
from tadc.frontend.parser import parse
from tadc.frontend.render import render, render_json
from tadc.frontend.source import Source, Span
from tadc.frontend.suggest import closest, did_you_mean


def at(source: Source, text: str, label: str = "") -> Label:
    start = source.text.index(text)
    return Label(Span(start, start + len(text)), label)


READ = Source("d: f64[6]\nf[i: 3] = sum{k}_0^4 (d[i + k])", "f.tad")


def past_end() -> Diagnostic:
    return Diagnostic(
        "TAD0302",
        "`d` is read past its end",
        at(READ, "i + k", "takes values 0..6 here"),
        [Label(Span(7, 8), "`d` holds only elements 0..5")],
        ["out of range at `i = 2, k = 4`"],
        ["let the sum end at 3, or declare `d: f64[7]`"],
        source=READ,
    )


def test_the_example_of_the_style_guide() -> None:
    assert render(past_end()) == (
        "error[TAD0302]: `d` is read past its end\n"
        " --> f.tad:2:25\n"
        "  |\n"
        "1 | d: f64[6]\n"
        "  |        - `d` holds only elements 0..5\n"
        "2 | f[i: 3] = sum{k}_0^4 (d[i + k])\n"
        "  |                         ^^^^^ takes values 0..6 here\n"
        "  |\n"
        "  = note: out of range at `i = 2, k = 4`\n"
        "  = help: let the sum end at 3, or declare `d: f64[7]`"
    )


def test_several_labels_on_one_line() -> None:
    source = Source("f[i] = a[i; k] * x[k]", "f.tad")
    diagnostic = Diagnostic(
        "TAD0202",
        "index `k` is never bound",
        at(source, "k", "no sum binds it"),
        [at(source, "f[i]", "binds only `i`"), at(source, "x[k]", "also here")],
        source=source,
    )
    assert render(diagnostic) == (
        "error[TAD0202]: index `k` is never bound\n"
        " --> f.tad:1:13\n"
        "  |\n"
        "1 | f[i] = a[i; k] * x[k]\n"
        "  | ----        ^    ---- also here\n"
        "  | |           |\n"
        "  | |           no sum binds it\n"
        "  | |\n"
        "  | binds only `i`"
    )


def test_overlapping_labels_hang_below() -> None:
    source = Source("f = a + b", "f.tad")
    labels = [at(source, "a + b", "the whole")]
    diagnostic = Diagnostic("TAD0000", "bad", at(source, "b", "this part"), labels, source=source)
    assert render(diagnostic).split("\n")[3:] == [
        "1 | f = a + b",
        "  |     ----^",
        "  |     |   |",
        "  |     |   this part",
        "  |     |",
        "  |     the whole",
    ]


def test_lines_between_are_shown_or_left_out() -> None:
    source = Source("a\nb\nc\nd\ne\nf\ng\nh\ni\nj", "f.tad")
    labels = [at(source, "c", "third"), at(source, "j", "last")]
    lines = render(Diagnostic("TAD0000", "bad", at(source, "a"), labels, source=source)).split("\n")
    assert lines[2:] == [
        "   |", " 1 | a", "   | ^", " 2 | b", " 3 | c", "   | - third", "...", "10 | j", "   | - last",
    ]  # fmt: skip


def test_a_place_over_several_lines() -> None:
    source = Source("f = sum{k} (\n  x[k]\n  + 1\n    ) * 2", "f.tad")
    diagnostic = Diagnostic("TAD0000", "bad", at(source, source.text[4:30], "this sum"), source=source)
    assert render(diagnostic).split("\n")[1:] == [
        " --> f.tad:1:5",
        "  |",
        "1 | f = sum{k} (",
        "  |     ^^^^^^^^",
        "...",
        "4 |     ) * 2",
        "  |     ^ this sum",
    ]


def test_tabs_and_wide_characters_keep_the_marks_in_place() -> None:
    source = Source("f\t=\ta +  \u4e2d\u4e2d ?", "f.tad")
    lines = render(Diagnostic("TAD0000", "bad", at(source, "?", "here"), source=source)).split("\n")
    assert lines[3:] == ["1 | f   =   a +  \u4e2d\u4e2d ?", "  |                   ^ here"]


def test_nothing_in_a_source_steers_the_terminal() -> None:
    source = Source("f = \x1b[31m", "f.tad")
    text = render(Diagnostic("TAD0000", "bad \x1b[0m", at(source, "\x1b", "here"), source=source))
    assert "\x1b" not in text
    assert "1 | f = \ufffd[31m\n  |     ^ here" in text


def test_a_long_line_is_cut_round_the_place() -> None:
    source = Source("f = " + "a + " * 500 + "? + " + "b + " * 500, "f.tad")
    *_, line, marks = render(Diagnostic("TAD0000", "bad", at(source, "?", "here"), source=source)).split("\n")
    assert len(line) < 200
    assert line.index("?") == marks.index("^")


def test_the_end_of_the_text_is_a_place() -> None:
    source = Source("f = a +\n", "f.tad")
    diagnostic = Diagnostic("TAD0000", "bad", Label(Span(8, 8), "here"), source=source)
    assert render(diagnostic).split("\n")[3:] == ["2 |", "  | ^ here"]


def test_without_a_place() -> None:
    diagnostic = Diagnostic("TAD0901", "no GPU", notes=["first\nsecond"], helps=["`--target=cpu` runs here"])
    assert render(diagnostic) == (
        "error[TAD0901]: no GPU\n  = note: first\n          second\n  = help: `--target=cpu` runs here"
    )
    diagnostic.source = Source("", "f.tad")
    assert render(diagnostic).split("\n")[1] == " --> f.tad"
    assert render(Diagnostic("", "all is well", severity="note")) == "note: all is well"


def test_a_place_without_a_source() -> None:
    assert render(Diagnostic("TAD0000", "bad", Label(Span(3, 4), "here"))) == "error[TAD0000]: bad"


def test_colour_only_when_asked() -> None:
    plain, colored = render(past_end()), render(past_end(), color=True)
    assert "\x1b" not in plain
    assert "\x1b[1;31merror[TAD0302]\x1b[0m" in colored
    assert "\x1b[1;31m^^^^^\x1b[0m" in colored
    uncolored = "".join(
        part.split("m", 1)[-1] if i else part for i, part in enumerate(colored.split("\x1b["))
    )
    assert uncolored == plain


def test_json() -> None:
    data = json.loads(json.dumps(render_json(past_end())))
    assert data["code"] == "TAD0302"
    assert data["severity"] == "error"
    assert data["file"] == "f.tad"
    assert data["primary"] == {
        "text": "takes values 0..6 here",
        "start": 34,
        "end": 39,
        "line": 2,
        "column": 25,
        "end_line": 2,
        "end_column": 30,
    }
    assert [label["line"] for label in data["secondary"]] == [1]
    assert data["notes"] == past_end().notes
    assert data["helps"] == past_end().helps
    assert render_json(Diagnostic("TAD0901", "no GPU"))["primary"] is None


def test_an_error_reads_as_its_diagnostics() -> None:
    with pytest.raises(CompileError) as caught:
        parse(Source("f = a b\ng = )", "f.tad"))
    first, second = caught.value.diagnostics
    assert str(caught.value) == f"{render(first)}\n\n{render(second)}"


@pytest.mark.parametrize(
    ("word", "names", "found"),
    [
        ("exq", ["exp", "sin"], "exp"),
        ("Exp", ["exp", "expm1"], "exp"),
        ("weigths", ["weights", "bias"], "weights"),
        ("zzz", ["exp", "sin"], None),
        ("foo", ["floor", "relu"], None),
        ("lenght", ["length", "height"], "length"),
        ("k", ["i", "j"], None),
        ("x", [], None),
    ],
)
def test_suggestions(word: str, names: list[str], found: str | None) -> None:
    assert closest(word, names) == found
    assert did_you_mean(word, names) == ([f"did you mean `{found}`?"] if found else [])
