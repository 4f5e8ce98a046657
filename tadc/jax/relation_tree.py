"""Relations in JAX: a tree with one leaf, the elements, so that `jit`, `vmap` and the others take them."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false
# JAX leaves much of itself untyped.

from __future__ import annotations

from typing import Any

import jax
import numpy as np
from jax.tree_util import register_pytree_node

from tadc.api.index_relations import relation
from tadc.backend.runtime.frameworks import is_traced
from tadc.backend.runtime.kept_indices import KeptIndexArray, Relation


def unpacked(value: Any) -> Any:
    """The elements of a relation: a kernel within XLA sorts them itself, and keeps what it sorted."""
    return value.array if isinstance(value, Relation) else value


def _again(below: int, leaves: Any) -> Relation:
    """The relation of other elements, which are looked at where there are any; JAX puts anything here."""
    elements: Any = leaves[0]
    if isinstance(elements, np.ndarray | jax.Array) and not is_traced(elements):
        if elements.dtype.kind in "iu":
            return relation(elements, below)
    stands_for: Any = leaves[0]
    return Relation.of(KeptIndexArray(stands_for, largest=0), below)


register_pytree_node(Relation, lambda value: ((value.array,), value.below), _again)
