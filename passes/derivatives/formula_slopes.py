"""Formulas: functions of functions, down to what is no function, such as reads and sums."""

from __future__ import annotations

import heapq

from tadc.frontend.terms import Apply, Const, IndexValue, Read, Term, in_text_order
from tadc.passes.derivatives.derivative_table import cotangents
from tadc.passes.terms.algebra import Algebra
from tadc.passes.terms.costs import COMPARED


def leaves(root: Term) -> tuple[Term, ...]:
    """What a formula is of, from left to right, each once."""
    nodes = in_text_order(root, lambda node: node.below if isinstance(node, Apply) else ())
    return tuple(node for node in nodes if not isinstance(node, Apply))


def is_short(root: Term) -> bool:
    """Whether a term is a short formula of reads and numbers."""
    count, stack = 0, [root]
    while stack and count <= COMPARED:
        node = stack.pop()
        count += isinstance(node, Apply)
        stack += node.below
        if not isinstance(node, Apply | Read | Const | IndexValue):
            return False
    return count <= COMPARED


def formula_slopes(a: Algebra, root: Apply) -> dict[int, Term]:
    """The derivatives of a formula by what it is of, by its numbers, from the root down.

    Operands are older than what uses them, so all that flows into one has arrived when it is passed on.
    """
    flowing: dict[int, Term] = {root.number: a.one}
    queue: list[tuple[int, Term]] = [(-root.number, root)]
    while queue:
        _, node = heapq.heappop(queue)
        if not isinstance(node, Apply):
            continue
        for operand, part in zip(node.operands, cotangents(a, flowing[node.number], node), strict=True):
            if operand.number in flowing:
                flowing[operand.number] = a.add(flowing[operand.number], part)
            else:
                flowing[operand.number] = part
                heapq.heappush(queue, (-operand.number, operand))
    return flowing
