"""The lookups of a reduction: those that its set speaks of and that hold indices which it binds.

They are the first operations of its body, and the last dimensions of its set.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from tadc.dialect.index_maps import Name, in_order, parse
from tadc.lattice.affine import Affine, Constraint, Lookup


def own_lookups(
    rows: Sequence[Constraint], binders: Sequence[str]
) -> tuple[list[Lookup], list[Name], list[Lookup]]:
    """The lookups of a set that hold its indices, each after those it needs.

    Then what else the set names, and the lookups of outside that its own ones need.
    """
    own: dict[Lookup, None] = {}
    outside: dict[Lookup, None] = {}

    def visit(forms: Iterable[Affine]) -> list[Name]:
        names = in_order(forms)
        for name in names:
            if isinstance(name, Lookup) and not name.variables.isdisjoint(binders):
                needed = visit(name.at)
                outside.update((each, None) for each in needed if isinstance(each, Lookup))
                own[name] = None
        return [name for name in names if name not in own and name not in binders]

    outer = visit(row.form for row in rows)
    return list(own), outer, list(outside)


def lookups_of(op: Any) -> list[Any]:
    """The lookups of a reduction, operations in the order of the dimensions of its set."""
    # Operations of a block are not asked for in vain: that imports the Python modules of their dialects.
    block = op.regions[0].blocks[0]
    count = parse(str(op.attributes["domain"])).dims - len(block.arguments)
    return [made.operation for made in list(block.operations if count else ())[:count]]
