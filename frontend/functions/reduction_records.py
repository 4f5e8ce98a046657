"""The reductions of the language: a record each."""

from __future__ import annotations

import math

from tadc.lattice.late_dataclasses import dataclass


@dataclass(frozen=True)
class Reduction:
    """A reduction.

    `nothing` is its value over no point; the function `join` makes one result of those of two parts of a set,
    and of an element and the rest where it is `in_loops`: else it is made of other reductions
    (`passes/nest/exponentials.py`), and a step takes so many `exponentials`.

    `slope` is its derivative by an element x, with the value f, as a text of the language; None where
    `passes/derivatives/reduction_rules.py` has a rule. `ties_share`: elements that tie share it evenly. One
    over two indices has another derivative than one over the first of one over the second, though both have
    the same value. `latex` is written as a big operator.
    """

    name: str
    nothing: int | float
    join: str
    slope: str | None
    latex: str
    ties_share: bool = False
    in_loops: bool = True
    exponentials: int = 0


REDUCTIONS = (
    Reduction("sum", 0, "add", "1", r"\sum"),
    Reduction("prod", 1, "mul", None, r"\prod"),
    Reduction("max", -math.inf, "max", None, r"\max", ties_share=True),
    Reduction("min", math.inf, "min", None, r"\min", ties_share=True),
    Reduction(
        "logsumexp",
        -math.inf,
        "logaddexp",
        "select(f != -1 / 0, exp(x - f), 0)",
        r"\operatorname*{logsumexp}",
        in_loops=False,
        exponentials=1,
    ),
)
