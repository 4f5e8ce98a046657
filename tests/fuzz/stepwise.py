"""Random recurrences that other definitions read: the last steps, some, all, or sums over them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray


@dataclass(frozen=True)
class Stepwise:
    """A program, values of its sizes, and its inputs; `windowed` are the recurrences of which a few steps are
    read at a time, as far as it says."""

    text: str
    sizes: Mapping[str, int]
    inputs: Mapping[str, NDArray[np.float64]]


class _Text:
    """A program on its way: `T` steps, up or down, of rows of `N` elements, perhaps of a batch of `B`."""

    def __init__(self, random: Generator) -> None:
        self.random = random
        self.down = bool(random.random() < 0.4)
        self.batch = str(random.choice(["", "first", "last"]))
        self.lines: list[str] = []

    def chance(self, share: float) -> bool:
        """Whether something is there."""
        return bool(self.random.random() < share)

    def at(self, t: str, i: str = "i") -> str:
        """Subscripts of an element."""
        return {"": f"{t}, {i}", "first": f"b, {t}, {i}", "last": f"{t}, {i}, b"}[self.batch]

    def head(self, t: str = "t: T") -> str:
        """The indices of a definition over steps."""
        return {"": f"{t}, i: N", "first": f"b: B, {t}, i: N", "last": f"{t}, i: N, b: B"}[self.batch]

    @property
    def row(self) -> str:
        """The indices of one over the elements of a step."""
        return "i: N, b: B" if self.batch else "i: N"

    def before(self, steps: int) -> tuple[str, str]:
        """The step so many before t, and where it is one."""
        return (f"t + {steps}", f"t + {steps} <= T - 1") if self.down else (f"t - {steps}", f"t >= {steps}")

    def recurrence(self, name: str, others: list[str]) -> None:
        """A recurrence that goes back up to 4 steps, and may read others at its step or before."""
        terms = [f"0.3*x[{self.at('t')}]"]
        for _ in range(self.random.integers(1, 4)):
            step, is_one = self.before(int(self.random.integers(1, 5)))
            by = int(self.random.integers(-1, 2))
            place, rows = f"i + {by}", f"{is_one} and i + {by} >= 0 and i + {by} <= N - 1"
            read = f"{name}[{self.at(step, place)}]"
            term = [f"0.3*{read}", f"0.4*sin({read})", f"0.2*{read}*x[{self.at('t')}]"][
                self.random.integers(3)
            ]
            terms.append(f"if {{{rows}}} then ({term}) else (0.1)")
        for other in others:
            steps = int(self.random.integers(0, 3))
            step, is_one = self.before(steps)
            terms.append(f"if {{{is_one}}} then (0.2*{other}[{self.at(step)}]) else (0.3)")
        body = " + ".join(f"({term})" for term in terms)
        self.lines.append(f"let scan{{{'-t' if self.down else 't'}}} {name}[{self.head()}] = {body}")

    def reader(self, name: str, of: str) -> None:
        """A definition that reads a recurrence from outside."""
        last, by = ("0", "+") if self.down else ("T - 1", "-")
        kind = self.random.integers(7)
        match int(kind):
            case 0 | 1:
                back = int(self.random.integers(0, 3))
                rows = f"if {{T >= {back + 1}}} then ({of}[{self.at(f'{last} {by} {back}')}]) else (0)"
                self.lines.append(f"{name}[{self.row}] = {rows}")
            case 2:
                body = f"{of}[{self.at('3*s')}] + 1" if self.chance(0.5) else f"{of}[{self.at('3*s + 1')}]"
                self.lines.append(f"{name}[{self.head('s: T // 3')}] = {body}")
            case 3:
                step, is_one = self.before(int(self.random.integers(1, 3)))
                earlier = f"if {{{is_one}}} then ({of}[{self.at(step)}]) else (1)"
                body = f"{of}[{self.at('t')}]*({earlier})"
                self.lines.append(f"let {name}_0[{self.head()}] = {body}")
                self.lines.append(
                    f"{name}[t: T] = sum{{i{', b' if self.batch else ''}}} ({name}_0[{self.at('t')}])"
                )
            case 4:
                self.lines.append(
                    f"{name}[t: T] = sum{{i{', b' if self.batch else ''}}} ({of}[{self.at('t')}]**2)"
                )
            case 5:
                body = f"if {{s <= T - 1}} then ({of}[{self.at('s')}]) else (2)"
                self.lines.append(f"{name}[{self.head('s: T + 2')}] = {body}")
            case _:
                self.lines.append(f"{name}[{self.row}] = sum{{t}} (cos(0.1*t)*{of}[{self.at('t')}])")


def generate(seed: int) -> Stepwise:
    """The program of a seed."""
    random = np.random.default_rng(seed)
    text = _Text(random)
    names: list[str] = []
    for name in "uvw"[: random.integers(1, 4)]:
        text.recurrence(name, [other for other in names if text.chance(0.6)])
        names.append(name)
    for number in range(random.integers(1, 4)):
        text.reader(f"y{number}", names[-1] if number == 0 else str(random.choice(names)))
    sizes = {"T": int(random.integers(0, 24)), "N": int(random.integers(1, 21))}
    sizes |= {"B": int(random.integers(1, 12))} if text.batch else {}
    shape = {"": "T, N", "first": "B, T, N", "last": "T, N, B"}[text.batch]
    x = random.uniform(-1, 1, tuple(sizes[name] for name in shape.split(", ")))
    return Stepwise("\n".join([f"x: f64[{shape}]", *text.lines]), sizes, {"x": x})
