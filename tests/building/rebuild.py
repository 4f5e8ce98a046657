"""A program of text, built again through the Python API."""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import tadc
from tadc.building.python_expressions import expression
from tadc.building.python_forms import SCALAR
from tadc.frontend import syntax
from tadc.frontend.parser import parse
from tadc.frontend.source import Source
from tadc.frontend.tree import walk

_OPERATORS = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "**": operator.pow,
}
_RELATIONS = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_MIRRORED = {"=": "=", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
#: Names that reductions have are those of other functions of two values.
_OF_TWO = {"max": "maximum", "min": "minimum"}


def rebuilt(text: str) -> tadc.Function:
    """The function of a program that is built in Python, form by form."""
    tensors: dict[str, tadc.Tensor] = {}
    sizes: dict[str, tadc.Size] = {}
    results: list[tadc.Tensor] = []
    arguments: dict[str, tadc.Tensor] = {}
    module = parse(Source(text))
    defined = {s.name for s in module.statements if isinstance(s, syntax.Define)}
    types: dict[str, tuple[str, Any]] = {}
    places: dict[str, list[tadc.Tensor]] = {}
    for statement in sorted(module.statements, key=_turn):
        build = _Builder(tensors, sizes)
        match statement:
            case syntax.SizeDecl(name=name, value=value):
                sizes[name] = tadc.size(name, value)
            case syntax.Declare(name=name, element_type=type, shape=shape, at=at) if name in defined:
                types[name] = type, [build(size) for size in shape]
                places[name] = [tensors[array.id] for array in at]
            case syntax.Declare(name=name, element_type=type, shape=shape, below=below, at=at):
                sizes_ = [build(size) for size in shape]
                if below is not None:
                    rises = statement.increasing is not None
                    made = tadc.index_array(name, sizes_, build(below), increasing=rises)
                else:
                    made = tadc.argument(name, type, sizes_, at=[tensors[array.id] for array in at])
                tensors[name] = made
                arguments[name] = made
            case syntax.Define(name=name, indices=specs, order=order):
                head = {build.bind(spec): build(spec.size) if spec.size else None for spec in specs}
                type = statement.element_type
                if name in types:
                    type, shape = types[name]
                    head = dict(zip(head, shape or head.values(), strict=True))

                def body(own: tadc.Tensor, statement: syntax.Define = statement, build: Any = build) -> Any:
                    tensors[statement.name] = own
                    return build(statement.body)

                scan = None if order is None else build(order)
                tensors[name] = tadc.let(
                    name, head, body, order=scan, dtype=type or None, at=places.get(name, ())
                )
                if not statement.is_let:
                    results.append(tensors[name])
    stated = [arguments[s.name] for s in module.statements if s.name in arguments]
    return tadc.program(*results, arguments=stated)


def _turn(statement: syntax.Statement) -> int:
    """Python has no names for what is not made yet."""
    match statement:
        case syntax.SizeDecl():
            return 0
        case syntax.Declare():
            return 2 if statement.at else 1
        case syntax.Define():
            return 3


class _Builder:
    """Expressions within one definition."""

    def __init__(self, tensors: dict[str, tadc.Tensor], sizes: dict[str, tadc.Size]) -> None:
        self.tensors = tensors
        self.sizes = sizes
        self.indices: dict[str, tadc.Index] = {}

    def bind(self, spec: syntax.IndexSpec) -> tadc.Index:
        return self.indices.setdefault(spec.name, tadc.index(spec.name))

    def __call__(self, node: syntax.Expr) -> Any:
        match node:
            case syntax.Number(value=value):
                return value
            case syntax.Pi():
                return tadc.pi
            case syntax.Name(id=name):
                found = self.indices.get(name)
                found = self.tensors.get(name) if found is None else found
                return self.sizes.setdefault(name, tadc.size(name)) if found is None else found
            case syntax.Subscript(tensor=tensor, indices=indices, stored=stored):
                whole = self.tensors[tensor]
                return (whole.at if stored else whole)[tuple(self(e) for e in indices)]
            case syntax.Unary(operand=operand):
                return -self(operand)
            case syntax.Binary(operator=sign, lhs=lhs, rhs=rhs):
                left, right = self(lhs), self(rhs)
                if not isinstance(left, tadc.Expression) and not isinstance(right, tadc.Expression):
                    left = expression(left)
                return _OPERATORS[sign](left, right)
            case syntax.CallExpr(function=name, arguments=operands):
                return SCALAR[_OF_TWO.get(name, name)](*map(self, operands))
            case syntax.ReduceExpr():
                return self._reduce(node)
            case syntax.IfExpr(conditions=conditions, then=then, otherwise=otherwise):
                return tadc.where(self._joined(conditions), self(then), self(otherwise))
            case syntax.SelectExpr(condition=condition, then=then, otherwise=otherwise):
                return tadc.select(self._relation(condition), self(then), self(otherwise))

    def _reduce(self, node: syntax.ReduceExpr) -> Any:
        kind = getattr(tadc, node.kind)
        outside = dict(self.indices)
        bounds = [[self(e) for e in side] for side in (node.lower, node.upper)]
        sizes = [self(spec.size) if spec.size else None for spec in node.indices]
        bound = [tadc.index(spec.name) for spec in node.indices]
        self.indices |= {index.name: index for index in bound}
        body = self(node.body)
        held = self._joined(node.conditions) if node.conditions else None
        self.indices = outside
        if node.lower:
            return kind(bound[0], *bounds, body, where=held)
        return kind(dict(zip(bound, sizes, strict=True)), body, where=held)

    def _joined(self, conditions: Sequence[syntax.RelationExpr]) -> tadc.Condition:
        first, *rest = map(self._relation, conditions)
        for other in rest:
            first = first & other
        return first

    def _relation(self, node: syntax.RelationExpr) -> tadc.Condition:
        left, right = expression(self(node.lhs)), expression(self(node.rhs))
        made = _RELATIONS[node.operator](left, right)
        ((first, sign, second),) = made.relations
        # Python may ask the operand on the right, and then says the same the other way round.
        if first is left and second is right:
            assert sign == node.operator
        else:
            assert sign == _MIRRORED[node.operator]
            assert (id(first), id(second)) == (id(right), id(left))
        return tadc.Condition(((left, node.operator, right),))


def pruned(text: str) -> str:
    """A program without the definitions and sizes that nothing reads, which Python has no reason to say."""
    module = parse(Source(text))
    kept = list(module.statements)
    while True:
        read = Counter(name for s in kept for name in set(_read(s)) - {s.name})
        named = Counter(s.name for s in kept)
        rest = [s for s in kept if not _is_idle(s) or read[s.name] or named[s.name] > 1]
        if len(rest) == len(kept):
            return "\n".join(text[s.span.start : s.span.end] for s in kept)
        kept = rest


def _read(statement: syntax.Statement) -> Iterator[str]:
    for _, _, node in walk(statement):
        if isinstance(node, syntax.Subscript):
            yield node.tensor
        elif isinstance(node, syntax.Name):
            yield node.id


def _is_idle(statement: syntax.Statement) -> bool:
    return isinstance(statement, syntax.SizeDecl) or (
        isinstance(statement, syntax.Define) and statement.is_let
    )
