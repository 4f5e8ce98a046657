"""Values, uncertainties, correlations and degrees of freedom as a user gives them, checked."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any, cast

import numpy as np

from tadc.apps.uncertainty.input_errors import missing, no_number, raise_all, undefined, unknown
from tadc.apps.uncertainty.models import Model
from tadc.apps.uncertainty.uncertain_numbers import Array
from tadc.toolkit.reporting import Diagnostic, usage

Pair = tuple[str, str]

#: Covariances come rounded: so much more than what is possible is let pass.
ROUNDED = 1e-8


@dataclass(frozen=True)
class GivenInputs:
    """What a user says of the inputs, by name; of pairs of them, each once."""

    values: dict[str, Any]
    u: dict[str, Array]
    correlations: dict[Pair, Array]
    dof: dict[str, Array]
    ensembles: tuple[tuple[str, ...], ...]

    @property
    def names(self) -> list[str]:
        """The uncertain inputs, in order."""
        return [name for name in self.values if name in self.u]


def read_given(
    model: Model,
    values: Mapping[str, Any],
    u: Mapping[str, Any],
    corr: Mapping[Pair, Any],
    cov: Any,
    dof: Mapping[Any, Any],
) -> GivenInputs:
    """Check names and numbers. Raises ArgumentError with all that is wrong: TAD0501, TAD0901 to TAD0905."""
    for what, given in (("values", values), ("u", u), ("corr", corr), ("dof", dof)):
        if not isinstance(given, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
            help = f"write `{what}={{'{model.inputs[0] if model.inputs else 'x'}': 0.1}}`"
            message = f"`{what}` is a mapping by the names of inputs, not {type(given).__name__}"
            raise usage(message, help if what in ("values", "u") else "")
    wrong = [unknown("a value", name, model.inputs) for name in values if name not in model.inputs]
    wrong += [missing(name) for name in model.inputs if name not in {*values, *model.optional}]
    held = {name: values[name] for name in model.inputs if name in values}
    held = {name: _value(x) for name, x in held.items()}
    wrong += [no_number("the value", n, values[n]) for n, x in held.items() if x is None]
    # Among many measurements a NaN is one that is missing.
    wrong += [undefined(n) for n, x in held.items() if np.ndim(x) == 0 and x is not None and np.isnan(x)]
    known = list(model.inputs)
    uncertain = _numbers("the uncertainty", u, known, wrong)
    for name, x in uncertain.items():
        if not np.all(x >= 0) or np.any(np.isinf(x)):
            wrong.append(_negative(name, x))
    pairs = _pairs("a correlation", corr, known, wrong)
    covariances = _pairs("a covariance", _as_pairs(cov, known, wrong), known, wrong)
    freedom, ensembles = _freedom(dof, known, wrong)
    raise_all(wrong)
    for (a, b), x in list(covariances.items()):
        if a == b:
            _take_variance(a, x, uncertain, pairs, wrong)
    for (a, b), x in covariances.items():
        if a != b:
            _take_covariance(a, b, x, uncertain, pairs, wrong)
    wrong += [_no_correlation(a, b, x) for (a, b), x in pairs.items() if not np.all(_is_correlation(x))]
    wrong += [_exact(n) for n in sorted({n for pair in pairs for n in pair}) if n not in uncertain]
    raise_all(wrong)
    return GivenInputs(held, uncertain, pairs, freedom, ensembles)


def _value(x: Any) -> Any:
    """A value as it is; lists become arrays, and what is no number None."""
    if isinstance(x, bool) or x is None or isinstance(x, str):
        return None
    if isinstance(x, int | float):
        return x
    array: Any = x if hasattr(x, "dtype") else _array(x)
    return array if array is not None and array.dtype.kind in "iuf" else None


def _array(x: Any) -> Any:
    try:
        return np.asarray(x)
    except (ValueError, TypeError):
        return None


def _number(x: Any) -> Array | None:
    found = _value(x)
    return None if found is None else np.asarray(found, dtype=float)


def _numbers(
    what: str, given: Mapping[str, Any], known: list[str], wrong: list[Diagnostic]
) -> dict[str, Array]:
    found: dict[str, Array] = {}
    for name, x in given.items():
        if name not in known:
            wrong.append(unknown(what.replace("the", "an", 1), str(name), known))
            continue
        array = _number(x)
        if array is None:
            wrong.append(no_number(what, name, x))
        else:
            found[name] = array
    return found


def _pairs(
    what: str, given: Mapping[Any, Any], known: list[str], wrong: list[Diagnostic]
) -> dict[Pair, Array]:
    found: dict[Pair, Array] = {}
    everything: list[tuple[Any, Any]] = list(given.items())
    for key, x in everything:
        pair: Any = (key, key) if isinstance(key, str) else key
        if not isinstance(pair, tuple | list) or len(pair) != 2:  # pyright: ignore[reportUnknownArgumentType]
            help = f"write `{{('{known[0]}', '{known[-1]}'): …}}`"
            wrong.append(
                Diagnostic("TAD0901", f"{what} of {key!r}, which is no pair of inputs", helps=[help])
            )
            continue
        a, b = map(str, cast("tuple[Any, Any]", pair))
        strangers = [n for n in dict.fromkeys((a, b)) if n not in known]
        wrong += [unknown(what, n, known) for n in strangers]
        array = _number(x)
        if array is None:
            wrong.append(no_number(what, f"{a}, {b}", x))
        elif (a, b) in found or (b, a) in found:
            wrong.append(Diagnostic("TAD0901", f"{what} of `{a}` and `{b}` is given twice"))
        elif a == b and array.ndim == 0 and what == "a correlation":
            wrong.append(Diagnostic("TAD0901", f"{what} of `{a}` with itself, which is 1"))
        elif not strangers:
            found[a, b] = array
    return found


def _as_pairs(cov: Any, known: list[str], wrong: list[Diagnostic]) -> Mapping[Any, Any]:
    """A covariance matrix over all inputs, in order, as pairs; a mapping as it is."""
    if cov is None or isinstance(cov, Mapping):
        return cast("Mapping[Any, Any]", cov or {})
    matrix = _number(cov)
    if matrix is None or matrix.shape != (len(known), len(known)) or not np.array_equal(matrix, matrix.T):
        of = f"a symmetric matrix of {len(known)} by {len(known)} numbers, for {', '.join(known)}"
        wrong.append(
            Diagnostic("TAD0903", "this covariance matrix does not fit the inputs", helps=[f"give {of}"])
        )
        return {}
    found = {(a, a): matrix[n, n] for n, a in enumerate(known) if matrix[n].any()}
    pairs = combinations(enumerate(known), 2)
    return found | {(a, b): matrix[n, m] for (n, a), (m, b) in pairs if matrix[n, m]}


def _freedom(
    given: Mapping[Any, Any], known: list[str], wrong: list[Diagnostic]
) -> tuple[dict[str, Array], tuple[tuple[str, ...], ...]]:
    """Degrees of freedom by input; a tuple of inputs as a key is a set observed together."""
    flat: dict[str, Any] = {}
    ensembles: list[tuple[str, ...]] = []
    for key, x in given.items():
        names = (key,) if isinstance(key, str) else tuple(key)
        if len(names) > 1:
            ensembles.append(names)
        flat |= dict.fromkeys(names, x)
    found = _numbers("the number of degrees of freedom", flat, known, wrong)
    for name, x in found.items():
        if not np.all(x > 0):
            message = f"`{name}` has {_first(x[~(x > 0)])} degrees of freedom"
            wrong.append(Diagnostic("TAD0906", message, notes=["their number is positive, or `inf`"]))
    return found, tuple(ensembles)


def _negative(name: str, x: Array) -> Diagnostic:
    bad = _first(x[~((x >= 0) & np.isfinite(x))])
    notes = ["a standard uncertainty is a finite number from 0 on"]
    return Diagnostic("TAD0902", f"the uncertainty of `{name}` is {bad}", notes=notes)


def _no_correlation(a: str, b: str, x: Array) -> Diagnostic:
    message = f"the correlation of `{a}` and `{b}` is {_first(x[~_is_correlation(x)])}"
    return Diagnostic("TAD0904", message, notes=["a correlation is a number from -1 to 1"])


def _exact(name: str) -> Diagnostic:
    helps = [f"give one: `u={{'{name}': …}}`, on the command line `--u {name}=…`"]
    return Diagnostic("TAD0901", f"a correlation of `{name}`, which has no uncertainty", helps=helps)


def _first(x: Array) -> float:
    return float(np.ravel(x)[0])


def _is_correlation(x: Array) -> Any:
    return np.abs(x) <= 1 + 4 * np.finfo(float).eps


def _take_variance(
    name: str, x: Array, u: dict[str, Array], pairs: dict[Pair, Array], wrong: list[Diagnostic]
) -> None:
    """What the covariance of an input with itself says: its uncertainty, and of an array its correlations."""
    if name in u:
        wrong.append(
            Diagnostic("TAD0901", f"`{name}` has an uncertainty and a variance", helps=["leave one out"])
        )
        return
    half = x.ndim // 2
    size = math.prod(x.shape[:half])
    is_matrix = half > 0 and x.shape[:half] == x.shape[half:]
    variances = np.diagonal(x.reshape(size, size)).reshape(x.shape[:half]) if is_matrix else x
    if not np.all(variances >= 0):
        wrong.append(indefinite(f"the variance of `{name}` is {_first(variances[~(variances >= 0)])}"))
        return
    u[name] = np.sqrt(variances)
    if is_matrix:
        flat = u[name].ravel()
        pairs[name, name] = _over(x.reshape(size, size), np.outer(flat, flat)).reshape(x.shape)


def _take_covariance(
    a: str, b: str, x: Array, u: dict[str, Array], pairs: dict[Pair, Array], wrong: list[Diagnostic]
) -> None:
    if (a, b) in pairs or (b, a) in pairs:
        wrong.append(Diagnostic("TAD0901", f"`{a}` and `{b}` have a correlation and a covariance"))
        return
    if a not in u or b not in u:
        lacks = a if a not in u else b
        wrong.append(Diagnostic("TAD0901", f"a covariance of `{lacks}`, which has no uncertainty"))
        return
    ua, ub = u[a], u[b]
    scale = ua * ub if x.ndim < ua.ndim + ub.ndim or not x.ndim else np.multiply.outer(ua, ub)
    if np.any((scale == 0) & (x != 0)) or np.any(np.abs(x) > scale * (1 + ROUNDED)):
        wrong.append(indefinite(f"the covariance of `{a}` and `{b}` is larger than u({a}) u({b})"))
        return
    pairs[a, b] = np.clip(_over(x, scale), -1, 1)


def _over(x: Array, scale: Array) -> Array:
    return np.divide(x, scale, out=np.zeros(np.broadcast_shapes(x.shape, scale.shape)), where=scale > 0)


def indefinite(message: str) -> Diagnostic:
    """The error for covariances that no quantities have."""
    return Diagnostic("TAD0905", message, notes=["no quantities have such covariances"])
