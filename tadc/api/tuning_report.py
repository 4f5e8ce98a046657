"""What `tadc.tune` says that it found."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tadc.backend.runtime.thread_count import get_num_threads
from tadc.lattice.late_dataclasses import dataclass

if TYPE_CHECKING:
    from tadc.api.function import Function

INTERRUPTED = "until it was interrupted"
"""How a search has ended that Ctrl-C ended."""


@dataclass(frozen=True)
class CostCase:
    """A map whose cheapest steps by the model are not the fastest: how many times the cost of what is chosen
    other steps have, and how many times its time a call with them takes."""

    tensors: tuple[str, ...]
    cost: float
    time: float

    def __str__(self) -> str:
        return (
            f"a case for the cost: `map {', '.join(self.tensors)}` has {self.cost:.2f} times the cost of "
            f"what is chosen, and the call takes {self.time:.2f} times the time"
        )


@dataclass(frozen=True)
class Tuned:
    """What tuning found: `base` and `best` are the seconds of a call with what is chosen and with `steps`,
    which are none where nothing was faster. `function` runs them.

    Of the schedules that were `tried`, some were `refused`, as steps that do not fit, and some gave
    `other_bits`. It `ended` because there was no more to try, or as this says. What is `kept` on disk is used
    from now on.
    """

    function: Function
    base: float
    best: float
    steps: str
    tried: int
    refused: int
    other_bits: int
    seconds: float
    ended: str
    kept: bool
    cases: tuple[CostCase, ...] = ()

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C ended it."""
        return self.ended == INTERRUPTED

    @property
    def gain(self) -> float:
        """How many times as fast it is."""
        return self.base / self.best

    def __str__(self) -> str:
        """The times, what was tried, and the steps."""
        names = ", ".join(self.function.outputs)
        threads = get_num_threads()
        by = "one thread" if threads == 1 else f"{threads} threads"
        lines = [f"{names}: {_shown(self.base)} a call by {by}"]
        if self.steps:
            lines[0] += f", tuned {_shown(self.best)}: {self.gain:.2f} times as fast"
        elif self.tried:
            lines[0] += "; nothing was faster than what is chosen"
        about = [f"{self.refused} did not fit"] * bool(self.refused)
        about += [f"{self.other_bits} gave other bits"] * bool(self.other_bits)
        what = f" ({', '.join(about)})" if about else ""
        until = f", {self.ended}" if self.ended else ""
        lines.append(f"{self.tried} schedules tried{what} in {self.seconds:.1f} s{until}")
        lines += map(str, self.cases)
        if self.steps:
            lines.append("kept on disk, and used from now on" if self.kept else "not kept: there is no cache")
            lines.append(self.steps.rstrip())
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<tadc.Tuned {', '.join(self.function.outputs)}: {self.gain:.2f} times as fast>"


def _shown(seconds: float) -> str:
    """A time in the unit that gives it three digits."""
    unit, factor = next(((u, f) for u, f in (("s", 1.0), ("ms", 1e3)) if seconds * f >= 1), ("µs", 1e6))
    return f"{seconds * factor:.3g} {unit}"
