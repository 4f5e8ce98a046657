"""The syntax tree as indented text, one node a line."""

from __future__ import annotations

from tadc.frontend import syntax
from tadc.frontend.syntax import Node
from tadc.frontend.tree import walk

#: Deeper nodes are indented no further but say how deep they are, so that a long chain of
#: operators does not take quadratic space.
_INDENTED = 60


def dump(module: syntax.Module) -> str:
    """The tree for `--emit ast`: each node with what it holds itself and its span `start..end`."""
    return "".join(f"{_margin(depth)}{_line(role, node)}\n" for depth, role, node in walk(module))


def _margin(depth: int) -> str:
    return "  " * depth if depth <= _INDENTED else f"{'  ' * _INDENTED}[{depth}] "


def _line(role: str, node: Node) -> str:
    words = [f"{role}:"] if role else []
    words += [type(node).__name__, *_own(node), f"@{node.span.start}..{node.span.end}"]
    return " ".join(words)


def _own(node: Node) -> list[str]:
    """What a node holds besides its children."""
    match node:
        case syntax.Number():
            return [repr(node.value)]
        case syntax.Name():
            return [node.id]
        case syntax.Subscript():
            return [node.tensor, "at"] if node.stored else [node.tensor]
        case syntax.Unary() | syntax.Binary() | syntax.RelationExpr():
            return [node.operator]
        case syntax.CallExpr():
            return [node.function]
        case syntax.ReduceExpr():
            return [node.kind]
        case syntax.IndexSpec():
            return [node.name]
        case syntax.Declare():
            return [node.name, node.element_type]
        case syntax.SizeDecl():
            return [node.name] if node.value is None else [node.name, str(node.value)]
        case syntax.Define():
            return ["let", node.name] if node.is_let else [node.name]
        case _:
            return []
