"""`tadc.debug_nans()`: calls whose results are not numbers end with an error that says where and why."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from math import isfinite
from typing import Any
from weakref import ref

import numpy as np

from tadc.analysis.element_reads import ElementReads, TooManyReads
from tadc.analysis.random_inputs import told_sizes
from tadc.api.array_kinds import as_numpy_array
from tadc.api.compiled import Compiled
from tadc.api.explain import element_text
from tadc.api.function import Function
from tadc.api.sparse_kinds import is_sparse
from tadc.backend.runtime.call_watchers import CallBlock, CallWatcher, WatchedCall
from tadc.caller.boundary import public
from tadc.frontend.diagnostics import CompileError, Diagnostic, Label
from tadc.frontend.program import Program
from tadc.frontend.source import Span

#: So many elements of inputs are named.
_SHOWN = 8

#: So many errors are told from those of frameworks.
_KEPT = 16


@public
def debug_nans() -> CallBlock:
    """Inside the block, raise CompileError (TAD0514) where a call of a function has a result with a NaN.

    The error names the first such element, the line that defines it, and what it reads of the inputs. It is
    for all threads, and for operators of PyTorch and JAX: a call within what these compile or differentiate
    ends with an error of theirs (RuntimeError, JaxRuntimeError) of the same text, which becomes the
    CompileError at the end of the block. JAX may run a call later: the block waits for arrays that are
    still there. Results on a GPU and sparse results are not looked at.

    >>> import tadc
    >>> f = tadc.function("x: f64[3]; y[i] = sqrt(x[i])")
    >>> with tadc.debug_nans():
    ...     try:
    ...         f([1, -1, 4])
    ...     except tadc.CompileError as error:
    ...         print(error.diagnostics[0].message)
    `y[1]` is not a number
    """
    return _NanFinder()


class _NanFinder(CallBlock):
    """Looks at the results of functions, of those called in blocks of it."""

    def __init__(self) -> None:
        #: The last errors of calls, of which a framework may have made its own. Nothing else is to be kept of
        #: calls: while a framework has an error, `watched_calls.py` keeps it.
        self._raised: deque[ref[CompileError]] = deque(maxlen=_KEPT)

    def __repr__(self) -> str:
        return "tadc.debug_nans()"

    def watchers(self) -> Sequence[CallWatcher]:
        """Itself."""
        return (self,)

    def end(self, errors: Sequence[BaseException]) -> None:
        """Raise what was found, where a framework has made another error of it."""
        for kept in [*self._raised]:
            found = kept()
            error = next((each for each in errors if found and _is_made_of(each, found)), None)
            if found is not None and error is not None:
                self._raised.remove(kept)
                raise found.with_traceback(None) from error

    def around(self, call: WatchedCall, run: Callable[[WatchedCall], Any]) -> Any:
        """What a call gives. Raises CompileError (TAD0514) for a NaN."""
        __tracebackhide__ = True
        result, f = run(call), call.called
        if isinstance(f, Compiled):
            f = f.of and f.of[0]
        if f is not None and (problem := _problem(f, call.args, call.kwargs, result)) is not None:
            error = CompileError([problem])
            self._raised.append(ref(error))
            raise error
        return result


def _is_made_of(error: BaseException, found: CompileError) -> bool:
    """Whether a framework made an error of what was found; who has caught that may raise what they like."""
    caught, seen = error.__context__, list[BaseException]()
    while caught is not None and caught not in seen:
        seen.append(caught)
        caught = caught.__context__
    return isinstance(error, RuntimeError) and str(found) in str(error) and found not in seen


def _problem(f: Function, args: Sequence[Any], kwargs: Mapping[str, Any], result: Any) -> Diagnostic | None:
    """What is wrong with the first element that is not a number, in the order of outputs."""
    results = (result,) if len(f.outputs) == 1 else result
    for output, found in zip(f.outputs, results, strict=True):
        array = _on_host(found)
        if array is not None and (where := np.argwhere(np.isnan(array))).size + (where.shape == (1, 0)):
            return _told(
                f, {**dict(zip(f.inputs, args, strict=False)), **kwargs}, output, tuple(where[0].tolist())
            )
    return None


def _on_host(array: Any) -> Any:
    """An array of NumPy; None for one that is elsewhere, or not dense."""
    try:
        found = np.asarray(as_numpy_array(array))
        return found if found.dtype.kind in "fiu" else np.asarray(found, dtype=np.float64)
    except (TypeError, ValueError, RuntimeError):
        return None


def _told(f: Function, named: Mapping[str, Any], output: str, place: tuple[int, ...]) -> Diagnostic:
    """The error about an element of an output."""
    program, values = f.program, dict[str, float]()
    if not any(map(is_sparse, named.values())):
        program, values = _read(
            f, {name: as_numpy_array(value) for name, value in named.items()}, output, place
        )
    definition = next(d for d in program.outputs if d.name == output)
    shown = sorted(values, key=lambda name: isfinite(values[name]))
    notes = [f"{name} is {values[name]:.6g}" for name in islice(shown, _SHOWN)]
    if len(shown) > _SHOWN:
        notes.append(f"{len(shown) - _SHOWN:,} more elements are read")
    indices = ", ".join(f"{name}={n}" for name, n in zip(definition.indices, place, strict=True))
    first = f'"{output}"' if len(f.outputs) > 1 else ""
    call = ", ".join(part for part in (first, indices, *(f"{name}=…" for name in f.inputs)) if part)
    return Diagnostic(
        "TAD0514",
        f"`{element_text(output, place)}` is not a number",
        Label(definition.span) if isinstance(definition.span, Span) else None,
        notes=notes,
        helps=[f"`f.explain({call})` shows all that it reads, with derivatives"],
        source=program.source,
    )


def _read(
    f: Function, named: Mapping[str, Any], output: str, place: tuple[int, ...]
) -> tuple[Program, dict[str, float]]:
    """The program for the sizes of a call, and the elements of inputs that an element of an output reads."""
    arrays = {name: np.asarray(value) for name, value in named.items() if name in f.inputs}
    program = f.at(told_sizes(f.program, named)).program
    try:
        reads = list(ElementReads(program, arrays).of(output, place))
    except TooManyReads:
        reads = []
    return program, {element_text(*read): float(arrays[read[0]][read[1]]) for read in reads}
