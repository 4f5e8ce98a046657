"""Classes of words, against what the parser makes of them; and the lexer of Pygments that has them."""

import tomllib
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path

from pygments.lexer import Lexer
from pygments.token import Error

from tadc.editing.pygments_lexer import TadLexer
from tadc.frontend import syntax
from tadc.frontend.functions import ALIASES, FUNCTIONS, SPELLED_REDUCTIONS
from tadc.frontend.lexer import KEYWORDS
from tadc.frontend.parser import read_statements
from tadc.frontend.source import Source, Span
from tadc.frontend.token_classes import TokenClass, classified
from tadc.frontend.tree import walk
from tests.editing.programs import ROOT, drawn, files, strings


def classes(text: str) -> list[tuple[str, TokenClass]]:
    return [(text[piece.start : piece.end], piece.kind) for piece in classified(text)]


def test_words_have_the_class_of_their_place() -> None:
    text = "at: index[E] in N increasing  # at in\nA: bf16[N] at at\nin[index: E] = scan[at] + A[at at]"
    assert [kind for word, kind in classes(text) if word == "at"] == [
        "name", "keyword", "name", "name", "keyword", "name",
    ]  # fmt: skip
    assert ("in", "keyword") in classes(text)
    assert ("in", "name") in classes(text)
    assert ("index", "type") in classes(text)
    assert ("index", "name") in classes(text)
    assert ("scan", "name") in classes(text)
    assert ("# at in", "comment") in classes(text)
    assert classes("scan{t} y[t: N] = x")[0] == ("scan", "keyword")


def test_functions_and_keywords_are_those_of_the_language() -> None:
    for word in (*FUNCTIONS, *ALIASES, *SPELLED_REDUCTIONS, "polygamma3"):
        form = f"{word}{{i}} (x[i])" if word in SPELLED_REDUCTIONS else f"{word}(x)"
        assert classes(f"f = {form}")[2] == (word, "function")
    for word in KEYWORDS:
        assert classes(word)[0][1] != "name"


def said_by_the_parser(text: str) -> dict[Span, str]:
    """What the syntax tree tells of words."""
    found: dict[Span, str] = {}
    for _, _, node in walk(read_statements(Source(text))):
        match node:
            case syntax.Name(span=span):
                found[span] = "name"
            case syntax.Subscript(name_span=span) | syntax.Define(name_span=span):
                found[span] = "name"
            case syntax.Declare():
                found[node.name_span] = "name"
                if node.element_type:
                    found[node.type_span] = "type"
            case syntax.IndexSpec():
                found[Span(node.span.start, node.span.start + len(node.name))] = "name"
            case syntax.Number(span=span):
                found[span] = "number"
            case syntax.CallExpr(name_span=span):
                found[span] = "function"
            case _:
                pass
    return found


def as_parsed(texts: Iterable[str]) -> int:
    """How many words of those texts that are right have the class that the parser tells, which all have."""
    seen = 0
    for text in texts:
        if read_statements(Source(text)).errors:
            continue
        found = {Span(piece.start, piece.end): piece.kind for piece in classified(text)}
        for span, kind in said_by_the_parser(text).items():
            # The square in a norm has the place of its body.
            if span in found:
                assert found[span] == kind, (text, text[span.start : span.end])
                seen += 1
        assert "error" not in found.values(), text
    return seen


def test_classes_are_what_the_parser_reads() -> None:
    assert as_parsed((*files()[::3], *drawn(5))) > 1_500


def test_classes_of_all_programs_are_what_the_parser_reads() -> None:
    assert as_parsed((*strings(), *drawn(100))) > 50_000


def test_pygments_gets_all_of_any_text() -> None:
    for text in (
        *files()[::3],
        "\ufeffx: f64",
        "2x + 1_000 $ é \N{MULTIPLICATION SIGN} \\alpha 'a' 0x",
        "f = (]",
        "",
        "\n\n#",
    ):
        pieces = list(TadLexer().get_tokens_unprocessed(text))
        assert "".join(piece for _, _, piece in pieces) == text
        assert all(text.startswith(piece, at) for at, _, piece in pieces)
    assert any(kind is Error for _, kind, _ in TadLexer().get_tokens_unprocessed("f = $"))


def test_pip_tells_pygments() -> None:
    project = tomllib.loads(Path(ROOT / "pyproject.toml").read_text())["project"]
    module, name = project["entry-points"]["pygments.lexers"]["tad"].split(":")
    lexer = getattr(import_module(module), name)
    assert issubclass(lexer, Lexer)
    assert lexer.aliases[0] == "tad"
