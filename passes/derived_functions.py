"""Derivatives beside the functions that they are of: those that hosts ask for by `tad.vjp` and `tad.jvp`.

    %0 = tad.vjp @f : (tensor<8xf64>, tensor<6xf64>) -> tensor<8xf64>
    %1 = func.call_indirect %0(%x, %df) : …

becomes `func.call @f_vjp(%x, %df)`, where `@f_vjp` is new. Those that ask for the same share it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tadc.dialect.mlir import ir
from tadc.dialect.ops import DERIVED
from tadc.dialect.program_reader import UnsupportedIR, read_program, tad_functions
from tadc.frontend.naming import first_free
from tadc.lattice.late_dataclasses import dataclass, field
from tadc.passes.term_pass import Refused, TermPass
from tadc.passes.wrappers import symbol_name, write_beside


@dataclass
class DerivedFunctions:
    """The functions of a module, and what is derived of them by one kind of operation.

    `rule` is the pass that derives a program, by its options.
    """

    module: ir.Module
    operation: str
    rule: Callable[..., TermPass]
    made: dict[tuple[str, str], str] = field(default_factory=dict[tuple[str, str], str])

    def add(self, name: str, options: dict[str, Any], location: ir.Location) -> str:
        """The name of the derivative of a function, which is added where there is none by these options.

        Raises UnsupportedIR where there is no such function, or it has no such derivative.
        """
        derived = self.rule(**options)
        key = name, derived.text()
        if key not in self.made:
            function = self._function(name, location)
            taken = {symbol_name(op) for op in self._operations() if "sym_name" in op.attributes}
            try:
                program = derived.rewrite(read_program(function))
            except Refused as problem:
                raise UnsupportedIR(str(problem), location) from None
            self.made[key] = first_free(name + derived.suffix, taken)
            write_beside(program, self.module, self.made[key], function)
        return self.made[key]

    def expand(self) -> None:
        """Put what operations ask for in their places. Raises UnsupportedIR as `add`, or for its type."""
        for op in self._asked():
            said = op.attributes
            names = list[ir.StringAttr](ir.ArrayAttr(said["wrt"])) if "wrt" in said else []
            wrt: list[str] = [name.value for name in names]
            flags = {name: True for name in DERIVED[self.operation] if name in said}
            name = self.add(said["callee"].value, {"wrt": wrt, **flags}, op.location)
            self._replace(op, self._function(name, op.location))

    def _asked(self) -> Sequence[ir.Operation]:
        found: list[ir.Operation] = []

        def visit(op: ir.Operation) -> ir.WalkResult:
            found.extend([op] if op.name == self.operation else [])
            return ir.WalkResult.ADVANCE

        self.module.walk(visit)
        return found

    def _operations(self) -> list[ir.Operation]:
        return [op.operation for op in self.module.regions[0].blocks[0].operations]

    def _function(self, name: str, location: ir.Location) -> ir.Operation:
        programs = {symbol_name(function): function for function in tad_functions(self.module)}
        if name not in programs:
            has = ", ".join(f"@{other}" for other in programs) or "none"
            raise UnsupportedIR(f"no function @{name} of the module holds a program; has: {has}", location)
        return programs[name]

    def _replace(self, op: ir.Operation, derived: ir.Operation) -> None:
        """A function in the place of an operation, called where that is."""
        type = ir.TypeAttr(derived.attributes["function_type"]).value
        (result,) = op.results
        if result.type != type:
            name = symbol_name(derived)
            raise UnsupportedIR(f"the function is {result.type}, but @{name} is {type}", op.location)
        symbol = ir.FlatSymbolRefAttr.get(symbol_name(derived), op.context)
        for use in list(result.uses):
            call = use.owner.operation
            if call.name != "func.call_indirect" or use.operand_number:
                continue
            direct = ir.Operation.create(
                "func.call", results=[r.type for r in call.results], operands=list(call.operands)[1:],
                attributes={"callee": symbol}, loc=call.location, ip=ir.InsertionPoint(call),
            )  # fmt: skip
            for before, after in zip(call.results, direct.results, strict=True):
                before.replace_all_uses_with(after)
            call.erase()
        if list(result.uses):
            constant = ir.Operation.create(
                "func.constant", results=[type], attributes={"value": symbol}, loc=op.location,
                ip=ir.InsertionPoint(op),
            )  # fmt: skip
            result.replace_all_uses_with(constant.result)
        op.erase()
