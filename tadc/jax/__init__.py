"""Functions of JAX's arrays: `f.jax`, under `jit`, `grad`, `vmap` and the other transformations.

A call is an operation of XLA's own (its foreign function interface), in machine code; derivatives are
programs of tadc, made when they are asked for. JAX is imported by the first function that is wrapped.

>>> import tadc
>>> f = tadc.function("x: f32[N]; y[i] = x[i]**2; s = sum{i} (x[i]**3)")
>>> y, s = f.jax([1.0, 2.0, 3.0])
>>> import jax
>>> print(jax.grad(lambda x: f.jax(x).s)(jax.numpy.ones(3, "f4")))
[3. 3. 3.]
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tadc.api.function import Function
from tadc.caller.boundary import checked_function, public, usage
from tadc.frontend.packages import install_command
from tadc.jax.gather_warnings import GatheredWarning

if TYPE_CHECKING:
    from tadc.jax.view import JaxFunction

__all__ = ["OLDEST", "GatheredWarning", "export", "register", "wrap"]

OLDEST = (0, 5, 0)
"""The oldest version of JAX that is supported."""


@public
def wrap(f: Function, *, fixed_order: bool = False) -> JaxFunction:
    """The function as one of JAX's arrays, `f.jax`.

    In a `fixed_order` parts of sums that several devices compute are joined two by two, in the order of their
    places: a call has the bits of `f.block` with the same blocks. It takes memory for all parts at once.
    Raises UsageError where JAX is missing or too old, or f is no function.
    """
    checked_function(f, Function, "jax.wrap")
    return f.jax.in_fixed_order if fixed_order else f.jax


def made(f: Function) -> JaxFunction:
    """What `f.jax` is at its first use. Raises UsageError where JAX is missing or too old."""
    _require_jax()
    from tadc.jax.view import JaxFunction

    return JaxFunction(f)


@public
def register(*functions: Function) -> None:
    """Tell JAX of tadc's kernels, for programs of `jax.export` in a process that calls no function yet.

    A program that returns the named tuple of a function needs this function too. Raises UsageError where JAX
    is missing or too old.
    """
    _require_jax()
    from tadc.jax.xla_kernels import KERNELS

    KERNELS.register()
    for f in functions:
        wrap(f)


@public
def export(jitted: Any, **options: Any) -> Any:
    """`jax.export.export`, which lets calls of tadc's kernels through.

    The program holds the text of each kernel: a process that has called `register` compiles it when
    it is first run. Raises UsageError where JAX is missing or too old.
    """
    _require_jax()
    from jax import export as exporting

    from tadc.jax.xla_kernels import TARGET

    allowed = exporting.DisabledSafetyCheck.custom_call(TARGET)
    checks = [*options.pop("disabled_checks", ()), allowed]
    return exporting.export(jitted, disabled_checks=checks, **options)


def _require_jax() -> None:
    """Raise UsageError where JAX is missing or too old."""
    try:
        import jax
    except ImportError:
        help = f"install it: `{install_command('jax')}`"
        raise usage("`f.jax` needs JAX, which is not installed", help) from None
    if jax.__version_info__ < OLDEST:
        oldest = ".".join(map(str, OLDEST))
        help = f"install a newer one: `{install_command('jax')} --upgrade`"
        raise usage(f"`f.jax` needs JAX {oldest} or newer, and this is {jax.__version__}", help)
