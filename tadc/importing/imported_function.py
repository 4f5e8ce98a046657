"""`ImportedFunction`: a program that was imported, called as what it was imported from."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tadc.api.function import Function, function_of_text
from tadc.caller.warn_caller import warn_of
from tadc.frontend.diagnostics import CompileError
from tadc.passes.linalg.linalg_programs import ImportedProgram
from tadc.passes.linalg.placed_text import in_imported_source


class ImportedFunction(Function):
    """A function that was imported from JAX, PyTorch or a file.

    It is called by position as what it was imported from, with the same trees of arrays, and by name as all
    functions are. `constants` are arguments with a value: parameters of a module, and arrays that the
    function had in it; a call may leave them out. What it returns is a tree as that of the original.
    """

    _arguments_of: Callable[..., dict[str, Any]] | None = None
    _result_of: Callable[[Sequence[Any]], Any] | None = None
    constants: Mapping[str, Any] = {}
    #: The names of outputs in the order of the original; the program has them in that of its lines.
    results: tuple[str, ...] = ()

    def __call__(self, /, *args: Any, out: Any = None, **kwargs: Any) -> Any:
        """Evaluate; see Function."""
        __tracebackhide__ = True
        named = self.arguments(*args, **kwargs)
        found = super().__call__(out=out, **named)
        if self._result_of is None or out is not None:
            return found
        by_name = {self.outputs[0]: found} if len(self.outputs) == 1 else found._asdict()
        return self._result_of([by_name[name] for name in self.results])

    def storing(
        self, materialize: str | None = None, memory_limit: int | str | None = None
    ) -> ImportedFunction:
        """See Function."""
        made = super().storing(materialize, memory_limit)
        assert isinstance(made, ImportedFunction)
        made.constants, made.results = self.constants, self.results
        made._arguments_of, made._result_of = self._arguments_of, self._result_of
        return made

    def arguments(self, /, *args: Any, **kwargs: Any) -> dict[str, Any]:
        """The arguments of a call by the names of `inputs`, as derivatives take them too.

        >>> import tadc, jax.numpy as jnp
        >>> f = tadc.from_jax(lambda p, x: p["w"] * x + p["b"], {"w": 2.0, "b": 1.0}, jnp.ones(3))
        >>> sorted(f.arguments({"w": 3.0, "b": 0.0}, jnp.ones(3)))
        ['b', 'w', 'x']
        """
        flat = self._arguments_of(*args) if self._arguments_of is not None and args else {}
        named = {**self.constants, **flat, **kwargs}
        return {name: _without_truth(value) for name, value in named.items()}


def _without_truth(value: Any) -> Any:
    """An array of truth values as one of 0 and 1: it is an index array of two values."""
    kind = str(getattr(value, "dtype", ""))
    if kind == "bool":
        return value.astype("int32")
    return value.int() if kind == "torch.bool" else value


def imported_function(
    program: ImportedProgram,
    arguments_of: Callable[..., dict[str, Any]] | None = None,
    result_of: Callable[[Sequence[Any]], Any] | None = None,
    constants: Mapping[str, Any] | None = None,
) -> ImportedFunction:
    """The function of an imported program.

    Raises CompileError, at lines of the user's source, for what the language cannot say.
    """
    try:
        made = function_of_text(program.source)
        found = ImportedFunction(
            lambda: made.program, None, made.per_value, made.recipe, None, made.options, made.type_parameters
        )
    except CompileError as error:
        raise in_imported_source(error) from None
    found.results = program.results
    found.constants = {**program.constants, **(constants or {})}
    found._arguments_of, found._result_of = arguments_of, result_of  # pyright: ignore[reportPrivateUsage]
    if not made.is_known:
        warn_of([d.source.placed(d) if d.source else d for d in made.program.doubts])
    return found
