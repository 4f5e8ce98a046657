"""Results and budgets as tables."""

from __future__ import annotations

import io
import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from tadc.apps.uncertainty.findings import Findings, Row

#: Of arrays so many elements are shown.
_SHOWN = 12


def result_text(result: Findings[Any]) -> str:
    """Value and uncertainty of every output."""
    return _rendered(result_table(result))


def budget_text(budget: Mapping[str, list[Row]]) -> str:
    """The contributions to every output."""
    return "\n".join(_rendered(table) for table in budget_tables(budget))


def result_table(result: Findings[Any]) -> Table:
    """A row for each output, or each element of it."""
    has_u, has_dof = result.method in ("gum", "mc"), result.method == "gum"
    table = Table(title=result.kind, title_justify="left", title_style="bold")
    table.add_column("output")
    heads = ["value", *(["u"] if has_u else []), *(["dof"] if has_dof else [])]
    heads += [f"U, k = {result.k:g}" if has_u else "half-width", "from", "to"]
    for head in heads:
        table.add_column(head, justify="right")
    for name, value in result.value.items():
        columns: list[Any] = [value, *([result.u[name]] if has_u else [])]
        columns += [result.dof[name]] if has_dof else []
        columns += [result.U[name], *result.bounds[name]]
        _add(table, name, columns)
    return table


def budget_tables(budget: Mapping[str, list[Row]]) -> list[Table]:
    """A table for each output."""
    tables: list[Table] = []
    for name, rows in budget.items():
        table = Table(title=f"budget of {name}", title_justify="left", title_style="bold")
        table.add_column("input")
        for head in ("u", "slope", "slope * u", "share", "dof"):
            table.add_column(head, justify="right")
        for row in rows:
            share = np.asarray(row.share) * 100
            _add(table, row.quantity, [row.u, row.sensitivity, row.contribution, share, row.dof], percent=3)
        tables.append(table)
    return tables


def _add(table: Table, name: str, columns: list[Any], percent: int | None = None) -> None:
    shape = np.broadcast_shapes(*(np.shape(x) for x in columns))
    wide = [np.broadcast_to(np.asarray(x, float), shape) for x in columns]
    for n, at in enumerate(np.ndindex(shape)):
        if n == _SHOWN:
            table.add_row("…")
            return
        label = f"{name}[{', '.join(map(str, at))}]" if at else name
        cells = [f"{x[at]:.1f} %" if c == percent else number_text(float(x[at])) for c, x in enumerate(wide)]
        table.add_row(label, *cells)


def number_text(x: float) -> str:
    """Eight digits; degrees of freedom may be undefined."""
    return "undefined" if math.isnan(x) else f"{x:.8g}"


def _rendered(table: Table) -> str:
    text = io.StringIO()
    Console(file=text, width=110, color_system=None).print(table)
    return "\n".join(line.rstrip() for line in text.getvalue().splitlines())
