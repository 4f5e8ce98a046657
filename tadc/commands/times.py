"""`--time`: how long each step took, and its share."""

from __future__ import annotations

import time


class Times:
    """Adds up steps by name, each within the step that it is a part of."""

    def __init__(self) -> None:
        self.begin_of_all = time.perf_counter()
        self._open: list[str] = []
        self._seconds: dict[tuple[str, ...], float] = {}
        self._counts: dict[tuple[str, ...], int] = {}

    def begin(self, name: str) -> None:
        """A step begins."""
        self._open.append(name)
        # Entered now: a step stands before its parts.
        self._seconds.setdefault(tuple(self._open), 0.0)

    def end(self, name: str, seconds: float) -> None:
        """A step ends."""
        path = tuple(self._open)
        self._open.pop()
        self._seconds[path] += seconds
        self._counts[path] = self._counts.get(path, 0) + 1

    def table(self) -> str:
        """A line for each step, those that are parts of one below it; the rest of the time, and the sum."""
        total = time.perf_counter() - self.begin_of_all
        rest = total - sum(seconds for path, seconds in self._seconds.items() if len(path) == 1)
        lines = [_line("step", "ms", "share")]
        for path in self._in_order():
            count = self._counts.get(path, 1)
            name = "  " * (len(path) - 1) + path[-1] + (f" ({count} times)" if count > 1 else "")
            lines.append(_row(name, self._seconds[path], total))
        lines += [_row("the rest, as imports", rest, total), _row("sum", total, total)]
        return "\n".join(lines)

    def _in_order(self) -> list[tuple[str, ...]]:
        """Steps in the order in which they first began, each followed by its parts."""
        first = {path: number for number, path in enumerate(self._seconds)}
        return sorted(first, key=lambda path: [first[path[: n + 1]] for n in range(len(path))])


def _row(name: str, seconds: float, total: float) -> str:
    return _line(name, f"{1e3 * seconds:.1f}", f"{100 * seconds / total:.0f} %")


def _line(name: str, milliseconds: str, share: str) -> str:
    return f"{name:24}{milliseconds:>10}{share:>8}"
