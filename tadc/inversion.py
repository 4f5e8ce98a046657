"""Inverse Jacobians: what `tadc.inverse` returns, and the steps of the plan by which it solves."""

from tadc.apps.inversion import Checked, Inverse, Plan, Step, inverse

__all__ = ["Checked", "Inverse", "Plan", "Step", "inverse"]
