"""What a backend is: how it lowers a module, what code it makes of it, and how that runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from tadc.backend.backend_errors import backend_error
from tadc.frontend.diagnostics import CompileError
from tadc.lattice.late_dataclasses import dataclass

if TYPE_CHECKING:
    from tadc.backend.runtime.call_sizes import Recheck, SizeSymbols
    from tadc.backend.runtime.interface import Interface
    from tadc.backend.runtime.parameters import Parameter
    from tadc.frontend.source import Source


@dataclass(frozen=True)
class Target:
    """Where a kernel runs: the name of a backend, an architecture of its, and what that has.

    Without an architecture it is the one of this machine: its CPU, or its GPU.
    """

    backend: str = "cpu"
    architecture: str = ""
    features: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.backend}:{self.architecture}" if self.architecture else self.backend


#: The CPU of this machine.
CPU = Target()

#: Values of the options of passes that look at the machine, by their names.
Facts = Mapping[str, int | str]


@dataclass(frozen=True)
class Settings:
    """What back ends are asked for: `level` is LLVM's -O, the others allow arithmetic to round otherwise."""

    target: Target = CPU
    level: int = 3
    fast_math: bool = False
    fused: bool = False


@dataclass(frozen=True)
class Form:
    """Code that a backend makes of the stage `of`: assembly, object code, …

    With `unit` it is also, and without `make` only, what `tadc.native` makes of a function, its derivatives
    and what C calls them by.
    """

    name: str
    suffix: str
    about: str
    make: Callable[[str, Settings], str | bytes] | None = None
    of: str = "llvm"
    unit: bool = False


@dataclass(frozen=True)
class Unit:
    """A program as LLVM IR, and what calls of its kernels need to know.

    On a GPU there are launches, and the place of the program that each kernel computes, by its name.
    """

    interface: Interface
    llvm_ir: str
    launches: Sequence[Any] = ()
    places: Mapping[str, str] | None = None


class Kernel(Protocol):
    """The kernels of a program, as calls run them."""

    @property
    def inputs(self) -> tuple[Parameter, ...]:
        """What it takes."""
        ...

    @property
    def outputs(self) -> tuple[Parameter, ...]:
        """What it computes."""
        ...

    @property
    def sizes(self) -> SizeSymbols:
        """How calls tell its sizes."""
        ...

    def __call__(
        self, args: Sequence[Any], kwargs: Mapping[str, Any] | None = None, out: Any = None
    ) -> list[Any]:
        """The outputs in order. Raises ArgumentError that lists all that is wrong with the arguments."""
        ...


class Backend(Protocol):
    """A kind of processor. A module of it imports no compiler before a method asks for that."""

    @property
    def name(self) -> str:
        """What targets begin with."""
        ...

    @property
    def architectures(self) -> tuple[str, ...]:
        """Those that targets may name."""
        ...

    @property
    def launches_kernels(self) -> bool:
        """Whether maps become kernels of the gpu dialect; else they become loops."""
        ...

    @property
    def dialect(self) -> tuple[str, str]:
        """The stage that `lower` makes, and what it is."""
        ...

    @property
    def forms(self) -> tuple[Form, ...]:
        """The code that it makes, the form that people read first."""
        ...

    def target(self, architecture: str) -> Target:
        """The target of one of the architectures; of none given, that of this machine or the usual one."""
        ...

    def machine(self, target: Target) -> Facts:
        """The options of passes that look at the machine."""
        ...

    def lower(self, module: Any, settings: Settings) -> None:
        """Lower loops, or a gpu module, to the llvm dialect, in place."""
        ...

    def complete(self, text: str, settings: Settings) -> str:
        """LLVM IR text as translated, with definitions of what it calls, where a stage shows them."""
        ...

    def runnable(self, target: Target) -> Target:
        """The target with the architecture that is compiled for. Raises CompileError, TAD0706."""
        ...

    def tools(self) -> str:
        """Text that differs where programs outside of tadc make other code."""
        ...

    def image(self, unit: Unit, settings: Settings) -> bytes:
        """All that a call of the kernels needs, as the disk cache keeps it."""
        ...

    def load(
        self, image: bytes, target: Target, source: Source, recheck: Callable[[Mapping[str, int]], Recheck]
    ) -> Kernel:
        """The kernels of an image. `recheck` takes the sizes that they were compiled for.

        Raises KeyError, TypeError, ValueError or LinkError for what is no image.
        """
        ...

    def bundle(
        self, compiled: Callable[[Target], Unit], settings: Settings, program: str
    ) -> dict[str, bytes | None]:
        """The files of a bundle of a program with this text, None for those not to be there.

        `compiled` compiles the program for a target.

        Raises CompileError, TAD0706, where there is no bundle of this backend.
        """
        ...

    def holds(self, value: Any) -> bool:
        """Whether a value is an array in memory that kernels of this backend read, and the host does not."""
        ...

    def devices(self) -> list[str]:
        """Lines of `tadc list targets`: what runs here, and why not."""
        ...


def cannot_run(target: Target, note: str, help: str) -> CompileError:
    """The error (TAD0706) for a target that this machine does not run."""
    return backend_error("TAD0706", f"target `{target}` cannot be run here", [note], [help])
