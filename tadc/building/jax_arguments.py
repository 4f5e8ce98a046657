"""What functions of JAX say of expressions, which are no arrays of numbers: a diagnostic."""

from __future__ import annotations

import sys
from typing import Any, NoReturn

from tadc.building.python_expressions import Operand
from tadc.building.python_lines import wrong

_known: set[type[Operand]] = set()


def refuse_in_jax() -> None:
    """Let functions of JAX, where it is loaded, refuse expressions: they ask what a tree is made of."""
    jax: Any = sys.modules.get("jax")
    if jax is None or not hasattr(jax, "tree_util"):
        return
    stack: list[type[Operand]] = [Operand]
    while stack:
        kind = stack.pop()
        stack += kind.__subclasses__()
        if kind not in _known:
            _known.add(kind)
            jax.tree_util.register_pytree_node(kind, _refuse, _refuse)


def _refuse(*_: Any) -> NoReturn:
    raise wrong(
        "functions of JAX take arrays of numbers, and this is an expression",
        "write NumPy's, `np.exp(x)`; in a function that is `@tadc.kernel` JAX's mean the same",
    )
