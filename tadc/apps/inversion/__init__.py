"""Products with the inverse of a Jacobian, without the Jacobian: `tadc.inverse`."""

from tadc.apps.inversion.inverse_function import Checked, Inverse, inverse
from tadc.apps.undoing.plans.planned import Plan, Step

__all__ = ["Checked", "Inverse", "Plan", "Step", "inverse"]
