"""MLIR's generic form to the readable form.

MLIR writes an operation a line. What `tad` operations are is known from the IR, and what values are
called from the text. An op that is not as expected stays as it is. Index expressions and sets are
written over SSA names where reading that gives the attribute and the operands back,
which is tried; else as MLIR writes them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from tadc.dialect.lookups import lookups_of
from tadc.dialect.mlir import ir
from tadc.dialect.text_forms import PIECES, Op, box_attribute
from tadc.dialect.text_spelling import AttributeSpeller
from tadc.dialect.text_tokens import TextToken

_OP = re.compile(r'(\s*)(?:(%\S+) = )?"(tad\.\w+)"\(([^)]*)\)')
_ARGUMENT = re.compile(r"(%[\w$.-]+): (?:index|tensor<)")
_BARE = re.compile(r"[A-Za-z_][\w$.]*")
_BODY = "\0"  # where the text of a region stands


def write(text: str, operation: ir.Operation, *, debug_info: bool = False) -> str:
    """The readable form of the text of an operation, in which `tad` ops are generic."""
    return "\n".join(_OpTextWriter(text, operation, debug_info).lines())


def _check(good: bool) -> None:
    """Raise ValueError where an op is not as expected."""
    if not good:
        raise ValueError


class _OpTextWriter:
    """Goes through the lines of a text, and the operations that are in them."""

    def __init__(self, text: str, operation: ir.Operation, debug_info: bool) -> None:
        self.text, self.debug_info = text.split("\n"), debug_info
        self.speller = AttributeSpeller(operation.context)
        self.operations: list[Any] = []
        operation.walk(self.meet, ir.WalkOrder.PRE_ORDER)
        self.line = self.met = 0
        self.opened: list[list[str]] = []
        """What stands behind the regions of ops that are open; nothing of those that stay generic."""

    def meet(self, operation: Any) -> ir.WalkResult:
        if operation.name.startswith("tad."):
            self.operations.append(operation)
        return ir.WalkResult.ADVANCE

    def lines(self) -> Iterator[str]:
        """The lines of the readable form."""
        while self.line < len(self.text):
            line, before = self.text[self.line], (self.line + 1, self.met + 1)
            found, bare = _OP.match(line), line.lstrip()
            if found:
                try:
                    line = self.op(found)
                    before = (self.line, self.met)
                except (KeyError, ValueError):
                    self.opened += [[]] if line.endswith("({") else []
                self.met = before[1]
            elif bare.startswith(("})", "}, {")):
                rest = self.opened[-1]
                if bare.startswith("})"):
                    self.opened.pop()
                if rest:
                    line = line[: -len(bare)] + rest.pop(0)
            elif line.endswith("({"):
                self.opened.append([])
            self.line = before[0]
            yield line

    def op(self, found: re.Match[str]) -> str:
        """The line of an op, up to its first region."""
        op = self.generic(found)
        head, *rest = self.fields(op).split(_BODY)
        if rest:
            self.opened.append([*rest[:-1], rest[-1] + op.place])
        name = f"{found[2]} = " if found[2] else ""
        return f"{found[1]}{name}{op.name} {head}{'' if rest else op.place}"

    def fields(self, op: Op) -> str:
        pieces = PIECES[op.name]
        return "".join(FIELDS[text](self, op) if n % 2 else text for n, text in enumerate(pieces))

    # -- the generic form ----------------------------------------------------------------------

    def generic(self, found: re.Match[str]) -> Op:
        """The op of a line, and what its region binds, which following lines say."""
        made = self.operations[self.met]
        self.met, self.line = self.met + 1, self.line + 1
        op = Op(found[3], _value(""), result=(found[2] or "")[1:], place=self.place(made))
        op.operands = [_value(name) for name in found[4].split(", ") if name]
        op.said = {name: made.attributes[name] for name in made.attributes}
        types = [str(value.type) for value in made.operands]
        given = [str(value.type) for value in made.results]
        op.tensor_type = types[0] if types else ""
        op.results = given or types
        _check(len(made.regions) == PIECES[op.name].count("region"))
        _check(bool(op.results) and op.types() == (types, given))
        for region in made.regions:
            _check(len(region.blocks) == 1)
            if op.regions == 1:
                self.binders(op, region.blocks[0])
            else:
                _check(not list(region.blocks[0].arguments))
        return op

    def binders(self, op: Op, block: Any) -> None:
        """`^bb0(%i: index, %own: tensor<4xf64>):`, and the lookups that the set speaks of."""
        arguments = list(block.arguments)
        if arguments:
            names = _ARGUMENT.findall(self.text[self.line])
            self.line += 1
            _check(len(names) == len(arguments))
            op.binders = [(_value(n), self.place(a)) for n, a in zip(names, arguments, strict=True)]
        if "own" in PIECES[op.name]:
            _check(bool(op.binders))
            op.own = op.binders.pop()
        _check(all(isinstance(a.type, ir.IndexType) for a in arguments[: len(op.binders)]))
        for _ in lookups_of(block.owner) if "domain" in PIECES[op.name] else ():
            found = _OP.match(self.text[self.line])
            _check(found is not None and found[3] == "tad.lookup")
            op.lookups += [self.generic(found)] if found else []

    def place(self, where: Any) -> str:
        """The location of an op or an argument, where locations are written."""
        return f" {where.location}" if self.debug_info else ""

    # -- fields --------------------------------------------------------------------------------

    def order(self, op: Op) -> str:
        order = str(op.said.pop("order"))
        return self.speller.spell(order, [], op.bound, closed=True) or order

    def box(self, op: Op) -> str:
        """The domain where the tensor's shape does not say it."""
        box = box_attribute(op.results[0], len(op.binders))
        if not op.operands and self.speller.same(str(op.said["domain"]), box):
            del op.said["domain"]
            return ""
        return f" {self.set(op, 'domain', 'in')}"

    def set(self, op: Op, key: str, word: str) -> str:
        """`in {rows}`, or the attribute; before it operands where the set does not say them, and lookups."""
        said, outer = str(op.said.pop(key)), ""
        dims = None if op.name == "tad.guard" else op.bound
        rows = self.speller.spell(said, op.operands, dims, closed=False)
        if rows is None:
            rows = self.speller.spell(said, op.operands, dims, closed=True)
            outer = f"[{_names(op.operands)}] " if op.operands else ""
        return f"{outer}{self.looked_up(op)}{word} {said if rows is None else f'{{{rows}}}'}"

    def looked_up(self, op: Op) -> str:
        """`at (%t = %src[%e] : tensor<?xi32>) `, where the set speaks of some."""
        texts = (f"%{made.result} = {self.fields(made)}{made.place}" for made in op.lookups)
        return f"at ({', '.join(texts)}) " if op.lookups else ""

    def mapped(self, op: Op, indices: list[TextToken], form: str) -> str:
        """Forms of indices, where they are written so, else names with a map behind them."""
        at = str(op.said.pop("at"))
        forms = self.speller.spell(at, indices, None, closed=False)
        return f"[{_names(indices)}] at {at}" if forms is None else form.format(forms)


def _discardable(op: Op) -> str:
    """`attributes {…}` of what is left."""
    texts: list[str] = []
    for name, said in op.said.items():
        key = name if _BARE.fullmatch(name) else f'"{name}"'
        texts.append(key if isinstance(said, ir.UnitAttr) else f"{key} = {said}")
    return f" attributes {{{', '.join(texts)}}}" if texts else ""


def _value(name: str) -> TextToken:
    return TextToken("value", name, 0, 0)


def _names(tokens: list[TextToken]) -> str:
    return ", ".join(token.text for token in tokens)


#: Writes each field of a form.
FIELDS: dict[str, Callable[[_OpTextWriter, Op], str]] = {
    "binders": lambda writer, op: f"({', '.join(name.text + place for name, place in op.binders)})",
    "own": lambda writer, op: op.own[0].text + op.own[1] if op.own else "",
    "order": _OpTextWriter.order,
    "box": _OpTextWriter.box,
    "domain": lambda writer, op: writer.set(op, "domain", "in"),
    "where": lambda writer, op: writer.set(op, "where", "where"),
    "kind": lambda writer, op: str(op.said.pop("kind")),
    "fn": lambda writer, op: str(op.said.pop("fn")),
    "tensor": lambda writer, op: op.operands[0].text,
    "index": lambda writer, op: op.operands[0].text,
    "values": lambda writer, op: _names(op.operands),
    "callee": lambda writer, op: str(op.said.pop("callee")),
    "arguments": lambda writer, op: f"({_names(op.operands)})",
    "subscripts": lambda writer, op: writer.mapped(op, op.operands[1:], "[{}]"),
    "position": lambda writer, op: writer.mapped(op, op.operands, "{}"),
    "attributes": lambda writer, op: _discardable(op),
    "results": lambda writer, op: ", ".join(op.results),
    "function type": lambda writer, op: ", ".join(op.results),
    "tensor type": lambda writer, op: op.tensor_type,
    "index type": lambda writer, op: " : index",
    "region": lambda writer, op: f"{{{_BODY}}}",
}
