"""The loops of a recurrence that saves some of its states, and takes steps again for another that goes back.

`first` takes all steps, and saves states on the way. `back` comes to the steps from the last one on: it goes
on from the last state that is saved at or before the one that is wanted, saves states on the way there, and
so has the fewest steps to take for as many states as there is room for (Griewank and Walther, Algorithm 799:
revolve, 2000). With s states at hand and each step taken at most r times more, as many as β(s, r) =
(s + r)! / s! r! steps are gone back over: `ahead` finds the least r, and the furthest step to save next for
which both sides need no more.

A window that has room for more steps than are read at a time serves several before others are taken again:
the states that are gone back to are such a block apart.

Before the first step there is a state that takes no room: what a recurrence begins with.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tadc.dialect.mlir import ir
from tadc.passes.maps.checkpoints import first_state
from tadc.passes.maps.lower_body import BodyLowering
from tadc.passes.maps.map import Tape, Window

_OWN = "attributes {llvm.linkage = #llvm.linkage<internal>}"
"""Nothing outside calls these."""


@dataclass(frozen=True)
class Saved:
    """A tensor of which states are saved: which buffer it is, its window, and how many steps a state has."""

    buffer: int
    window: Window
    depth: int


def _stack_type(tape: Tape) -> str:
    """How many states are saved, and after which steps: the first is -1, before all of them."""
    return f"memref<{tape.slots + 2}xindex>"


def stack_of(tape: Tape, low: BodyLowering, point: ir.InsertionPoint) -> ir.Value:
    """Memory for the numbers of the steps that are saved."""
    sizes = {"operandSegmentSizes": ir.DenseI32ArrayAttr.get([0, 0])}
    return low.create("memref.alloca", [ir.Type.parse(_stack_type(tape))], [], point, sizes).results[0]


@dataclass(frozen=True)
class TapeLoops:
    """The functions over the buffers of a chain, of these types, that runs again by a tape.

    `name` takes a range of steps, `name.again` takes it with those maps alone that have a tape; there are
    `count`, which may go `down`.
    """

    name: str
    places: Sequence[int]
    types: Sequence[ir.Type]
    tape: Tape
    down: bool
    count: int
    saved: Sequence[Saved]

    @property
    def stack_type(self) -> str:
        """The type of the memory for the numbers of steps that are saved."""
        return _stack_type(self.tape)

    def first(self) -> str:
        """A module, as text, of which `name.first` takes all steps."""
        last = self.count - 1
        steps = f"{self.stack_type}, index, index, i1"
        functions = [
            self._declared("", "index, index"),
            self._declared("again", "index, index"),
            self._ahead(),
            self._copies("save", "window", "slot"),
            self._copies("restore", "slot", "window"),
            self._run(),
            self._to(),
            self._function(
                "first",
                self._given(stack=True),
                f"""
                %zero = arith.constant 0 : index
                %one = arith.constant 1 : index
                %before = arith.constant -1 : index
                %wanted = arith.constant {first_state(self.count, self.tape)} : index
                %all = arith.constant {last} : index
                %is_first = arith.constant true
                memref.store %zero, %stack[%zero] : {self.stack_type}
                memref.store %before, %stack[%one] : {self.stack_type}
                {self._call("to", "%stack, %before, %wanted, %is_first", steps)}
                {self._call("run", "%wanted, %all, %is_first", "index, index, i1")}
                """,
            ),
        ]
        return "\n".join(functions)

    def back(self, name: str, types: Sequence[ir.Type]) -> str:
        """A module, as text, of which `name.back` goes back with another function, which takes a range of
        steps, over buffers of these types that come after the others."""
        others, steps = [f"%c{n}" for n in range(len(types))], f"{self.stack_type}, index, index, i1"
        given = [*self._given(), *(f"{c}: {type}" for c, type in zip(others, types, strict=True))]
        signature = ", ".join([*map(str, types), "index", "index"])
        call = f'func.call @"{name}"({", ".join([*others, "%step", "%next"])}) : ({signature}) -> ()'
        called = [
            f'func.func private @"{name}"({signature})',
            self._declared("restore", "index, index"),
            self._declared("to", steps),
            self._declared("run", "index, index, i1"),
        ]
        made = self._function(
            "back",
            [*given, f"%stack: {self.stack_type}"],
            f"""
            %zero = arith.constant 0 : index
            %one = arith.constant 1 : index
            %count = arith.constant {self.count} : index
            %last = arith.constant {self.count - 1} : index
            %is_first = arith.constant false
            scf.for %step = %zero to %count step %one {{
              %next = arith.addi %step, %one : index
              %own = arith.subi %last, %step : index
              %here = affine.apply affine_map<(d0) -> (d0 + {self.tape.ahead})>(%own)
              %place_in_block = affine.apply affine_map<(d0) -> (d0 mod {self.tape.block})>(%step)
              %is_first_in_block = arith.cmpi eq, %place_in_block, %zero : index
              %is_before_last = arith.cmpi slt, %here, %last : index
              %is_later = arith.cmpi sgt, %step, %zero : index
              %is_step = arith.cmpi sge, %here, %zero : index
              %is_again = arith.andi %is_before_last, %is_later : i1
              %is_taken = arith.andi %is_again, %is_step : i1
              %is_wanted = arith.andi %is_taken, %is_first_in_block : i1
              scf.if %is_wanted {{
                %wanted = affine.max affine_map<(d0) -> (d0 - {self.tape.fresh}, -1)>(%here)
                %all = memref.load %stack[%zero] : {self.stack_type}
                %top = scf.while (%n = %all) : (index) -> index {{
                  %place = arith.addi %n, %one : index
                  %at = memref.load %stack[%place] : {self.stack_type}
                  %is_past = arith.cmpi sgt, %at, %wanted : index
                  scf.condition(%is_past) %n : index
                }} do {{
                ^bb0(%n: index):
                  %less = arith.subi %n, %one : index
                  scf.yield %less : index
                }}
                memref.store %top, %stack[%zero] : {self.stack_type}
                %place = arith.addi %top, %one : index
                %from = memref.load %stack[%place] : {self.stack_type}
                %has_state = arith.cmpi sgt, %top, %zero : index
                scf.if %has_state {{
                  %slot = arith.subi %top, %one : index
                  {self._call("restore", "%from, %slot", "index, index")}
                }}
                {self._call("to", "%stack, %from, %wanted, %is_first", steps)}
                {self._call("run", "%wanted, %here, %is_first", "index, index, i1")}
              }}
              {call}
            }}
            """,
        )
        return "\n".join([*called, made])

    def _run(self) -> str:
        """Takes the steps after one until another, for the first time or again."""
        return self._function(
            "run",
            [*self._given(), "%from: index", "%to: index", "%is_first: i1"],
            f"""
            %one = arith.constant 1 : index
            %begin = arith.addi %from, %one : index
            %end = arith.addi %to, %one : index
            scf.if %is_first {{
              {self._call("", "%begin, %end", "index, index")}
            }} else {{
              {self._call("again", "%begin, %end", "index, index")}
            }}
            """,
        )

    def _to(self) -> str:
        """Goes on after a step until another one, and saves states on the way."""
        return self._function(
            "to",
            [*self._given(stack=True), "%from: index", "%wanted: index", "%is_first: i1"],
            f"""
            %zero = arith.constant 0 : index
            %one = arith.constant 1 : index
            %all = memref.load %stack[%zero] : {self.stack_type}
            %end:2 = scf.while (%at = %from, %top = %all) : (index, index) -> (index, index) {{
              %is_before = arith.cmpi slt, %at, %wanted : index
              scf.condition(%is_before) %at, %top : index, index
            }} do {{
            ^bb0(%at: index, %top: index):
              %steps = affine.apply
                  affine_map<(d0, d1) -> ((d0 - d1) ceildiv {self.tape.block} + 1)>(%wanted, %at)
              %states = affine.apply affine_map<(d0) -> ({self.tape.slots + 1} - d0)>(%top)
              %more = func.call @"{self.name}.ahead"(%steps, %states) : (index, index) -> index
              %next = affine.apply affine_map<(d0, d1, d2) ->
                  (d0 - (d1 - d2 - 1) * {self.tape.block})>(%wanted, %steps, %more)
              {self._call("run", "%at, %next, %is_first", "index, index, i1")}
              %is_saved = arith.cmpi slt, %next, %wanted : index
              %saved = scf.if %is_saved -> index {{
                {self._call("save", "%next, %top", "index, index")}
                %place = affine.apply affine_map<(d0) -> (d0 + 2)>(%top)
                memref.store %next, %stack[%place] : {self.stack_type}
                %above = arith.addi %top, %one : index
                scf.yield %above : index
              }} else {{
                scf.yield %top : index
              }}
              scf.yield %next, %saved : index, index
            }}
            memref.store %end#1, %stack[%zero] : {self.stack_type}
            """,
        )

    def _ahead(self) -> str:
        """How many blocks to take to the next state to save, where so many are gone back over and so many
        states may be at hand, the one that is there among them."""
        return f"""func.func private @"{self.name}.ahead"(%steps: index, %states: index) -> index {_OWN} {{
            %one = arith.constant 1 : index
            %least = arith.addi %states, %one : index
            %times:2 = scf.while (%r = %one, %most = %least) : (index, index) -> (index, index) {{
              %is_few = arith.cmpi slt, %most, %steps : index
              scf.condition(%is_few) %r, %most : index, index
            }} do {{
            ^bb0(%r: index, %most: index):
              %next = arith.addi %r, %one : index
              %sum = arith.addi %states, %next : index
              %product = arith.muli %most, %sum : index
              %more = arith.divsi %product, %next : index
              scf.yield %next, %more : index, index
            }}
            // β(s, r - 1), which the steps before the state need, and β(s - 1, r - 1).
            %sum = arith.addi %states, %times#0 : index
            %part = arith.muli %times#1, %times#0 : index
            %before = arith.divsi %part, %sum : index
            %less = arith.subi %sum, %one : index
            %share = arith.muli %before, %states : index
            %after = arith.divsi %share, %less : index
            %left = arith.subi %steps, %after : index
            %ahead = arith.minsi %before, %left : index
            func.return %ahead : index
        }}"""

    def _copies(self, name: str, source: str, target: str) -> str:
        """Copies the state after a step between the window and a slot."""
        lines = ["%zero = arith.constant 0 : index", "%one = arith.constant 1 : index"]
        shift = 1 - self.count if self.down else 0
        for number, saved in enumerate(self.saved):
            rows, own, axis = saved.window.rows, f"{number}", saved.window.axis
            type = ir.MemRefType(self.types[saved.buffer])
            for back in range(saved.depth):
                here = f"{own}_{back}"
                lines += [
                    f"%at{here} = affine.apply affine_map<(d0) -> (d0 - {back})>(%step)",
                    f"%is_step{here} = arith.cmpi sge, %at{here}, %zero : index",
                    f"scf.if %is_step{here} {{",
                    f"%window = affine.apply affine_map<(d0) -> ((d0 + {shift}) mod {rows})>(%at{here})",
                    f"%slot = affine.apply affine_map<(d0) -> (d0 * {saved.depth} + {rows + back})>(%state)",
                ]
                others = [n for n in range(type.rank) if n != axis]
                for n in others:
                    lines.append(f"%end{n} = arith.constant {type.shape[n]} : index")
                lines += [f"scf.for %i{n} = %zero to %end{n} step %one {{" for n in others]
                read, write = (
                    ", ".join(f"%{row}" if n == axis else f"%i{n}" for n in range(type.rank))
                    for row in (source, target)
                )
                lines += [
                    f"%x = memref.load %b{saved.buffer}[{read}] : {type}",
                    f"memref.store %x, %b{saved.buffer}[{write}] : {type}",
                    "}" * (len(others) + 1),
                ]
        return self._function(name, [*self._given(), "%step: index", "%state: index"], "\n".join(lines))

    def _given(self, *, stack: bool = False) -> list[str]:
        """The arguments that are buffers, perhaps the steps that are saved too."""
        found = [f"%b{n}: {type}" for n, type in enumerate(self.types)]
        return [*found, f"%stack: {self.stack_type}"] if stack else found

    def _function(self, name: str, given: Sequence[str], body: str) -> str:
        """A function, as text."""
        head = f'func.func private @"{self.name}.{name}"({", ".join(given)})'
        return f"{head} {_OWN} {{\n{body}\nfunc.return\n}}"

    def _call(self, name: str, more: str, types: str) -> str:
        """A call of one of the functions, over all buffers and what comes after these."""
        names = ", ".join([*(f"%b{n}" for n in range(len(self.types))), more])
        return f"func.call {self._named(name)}({names}) : ({self._types(types)}) -> ()"

    def _declared(self, name: str, types: str) -> str:
        """The declaration of a function over all buffers and what comes after these."""
        return f"func.func private {self._named(name)}({self._types(types)})"

    def _types(self, more: str) -> str:
        return ", ".join([*map(str, self.types), more])

    def _named(self, name: str) -> str:
        return f'@"{self.name}.{name}"' if name else f'@"{self.name}"'
