"""The operation of an instruction, by its name: found in the tables of each kind."""

from __future__ import annotations

from tadc.backend.emulator.arithmetic import Operation
from tadc.backend.emulator.conversions import conversion
from tadc.backend.emulator.floats import float_operation
from tadc.backend.emulator.integers import integer_operation
from tadc.backend.emulator.selections import selection


def find_operation(parts: list[str]) -> Operation | None:
    """The operation of an instruction by the parts of its name, None for one that is not known."""
    for find in (integer_operation, float_operation, conversion, selection):
        found = find(parts[0], parts[1:])
        if found is not None:
            return found
    return None
