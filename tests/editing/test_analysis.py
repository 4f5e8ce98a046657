"""What editors are told of programs, right, wrong and broken."""

import random
import re
import time
from collections.abc import Iterable
from typing import Any

import pytest

from tadc.editing.analysis import Analysis, NotRenamed, analysed
from tadc.frontend.parser import read_statements
from tadc.frontend.remembered import CheckMemory
from tadc.frontend.source import Source, Span
from tadc.frontend.values import ValueReader
from tests.editing.programs import drawn, files

TEXT = """\
x: T[N]; w: f64[5]
size M = 4
let h[i: N] = sum{k}_(max [0; 2 - i])^(min [4; N + 1 - i]) (w[k] * x[i + k - 2])
z[r: 3, c] = sum{i} (exp(h[i])) * w[c] * M
m = max{i} (max{k} (z[i, k]))
"""


def at(text: str, mark: str = "|") -> tuple[Analysis, int]:
    """What is known of a text, and the offset of a mark in it."""
    offset = text.index(mark)
    return analysed(Source(text.replace(mark, ""))), offset


def about(word: str, after: str = "") -> tuple[str, str, str]:
    offset = TEXT.index(word, TEXT.index(after))
    found = analysed(Source(TEXT)).about(offset)
    assert found
    span, lines, sentence = found
    return TEXT[span.start : span.end], lines, sentence


def test_meanings() -> None:
    assert about("x") == ("x", "x: T[N]", "an argument")
    assert about("N") == ("N", "x: T[N]", "a size")
    assert about("M", "* M")[1:] == ("size M = 4", "a size = 4")
    assert about("h", "let") == (
        "h",
        TEXT.splitlines()[2],
        "an intermediate, for i = 0..N - 1",
    )
    assert about("z", "z[r")[2] == "an output, for r = 0..2, c = 0..4"
    assert about("k", "sum") == ("k", "k = max [0; 2 - i]..min [4; N - i + 1]", "an index of a `sum`")
    assert about("c", "w[c") == ("c", "c = 0..4", "an index of `z`")
    assert about("exp") == ("exp", "exp(x)", "e to the x")
    assert about("max", "m =") == (
        "max",
        "max(x, y)",
        "the greater of both; they share the slope where they tie",
    )
    assert analysed(Source(TEXT)).about(TEXT.index("= sum")) is None
    found, offset = at("x: f32[N, 2]\n|y[i] = x[i, 0]\n")
    assert found.about(offset) == (Span(13, 14), "y: f32[N]\ny[i] = x[i, 0]", "an output, for i = 0..N - 1")


def test_names_of_one_thing() -> None:
    found = analysed(Source(TEXT))
    name = found.name_at(TEXT.index("h[i]))"))
    assert name
    assert [o.span.start for o in found.all_of(name.symbol)] == [TEXT.index("h"), TEXT.index("h[i]))")]
    inner = found.name_at(TEXT.index("i, k]"))
    assert inner
    places = [o.span.start for o in found.all_of(inner.symbol) if o.binds]
    assert places == [TEXT.index("i} (max")]


def test_hints_are_programs() -> None:
    """With all sizes that are shown written into it a program is the same."""
    for text in (TEXT, *files()[:20]):
        found = analysed(Source(text))
        if found.diagnostics:
            continue
        made = text
        for hint in sorted(found.hints(), key=lambda hint: -hint.at):
            made = made[: hint.at] + hint.text + made[hint.at :]
        again = analysed(Source(made))
        assert again.diagnostics == ()
        assert list(again.hints()) == []
    assert [hint.text for hint in analysed(Source(TEXT)).hints()] == [": 5", ": N", ": 3", ": 5"]


def test_renaming() -> None:
    found, offset = at("x: f64[N]\nlet |s[i] = x[i]\ny = sum{i} (s[i]) + sum{n: N} (s[n])\n")
    spans = found.renamed(offset, "total")
    assert len(spans) == 3
    assert found.renamed(0, "_") != []
    for name, why in (
        ("x", "something else"),
        ("n", "something else"),
        ("exp", "a word of the language"),
        ("1a", "no name"),
    ):
        with pytest.raises(NotRenamed, match=why):
            found.renamed(offset, name)
    broken, offset = at("|x: f64[N]\ny[i] = (x[i]")
    with pytest.raises(NotRenamed, match="errors"):
        broken.renamed(offset, "u")


def test_renamed_programs_mean_the_same() -> None:
    rng = random.Random(7)
    for text in drawn(8):
        found = analysed(Source(text))
        name = rng.choice(found.names)
        made = text
        for span in reversed(found.renamed(name.span.start, "renamed")):
            made = made[: span.start] + "renamed" + made[span.end :]
        assert not [d for d in analysed(Source(made)).diagnostics if d.severity == "error"]


def test_completions_know_statements_that_cannot_be_read() -> None:
    found, offset = at("x: f64[N]\nscale: f64\ny[row] = scale * x[r|")
    words = {c.word: c for c in found.completions(offset)}
    assert words["scale"].about == "scale: f64  (an argument)"
    assert {"row", "x", "exp", "sum", "norm", "let", "bf16"} <= words.keys()
    assert "r" not in words
    assert words["exp"].kind == "function"
    found, offset = at("x: f64[N]\nlet total = sum{n} (x[n])\ny = to|")
    assert "to" not in {c.word for c in found.completions(offset)}


def test_names_of_statements_with_errors_are_known() -> None:
    found, offset = at("x: f64[N]\ny[i] = ln(x[|i])")
    assert [d.code for d in found.diagnostics] == ["TAD0201"]
    here = found.name_at(offset)
    assert here
    assert len(found.all_of(here.symbol)) == 2
    assert read_statements(found.source).statements == (found.module.statements[0],)


def same_with_memory(texts: Iterable[str]) -> None:
    """With what is remembered of the texts before, all that is known of one is the same."""
    memory = CheckMemory()
    for text in texts:
        found, alone = analysed(Source(text), memory), analysed(Source(text))
        assert found.diagnostics == alone.diagnostics, text
        assert list(found.hints()) == list(alone.hints()), text
        for o in alone.names:
            assert found.about(o.span.start) == alone.about(o.span.start), text


def edited(text: str, rng: random.Random) -> str:
    """A text in which a word is another, a number too, a line is gone, or stands elsewhere."""
    lines = text.split("\n")
    n = rng.randrange(len(lines))
    match rng.randrange(4):
        case 0:
            words = ["x", *re.findall(r"\w+", text)]
            lines[n] = re.sub(r"\b[a-z]\w*\b", rng.choice(words), lines[n], count=1)
        case 1:
            lines[n] = re.sub(r"\d", str(rng.randrange(9)), lines[n], count=1)
        case 2:
            del lines[n]
        case _:
            lines.insert(rng.randrange(len(lines)), lines.pop(n))
    return "\n".join(lines)


@pytest.mark.parametrize(
    "seed", [1, pytest.param(2, marks=pytest.mark.sweep), pytest.param(3, marks=pytest.mark.sweep)]
)
def test_what_is_remembered_changes_nothing(seed: int) -> None:
    rng = random.Random(seed)
    programs = [TEXT.replace("T[", "f32["), *rng.sample(files(), 4), *drawn(2)]
    for text in programs:
        texts = [text[:1500]]
        for _ in range(6):
            texts.append(edited(rng.choice([texts[0], texts[-1]]), rng))
        same_with_memory([*texts, texts[0]])


def definitions_read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The definitions whose terms are read from now on, once for each term."""
    read: list[str] = []
    whole = ValueReader.read

    def noted(self: ValueReader, expr: Any, setting: Any) -> Any:
        read.append(setting.scope.owner)
        return whole(self, expr, setting)

    monkeypatch.setattr(ValueReader, "read", noted)
    return read


def test_an_edit_checks_one_definition(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [f"let h{n}[i] = x[i] + {n}" for n in range(30)]
    text = "\n".join(["x: f64[N]", *lines, "y = sum{i} (h7[i] * h8[i])"])
    memory = CheckMemory()
    analysed(Source(text), memory)
    read = definitions_read(monkeypatch)
    analysed(Source(text.replace("+ 7", "* 7")), memory)
    assert set(read) == {"h7"}
    read.clear()
    analysed(Source(text.replace("let h7[i] =", "let h7[i: 3] =")), memory)
    assert set(read) == {"h7", "y"}


def test_an_edit_of_a_program_for_each_value_checks_one_definition(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [f"let h{n}[i: N, j: M] = x[M*i + j] + {n}" for n in range(8)]
    text = "\n".join(["x: f64[L]", "size N; size M", *lines, "y = sum{i, j} (h3[i, j] * h4[i, j])"])
    same_with_memory([text, text.replace("+ 7", "* i"), text.replace("M*i + j] + 3", "M*i + N*j] + 3"), text])
    memory = CheckMemory()
    analysed(Source(text), memory)
    read = definitions_read(monkeypatch)
    analysed(Source(text.replace("+ 7", "* 7")), memory)
    # All that multiply by a size are looked at to find it, and with a value for it one of them.
    assert read.count("h7") == 2 * read.count("h6") > 0


def test_a_statement_that_is_half_written_changes_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [f"let h{n}[i] = x[i] + {n}" for n in range(30)]
    text = "\n".join(["x: f64[N]", *lines, "y = sum{i} (h7[i] * h8[i])"])
    memory = CheckMemory()
    analysed(Source(text), memory)
    read = definitions_read(monkeypatch)
    for end in ("z", "z[i]", "z[i] =", "z[i] = x[", "z[i] = x[i", "z[i] = x[i] *"):
        found = analysed(Source(f"{text}\n{end}"), memory)
        assert found.diagnostics == analysed(Source(f"{text}\n{end}")).diagnostics
        read.clear()
    analysed(Source(f"{text}\nz[i] = x[i] *"), memory)
    assert read == []


def test_broken_texts_have_answers() -> None:
    """Whatever is cut out of programs or typed into them."""
    rng = random.Random(3)
    end = time.monotonic() + 1
    tried = 0
    while time.monotonic() < end or tried < 20:
        text = rng.choice(files())[:800]
        cut = rng.randrange(len(text) + 1)
        text = (
            text[:cut]
            + rng.choice(["", "(", "]", "}", "sum{", "@", "\n\n", "é", "\x00", "if {"])
            + text[cut + 3 :]
        )
        found = analysed(Source(text))
        offset = rng.randrange(len(text) + 1)
        found.about(offset)
        found.name_at(offset)
        assert all(0 <= hint.at <= len(text) for hint in found.hints())
        assert list(found.completions(offset))
        whole = Span(0, len(text))
        for o in found.names:
            assert whole.start <= o.span.start < o.span.end <= whole.end
            assert text[o.span.start : o.span.end] == o.symbol.name
        tried += 1
