"""Measurement uncertainty: GUM, worst case, intervals and Monte Carlo, over programs and Python functions."""

from tadc.apps.uncertainty.findings import Row
from tadc.apps.uncertainty.propagation import propagate
from tadc.apps.uncertainty.result import Budget, Result

__all__ = ["Budget", "Result", "Row", "propagate"]
