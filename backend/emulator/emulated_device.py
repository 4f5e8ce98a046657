"""The emulator as a device."""

from __future__ import annotations

from functools import cache

from tadc.backend.cuda.device import Device
from tadc.backend.cuda.driver import Driver
from tadc.backend.emulator.library import EmulatedCuda
from tadc.backend.runtime.free_memory import available_memory


def emulated_device(number: int = 0) -> Device:
    """The one emulated device of this process. It has half of the memory that is there at the first use."""
    return _device()


@cache
def _device() -> Device:
    free = available_memory()
    return Device(Driver(EmulatedCuda(bytes=1 << 32 if free is None else free // 2)))
