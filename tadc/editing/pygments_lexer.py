"""Colours for programs: a lexer of Pygments, which pages, terminals and notebooks are made with."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

from pygments.lexer import Lexer
from pygments.token import Comment, Error, Keyword, Name, Number, Operator, Punctuation, Text

from tadc.frontend.token_classes import TokenClass, classified

#: What Pygments calls the classes.
_TOKENS: dict[TokenClass, Any] = {
    "comment": Comment.Single,
    "constant": Keyword.Constant,
    "error": Error,
    "function": Name.Builtin,
    "keyword": Keyword,
    "name": Name,
    "number": Number,
    "operator": Operator,
    "punctuation": Punctuation,
    "type": Keyword.Type,
}


class TadLexer(Lexer):
    """Programs of tadc, `*.tad`; pip makes Pygments know it as `tad`.

    >>> from pygments import format
    >>> from pygments.formatters import RawTokenFormatter
    >>> from tadc.editing.pygments_lexer import TadLexer
    >>> [text for kind, text in TadLexer().get_tokens("let h = exp x") if kind is Name.Builtin]
    ['exp']
    """

    name = "tadc"
    aliases: ClassVar[Sequence[str]] = ["tad", "tadc"]
    filenames: ClassVar[Sequence[str]] = ["*.tad"]
    mimetypes: ClassVar[Sequence[str]] = ["text/x-tad"]

    def get_tokens_unprocessed(self, text: str) -> Iterator[tuple[int, Any, str]]:
        """The parts of a text with their places; all of it, blanks too."""
        at = 0
        for piece in classified(text):
            if at < piece.start:
                yield at, Text.Whitespace, text[at : piece.start]
            yield piece.start, _TOKENS[piece.kind], text[piece.start : piece.end]
            at = piece.end
        if at < len(text):
            yield at, Text.Whitespace, text[at:]
