"""Products with the inverse of a Jacobian, without the Jacobian: `tadc.inverse`."""

from tadc.inverse.inverse import Checked, Inverse, inverse
from tadc.inverse.plan import Plan, Step

__all__ = ["Checked", "Inverse", "Plan", "Step", "inverse"]
