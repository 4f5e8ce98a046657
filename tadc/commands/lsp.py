"""`tadc lsp`: the language server."""

from __future__ import annotations

from tadc.commands.options import Arguments
from tadc.frontend.packages import imported


def execute(arguments: Arguments) -> int:
    """Serve an editor on stdin and stdout until it goes. Raises CompileError: TAD0802 without pygls."""
    imported("tadc.editing.language_server", "editors are served by pygls", "lsp").serve()
    return 0
