"""A compiled function, ready to be called."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from tadc.api.array_kinds import OnHost, are_foreign, on_gpu
from tadc.api.sparse_kinds import is_sparse
from tadc.backend.runtime.call_watchers import WATCHERS, WatchedCall, watched
from tadc.backend.runtime.python_names import result_type
from tadc.caller.boundary import leaving

if TYPE_CHECKING:
    from tadc.backend.base import Kernel
    from tadc.compiler.compile_options import Options

    Again = Callable[[Sequence[Any], Mapping[str, Any], Any], list[Any] | None]


class Compiled:
    """A compiled function, called like the `Function` it was made from.

    >>> import tadc
    >>> fast = tadc.compile(tadc.function("x: f64[3]; f[i] = 2*x[i]"))
    >>> fast
    <tadc.Compiled (x: f64[3]) -> (f: f64[3])>
    >>> fast([1, 2, 3])
    array([2., 4., 6.])
    """

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        #: The function that it was compiled of, and how.
        self.of: tuple[Any, Options] | None = None
        #: What does a call like one before without another look at all that it is given.
        self._again: Again | None = getattr(kernel, "again", None)
        self._anew: Callable[..., list[Any]] = getattr(kernel, "anew", kernel)
        self._result: Any = None
        if len(kernel.outputs) > 1:
            self._result = result_type(p.name for p in kernel.outputs)

    def __getattr__(self, name: str) -> Any:
        of = vars(self).get("of")
        function: object = None if of is None else of[0]
        message = f"'Compiled' object has no attribute {name!r}"
        if function is not None and not name.startswith("_") and hasattr(type(function), name):
            message = (
                f"a compiled function has no `{name}`: write `f.{name}`, of the function it was made from"
            )
        raise AttributeError(message, name=name, obj=self)

    def __repr__(self) -> str:
        inputs, outputs = (
            ", ".join(str(p) for p in side) for side in (self.kernel.inputs, self.kernel.outputs)
        )
        return f"<tadc.Compiled ({inputs}) -> ({outputs})>"

    def _repr_html_(self) -> str:
        from rich.table import Table

        from tadc.caller.showing import tables_html

        table = Table("", "array", title="compiled function")
        for role, side in (("takes", self.kernel.inputs), ("gives", self.kernel.outputs)):
            for port in side:
                table.add_row(role, str(port))
        return tables_html([table])

    def __call__(self, /, *args: Any, out: Any = None, **kwargs: Any) -> Any:
        """Evaluate; one output is the array itself, several are a named tuple in order.

        Raises ArgumentError that lists all that is wrong with the arguments.
        """
        __tracebackhide__ = True
        try:
            if WATCHERS:
                return watched(WatchedCall(self, args, kwargs, out), partial(self.called, args, kwargs, out))
            if self._again is not None:
                found = self.again(args, kwargs, out)
                if found is not None:
                    return found
            return self._anew_anywhere(args, kwargs, out)
        except Exception as error:
            leaving(error)
            raise

    def called(self, args: Sequence[Any], kwargs: Mapping[str, Any], out: Any) -> Any:
        """Evaluate, as a call that nobody watches."""
        found = self.again(args, kwargs, out)
        return self._anew_anywhere(args, kwargs, out) if found is None else found

    def _anew_anywhere(self, args: Sequence[Any], kwargs: Mapping[str, Any], out: Any) -> Any:
        """Evaluate where the arrays are, whatever the call before was."""
        is_on_host = are_foreign(args, kwargs, out) and not on_gpu(args, kwargs)
        return (self.run_on_host if is_on_host else self.run)(args, kwargs, out)

    def again(self, args: Sequence[Any], kwargs: Mapping[str, Any], out: Any) -> Any:
        """The result of a call like one before; None, and nothing is done, for any other call."""
        found = self._again and self._again(args, kwargs, out)
        if not found:
            return None
        return self._result(*found) if self._result else found[0]

    def run(self, args: Sequence[Any], kwargs: Mapping[str, Any], out: Any) -> Any:
        """Evaluate on arrays of NumPy, or on those of a GPU, where that is no call like one before."""
        found = self._anew(args, kwargs, out)
        return self._result(*found) if self._result else found[0]

    def run_on_host(self, args: Sequence[Any], kwargs: Mapping[str, Any], out: Any) -> Any:
        """Evaluate on arrays of other libraries; results are arrays of theirs, as `OnHost` says.

        Sparse arrays stand for what they store and where, as `SparseCall` says.
        """
        kernel, sparse = self.kernel, None
        if any(map(is_sparse, (*args, *kwargs.values()))):
            from tadc.api.sparse_arguments import sparse_call

            sparse = sparse_call(kernel, args, kwargs)
            args, kwargs = sparse.args, sparse.kwargs
        call = OnHost([p.name for p in kernel.inputs], args, kwargs, out)
        found = kernel(call.args, call.kwargs, call.out)
        results = call.results([p.name for p in kernel.outputs], found)
        if sparse is not None:
            results = [sparse.result(p, array) for p, array in zip(kernel.outputs, results, strict=True)]
        return self._result(*results) if self._result else results[0]
