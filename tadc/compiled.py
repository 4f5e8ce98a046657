"""A compiled function, ready to be called."""

from __future__ import annotations

from collections import namedtuple
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tadc.backend.cuda.kernel import GpuKernel
    from tadc.backend.runtime.kernel import Kernel


class Compiled:
    """A compiled function, called like the `Function` it was made from."""

    def __init__(self, kernel: Kernel | GpuKernel) -> None:
        self.kernel = kernel
        self._result: Any = None
        if len(kernel.outputs) > 1:
            names = [p.name for p in kernel.outputs]
            self._result = namedtuple("Result", names, rename=True)  # pyright: ignore[reportUntypedNamedTuple]

    def __repr__(self) -> str:
        inputs, outputs = (
            ", ".join(str(p) for p in side) for side in (self.kernel.inputs, self.kernel.outputs)
        )
        return f"<tadc.Compiled ({inputs}) -> ({outputs})>"

    def __call__(self, /, *args: Any, out: Any = None, **kwargs: Any) -> Any:
        """Evaluate; one output is the array itself, several are a named tuple in order.

        Raises ArgumentError that lists all that is wrong with the arguments.
        """
        found = self.kernel(args, kwargs, out)
        return self._result(*found) if self._result else found[0]
