"""The formatter: the same words, the same comments, and nothing changes the second time."""

import re
from collections.abc import Iterable

import pytest

import tadc
from tadc.editing.formatter import formatted
from tadc.frontend.dump import dump
from tadc.frontend.lexer import tokenize
from tadc.frontend.parser import read_statements
from tadc.frontend.source import Source
from tadc.frontend.token_classes import classified
from tests.editing.programs import drawn, files, strings


def test_style() -> None:
    text = """

x :f64[ N,2*M ]   ;;w:f64  ;
# why


# and how
let  h [i,j]=-x[ i+1 ,j ]*w**-2+ sum {k }_( 2 * i )^ ( N-1 )( exp (x[k,j]) )/2   #  energy
f[i] = if{i%2=0 and -i<N//2}then(h[2 * i,0]) else (max  (h[i,1],pi))
"""
    assert (
        formatted(Source(text))
        == """\
x: f64[N, 2*M]; w: f64
# why

# and how
let h[i, j] = -x[i + 1, j]*w**-2 + sum{k}_(2*i)^(N - 1) (exp(x[k, j]))/2  #  energy
f[i] = if {i % 2 = 0 and -i < N // 2} then (h[2*i, 0]) else (max(h[i, 1], pi))
"""
    )


def test_comments_in_brackets_keep_their_lines() -> None:
    text = """f[i] = (  # all
x[i]  # first
      + sum{k} (
    # inner
  w[k]
) )# end
"""
    assert (
        formatted(Source(text))
        == """\
f[i] = (  # all
    x[i]  # first
    + sum{k} (
        # inner
        w[k]
    ))  # end
"""
    )


def test_long_statements_are_broken_in_brackets() -> None:
    terms = " + ".join(f"x[i + {n}]" for n in range(30))
    text = formatted(Source(f"x: f64[40]\ny[i: 9] = {terms}  # all\n"))
    assert text.startswith("x: f64[40]\ny[i: 9] = (\n    x[i + 0] + ")
    assert text.endswith(" + x[i + 29])  # all\n")
    assert max(map(len, text.splitlines())) <= 107
    assert formatted(Source(text)) == text
    assert formatted(Source("f = (x[\n0] +\n(y))")) == "f = x[0] + (y)\n"


def test_what_is_not_read_is_not_formatted() -> None:
    with pytest.raises(tadc.CompileError, match="TAD0101"):
        formatted(Source("f = (x"))
    assert formatted(Source("")) == ""
    assert formatted(Source("\n\n# alone")) == "# alone\n"


def said(text: str) -> tuple[list[str], list[str], str]:
    """The words of a program, its comments and its tree; brackets that group are in the last alone."""
    words = [t.text for t in tokenize(Source(text)).items if t.kind not in ("newline", ";", "(", ")")]
    comments = [text[p.start : p.end].rstrip() for p in classified(text) if p.kind == "comment"]
    return words, comments, re.sub(r"@\d+\.\.\d+", "", dump(read_statements(Source(text))))


def stays(texts: Iterable[str]) -> int:
    """How many of the texts are programs; they say the same when they are formatted, once or twice."""
    seen = 0
    for text in texts:
        if not read_statements(Source(text)).errors:
            made = formatted(Source(text))
            assert formatted(Source(made)) == made
            assert said(made) == said(text)
            seen += 1
    return seen


def test_programs_stay_the_same() -> None:
    assert stays((*files()[::6], *drawn(3))) > 30


def test_all_programs_stay_the_same() -> None:
    assert stays((*files(), *strings()[::3], *drawn(50))) > 700
