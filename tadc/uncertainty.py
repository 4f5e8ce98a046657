"""`tadc.uncertainty`: the door to `tadc.apps.uncertainty`, of which `tadc.propagate` is a name too."""

from tadc.apps.uncertainty import Budget, Result, Row, propagate

__all__ = ["Budget", "Result", "Row", "propagate"]
