"""`tadc.dual`: the door to `tadc.apps.dual`, whose docstring says what it does."""

from tadc.apps.dual import Dual, jvp, lift, value_and_partials

__all__ = ["Dual", "jvp", "lift", "value_and_partials"]
