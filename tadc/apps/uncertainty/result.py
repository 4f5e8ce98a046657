"""What propagation finds, by the names of the outputs, and how it is shown."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from tadc.apps.uncertainty.uncertain_numbers import Array
from tadc.toolkit.reporting import ShownAsTables

if TYPE_CHECKING:
    from rich.table import Table

#: What each method says its result is.
KINDS = {
    "gum": "first order (GUM)",
    "worst": "linear worst case, not rigorous",
    "interval": "rigorous interval",
    "mc": "Monte Carlo (GUM supplement 1)",
}


@dataclass(frozen=True)
class Row:
    """What one uncertain number contributes to an output; arrays where there are several points.

    `contribution` is `sensitivity * u`; `share` is the part of the variance that it brings, correlations
    included, or of the sum of magnitudes in a worst case.
    """

    quantity: str
    u: Any
    sensitivity: Any
    contribution: Any
    share: Any
    dof: Any


class Budget(ShownAsTables, Mapping[str, list[Row]]):
    """The contributions to each output, largest first where outputs are single numbers."""

    def __init__(self, rows: Mapping[str, list[Row]]) -> None:
        self._rows = dict(rows)

    def __getitem__(self, name: str) -> list[Row]:
        return self._rows[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)

    def __repr__(self) -> str:
        return f"<tadc.Budget of {', '.join(self)}>"

    def _tables(self) -> list[Table]:
        from tadc.apps.uncertainty.tables import table_of

        heads = ("input", "u", "slope", "slope * u", "share", "dof")
        return [
            table_of(
                f"budget of {name}",
                heads,
                [(r.quantity, (r.u, r.sensitivity, r.contribution, r.share, r.dof)) for r in rows],
                percent=3,
            )
            for name, rows in self.items()
        ]


@dataclass(repr=False)
class Result(ShownAsTables):
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

    method: str
    k: float
    value: dict[str, Any]
    U: dict[str, Any]
    is_rigorous: bool = False
    _bounds: dict[str, tuple[Any, Any]] | None = field(default=None, repr=False)
    _u: dict[str, Any] | None = field(default=None, repr=False)
    _cov: Callable[[], Array] | None = field(default=None, repr=False)
    _dof: Callable[[], dict[str, Any]] | None = field(default=None, repr=False)
    _budget: Callable[[], Budget] | None = field(default=None, repr=False)

    @property
    def kind(self) -> str:
        """The method in words."""
        return KINDS[self.method]

    @cached_property
    def bounds(self) -> dict[str, tuple[Any, Any]]:
        """The lowest and the highest value of each output."""
        if self._bounds is not None:
            return self._bounds
        return {name: (y - self.U[name], y + self.U[name]) for name, y in self.value.items()}

    @property
    def u(self) -> dict[str, Any]:
        """Standard uncertainties."""
        if self._u is None:
            raise self._none("standard uncertainty")
        return self._u

    @cached_property
    def cov(self) -> Array:
        """The covariances of all outputs, in order, their elements in a row; measurements in front."""
        if self._cov is None:
            raise self._none("covariance")
        return self._cov()

    @cached_property
    def dof(self) -> dict[str, Any]:
        """Effective degrees of freedom."""
        if self._dof is None:
            raise self._none("degrees of freedom")
        return self._dof()

    @cached_property
    def budget(self) -> Budget:
        """What each uncertain number contributes."""
        if self._budget is None:
            raise self._none("budget")
        return self._budget()

    def _none(self, what: str) -> AttributeError:
        return AttributeError(
            f"method {self.method!r} ({self.kind}) has no {what}; `U` and `bounds` say what it found"
        )

    def __repr__(self) -> str:
        types = {
            n: f"{y.dtype}{list(y.shape)}" if getattr(y, "shape", ()) else "number"
            for n, y in self.value.items()
        }
        outputs = ", ".join(f"{name}: {type}" for name, type in types.items())
        return f"<tadc.Result {outputs}; {self.kind}, k = {self.k:g}>"

    def _tables(self) -> list[Table]:
        from tadc.apps.uncertainty.tables import table_of

        has_u, has_dof = self.method in ("gum", "mc"), self.method == "gum"
        of_u = f"U, k = {self.k:g}" if has_u else "half-width"
        heads = ["output", "value", *["u"] * has_u, *["dof"] * has_dof, of_u, "from", "to"]
        rows: list[tuple[str, list[Any]]] = []
        for name, value in self.value.items():
            columns = [value, *([self.u[name]] if has_u else []), *([self.dof[name]] if has_dof else [])]
            rows.append((name, [*columns, self.U[name], *self.bounds[name]]))
        return [table_of(self.kind, heads, rows)]
