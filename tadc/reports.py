"""What the compiler knows of a function: why its gradients are exact, and what they cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from tadc.functions import Function
from tadc.stages import Options

if TYPE_CHECKING:
    from tadc.certificates.certificate import Certificates
    from tadc.counts import Statistics


def certificate(f: Function, wrt: str | Sequence[str] | None = None) -> Certificates:
    """Why each gradient of `vjp(f, wrt)` gathers what its reads contribute, all of it and each once.

    A sequence with an entry for each read, with the integer matrices and forms that prove it; `str` of
    it is what the command prints. Raises CompileError for a name that is no input.
    """
    from tadc.certificates.certificate import certify

    if not isinstance(f, Function):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f"expected a tadc.Function, not {type(f).__name__}")
    return certify(f.program, wrt, per_value=f.per_value.symbols if f.per_value else ())


def statistics(
    f: Function,
    wrt: str | Sequence[str] | None = None,
    sizes: Mapping[str, int] | None = None,
    materialize: str = "auto",
    memory_limit: int | None = None,
) -> Statistics:
    """What a function and its gradients by `wrt` (None: all inputs) compute, move and keep.

    `str` of it is what `tadc --stats` prints. Raises CompileError for a name that is no input, and where a
    size symbol has no value.
    """
    from tadc.counts import statistics as count

    if not isinstance(f, Function):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f"expected a tadc.Function, not {type(f).__name__}")
    options = Options(materialize=materialize, memory_limit=memory_limit)
    return count(f.at(sizes or {}).program, wrt, options)
