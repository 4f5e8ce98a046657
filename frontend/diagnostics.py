"""Errors and warnings that carry diagnostics."""

from __future__ import annotations

from tadc.frontend.diagnostic_data import GUESS, SAFE, Applicability, Diagnostic, Edit, Label


class CompileError(Exception):
    """A program that cannot be compiled; `diagnostics` holds at least one error.

    `str(error)` is the rendered text, the same that the command prints.

    >>> import tadc
    >>> try:
    ...     tadc.function("x: f64[3]; f[i: 4] = x[i]")
    ... except tadc.CompileError as error:
    ...     print([d.code for d in error.diagnostics])
    ['TAD0302']
    """

    def __init__(self, diagnostics: list[Diagnostic]) -> None:
        super().__init__(diagnostics)
        self.diagnostics = diagnostics

    def __str__(self) -> str:
        from tadc.frontend.render import render

        return "\n\n".join(render(d) for d in self.diagnostics)


class ArgumentError(CompileError, ValueError):
    """Arguments that a compiled function cannot take; `diagnostics` holds all that is wrong with them.

    >>> import tadc
    >>> try:
    ...     tadc.function("x: f64[3]; f[i] = x[i]")([1, 2])
    ... except tadc.ArgumentError as error:
    ...     print(error.diagnostics[0].message)
    `x` has shape (2,), expected (3,)
    """


class UsageError(CompileError, TypeError, ValueError):
    """A function of tadc called with what it does not take; `diagnostics` says what it does.

    >>> import tadc
    >>> try:
    ...     tadc.vjp("x: f64; f = 2*x")
    ... except tadc.UsageError as error:
    ...     print(error.diagnostics[0].code)
    TAD0510
    """


class CompileWarning(UserWarning):
    """A program that compiles but is unlikely to be what was meant; `diagnostic` says why.

    >>> import tadc, warnings
    >>> with warnings.catch_warnings(record=True, action="always") as seen:
    ...     _ = tadc.grad(tadc.function("x: f64; f = floor(x)"))
    >>> seen[0].category.__name__, seen[0].message.diagnostic.code
    ('CompileWarning', 'TAD0402')
    """

    def __init__(self, diagnostic: Diagnostic) -> None:
        super().__init__(diagnostic)
        self.diagnostic = diagnostic

    def __str__(self) -> str:
        from tadc.frontend.render import render

        return render(self.diagnostic)


__all__ = [
    "GUESS", "SAFE", "Applicability", "ArgumentError", "CompileError", "CompileWarning", "Diagnostic", "Edit",
    "Label", "UsageError",
]  # fmt: skip
