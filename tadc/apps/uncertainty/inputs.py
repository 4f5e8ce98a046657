"""Values, uncertainties, correlations and degrees of freedom as a user gives them, checked."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
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
    reader = _Reader(list(model.inputs))
    held = reader.values(values, model)
    uncertain = reader.numbers("the uncertainty", u)
    for name, x in uncertain.items():
        if bad := x[~((x >= 0) & np.isfinite(x))].tolist():
            notes = ["a standard uncertainty is a finite number from 0 on"]
            reader.note("TAD0902", f"the uncertainty of `{name}` is {bad[0]}", notes=notes)
    pairs = reader.pairs("a correlation", corr)
    covariances = reader.pairs("a covariance", reader.by_pair(cov))
    freedom, ensembles = reader.freedom(dof)
    raise_all(reader.wrong)
    for (a, b), x in sorted(covariances.items(), key=lambda item: item[0][0] != item[0][1]):
        if a == b:
            reader.take_variance(a, x, uncertain, pairs)
        else:
            reader.take_covariance(a, b, x, uncertain, pairs)
    for (a, b), x in pairs.items():
        if bad := x[np.abs(x) > 1 + 4 * np.finfo(float).eps].tolist():
            notes = ["a correlation is a number from -1 to 1"]
            reader.note("TAD0904", f"the correlation of `{a}` and `{b}` is {bad[0]}", notes=notes)
    for name in sorted({n for pair in pairs for n in pair} - uncertain.keys()):
        helps = [f"give one: `u={{'{name}': …}}`, on the command line `--u {name}=…`"]
        reader.note("TAD0901", f"a correlation of `{name}`, which has no uncertainty", helps=helps)
    raise_all(reader.wrong)
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


@dataclass
class _Reader:
    """Reads what is given by the names of inputs, and notes all that is wrong with it."""

    known: list[str]
    wrong: list[Diagnostic] = field(default_factory=list[Diagnostic])

    def note(self, code: str, message: str, notes: Sequence[str] = (), helps: Sequence[str] = ()) -> None:
        """Note that something is wrong."""
        self.wrong.append(Diagnostic(code, message, notes=list(notes), helps=list(helps)))

    def values(self, given: Mapping[str, Any], model: Model) -> dict[str, Any]:
        """The values, in the order of the inputs."""
        self.wrong += [unknown("a value", name, self.known) for name in given if name not in self.known]
        self.wrong += [missing(name) for name in self.known if name not in {*given, *model.optional}]
        held = {name: _value(given[name]) for name in self.known if name in given}
        self.wrong += [no_number("the value", n, given[n]) for n, x in held.items() if x is None]
        # Among many measurements a NaN is one that is missing.
        alone = {n: x for n, x in held.items() if x is not None and np.ndim(x) == 0}
        self.wrong += [undefined(n) for n, x in alone.items() if np.isnan(x)]
        return held

    def numbers(self, what: str, given: Mapping[str, Any]) -> dict[str, Array]:
        """Numbers and arrays by input."""
        found: dict[str, Array] = {}
        for name, x in given.items():
            array = _number(x)
            if name not in self.known:
                self.wrong.append(unknown(what.replace("the", "an", 1), str(name), self.known))
            elif array is None:
                self.wrong.append(no_number(what, name, x))
            else:
                found[name] = array
        return found

    def pairs(self, what: str, given: Mapping[Any, Any]) -> dict[Pair, Array]:
        """Numbers and arrays by two inputs."""
        found: dict[Pair, Array] = {}
        everything: list[tuple[Any, Any]] = list(given.items())
        for key, x in everything:
            pair: Any = (key, key) if isinstance(key, str) else key
            if not isinstance(pair, tuple | list) or len(pair) != 2:  # pyright: ignore[reportUnknownArgumentType]
                helps = [f"write `{{('{self.known[0]}', '{self.known[-1]}'): …}}`"]
                self.note("TAD0901", f"{what} of {key!r}, which is no pair of inputs", helps=helps)
                continue
            a, b = map(str, cast("tuple[Any, Any]", pair))
            strangers = [n for n in dict.fromkeys((a, b)) if n not in self.known]
            self.wrong += [unknown(what, n, self.known) for n in strangers]
            array = _number(x)
            if array is None:
                self.wrong.append(no_number(what, f"{a}, {b}", x))
            elif (a, b) in found or (b, a) in found:
                self.note("TAD0901", f"{what} of `{a}` and `{b}` is given twice")
            elif a == b and array.ndim == 0 and what == "a correlation":
                self.note("TAD0901", f"{what} of `{a}` with itself, which is 1")
            elif not strangers:
                found[a, b] = array
        return found

    def by_pair(self, cov: Any) -> Mapping[Any, Any]:
        """A covariance matrix over all inputs, in order, as pairs; a mapping as it is."""
        if cov is None or isinstance(cov, Mapping):
            return cast("Mapping[Any, Any]", cov or {})
        matrix, known = _number(cov), self.known
        size = len(known)
        if matrix is None or matrix.shape != (size, size) or not np.array_equal(matrix, matrix.T):
            helps = [f"give a symmetric matrix of {size} by {size} numbers, for {', '.join(known)}"]
            self.note("TAD0903", "this covariance matrix does not fit the inputs", helps=helps)
            return {}
        found = {(a, a): matrix[n, n] for n, a in enumerate(known) if matrix[n].any()}
        pairs = combinations(enumerate(known), 2)
        return found | {(a, b): matrix[n, m] for (n, a), (m, b) in pairs if matrix[n, m]}

    def freedom(self, given: Mapping[Any, Any]) -> tuple[dict[str, Array], tuple[tuple[str, ...], ...]]:
        """Degrees of freedom by input; a tuple of inputs as a key is a set observed together."""
        sets = {(key,) if isinstance(key, str) else tuple(key): x for key, x in given.items()}
        flat = {name: x for names, x in sets.items() for name in names}
        found = self.numbers("the number of degrees of freedom", flat)
        for name, x in found.items():
            if bad := x[~(x > 0)].tolist():
                notes = ["their number is positive, or `inf`"]
                self.note("TAD0906", f"`{name}` has {bad[0]} degrees of freedom", notes=notes)
        return found, tuple(names for names in sets if len(names) > 1)

    def take_variance(self, name: str, x: Array, u: dict[str, Array], pairs: dict[Pair, Array]) -> None:
        """What the covariance of an input with itself says: its uncertainty, and of an array its
        correlations."""
        if name in u:
            self.note("TAD0901", f"`{name}` has an uncertainty and a variance", helps=["leave one out"])
            return
        half = x.ndim // 2
        size = math.prod(x.shape[:half])
        is_matrix = half > 0 and x.shape[:half] == x.shape[half:]
        variances = np.diagonal(x.reshape(size, size)).reshape(x.shape[:half]) if is_matrix else x
        if bad := variances[~(variances >= 0)].tolist():
            self.wrong.append(indefinite(f"the variance of `{name}` is {bad[0]}"))
            return
        u[name] = np.sqrt(variances)
        if is_matrix:
            flat = u[name].ravel()
            pairs[name, name] = _over(x.reshape(size, size), np.outer(flat, flat)).reshape(x.shape)

    def take_covariance(
        self, a: str, b: str, x: Array, u: Mapping[str, Array], pairs: dict[Pair, Array]
    ) -> None:
        """The correlation that a covariance is."""
        if (a, b) in pairs or (b, a) in pairs:
            self.note("TAD0901", f"`{a}` and `{b}` have a correlation and a covariance")
            return
        if a not in u or b not in u:
            lacks = a if a not in u else b
            self.note("TAD0901", f"a covariance of `{lacks}`, which has no uncertainty")
            return
        ua, ub = u[a], u[b]
        scale = ua * ub if x.ndim < ua.ndim + ub.ndim or not x.ndim else np.multiply.outer(ua, ub)
        if np.any((scale == 0) & (x != 0)) or np.any(np.abs(x) > scale * (1 + ROUNDED)):
            self.wrong.append(indefinite(f"the covariance of `{a}` and `{b}` is larger than u({a}) u({b})"))
            return
        pairs[a, b] = np.clip(_over(x, scale), -1, 1)


def _over(x: Array, scale: Array) -> Array:
    return np.divide(x, scale, out=np.zeros(np.broadcast_shapes(x.shape, scale.shape)), where=scale > 0)


def indefinite(message: str) -> Diagnostic:
    """The error for covariances that no quantities have."""
    return Diagnostic("TAD0905", message, notes=["no quantities have such covariances"])
