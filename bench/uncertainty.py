"""`python -m bench uncertainty`: 10,000 measurements against arrays of `uncertainties`."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import tadc
from bench.interleave import interleaved
from bench.timing import seconds

#: So many measurements.
COUNT = 10_000
BUDGET = 20.0

#: Impedance (GUM H.2), a ratio, and a formula with transcendental functions of all its inputs.
PROGRAMS: dict[str, tuple[str, Callable[..., Any]]] = {
    "U / J * cos(phi)": ("f = U / J * cos(phi)", lambda np, u, j, phi: u / j * np.cos(phi)),
    "U * J / phi": ("f = U * J / phi", lambda np, u, j, phi: u * j / phi),
    "sin(U) * exp(-J**2) + log(phi)": (
        "f = sin(U) * exp(-J**2) + log(phi)",
        lambda np, u, j, phi: np.sin(u) * np.exp(-(j**2)) + np.log(phi),
    ),
}

INPUTS = ("U", "J", "phi")


def calls(name: str, count: int = COUNT) -> dict[str, Callable[[], Any]]:
    """The values with their uncertainties, by tadc and by `uncertainties`; they agree."""
    package: Any = import_module("uncertainties.unumpy")
    text, form = PROGRAMS[name]
    function = tadc.function("U: f64; J: f64; phi: f64; " + text)
    random = np.random.default_rng(0)
    values = {n: random.uniform(0.5, 1.5, count) for n in INPUTS}
    u = {n: random.uniform(0.01, 0.02, count) for n in INPUTS}

    def theirs() -> tuple[Any, Any]:
        arrays = [package.uarray(values[n], u[n]) for n in INPUTS]
        found = form(package, *arrays)
        return package.nominal_values(found), package.std_devs(found)

    def ours() -> tuple[Any, Any]:
        found = tadc.propagate(function, values, u=u)
        return found.value["f"], found.u["f"]

    for one, other in zip(ours(), theirs(), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)
    return {"tadc": ours, "uncertainties": theirs}


def main() -> None:
    """Print the table."""
    table = Table(title=f"{COUNT} values with uncertainties, ms; medians in turns")
    for column in ("formula", "tadc", "uncertainties", "ratio"):
        table.add_column(column, justify="left" if column == "formula" else "right")
    for name in PROGRAMS:
        made = calls(name)
        first = seconds(made["uncertainties"])
        times = interleaved(made, BUDGET, dict.fromkeys(made, first), "uncertainties")
        ours, theirs = (1e3 * statistics.median(times[who]) for who in made)
        table.add_row(name, f"{ours:.3f}", f"{theirs:.1f}", f"{theirs / ours:.0f}")
    Console().print(table)
