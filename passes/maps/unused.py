"""Operations of a block that nothing needs any more."""

from __future__ import annotations

from typing import Any


def erase_unused(block: Any) -> None:
    """Erase what computes values that nothing uses; all operations but the last are free of effects."""
    for operation in reversed(list(block.operations)[:-1]):
        op = operation.operation
        if not any(list(result.uses) for result in op.results):
            op.erase()
