"""What the compiler knows of a function: why its gradients are exact, and what they cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from tadc.api.function import Function, checked_storage
from tadc.caller.boundary import checked_function, public
from tadc.compiler.compile_options import Options

if TYPE_CHECKING:
    from tadc.analysis.statistics import Statistics
    from tadc.certificates.certify import Certificates


@public
def certificate(f: Function, wrt: str | Sequence[str] | None = None) -> Certificates:
    """Why each gradient of `vjp(f, wrt)` gathers what its reads contribute, all of it and each once.

    A sequence with an entry for each read, with the integer matrices and forms that prove it; `str` of
    it is what the command prints. Raises CompileError for a name that is no input.

    >>> import tadc
    >>> f = tadc.function("x: f64[8]; f[i: 3, j: 4] = exp(x[i + j])")
    >>> proof = tadc.certificate(f)
    >>> len(proof), proof[0].text
    (1, 'x[i + j]')
    """
    from tadc.certificates.certify import certify

    checked_function(f, Function, "certificate")
    f.require_types()
    return certify(f.program, wrt, per_value=f.per_value.symbols if f.per_value else ())


@public
def statistics(
    f: Function,
    wrt: str | Sequence[str] | None = None,
    sizes: Mapping[str, int] | None = None,
    materialize: str | None = None,
    memory_limit: int | str | None = None,
) -> Statistics:
    """What a function and its gradients by `wrt` (None: all inputs) compute, move and keep.

    `str` of it is what `tadc --stats` prints. Raises CompileError for a name that is no input, and where a
    size symbol has no value.

    >>> import tadc
    >>> f = tadc.function("x: f64[8]; s = sum{i} (x[i]**2)")
    >>> tadc.statistics(f).value.work.operations
    16
    """
    from tadc.analysis.statistics import statistics as count

    checked_function(f, Function, "statistics")
    stored = f.options.storing(*checked_storage(materialize, memory_limit))
    options = Options(materialize=stored.materialize, memory_limit=stored.memory_limit)
    return count(f.at({} if sizes is None else sizes).program, wrt, options)
