"""What is the same in all turns of a loop is computed before it: reads, what is made of them, and numbers
that a branch in the loop uses.

Upstream's `loop-invariant-code-motion` moves what touches no memory and is in no branch. A read may be out of
range where the loop has no turn; so where that is possible it stands, with the loop, under the condition that
there is one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from tadc.dialect.mlir import ir
from tadc.lattice.late_dataclasses import dataclass, field

#: Operations that read a buffer, their first operand.
_READS = frozenset({"memref.load", "vector.load", "vector.maskedload", "vector.gather"})

#: The operand that is the buffer which an operation writes to.
_WRITES = {"memref.store": 1, "vector.store": 1, "vector.maskedstore": 0, "vector.scatter": 0}

#: Operations that see a buffer in another way.
_VIEWS = frozenset({"memref.reinterpret_cast", "memref.subview", "memref.view", "memref.cast"})

#: Dialects of operations that compute with numbers alone, but for those above.
_PURE = frozenset({"arith", "math", "affine", "vector"})

_HARMLESS = frozenset({"scf.yield", "memref.prefetch"})

_DIVISIONS = frozenset(
    f"arith.{kind}{sign}i" for kind in ("div", "rem", "ceildiv", "floordiv") for sign in "su"
)

#: The predicate of `arith.cmpi` for numbers with a sign.
_LESS = 2

Written = frozenset[ir.Value]


def hoist(module: ir.Module) -> None:
    """Move what is invariant out of the loops of functions, in place."""
    found: list[ir.Operation] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        found.append(op)
        return ir.WalkResult.ADVANCE

    with module.context:
        module.operation.walk(visit, ir.WalkOrder.POST_ORDER)
        _Hoisting(_unshared(found)).run(found)


def _unshared(ops: Sequence[ir.Operation]) -> Written:
    """The arguments of functions that are buffers in which no other lies."""
    found: list[ir.Value] = []
    for op in ops:
        if op.name == "func.func" and "arg_attrs" in op.attributes:
            attributes: Any = op.attributes["arg_attrs"]
            arguments = op.regions[0].blocks[0].arguments if list(op.regions[0].blocks) else ()
            found += (a for a, marks in zip(arguments, attributes, strict=False) if "llvm.noalias" in marks)
    return frozenset(found)


@dataclass(frozen=True)
class _LoopCode:
    """An operation; the buffers that are written to in it, None where these may be any; what is in its
    branches, if it has some."""

    op: ir.Operation
    name: str
    block: ir.Block
    written: Written | None = frozenset()
    branches: tuple[_LoopCode, ...] = ()

    @property
    def is_pure(self) -> bool:
        """Whether it computes with numbers alone."""
        return self.name.split(".")[0] in _PURE and self.name not in _READS and self.name not in _WRITES


@dataclass
class _Hoisting:
    """One walk over functions, from inner loops to outer ones."""

    unshared: Written
    """Buffers that no other overlaps."""
    open: list[_LoopCode] = field(default_factory=list[_LoopCode])
    """What was seen so far, without what is in others."""
    roots: dict[ir.Value, ir.Value] = field(default_factory=dict[ir.Value, ir.Value])
    """The buffers that others are views of."""
    numbers: dict[ir.Value, int] = field(default_factory=dict[ir.Value, int])

    def run(self, ops: Sequence[ir.Operation]) -> None:
        """Go through operations, each of which comes after what is in it."""
        for op in ops:
            name = op.name
            if name in ("func.func", "builtin.module"):
                self.open.clear()
            elif op.regions:
                self.nested(op, name)
            else:
                self.open.append(_LoopCode(op, name, op.block, self.written_by(op, name)))

    def written_by(self, op: ir.Operation, name: str) -> Written | None:
        """The buffers that an operation writes to; what is known of its result is kept."""
        if name in _WRITES:
            return frozenset({self.root(op.operands[_WRITES[name]])})
        if name in _VIEWS:
            self.roots[op.result] = self.root(op.operands[0])
        elif name == "arith.constant":
            value = op.attributes["value"]
            if isinstance(value, ir.IntegerAttr):
                self.numbers[op.result] = value.value
        elif not (name in _READS or name in _HARMLESS or name.split(".")[0] in _PURE):
            return None
        return frozenset()

    def root(self, buffer: ir.Value) -> ir.Value:
        """The buffer that this one is a view of."""
        return self.roots.get(buffer, buffer)

    def nested(self, op: ir.Operation, name: str) -> None:
        """Go on after an operation that has others in it."""
        blocks, around = [block for region in op.regions for block in region.blocks], op.block
        inside: list[_LoopCode] = []
        while self.open and any(self.open[-1].block == block for block in blocks):
            inside.append(self.open.pop())
        inside.reverse()
        written: Written | None = frozenset()
        for seen in inside:
            written = None if written is None or seen.written is None else written | seen.written
        if name == "scf.for":
            free, bound = self.invariant(blocks[0], inside, written, has_turns=self.has_turns(op))
            for seen in free:
                seen.op.move_before(op)
                self.open.append(_LoopCode(seen.op, seen.name, around))
            if any(seen.name in _READS for seen in bound):
                op, name = _under_condition(op, [seen.op for seen in bound]), "scf.if"
            inside = []
        branches = (each for seen in inside for each in (*seen.branches, seen))
        self.open.append(_LoopCode(op, name, around, written, tuple(branches) if name == "scf.if" else ()))

    def has_turns(self, loop: ir.Operation) -> bool:
        """Whether a loop is known to have a turn."""
        start, stop = (self.numbers.get(loop.operands[n]) for n in (0, 1))
        return start is not None and stop is not None and start < stop

    def invariant(
        self, body: ir.Block, inside: Sequence[_LoopCode], written: Written | None, *, has_turns: bool
    ) -> tuple[list[_LoopCode], list[_LoopCode]]:
        """What is the same in each turn of a loop: that which may be computed before it at any rate, and that
        which may be where the loop has a turn."""
        changing, waiting = set[ir.Value](body.arguments), set[ir.Value]()
        free: list[_LoopCode] = []
        bound: list[_LoopCode] = []
        for seen, in_branch in _each(inside):
            op = seen.op
            is_still = seen.is_pure or (seen.name in _READS and self.is_kept(op, written) and not in_branch)
            is_still = is_still and changing.isdisjoint(op.operands)
            is_safe = seen.is_pure and self.is_safe(op, seen.name)
            if not is_still or (in_branch and (not is_safe or seen.name.startswith("math."))):
                changing.update(op.results)
            elif has_turns or (is_safe and waiting.isdisjoint(op.operands)):
                free.append(seen)
            else:
                bound.append(seen)
                waiting.update(op.results)
        return free, bound

    def is_kept(self, read: ir.Operation, written: Written | None) -> bool:
        """Whether what is read has the same value in all turns of a loop in which so much is written to."""
        root = self.root(read.operands[0])
        if written is None or root in written:
            return False
        return root in self.unshared or written <= self.unshared

    def is_safe(self, op: ir.Operation, name: str) -> bool:
        """Whether an operation may be computed for nothing: some divisions may not."""
        return name not in _DIVISIONS or self.numbers.get(op.operands[1], 0) > 0


def _each(inside: Sequence[_LoopCode]) -> Iterator[tuple[_LoopCode, bool]]:
    """Operations of a loop, and whether they are in a branch."""
    for seen in inside:
        yield from ((each, True) for each in seen.branches)
        yield seen, False


def _under_condition(loop: ir.Operation, ops: Sequence[ir.Operation]) -> ir.Operation:
    """The condition that a loop has a turn, under which it stands, after operations that were in it."""
    first, results = list(loop.operands)[3:], list(loop.results)
    with ir.InsertionPoint(loop), loop.location:
        truth, whole = ir.IntegerType.get_signless(1), ir.IntegerType.get_signless(64)
        less = {"predicate": ir.IntegerAttr.get(whole, _LESS)}
        any_turn = ir.Operation.create("arith.cmpi", [truth], list(loop.operands)[:2], less).result
        made = ir.Operation.create("scf.if", [value.type for value in results], [any_turn], regions=2)
        for old, new in zip(results, made.results, strict=True):
            old.replace_all_uses_with(new)
        with ir.InsertionPoint(ir.Block.create_at_start(made.regions[0], [])):
            end = ir.Operation.create("scf.yield", [], results)
        if results:
            with ir.InsertionPoint(ir.Block.create_at_start(made.regions[1], [])):
                ir.Operation.create("scf.yield", [], first)
    for op in (*ops, loop):
        op.move_before(end)
    return made
