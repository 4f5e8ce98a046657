"""`tadc.inversion`: the door to `tadc.apps.inversion`, of which `tadc.inverse` is a name too."""

from tadc.apps.inversion import Checked, Inverse, Plan, Step, inverse

__all__ = ["Checked", "Inverse", "Plan", "Step", "inverse"]
