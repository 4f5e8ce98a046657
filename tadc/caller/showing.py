"""What notebooks and papers show of functions and results: HTML and LaTeX."""

from __future__ import annotations

import io
from collections.abc import Iterable
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.table import Table

#: Formulas with more characters are not set: a browser would take long.
_MOST = 20_000

_SPECIAL = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}


#: Colours that can be read on light and on dark pages; other words have the page's own.
_COLORS = {
    "comment": "#7f848e",
    "constant": "#2f8f5b",
    "function": "#3b7dd8",
    "keyword": "#b5489a",
    "number": "#2f8f5b",
    "type": "#a8701a",
}


#: Pages of notebooks would give it the font of their texts.
_PRE = '<pre style="font-family: var(--jp-code-font-family, monospace)">'


def preformatted(text: str) -> str:
    """A text as it stands."""
    return f"{_PRE}{escape(text)}</pre>"


def program_html(text: str) -> str:
    """A program in colours."""
    from tadc.frontend.token_classes import classified

    parts: list[str] = []
    at = 0
    for start, end, kind in classified(text):
        word = escape(text[start:end])
        color = _COLORS.get(kind)
        parts += [text[at:start], f'<span style="color:{color}">{word}</span>' if color else word]
        at = end
    return f"{_PRE}{''.join([*parts, text[at:]])}</pre>"


def formula_html(latex: str, text: str, what: str = "program") -> str:
    """A formula, and the text that it was made of behind a click; the text alone where it is long."""
    shown = program_html(text) if what == "program" else preformatted(text)
    if not latex or len(latex) > _MOST:
        return shown
    details = f"<details><summary>{what}</summary>{shown}</details>"
    return f"$${escape(latex, quote=False)}$${details}"


class ShownAsTables:
    """What is shown as tables, below a text if there is one: printed, in notebooks, in LaTeX."""

    _above = ""

    def _tables(self) -> list[Table]:
        raise NotImplementedError

    def __str__(self) -> str:
        return tables_text(self._tables(), self._above)

    def latex(self) -> str:
        """A `tabular` for each table that is printed."""
        return tables_latex(self._tables())

    def _repr_html_(self) -> str:
        return tables_html(self._tables(), self._above)


def tables_text(tables: Iterable[Table], above: str = "") -> str:
    """Tables one below the other."""
    from rich.console import Console

    text = io.StringIO()
    print(above, end="\n" if above else "", file=text)
    for table in tables:
        Console(file=text, width=110, color_system=None).print(table)
    return "\n".join(line.rstrip() for line in text.getvalue().splitlines())


def tables_html(tables: Iterable[Table], above: str = "") -> str:
    """Tables with their titles."""
    parts = [preformatted(above)] if above else []
    for table in tables:
        caption = f"<caption>{escape(str(table.title))}</caption>" if table.title else ""
        heads = "".join(f"<th>{escape(str(column.header))}</th>" for column in table.columns)
        cells = ["".join(f"<td>{escape(cell)}</td>" for cell in row) for row in _rows(table)]
        rows = "".join(f"<tr>{row}</tr>" for row in cells)
        parts.append(f"<table>{caption}<tr>{heads}</tr>{rows}</table>")
    return "\n".join(parts)


def tables_latex(tables: Iterable[Table]) -> str:
    """Tables as `tabular`."""
    parts: list[str] = []
    for table in tables:
        sides = "".join("r" if column.justify == "right" else "l" for column in table.columns)
        heads = " & ".join(latex_text(str(column.header)) for column in table.columns)
        rows = "".join(" & ".join(map(latex_text, row)) + " \\\\\n" for row in _rows(table))
        body = f"\\hline\n{heads} \\\\\n\\hline\n{rows}\\hline"
        parts.append(f"\\begin{{tabular}}{{{sides}}}\n{body}\n\\end{{tabular}}")
    return "\n\n".join(parts)


def latex_text(text: str) -> str:
    """A text with what means something to LaTeX written so that it does not."""
    return "".join(_SPECIAL.get(c) or (f"\\{c}" if c in "&%$#_{}" else c) for c in text)


def _rows(table: Table) -> list[tuple[str, ...]]:
    columns = [[str(cell) for cell in column.cells] for column in table.columns]
    return list(zip(*columns, strict=False))
