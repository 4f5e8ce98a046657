"""Nests that a seed draws: contractions, convolutions, stencils, reductions and maps of each element, with
indices in any order, in both element types, of sizes that take some 20 microseconds to a millisecond.

No nest is written down, so none can be tuned.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass

WORK = 3e5, 6e6
"""The operations of a nest, about."""

FUNCTIONS = "exp({0})", "tanh({0})", "sqrt(1 + {0}**2)", "{0}", "{0}", "max({0}, 0)"


@dataclass(frozen=True)
class _Kind:
    """A program: each of `reads` is an array with its indices, in an order that is drawn.

    `sums` are reduced by `fold`, and the others are the result's; `small` indices are short.
    """

    text: str
    reads: tuple[str, ...]
    sums: str = ""
    small: str = ""
    fold: str = "sum"


KINDS = (
    _Kind("{0} * {1}", ("a i,k", "b k,j"), "k"),
    _Kind("{0} * {1}", ("a i,k", "b k,j"), "k"),
    _Kind("{0} * {1}", ("a n,i,k", "b n,k,j"), "k", "n"),
    _Kind("{0} * {1}", ("a i,k", "b k,j"), "k", "ij"),
    _Kind("{0} * {1} * {2}", ("a i,k", "b k", "d k,j"), "k"),
    _Kind("({0} - {1})**2", ("a i,k", "b j,k"), "k", "k"),
    _Kind("abs({0} - {1})", ("a i,k", "b j,k"), "k"),
    _Kind("{0} + {1}", ("a i,k", "b k,j"), "k", "", "max"),
    _Kind("{0} * {1}", ("a i,k", "v k"), "k"),
    _Kind("{0}", ("a i,k",), "k"),
    _Kind("{0}", ("a i,k",), "k", "", "max"),
    _Kind("{0}**2", ("a i,k,j",), "k", "i"),
    _Kind("{0} * {1}", ("a i+k,j+l", "w k,l"), "kl", "kl"),
    _Kind("{0} * {1}", ("a 2*i+k,2*j+l", "w k,l"), "kl", "kl"),
    _Kind("{0} * {1}", ("a m,i+k,j+l", "w o,m,k,l"), "mkl", "mokl"),
    _Kind("{0} * {1}", ("a i+k,m", "w k,m,o"), "km", "k"),
    _Kind("{0} * {1}", ("a i+k", "w k"), "k", "k"),
    _Kind("{0}", ("a i+k,j+l",), "kl", "kl", "max"),
    _Kind("f({0} + {1})", ("a i,j", "b i,j")),
    _Kind("f({0} * {1})", ("a i", "b j")),
    _Kind("f({0}) + {1}", ("a i,j,k", "b k,j")),
    _Kind("{0}", ("a i,j",)),
    _Kind("{0} + {1}", ("a i,j", "b j,i")),
    _Kind("0.25 * ({0} + {1}) - {2}", ("a i+1,j", "a i,j+1", "a i,j")),
    _Kind("{0} - {1}", ("a 2*i,j", "b i,2*j+1")),
)


def drawn_nest(seed: int) -> str:
    """The text of the program of a seed."""
    return _Drawn(random.Random(seed)).text()


class _Drawn:
    """A program on its way."""

    def __init__(self, rng: random.Random) -> None:
        self.rng, self.kind = rng, rng.choice(KINDS)
        self.reads = [read.partition(" ")[::2] for read in self.kind.reads]
        letters = sorted({c for _, at in self.reads for c in at if c.isalpha()})
        self.extents = self.sizes(letters)

    def sizes(self, letters: list[str]) -> dict[str, int]:
        """The extents of indices: short ones, and others of about the same."""
        rng = self.rng
        small = {c: rng.choice((2, 3, 3, 4, 5, 7, 8, 16)) for c in letters if c in self.kind.small}
        rest = [c for c in letters if c not in small]
        work = math.exp(rng.uniform(*map(math.log, WORK))) / math.prod(small.values())
        if "f(" in self.kind.text or not self.kind.sums:
            work /= 4
        share = [rng.uniform(0.6, 1.4) for _ in rest]
        root = max(work, 4.0) ** (1 / max(sum(share), 1e-9))
        found = {c: max(2, round(root**s)) for c, s in zip(rest, share, strict=True)}
        if rng.random() < 0.5:
            found = {c: max(8, n // 8 * 8) for c, n in found.items()}
        return small | found

    def text(self) -> str:
        """Declarations and the definition."""
        rng, kind, type = self.rng, self.kind, self.rng.choice(("f32", "f64"))
        orders = {name: self.order(at.split(",")) for name, at in self.reads}
        shapes = dict[str, list[int]]()
        reads = list[str]()
        for name, at in self.reads:
            forms = [at.split(",")[n] for n in orders[name]]
            shape = [self.last(form) + 1 for form in forms]
            shapes[name] = [max(pair) for pair in zip(shape, shapes.get(name, shape), strict=True)]
            reads.append(f"{name}[{', '.join(forms)}]")
        body = kind.text.format(*reads)
        if body.startswith("f("):
            close = body.index(")")
            body = rng.choice(FUNCTIONS).format(f"({body[2:close]})") + body[close + 1 :]
        outer = [c for c in self.extents if c not in kind.sums]
        rng.shuffle(outer)
        head = f"y[{', '.join(f'{c}: {self.extents[c]}' for c in outer)}]"
        ranges = ", ".join(f"{c}: {self.extents[c]}" for c in kind.sums)
        value = f"{kind.fold}{{{ranges}}} ({body})" if kind.sums else body
        declared = [f"{name}: {type}[{', '.join(map(str, shape))}]" for name, shape in shapes.items()]
        return "\n".join([*declared, f"{head} = {value}"]) + "\n"

    def order(self, forms: list[str]) -> list[int]:
        """An order of the dimensions of an array: as written, or any."""
        order = list(range(len(forms)))
        if self.rng.random() < 0.5:
            self.rng.shuffle(order)
        return order

    def last(self, form: str) -> int:
        """The greatest value of an index, or a sum of multiples."""
        values = {c: n - 1 for c, n in self.extents.items()}
        return int(eval(form, {"__builtins__": {}}, values))
