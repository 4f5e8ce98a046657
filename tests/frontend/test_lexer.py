"""Tokens: kinds, values, brackets, and what cannot be read."""

import pytest

from tadc.frontend.lexer import tokenize
from tadc.frontend.source import Source


def kinds(text: str) -> list[str]:
    return [token.kind for token in tokenize(Source(text)).items]


def first_error(text: str) -> tuple[str, str, str, list[str]]:
    error, *_ = tokenize(Source(text)).errors
    assert error.primary
    return error.code, error.message, text[error.primary.span.start : error.primary.span.end], error.helps


def test_kinds() -> None:
    assert kinds("let f[i] = exp x**2 // 3 # end") == [
        "let", "name", "[", "name", "]", "=", "name", "name", "**", "number", "//", "number", "end",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "value"),
    [("0", 0), ("42", 42), ("3.5e-1", 0.35), ("1e-05", 1e-05), ("1e+300", 1e300), (".5", 0.5), ("2.", 2.0)],
)
def test_numbers(text: str, value: float) -> None:
    token = tokenize(Source(text)).items[0]
    assert token.value == value
    assert type(token.value) is type(value)


def test_every_float_reads_back_exactly() -> None:
    for value in (0.1, 1 / 3, 5e-324, 1.7976931348623157e308, 2.5e22, 123456789.125):
        assert tokenize(Source(repr(value))).items[0].value == value


def test_underscore_after_a_sum_starts_its_bound() -> None:
    assert kinds("sum{k}_lo^hi") == ["sum", "{", "name", "}", "_", "name", "^", "name", "end"]
    assert kinds("sum{k} _0^4") == ["sum", "{", "name", "}", "_", "number", "^", "number", "end"]
    assert kinds("a_0 _b") == ["name", "name", "end"]


def test_newlines_are_tokens_and_comments_are_none() -> None:
    assert kinds("a # x == \N{GREEK SMALL LETTER PI}\r\n\tb\n") == [
        "name",
        "newline",
        "name",
        "newline",
        "end",
    ]


def test_byte_order_mark_is_skipped() -> None:
    assert kinds("\ufeffx") == ["name", "end"]


def test_spans_cover_the_words() -> None:
    text = "f[i] = 2.50*sum{k}_0^4 (a[i, k])"
    tokens = tokenize(Source(text)).items
    assert [text[t.start : t.end] for t in tokens[:-1]] == [t.text for t in tokens[:-1]]
    assert "".join(t.text for t in tokens) == text.replace(" ", "")


def test_brackets_find_their_partners() -> None:
    partner = tokenize(Source("([)]{")).partner
    assert partner == {0: 2, 2: 0}
    partner = tokenize(Source("(()]))")).partner
    assert partner == {1: 2, 2: 1, 0: 4, 4: 0}


@pytest.mark.parametrize(
    ("text", "code", "place", "help_"),
    [
        ("3x", "TAD0103", "3x", "write `3*x`"),
        ("1.2.3", "TAD0103", "1.2.3", ""),
        ("1e", "TAD0103", "1e", ""),
        ("0x1F", "TAD0103", "0x1F", ""),
        ("1_000", "TAD0103", "1_000", ""),
        ("1e999", "TAD0103", "1e999", "the largest"),
        ("9" * 5000, "TAD0103", "9" * 5000, "the largest"),
        ("a == b", "TAD0104", "==", "`=`"),
        ("a && b", "TAD0104", "&&", "`and`"),
        ("a || b", "TAD0104", "||", "`if`"),
        ("a ? b", "TAD0104", "?", ""),
        ("a \N{MINUS SIGN} b", "TAD0104", "\N{MINUS SIGN}", "write `-`"),
        ("a \N{LESS-THAN OR EQUAL TO} b", "TAD0104", "\N{LESS-THAN OR EQUAL TO}", "write `<=`"),
        ("x\N{SUPERSCRIPT TWO}", "TAD0104", "\N{SUPERSCRIPT TWO}", "write `**2`"),
        ("\N{GREEK SMALL LETTER PI}", "TAD0104", "\N{GREEK SMALL LETTER PI}", "write `pi`"),
        ("na\u00efve", "TAD0104", "\u00ef", "letters a-z"),
        ("\x00", "TAD0104", "\x00", ""),
    ],
)
def test_errors(text: str, code: str, place: str, help_: str) -> None:
    found_code, _, found_place, helps = first_error(text)
    assert (found_code, found_place) == (code, place)
    assert help_ in "".join(helps)


def test_unknown_characters_are_named() -> None:
    _, message, _, _ = first_error("\N{MINUS SIGN}")
    assert message == "unknown character `\N{MINUS SIGN}` (U+2212 MINUS SIGN)"
    _, message, _, _ = first_error("\x07")
    assert message == "unknown character U+0007"


def test_reading_goes_on_with_what_was_meant() -> None:
    assert kinds("a \N{MINUS SIGN} \N{GREEK SMALL LETTER PI} \N{N-ARY SUMMATION} ? 3x") == [
        "name", "-", "pi", "sum", "?", "number", "*", "name", "end",
    ]  # fmt: skip
