"""Random programs to compile: up to 6 indices, up to 4 nested sums.

Sums are boxes, triangles or between several bounds; reads have mixed maps with strides, `//` and `%`,
alone or under guards. An argument is as large as interval arithmetic says that its reads need.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field

INDICES = "ijklmn"
DEPTH = 4

_COMBINED = ("{0} * {1}", "{0} * {1}", "({0} + {1})", "sin({0}) * {1}", "({0} - {1})**2")

#: The least and the greatest value of an index or a form.
Interval = tuple[int, int]


def random_program(seed: int) -> str:
    """The text of the program of a seed."""
    return _Generator(random.Random(seed)).program()


@dataclass(frozen=True)
class _Form:
    """Multiples of indices, or of `index // c` and `index % c`, and a constant."""

    terms: tuple[tuple[int, str], ...]
    constant: int
    span: Interval

    def shifted(self, by: int) -> _Form:
        low, high = self.span
        return _Form(self.terms, self.constant + by, (low + by, high + by))

    def __str__(self) -> str:
        text = " ".join(f"{'-' if k < 0 else '+'} {abs(k)}*{atom}" for k, atom in self.terms)
        text = text.replace(" 1*", " ").removeprefix("+ ")
        if not text:
            return str(self.constant)
        return text + (f" {'-' if self.constant < 0 else '+'} {abs(self.constant)}" if self.constant else "")


@dataclass
class _Generator:
    """A program that grows, from the outputs' indices inward."""

    rng: random.Random
    shapes: dict[str, list[int]] = field(default_factory=dict[str, list[int]])
    env: dict[str, Interval] = field(default_factory=dict[str, Interval])

    def program(self) -> str:
        rng = self.rng
        for name in rng.sample("abcx", rng.randint(1, 3)):
            self.shapes[name] = [1] * rng.randint(1, 3)
        depth = rng.choice((1, 2, 3, 3, DEPTH, DEPTH))
        rank = rng.randint(1, min(3, len(INDICES) - depth))
        sizes = {INDICES[n]: rng.randint(2, 7) for n in range(rank)}
        self.env = {name: (0, size - 1) for name, size in sizes.items()}
        body = self.nest(list(INDICES[rank : rank + depth]))
        arguments = [f"{name}: f64[{', '.join(map(str, shape))}]" for name, shape in self.shapes.items()]
        ranges = ", ".join(f"{name}: {size}" for name, size in sizes.items())
        return "; ".join(arguments) + f"\nf[{ranges}] = {body}\n"

    def nest(self, names: Sequence[str]) -> str:
        """A sum in a sum, with a term beside it at some levels."""
        if not names:
            return self.product()
        name, *inner = names
        head = self.sum_over(name)
        text = f"sum{head} ({self.nest(inner)})"
        del self.env[name]
        kind = self.rng.random()
        if kind < 0.25:
            return f"{text} + {self.read()}"
        if kind < 0.5:
            return f"{self.read()} * {text}"
        return f"exp(-0.01 * {text})" if kind < 0.6 else text

    def sum_over(self, name: str) -> str:
        """The range of a sum; enters its index."""
        rng = self.rng
        low, high = rng.randint(0, 2), rng.randint(3, 7)
        kind = rng.choice(("size", "constant", "triangle", "triangle", "several"))
        if kind == "size":
            self.env[name] = (0, high - 1)
            return f"{{{name}: {high}}}"
        # The bounds are made before the index is entered: they cannot depend on it.
        forms = [self.small_form() for _ in range(3)]
        self.env[name] = (low, high)
        if kind == "constant":
            return f"{{{name}}}_{low}^{high}"
        if kind == "several" and rng.random() < 0.5:
            return f"{{{name}}}_{low}^(min [{high}; {forms[0]}; {forms[1]}])"
        if kind == "several":
            lower = f"max [{low}; {forms[0].shifted(-3)}; {forms[1].shifted(-3)}]"
            return f"{{{name}}}_({lower})^(min [{high}; {forms[2]}])"
        span = forms[0].span
        if rng.random() < 0.5:
            self.env[name] = (min(low, span[1]), max(span[1], low))
            return f"{{{name}}}_{low}^({forms[0]})"
        self.env[name] = (min(span[0], high), high)
        return f"{{{name}}}_({forms[0]})^{high}"

    def small_form(self) -> _Form:
        """A bound of a sum, mostly near 0..8."""
        form = self.form(self.rng.choice((1, 1, 2, 3)))
        return form.shifted(self.rng.randint(2, 5) - (form.span[0] + form.span[1]) // 2)

    def form(self, terms: int) -> _Form:
        """A form of some indices, the inner ones more often."""
        rng = self.rng
        names = list(self.env)
        chosen = dict.fromkeys(rng.choices(names, range(1, len(names) + 1), k=terms))
        parts: list[tuple[int, str]] = []
        least = greatest = 0
        for name in chosen:
            k = rng.choice((1, 1, 1, 1, 2, 2, 3, -1, -1, -2))
            atom, (low, high) = self.atom(name)
            parts.append((k, atom))
            least += min(k * low, k * high)
            greatest += max(k * low, k * high)
        return _Form(tuple(parts), 0, (least, greatest))

    def atom(self, name: str) -> tuple[str, Interval]:
        """An index, seldom a floor or remainder of one."""
        low, high = self.env[name]
        kind, c = self.rng.random(), self.rng.choice((2, 3, 4))
        if kind < 0.07:
            return f"({name} // {c})", (low // c, high // c)
        if kind < 0.12:
            return f"({name} % {c})", (0, c - 1)
        return name, (low, high)

    def product(self) -> str:
        """Several reads combined."""
        rng = self.rng
        text = self.read()
        for _ in range(rng.randint(0, 4)):
            text = rng.choice(_COMBINED).format(text, self.read())
        return text

    def read(self) -> str:
        """A read that is in range, or under the guard that it is, or under one that cuts the domain."""
        rng = self.rng
        name = rng.choice(list(self.shapes))
        shape = self.shapes[name]
        forms = [self.form(rng.choice((1, 1, 2, 2, 3))) for _ in shape]
        if rng.random() < 0.15:
            forms = [form.shifted(-(form.span[0] + form.span[1]) // 2 + 2) for form in forms]
            rows = " and ".join(
                f"{f} >= 0 and {f} <= {size - 1}" for f, size in zip(forms, shape, strict=True)
            )
            return f"(if {{{rows}}} then ({name}[{', '.join(map(str, forms))}]) else (0))"
        forms = [form.shifted(-form.span[0] + rng.choice((0, 0, 1))) for form in forms]
        for n, form in enumerate(forms):
            shape[n] = max(shape[n], form.span[1] + 1)
        read = f"{name}[{', '.join(map(str, forms))}]"
        if rng.random() < 0.15:
            form = self.form(2)
            row = f"{form} {rng.choice(('>=', '<=', '>', '='))} {sum(form.span) // 2}"
            return f"(if {{{row}}} then ({read}) else ({rng.choice(('0', '1'))}))"
        return read
