"""Derivatives of plain Python functions, by dual numbers.

    y, dy = tadc.dual.jvp(f, (x,), (1.0,))
    y, (by_x, by_z) = tadc.dual.value_and_partials(f, x, z)   # all arguments at once
    g = tadc.dual.lift(f)                                      # f, of `Dual` numbers

The functions compute with `math`, NumPy's element-wise functions and operators on numbers, with loops and
branches, and are not changed. Three things to know (Semenov 2011): a derivative is that of the operations
that run, so an iteration that starts at its limit and stops at once has derivative 0; a branch is chosen by
the value alone; and |f'| times an error is a linear estimate of the error of f, no bound.
"""

from tadc.apps.dual.dual_derivatives import jvp, lift, value_and_partials
from tadc.apps.dual.dual_number import Dual

__all__ = ["Dual", "jvp", "lift", "value_and_partials"]
