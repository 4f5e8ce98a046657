"""What propagation finds, as data."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Generic, TypeVar

from tadc.apps.uncertainty.uncertain_numbers import Array

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


#: A budget: the rows of each output.
B = TypeVar("B", bound=Mapping[str, list[Row]])


@dataclass(repr=False)
class Findings(Generic[B]):
    """The fields of a result, and what follows from them alone."""

    method: str
    k: float
    value: dict[str, Any]
    U: dict[str, Any]
    is_rigorous: bool = False
    _bounds: dict[str, tuple[Any, Any]] | None = field(default=None, repr=False)
    _u: dict[str, Any] | None = field(default=None, repr=False)
    _cov: Callable[[], Array] | None = field(default=None, repr=False)
    _dof: Callable[[], dict[str, Any]] | None = field(default=None, repr=False)
    _budget: Callable[[], B] | None = field(default=None, repr=False)

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
    def budget(self) -> B:
        """What each uncertain number contributes."""
        if self._budget is None:
            raise self._none("budget")
        return self._budget()

    def _none(self, what: str) -> AttributeError:
        return AttributeError(
            f"method {self.method!r} ({self.kind}) has no {what}; `U` and `bounds` say what it found"
        )
