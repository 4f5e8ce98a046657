"""Numbers and arrays as tables."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from rich.table import Table

#: Of arrays so many elements are shown.
_SHOWN = 12


def table_of(
    title: str, heads: Sequence[str], rows: Iterable[tuple[str, Sequence[Any]]], percent: int | None = None
) -> Table:
    """A row for each name, or each element of what is said of it; one column is in percent."""
    table = Table(title=title, title_justify="left", title_style="bold")
    table.add_column(heads[0])
    for head in heads[1:]:
        table.add_column(head, justify="right")
    for name, columns in rows:
        shape = np.broadcast_shapes(*(np.shape(x) for x in columns))
        wide = [np.broadcast_to(np.asarray(x, float), shape) for x in columns]
        for n, at in enumerate(np.ndindex(shape)):
            if n == _SHOWN:
                table.add_row("…")
                break
            label = f"{name}[{', '.join(map(str, at))}]" if at else name
            cells = (_text(float(x[at]), c == percent) for c, x in enumerate(wide))
            table.add_row(label, *cells)
    return table


def _text(x: float, is_share: bool) -> str:
    """Eight digits; degrees of freedom may be undefined."""
    if is_share:
        return f"{100 * x:.1f} %"
    return "undefined" if math.isnan(x) else f"{x:.8g}"
