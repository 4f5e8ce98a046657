"""Calls of functions replaced by their bodies, so that a kernel is one list of instructions.

PTX that we execute has no recursion. Parameters and results pass through variables of `.param` space,
which are registers of a lane here.
"""

from __future__ import annotations

import re
from dataclasses import replace

from tadc.backend.emulator.errors import UnknownPtx
from tadc.backend.emulator.ptx_reader import Instruction, PtxModule, Routine

_NAME = re.compile(r"%?[\w$]+(?:\.[a-z]+)?")
#: So many calls within calls are more than any kernel of ours has.
_DEEPEST = 20


def inlined(kernel: Routine, module: PtxModule) -> Routine:
    """The kernel without calls. Raises UnknownPtx for a function that the text lacks."""
    made = replace(kernel, instructions=[], labels={}, tables={}, registers=dict(kernel.registers))
    made.variables = list(kernel.variables)
    _copy(kernel, made, module, {}, "", 0)
    return made


def _copy(
    routine: Routine, made: Routine, module: PtxModule, names: dict[str, str], suffix: str, depth: int
) -> None:
    """Append the instructions of a routine; names of its own get a suffix, others are those of `names`."""
    if depth > _DEEPEST:
        raise UnknownPtx("functions that call themselves")
    own = {*routine.labels, *routine.tables, *(v.name for v in routine.variables)}
    end = f"${suffix}.end"

    def renamed(word: str) -> str:
        if word in names:
            return names[word]
        if suffix and _is_register(word, routine):
            return _own_register(suffix, word)
        return word + suffix if word in own else word

    positions: dict[int, int] = {}
    for number, one in enumerate(routine.instructions):
        positions[number] = len(made.instructions)
        text = [_NAME.sub(lambda found: renamed(found[0]), operand) for operand in one.operands]
        guard = one.guard and ("!" * (one.guard[0] == "!") + renamed(one.guard.lstrip("!")))
        if one.name.startswith("call"):
            _call(text, made, module, depth)
        elif suffix and one.name == "ret":
            made.instructions.append(Instruction("bra", (end,), guard, one.place))
        else:
            made.instructions.append(Instruction(one.name, tuple(text), guard, one.place))
    positions[len(routine.instructions)] = len(made.instructions)
    made.labels |= {renamed(name): positions[at] for name, at in routine.labels.items()}
    made.tables |= {
        renamed(name): tuple(renamed(n) for n in targets) for name, targets in routine.tables.items()
    }
    if suffix:
        made.labels[end] = len(made.instructions)
        made.registers |= {_own_register(suffix, name): type for name, type in routine.registers.items()}
        made.variables += [replace(v, name=v.name + suffix) for v in routine.variables]


def _call(operands: list[str], made: Routine, module: PtxModule, depth: int) -> None:
    """`(results), name, (parameters)`, the first of which may lack."""
    lists = [re.findall(r"[\w$]+", o) for o in operands if o.startswith("(")]
    name = next(o for o in operands if not o.startswith("("))
    if name not in module.functions:
        raise UnknownPtx(f"the function `{name}`")
    callee = module.functions[name]
    results = lists[0] if callee.results else []
    given = lists[-1] if callee.parameters else []
    names = dict(zip((n for n, _ in callee.results), results, strict=True))
    names |= dict(zip((n for n, _ in callee.parameters), given, strict=True))
    _copy(callee, made, module, names, f"c{len(made.instructions)}_", depth + 1)


def _is_register(word: str, routine: Routine) -> bool:
    return word in routine.registers or (
        word.startswith("%") and word.rstrip("0123456789") in routine.registers
    )


def _own_register(suffix: str, name: str) -> str:
    return f"%{suffix}{name.removeprefix('%')}"
