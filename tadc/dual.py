"""Derivatives of plain Python functions, by dual numbers.

>>> import math, tadc.dual
>>> tadc.dual.jvp(math.sin, (0.0,), (1.0,))
(0.0, 1.0)

The functions compute with `math`, NumPy's element-wise functions and operators on numbers, with loops and
branches, and are not changed. A derivative is that of the operations that run: an iteration that starts at
its limit and stops at once has derivative 0, and the value chooses a branch.
"""

from tadc.apps.dual import Dual, jvp, lift, value_and_partials

__all__ = ["Dual", "jvp", "lift", "value_and_partials"]
