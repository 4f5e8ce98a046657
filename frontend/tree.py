"""Walks over a syntax tree that need no recursion."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tadc.frontend import syntax
from tadc.frontend.syntax import Node


def children(node: Node) -> list[tuple[str, Node]]:
    """The nodes directly below, each with its role."""
    match node:
        case syntax.Subscript(indices=below) | syntax.CallExpr(arguments=below):
            return [("", e) for e in below]
        case syntax.Unary():
            return [("", node.operand)]
        case syntax.Binary() | syntax.RelationExpr():
            return [("", node.lhs), ("", node.rhs)]
        case syntax.ReduceExpr():
            below = [("index", spec) for spec in node.indices]
            lower = [("lower", e) for e in node.lower]
            upper = [("upper", e) for e in node.upper]
            conditions = [("if", c) for c in node.conditions]
            return [*below, *conditions, *lower, *upper, ("", node.body)]
        case syntax.IfExpr():
            conditions = [("if", c) for c in node.conditions]
            return [*conditions, ("then", node.then), ("else", node.otherwise)]
        case syntax.SelectExpr():
            return [("if", node.condition), ("then", node.then), ("else", node.otherwise)]
        case syntax.IndexSpec():
            return [("", node.size)] if node.size else []
        case syntax.Declare():
            below = [("below", node.below)] if node.below is not None else []
            return [*(("size", e) for e in node.shape), *below, *(("at", name) for name in node.at)]
        case syntax.Define():
            order = [("scan", node.order)] if node.order is not None else []
            return [*order, *(("index", spec) for spec in node.indices), ("", node.body)]
        case syntax.Module():
            return [("", s) for s in node.statements]
        case _:
            return []


def walk(node: Node) -> Iterator[tuple[int, str, Node]]:
    """Every node in the order of the text, as (depth from 0, role, node)."""
    stack: list[tuple[int, str, Node]] = [(0, "", node)]
    while stack:
        depth, role, here = stack.pop()
        yield depth, role, here
        stack += [(depth + 1, below_role, below) for below_role, below in reversed(children(here))]


def names_in(expressions: Iterable[Node]) -> set[str]:
    """The names that stand in some expressions."""
    nodes = [node for e in expressions for _, _, node in walk(e)]
    return {node.id for node in nodes if isinstance(node, syntax.Name)}


def depth(node: Node) -> int:
    """The number of levels of a tree; 1 for a leaf."""
    return 1 + max(level for level, _, _ in walk(node))
