"""Programs of many definitions: what is done once for a program, and not for each definition."""

from __future__ import annotations

from typing import Any

import pytest

import tadc
from tadc.frontend import program
from tadc.frontend.program import allowed


def chain(length: int) -> str:
    """Definitions that each read the one before."""
    steps = [f"let h{n + 1}[i] = sin(h{n}[i])*x[i]" for n in range(length)]
    return "\n".join(["x: f64[N]", "let h0[i] = x[i]", *steps, f"f = sum{{i}} (h{length}[i])"])


def test_facts_of_sizes_are_derived_once_a_program(monkeypatch: pytest.MonkeyPatch) -> None:
    """As often for a long program and its gradient as for a short one."""
    derived: list[Any] = []

    def counted(*arguments: Any) -> Any:
        derived.append(arguments)
        return allowed(*arguments)

    monkeypatch.setattr(program, "allowed", counted)
    counts: list[int] = []
    for length in (5, 25):
        f = tadc.function(chain(length))
        derived.clear()
        tadc.value_and_grad(f).lower().as_text("hoist")
        counts.append(len(derived))
    assert 0 < counts[0] == counts[1]
