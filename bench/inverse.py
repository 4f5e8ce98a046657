"""`python -m bench inverse`: products with inverse Jacobians against Jacobian-vector products; planning.

Times are of the process, on one thread, interleaved, the least of many; f64.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from rich.console import Console
from rich.table import Table

import tadc
from tadc.apps.undoing.inverse_plan import plan_of

ROUNDS = 15


@dataclass(frozen=True)
class Case:
    """A program, and its inputs to differentiate by; matrices are scaled down by their size."""

    name: str
    text: str
    wrt: tuple[str, ...]


def leapfrog(n: int, steps: int) -> Case:
    """A ring of oscillators."""
    lines = [f"q0: f64[{n}]; p0: f64[{n}]"]
    for k in range(steps):
        force = f"2*q{k}[i] - q{k}[(i + 1) % {n}] - q{k}[(i + {n - 1}) % {n}] + q{k}[i]**3"
        lines.append(
            f"let p{k + 1}[i] = p{k}[i] - .05*({force}); let q{k + 1}[i] = q{k}[i] + .05*p{k + 1}[i]"
        )
    lines.append(f"q[i] = q{steps}[i]; p[i] = p{steps}[i]")
    return Case(f"leapfrog, n = {n}, {steps} steps", "\n".join(lines), ("q0", "p0"))


def coupling(half: int, layers: int) -> Case:
    """Affine coupling layers."""
    lines = [f"a0: f64[{half}]; b0: f64[{half}]"]
    lines += [f"W{k}: f64[{half}, {half}]; V{k}: f64[{half}, {half}]" for k in range(layers)]
    names = ["a0", "b0"]
    for k in range(layers):
        source, target = names[k % 2], names[1 - k % 2]
        lines += [
            f"let s{k}[i: {half}] = tanh(sum{{k}} (W{k}[i, k]*{source}[k]))",
            f"let t{k}[i: {half}] = sum{{k}} (V{k}[i, k]*{source}[k])",
            f"let y{k}[i] = {target}[i]*exp(s{k}[i]) + t{k}[i]",
        ]
        names[1 - k % 2] = f"y{k}"
    lines.append(f"x[i] = {names[0]}[i]; y[i] = {names[1]}[i]")
    return Case(f"coupling flow, {layers} layers of {2 * half}", "\n".join(lines), ("a0", "b0"))


def banded(n: int, layers: int, *, lower: bool) -> Case:
    """Layers with a band of weights, on one side or on both, and a tanh."""
    lines = [f"x0: f64[{n}]", *(f"w{k}: f64[2, {n}]" for k in range(layers))]
    for k in range(layers):
        far = f"if {{i > 1}} then (w{k}[1, i]*x{k}[i - 2]) else (0)"
        if not lower:
            far = f"if {{i < {n - 1}}} then (w{k}[1, i]*x{k}[i + 1]) else (0)"
        near = f"if {{i > 0}} then (w{k}[0, i]*x{k}[i - 1]) else (0)"
        lines.append(f"let x{k + 1}[i] = tanh(2*x{k}[i] + ({near}) + ({far}))")
    lines.append(f"y[i] = x{layers}[i]")
    what = "lower triangular bands" if lower else "bands of two sides"
    return Case(f"{what}, n = {n}, {layers} layers", "\n".join(lines), ("x0",))


def flow(n: int, states: int, kind: str) -> Case:
    """The flow map of a recurrence, `scan`, whose last state alone comes out."""
    step = {
        "elementwise": "u[t - 1, i] + .1*sin(w[t, i]*u[t - 1, i])",
        "upwind": "u[t - 1, i] + w[t, i]*(if {i > 0} then (sin(u[t - 1, i - 1])) else (0))",
        "dense": "u[t - 1, i] + tanh(sum{j} (W[i, j]*u[t - 1, j]))",
    }[kind]
    weights = f"W: f64[{n}, {n}]" if kind == "dense" else f"w: f64[{states}, {n}]"
    lines = [f"x: f64[{n}]; {weights}"]
    lines.append(f"let scan{{t}} u[t: {states}, i: {n}] = if {{t = 0}} then (x[i]) else ({step})")
    lines.append(f"y[i: {n}] = u[{states - 1}, i]")
    return Case(f"flow map, {kind}, n = {n}, {states} states", "\n".join(lines), ("x",))


def leapfrog_flow(n: int, states: int) -> Case:
    """The same of pendulums, whose states are places and velocities."""
    step = "if {c = 0} then (u[t - 1, 0, i] - .05*sin(u[t - 1, 1, i])) else (u[t - 1, 1, i] + .05*u[t, 0, i])"
    start = "if {c = 0} then (p0[i]) else (q0[i])"
    lines = [f"q0: f64[{n}]; p0: f64[{n}]"]
    lines.append(
        f"let scan{{2*t + c}} u[t: {states}, c: 2, i: {n}] = if {{t = 0}} then ({start}) else ({step})"
    )
    lines.append(f"q[i: {n}] = u[{states - 1}, 1, i]; p[i: {n}] = u[{states - 1}, 0, i]")
    return Case(f"flow map, leapfrog, n = {n}, {states} states", "\n".join(lines), ("q0", "p0"))


CASES = (
    leapfrog(200_000, 50),
    coupling(256, 6),
    coupling(1024, 6),
    banded(200_000, 4, lower=True),
    banded(200_000, 4, lower=False),
    flow(128, 300, "elementwise"),
    flow(128, 300, "upwind"),
    leapfrog_flow(128, 300),
    flow(128, 300, "dense"),
)


def measured(case: Case) -> tuple[float, ...]:
    """Seconds of a JVP, of J^-1 v and of J^-T w."""
    f = tadc.function(case.text)
    inverse, jvp = tadc.inverse(f, case.wrt), tadc.jvp(f, case.wrt)
    random = np.random.default_rng(0)

    def made(tensors: Sequence[tuple[int, ...]]) -> list[np.ndarray]:
        scales = [0.3 / np.sqrt(shape[-1]) if len(shape) == 2 and shape[0] > 2 else 0.3 for shape in tensors]
        return [scale * random.standard_normal(shape) for scale, shape in zip(scales, tensors, strict=True)]

    arguments = made([a.shape for a in f.program.arguments])  # type: ignore[misc]
    tangents = made([a.shape for a in f.program.arguments if a.name in case.wrt])  # type: ignore[misc]
    v = tuple(made([d.shape for d in f.program.outputs]))  # type: ignore[misc]
    return least(
        lambda: jvp(*arguments, *tangents),
        lambda: inverse.jinv(arguments, v),
        lambda: inverse.jinvT(arguments, tuple(tangents)),
    )


def least(*calls: Callable[[], object]) -> tuple[float, ...]:
    """The least time of the process for each, taken by turns."""
    found = [float("inf")] * len(calls)
    for call in calls:
        call()
    for _ in range(ROUNDS):
        for n, call in enumerate(calls):
            begin = time.process_time()
            call()
            found[n] = min(found[n], time.process_time() - begin)
    return tuple(found)


def planning() -> list[tuple[str, float]]:
    """Seconds that plans of 3000 statements take."""
    found: list[tuple[str, float]] = []
    scalars = np.random.default_rng(0)
    names = [f"x{n}" for n in range(30)]
    lines = [f"{name}: f64" for name in names]
    for t in range(2970):
        place, *read = scalars.choice(30, 3, replace=False)
        lines.append(f"let v{t} = 2*{names[place]} + sin({names[read[0]]})*{names[read[1]]}")
        names[place] = f"v{t}"
    lines += [f"y{n} = {name}" for n, name in enumerate(names)]
    steps = leapfrog(1000, 1500)
    for name, text in (("2970 random scalars of 30", "\n".join(lines)), (steps.name, steps.text)):
        program = tadc.function(text).program
        inputs = [a.name for a in program.arguments]
        found.append((name, least(lambda p=program, i=inputs: plan_of(p, i))[0]))
    return found


def main() -> None:
    threads = tadc.get_num_threads()
    tadc.set_num_threads(1)
    table = Table()
    for head in ("program", "JVP ms", "J^-1 v ms", "ratio", "J^-T w ms", "ratio"):
        table.add_column(head, justify="left" if head == "program" else "right")
    for case in CASES:
        jvp, inverse, transposed = measured(case)
        cells = [1e3 * jvp, 1e3 * inverse, inverse / jvp, 1e3 * transposed, transposed / jvp]
        table.add_row(case.name, *(f"{cell:.2f}" for cell in cells))
    console = Console()
    console.print(table)
    for name, seconds in planning():
        console.print(f"plan of {name}: {1e3 * seconds:.0f} ms")
    tadc.set_num_threads(threads)
