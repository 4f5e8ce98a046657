"""Uncertainties: what `tadc.propagate` returns, and the rows of its budget."""

from tadc.apps.uncertainty import Budget, Result, Row, propagate

__all__ = ["Budget", "Result", "Row", "propagate"]
