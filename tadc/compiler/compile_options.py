"""What to compile a program to, in one record that every part of tadc hands on."""

from __future__ import annotations

from tadc.backend.base import CPU, Backend, Settings, Target
from tadc.backend.target import backend_of
from tadc.frontend.source import Source
from tadc.lattice.late_dataclasses import dataclass, replace

#: When a reduction becomes a tensor of its own.
MATERIALIZE = ("auto", "always", "never")


@dataclass(frozen=True)
class Options:
    """What to compile a program to.

    `mode` is `value`, `vjp` (gradients from cotangents), `value-and-vjp`, `grad` and `value-and-grad` (of
    one scalar output, its cotangent is 1), `jvp` (value and tangents) and `tangents` (these alone), or
    `jacobian` (the partial derivatives of all elements). With a `chunk` of more than 0 there are so many
    tangents at once. A `schedule` is a text of steps for maps in the place of those that would be chosen.
    `wrt` names the arguments to differentiate by, None all of them. `sizes` are values of size symbols, to
    compile for these alone. `separate` keeps what different reads contribute to a gradient in sums of their
    own. `materialize` says which values become tensors: those that are worth it (`auto`), all that can
    (`always`), or `never`; `memory_limit` is the most bytes of one, of the program too, None for those that
    are made as many as its largest tensor has. `reverse` is how gradients read the states of recurrences;
    `steps_limit` is the most bytes that all tensors in between may take where saving fewer of these helps.
    `fast_math` allows arithmetic to round otherwise, as `backend/fast_math.py` says; `fused` allows it only
    to round a product and a sum once. Without `long_fibres` these are not cut: so is a kernel for calls where
    there are none. A kernel that is called `often`, for few elements at a time, has vectors however little
    work a map is. Without `tuned` a schedule that `tadc.tune` has found is not taken.
    """

    mode: str = "value"
    wrt: tuple[str, ...] | None = None
    target: Target = CPU
    level: int = 3
    sizes: tuple[tuple[str, int], ...] = ()
    separate: bool = False
    materialize: str = "auto"
    fast_math: bool = False
    fused: bool = False
    memory_limit: int | None = None
    steps_limit: int | None = None
    chunk: int = 0
    schedule: Source | None = None
    reverse: str = "store"
    long_fibres: bool = True
    often: bool = False
    tuned: bool = True

    @property
    def for_calls(self) -> Options:
        """Those of a kernel for calls from Python, which have another where there are long fibres."""
        return replace(self, long_fibres=self.backend.launches_kernels)

    def storing(self, materialize: str | None, memory_limit: int | None) -> Options:
        """The options with other tensors in between, as far as either is given."""
        changed = {"materialize": materialize, "memory_limit": memory_limit}
        return replace(self, **{name: value for name, value in changed.items() if value is not None})

    @property
    def of_derived(self) -> Options:
        """The options for a program that is the derivative already: there is none left to take."""
        return replace(self, mode="value", wrt=None, chunk=0)

    @property
    def differentiates(self) -> bool:
        """Whether there is a derivative to take."""
        return self.mode != "value"

    @property
    def backend(self) -> Backend:
        """The backend of the target."""
        return backend_of(self.target)

    @property
    def settings(self) -> Settings:
        """What is asked of the backend."""
        return Settings(self.target, self.level, self.fast_math, self.fused)
