"""Errors of the back end, as diagnostics TAD07xx."""

from __future__ import annotations

from collections.abc import Sequence

from tadc.frontend.diagnostics import CompileError, Diagnostic


class BackendError(CompileError):
    """A module that the back end cannot turn into code."""


def backend_error(
    code: str, message: str, notes: Sequence[str] = (), helps: Sequence[str] = ()
) -> BackendError:
    """A `BackendError` with one diagnostic without a place in the program."""
    return BackendError([Diagnostic(code, message, notes=list(notes), helps=list(helps))])
