"""Products with the inverse of a Jacobian, without the Jacobian: `tadc.inverse`."""

from tadc.inversion.inverse_function import Checked, Inverse, inverse
from tadc.undoing.inverse_plan import Plan
from tadc.undoing.planned import Step

__all__ = ["Checked", "Inverse", "Plan", "Step", "inverse"]
