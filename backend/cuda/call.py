"""One call of a program on a GPU: where it runs, and what it reads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tadc.backend.cuda.device_arrays import DeviceArray, View, same_stream
from tadc.lattice.late_dataclasses import dataclass, field

if TYPE_CHECKING:
    from tadc.backend.cuda.device import Allocation, Device
    from tadc.backend.runtime.frameworks import Framework


@dataclass
class GpuCall:
    """A call: where it runs, on which stream, and what must live until the launches are queued."""

    device: Device
    stream: int
    framework: Framework | None
    on_host: bool
    addresses: list[int] = field(default_factory=list[int])
    kept: list[Any] = field(default_factory=list[Any])
    borrowed: list[Allocation] = field(default_factory=list["Allocation"])
    """Memory that belongs to another stream."""
    reads: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])
    """The first byte of each argument, and the one after its last."""
    held: list[tuple[int, Allocation]] = field(default_factory=list[tuple[int, "Allocation"]])
    """Copies of numbers and relations among the arguments, by position: another call may read them again."""
    made: list[Allocation] = field(default_factory=list["Allocation"])
    """What was made of index arrays, which kernels take after the arguments."""
    current: int | None = None
    """The stream in whose order the library of the arrays uses memory again."""
    lent: list[Any] = field(default_factory=list[Any])
    """Arrays of a library that uses memory again in the order of streams of its own."""
    is_plain: bool = True
    """Whether another call on the same arrays has nothing to do but to launch."""

    def read(self, address: int, bytes: int) -> None:
        """Take so many bytes as the next argument."""
        self.addresses.append(address)
        self.reads.append((address, address + bytes))

    def borrow(self, view: View) -> None:
        """Let the stream wait for what computes an array; in `give_back` its own waits for this call."""
        if view.stream is not None and not same_stream(view.stream, self.stream):
            with self.device.current() as driver:
                driver.wait_for(self.stream, view.stream)
            self.is_plain = False
            if isinstance(view.keepalive, DeviceArray):
                self.borrowed.append(view.keepalive.allocation)

    def give_back(self) -> None:
        """Memory is freed, and read, in the order of its own stream: after what is queued here."""
        others = {allocation.stream for allocation in self.borrowed}
        if self.current is not None and not same_stream(self.current, self.stream):
            others.add(self.current)
        if others:
            with self.device.current() as driver:
                for other in others:
                    driver.wait_for(other, self.stream)
        if self.lent:
            self.device.outlive(self.stream, self.lent)
