"""Measurement uncertainty: GUM, worst case, intervals and Monte Carlo, over programs and Python functions."""

from tadc.apps.uncertainty.propagation import propagate
from tadc.apps.uncertainty.result import Budget, Result, Row

__all__ = ["Budget", "Result", "Row", "propagate"]
