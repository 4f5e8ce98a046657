"""Programs as trees, and as text of the language."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import NDArray

Integers: TypeAlias = NDArray[np.int64]


@dataclass(frozen=True)
class Form:
    """An affine form of indices: coefficients by name, and a constant."""

    terms: tuple[tuple[str, int], ...]
    constant: int = 0

    def at(self, env: Mapping[str, Integers], lanes: int) -> Integers:
        """Its value in every lane."""
        return sum((c * env[name] for name, c in self.terms), np.full(lanes, self.constant, np.int64))

    def shifted(self, offset: int) -> Form:
        """The form plus a constant."""
        return replace(self, constant=self.constant + offset)

    @property
    def name(self) -> str | None:
        """The index that this is, if it is one alone."""
        alone = len(self.terms) == 1 and self.terms[0][1] == 1 and not self.constant
        return self.terms[0][0] if alone else None

    def __str__(self) -> str:
        text = ""
        for name, c in self.terms:
            part = name if abs(c) == 1 else f"{abs(c)}*{name}"
            text += f" {'-' if c < 0 else '+'} {part}" if text else f"{'-' if c < 0 else ''}{part}"
        if self.constant or not text:
            sign = " - " if self.constant < 0 else " + "
            text = f"{text}{sign}{abs(self.constant)}" if text else str(self.constant)
        return text


@dataclass(frozen=True)
class Relation:
    """`left op right` between forms."""

    op: str
    left: Form
    right: Form

    def holds(self, env: Mapping[str, Integers], lanes: int) -> NDArray[np.bool_]:
        """Where it does."""
        return RELATIONS[self.op](self.left.at(env, lanes), self.right.at(env, lanes))

    def __str__(self) -> str:
        return f"{self.left} {self.op} {self.right}"


#: For integers, for arrays of NumPy and of JAX.
RELATIONS: dict[str, Callable[..., Any]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


@dataclass(frozen=True)
class Literal:
    """A number."""

    value: float


@dataclass(frozen=True)
class Value:
    """A form as a number."""

    form: Form


@dataclass(frozen=True)
class Read:
    """An element of a tensor."""

    tensor: str
    indices: tuple[Form, ...]


@dataclass(frozen=True)
class Apply:
    """An operation of OPERATIONS."""

    op: str
    operands: tuple[Node, ...]


@dataclass(frozen=True)
class Guard:
    """A choice by indices."""

    conditions: tuple[Relation, ...]
    then: Node
    otherwise: Node


@dataclass(frozen=True)
class Sum:
    """The sum over max(lower) <= name <= min(upper).

    `style` is how the range is written: `bounds`, `size` (from 0), `none` (inferred), or `joined`: by size,
    together with the sum that is its body.
    """

    name: str
    lower: tuple[Form, ...]
    upper: tuple[Form, ...]
    body: Node
    style: str = "bounds"


Node: TypeAlias = Literal | Value | Read | Apply | Guard | Sum


@dataclass(frozen=True)
class Operation:
    """How an operation is written, how tightly it binds (4: as tightly as a read), and what it computes.

    `needs` is how tightly each operand must bind to stand there without parentheses.
    """

    text: str
    binds: int
    needs: tuple[int, ...]
    function: Callable[..., Array]


def _call(name: str, function: Callable[..., Array], operands: int = 1) -> Operation:
    return Operation(f"{name}({', '.join(['{}'] * operands)})", 4, (0,) * operands, function)


def _select(op: str) -> Operation:
    function: Callable[..., Array] = lambda a, b, x, y: jnp.where(RELATIONS[op](a, b), x, y)  # noqa: E731
    return Operation(f"select({{}} {op} {{}}, {{}}, {{}})", 4, (0, 0, 0, 0), function)


OPERATIONS: dict[str, Operation] = {
    "add": Operation("{} + {}", 1, (1, 2), jax.lax.add),
    "sub": Operation("{} - {}", 1, (1, 2), jax.lax.sub),
    "mul": Operation("{}*{}", 2, (2, 3), jax.lax.mul),
    "div": Operation("{} / {}", 2, (2, 3), jax.lax.div),
    "neg": Operation("-{}", 1, (3,), jax.lax.neg),
    **{
        f"pow{n}": Operation(f"{{}}**{n}", 3, (4,), lambda x, n=n: jax.lax.integer_pow(x, n))
        for n in (2, 3, 5, -1, -2)
    },
    "pow": Operation("{}**{}", 3, (4, 3), jax.lax.pow),
    "exp": _call("exp", jax.lax.exp),
    "log": _call("log", jax.lax.log),
    "sqrt": _call("sqrt", jax.lax.sqrt),
    "sin": _call("sin", jax.lax.sin),
    "cos": _call("cos", jax.lax.cos),
    "tanh": _call("tanh", jax.lax.tanh),
    "atan": _call("atan", jax.lax.atan),
    "erf": _call("erf", jax.lax.erf),
    "abs": _call("abs", jax.lax.abs),
    "sigmoid": _call("sigmoid", jax.lax.logistic),
    "asinh": _call("asinh", jax.lax.asinh),
    "sinh": _call("sinh", jax.lax.sinh),
    "cosh": _call("cosh", jax.lax.cosh),
    "exp2": _call("exp2", jax.lax.exp2),
    "expm1": _call("expm1", jax.lax.expm1),
    "log1p": _call("log1p", jax.lax.log1p),
    "cbrt": _call("cbrt", jax.lax.cbrt),
    "atan2": _call("atan2", jax.lax.atan2, 2),
    "max": _call("max", jax.lax.max, 2),
    "min": _call("min", jax.lax.min, 2),
    **{f"select {op}": _select(op) for op in ("<", "<=", ">", ">=")},
}


@dataclass(frozen=True)
class Definition:
    """`name[indices] = body`; `ranges` says how they are written: `stated`, `declared` or `inferred`."""

    name: str
    indices: tuple[str, ...]
    shape: tuple[int, ...]
    body: Node
    is_output: bool
    ranges: str = "stated"


@dataclass(frozen=True)
class Program:
    """Arguments with their shapes, and definitions in order."""

    arguments: Mapping[str, tuple[int, ...]]
    definitions: tuple[Definition, ...]

    @property
    def outputs(self) -> dict[str, tuple[int, ...]]:
        """Outputs with their shapes."""
        return {d.name: d.shape for d in self.definitions if d.is_output}

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """All tensors."""
        return {**self.arguments, **{d.name: d.shape for d in self.definitions}}

    def __str__(self) -> str:
        lines = [_declaration(name, shape) for name, shape in self.arguments.items()]
        for definition in self.definitions:
            lines += _definition(definition)
        return "\n".join(lines) + "\n"


def children(node: Node) -> Iterator[tuple[str | int, Node]]:
    """The nodes directly below, each with its place: a field's name or an operand's number."""
    if isinstance(node, Apply):
        yield from enumerate(node.operands)
    elif isinstance(node, Guard | Sum):
        for place in fields(node):
            child = getattr(node, place.name)
            if isinstance(child, Node):
                yield place.name, child


def nodes(node: Node) -> Iterator[Node]:
    """The node and all below."""
    yield node
    for _, child in children(node):
        yield from nodes(child)


def with_child(node: Node, place: str | int, child: Node) -> Node:
    """The node with another child at a place."""
    if isinstance(node, Apply):
        operands = list(node.operands)
        operands[int(place)] = child
        return replace(node, operands=tuple(operands))
    return replace(node, **{str(place): child})


def text(node: Node, needs: int = 0) -> str:
    """A node of the language, in parentheses if it binds less tightly than needed."""
    match node:
        case Literal(value):
            return f"({value!r})" if value < 0 else repr(value)
        case Value(form):
            return f"({form})" if form.name is None else str(form)
        case Read(tensor, indices):
            return f"{tensor}[{', '.join(map(str, indices))}]" if indices else tensor
        case Guard(conditions, then, otherwise):
            return f"if {{{' and '.join(map(str, conditions))}}} then ({text(then)}) else ({text(otherwise)})"
        case Sum():
            return _sum(node)
        case Apply(op, operands):
            operation = OPERATIONS[op]
            parts = [text(o, n) for o, n in zip(operands, operation.needs, strict=True)]
            whole = operation.text.format(*parts)
            return f"({whole})" if operation.binds < needs else whole


def _sum(node: Sum) -> str:
    if node.style == "none":
        return f"sum{{{node.name}}} ({text(node.body)})"
    if node.style == "bounds":
        bounds = _bound("_", "max", node.lower) + _bound("^", "min", node.upper)
        return f"sum{{{node.name}}}{bounds} ({text(node.body)})"
    specs = [_sized(node)]
    while node.style == "joined":
        assert isinstance(node.body, Sum)
        node = node.body
        specs.append(_sized(node))
    return f"sum{{{', '.join(specs)}}} ({text(node.body)})"


def _sized(node: Sum) -> str:
    return f"{node.name}: {node.upper[0].constant + 1}"


def _bound(mark: str, function: str, forms: tuple[Form, ...]) -> str:
    form, *others = forms
    if others:
        return f"{mark}({function} [{'; '.join(map(str, forms))}])"
    return f"{mark}({form})" if form.terms else f"{mark}{form}"


def _declaration(name: str, shape: tuple[int, ...]) -> str:
    return f"{name}: f64[{', '.join(map(str, shape))}]" if shape else f"{name}: f64"


def _definition(definition: Definition) -> list[str]:
    lines: list[str] = []
    specs = list(definition.indices)
    if definition.ranges == "declared":
        lines.append(_declaration(definition.name, definition.shape))
    elif definition.ranges == "stated":
        specs = [f"{name}: {size}" for name, size in zip(specs, definition.shape, strict=True)]
    head = f"{definition.name}[{', '.join(specs)}]" if specs else definition.name
    let = "" if definition.is_output else "let "
    return [*lines, f"{let}{head} = {text(definition.body)}"]
