"""What propagation finds, by the names of the outputs, and how it is shown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tadc.apps.uncertainty.findings import Findings, Row
from tadc.toolkit.reporting import tables_html, tables_latex


class Budget(Mapping[str, list[Row]]):
    """The contributions to each output, largest first where outputs are single numbers."""

    def __init__(self, rows: Mapping[str, list[Row]]) -> None:
        self._rows = dict(rows)

    def __getitem__(self, name: str) -> list[Row]:
        return self._rows[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)

    def __str__(self) -> str:
        from tadc.apps.uncertainty.tables import budget_text

        return budget_text(self)

    def __repr__(self) -> str:
        return f"<tadc.Budget of {', '.join(self)}>"

    def latex(self) -> str:
        """A `tabular` for each output."""
        from tadc.apps.uncertainty.tables import budget_tables

        return tables_latex(budget_tables(self))

    def _repr_html_(self) -> str:
        from tadc.apps.uncertainty.tables import budget_tables

        return tables_html(budget_tables(self))


def _type(y: Any) -> str:
    return f"{y.dtype}{list(y.shape)}" if getattr(y, "shape", ()) else "number"


class Result(Findings[Budget]):
    """Values and uncertainties of outputs by name, each of the output's shape, measurements in front.

    `value` is what the function gives, for `mc` the mean of the samples. `U` is the expanded uncertainty
    `k * u`, for `worst` and `interval` the half-width of `bounds`. `bounds` are the lowest and the highest
    value: for `gum` value -+ U, for `mc` the interval that holds as many samples as k standard deviations of
    a normal distribution, with equal parts left out on both sides. `is_rigorous` says whether no value can
    lie outside. `u`, `cov`, `dof` and `budget` are of methods that have them; others raise AttributeError.

    >>> import tadc
    >>> f = tadc.function("x: f64; y: f64; area = x * y")
    >>> result = tadc.propagate(f, {"x": 3, "y": 4}, u={"x": 0.1, "y": 0.2})
    >>> result
    <tadc.Result area: number; first order (GUM), k = 2>
    >>> result.value["area"], round(result.u["area"], 3)
    (12.0, 0.721)
    >>> result.budget
    <tadc.Budget of area>
    """

    def __repr__(self) -> str:
        outputs = ", ".join(f"{name}: {_type(y)}" for name, y in self.value.items())
        return f"<tadc.Result {outputs}; {self.kind}, k = {self.k:g}>"

    def __str__(self) -> str:
        from tadc.apps.uncertainty.tables import result_text

        return result_text(self)

    def latex(self) -> str:
        """Values and uncertainties as a `tabular`."""
        from tadc.apps.uncertainty.tables import result_table

        return tables_latex([result_table(self)])

    def _repr_html_(self) -> str:
        from tadc.apps.uncertainty.tables import result_table

        return tables_html([result_table(self)])
