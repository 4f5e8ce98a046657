"""Functions of Dask arrays: `f.dask`, block by block, wherever Dask computes.

Gradients are functions of Dask arrays as well, and so is all else that is a Function. Dask is imported by the
first function that is wrapped.

>>> import tadc, dask.array
>>> f = tadc.function("x: f64[N]; y[i: N - 1] = (x[i + 1] - x[i])**2")
>>> x = dask.array.arange(8.0, chunks=3)
>>> print(f.dask(x).sum().compute(scheduler="threads"))
7.0
>>> dx = tadc.vjp(f).dask(x, dask.array.ones(7, chunks=3))
>>> dx.compute(scheduler="threads")
array([-2.,  0.,  0.,  0.,  0.,  0.,  0.,  2.])
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from tadc.toolkit.reporting import checked_function, install_command, public, usage
from tadc.toolkit.running import Function

if TYPE_CHECKING:
    from tadc.apps.blocks.dask_arrays import DaskFunction


@public
def wrap(f: Function) -> DaskFunction:
    """The function as one of Dask arrays, `f.dask`. Raises UsageError where Dask is missing."""
    checked_function(f, Function, "dask.wrap")
    return f.dask


def made(f: Function) -> DaskFunction:
    """What `f.dask` is at its first use. Raises UsageError where Dask is missing."""
    try:
        import_module("dask.array")
    except ImportError as error:
        help = f"install it: `{install_command('dask')}`"
        raise usage("`f.dask` needs Dask, which is not installed", help, f"Python says: {error}") from None
    from tadc.apps.blocks.dask_arrays import DaskFunction

    return DaskFunction(f)


__all__ = ["wrap"]
