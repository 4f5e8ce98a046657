"""Measurement uncertainty: GUM, worst case, intervals and Monte Carlo, over programs and Python functions."""

from tadc.uncertainty.findings import Row
from tadc.uncertainty.propagation import propagate
from tadc.uncertainty.result import Budget, Result

__all__ = ["Budget", "Result", "Row", "propagate"]
