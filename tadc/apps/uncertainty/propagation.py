"""`propagate`: uncertainties of inputs to uncertainties of outputs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from tadc.apps.uncertainty.gum import contributions, covariance, degrees_of_freedom, related, variance
from tadc.apps.uncertainty.input_errors import raise_all
from tadc.apps.uncertainty.inputs import GivenInputs, Pair, read_given
from tadc.apps.uncertainty.models import Model, model_of
from tadc.apps.uncertainty.monte_carlo import coverage, simulate
from tadc.apps.uncertainty.result import KINDS, Budget, Result, Row
from tadc.apps.uncertainty.rigorous_bounds import interval
from tadc.apps.uncertainty.stacking import Stacked, needs_whole, stacked
from tadc.apps.uncertainty.uncertain_numbers import Array, InputLayout, plain_number
from tadc.toolkit.reporting import Diagnostic, checked_choice, checked_number, public, usage
from tadc.toolkit.running import Function


@public
def propagate(
    fn: Function | Callable[..., Any],
    values: Mapping[str, Any],
    *,
    u: Mapping[str, Any] | None = None,
    corr: Mapping[Pair, Any] | None = None,
    cov: Mapping[Pair, Any] | Any = None,
    dof: Mapping[Any, Any] | None = None,
    method: str = "gum",
    k: float = 2,
    samples: int = 200_000,
    seed: int | None = 0,
    pieces: int = 1,
) -> Result:
    """The uncertainty of a function's outputs at `values` of its inputs, by name.

    `fn` is a compiled program or a plain Python function of numbers. A value with one more dimension than its
    input has is one for each of many measurements; results have that dimension in front.

    `u` are standard uncertainties, of an array for each element or one for all; an input without is exact.
    `corr` are correlations of pairs of inputs, `cov` covariances, `("x", "x")` a variance in the place of
    `u`, of an array a matrix of shape x.shape + x.shape; or one matrix for all inputs. Of two arrays of one
    shape a number is for elements of the same position, an array for all pairs. `dof` are degrees of
    freedom; a tuple of inputs as a key says that they were observed together.

    Methods: `gum`, first order (JCGM 100). `worst`, the sum of all |slope| u, with `u` the largest errors:
    linear, so no bound. `interval`, bounds that hold for all inputs within `u` of their values; they need not
    be tight, for an input that is read twice counts as two. With `pieces` the box of the inputs is cut into
    so many at most, each bounded by itself, and the bounds are of all together. `mc`, Monte Carlo with
    `samples` from `seed` (JCGM 101).

    Raises ArgumentError with all that is wrong with the inputs, UsageError for an unknown method, and what a
    Python function raises.

    >>> import tadc
    >>> f = tadc.function("V: f64; I: f64; R = V / I")
    >>> r = tadc.propagate(f, {"V": 5, "I": 0.02}, u={"V": 3e-3, "I": 1e-5})
    >>> r.value["R"], round(r.u["R"], 4)
    (250.0, 0.1953)
    """
    checked_choice(method, "method", KINDS)
    checked_number(k, "k", 0, "a positive number", is_whole=False)
    checked_number(pieces, "pieces", 1, "a number from 1 on")
    checked_number(samples, "samples", 2 if method == "mc" else 0, "a number from 2 on")
    if seed is not None:
        checked_number(seed, "seed", 0, "a number from 0 on, or None")
    if pieces > 1 and method != "interval":
        raise usage(f"pieces are of method 'interval', not {method!r}")
    model = model_of(fn)
    given = read_given(model, values, u or {}, corr or {}, cov, dof or {})
    if method in ("worst", "interval") and (given.correlations or given.dof):
        what = "correlations" if given.correlations else "degrees of freedom"
        message = f"method `{method}` takes no {what}"
        raise_all(
            [
                Diagnostic(
                    "TAD0909", message, notes=["it is about limits of errors, whatever their distribution"]
                )
            ]
        )
    if method == "mc":
        return _monte_carlo(model, given, k, samples, np.random.default_rng(seed))
    if method == "interval":
        return interval(model, given, k, pieces)
    return _linear(model, given, k, method)


def _linear(model: Model, given: GivenInputs, k: float, method: str) -> Result:
    whole = needs_whole(given, model)
    found = model.slopes(given.values, given.names, whole)
    layout = found.layout
    one = stacked(given, layout, whole)
    rank = len(layout.points)
    d = contributions(found.slopes, one.u)
    value = {name: plain_number(y) for name, y in found.values.items()}
    if method == "worst":
        half = {name: plain_number(np.abs(x).sum(axis=0)) for name, x in d.items()}
        return Result(method, k, value, half, _budget=lambda: _budget(found.slopes, d, one, layout, np.abs))
    us = {name: plain_number(np.sqrt(variance(x, one.r, rank))) for name, x in d.items()}
    expanded = {name: k * x for name, x in us.items()}

    def cov() -> Array:
        if whole or not rank or model.points(given.values):
            return covariance(d, one.r, rank)
        # Elements of outputs have quantities in common, and a place in one matrix.
        at_once = model.slopes(given.values, given.names, whole=True)
        stack = stacked(given, at_once.layout, is_whole=True)
        return covariance(contributions(at_once.slopes, stack.u), stack.r, 0)

    return Result(
        method,
        k,
        value,
        expanded,
        _u=us,
        _cov=cov,
        _dof=lambda: {name: plain_number(degrees_of_freedom(x, one, rank)) for name, x in d.items()},
        _budget=lambda: _budget(found.slopes, d, one, layout, lambda x: x * related(x, one.r, rank)),
    )


def _budget(
    slopes: Mapping[str, Any],
    d: Mapping[str, Array],
    one: Stacked,
    layout: InputLayout,
    parts_of: Callable[[Array], Array],
) -> Budget:
    """The budget; `parts_of` contributions is what the shares are shares of."""
    rows: dict[str, list[Row]] = {}
    labels = layout.labels
    for name, x in d.items():
        parts = parts_of(x)
        total = parts.sum(axis=0)
        share = np.divide(parts, total, out=np.zeros(parts.shape), where=total != 0)
        rows[name] = [
            Row(
                labels[n],
                plain_number(one.u[n]),
                plain_number(slopes[name][n]),
                plain_number(x[n]),
                plain_number(share[n]),
                plain_number(one.dof[n]),
            )
            for n in range(len(labels))
        ]
        if not x.shape[1:]:
            rows[name].sort(key=lambda row: -abs(row.contribution))
    return Budget(rows)


def _monte_carlo(
    model: Model, given: GivenInputs, k: float, samples: int, random: np.random.Generator
) -> Result:
    found, points = simulate(model, given, samples, random), model.points(given.values)
    names = list(found[0])

    def at_all(statistic: Callable[[Array], Any]) -> dict[str, Any]:
        stacks = {name: np.array([statistic(one[name]) for one in found]) for name in names}
        return {name: plain_number(x.reshape(points + x.shape[1:])) for name, x in stacks.items()}

    value = at_all(lambda x: x.mean(axis=0))
    u = at_all(lambda x: x.std(axis=0, ddof=1))
    low, high = at_all(lambda x: coverage(x, k)[0]), at_all(lambda x: coverage(x, k)[1])

    def cov() -> Array:
        flat = [np.concatenate([one[n].reshape(samples, -1) for n in names], axis=1) for one in found]
        matrices = np.array([np.atleast_2d(np.cov(x, rowvar=False)) for x in flat])
        return matrices.reshape(points + matrices.shape[1:])

    return Result(
        "mc",
        k,
        value,
        {name: k * x for name, x in u.items()},
        _bounds={name: (low[name], high[name]) for name in names},
        _u=u,
        _cov=cov,
    )
