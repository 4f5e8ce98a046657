"""LLVM IR text made complete: definitions of the scalar functions that it calls.

Functions that branch would keep LLVM from vectorising the loops that call them. So
the optimiser first sees declarations of these, which name their vector variants
(`defer`), and the definitions of what it chose once loops are vectors (`undefer`).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial

from tadc.backend.cpu.processors import Processor, host
from tadc.backend.functions import scalar_functions
from tadc.backend.functions.scalar_functions import scalar_function, symbol
from tadc.backend.ir_text import F32, F64, Type, declarations

#: What finds the text of a function by its name, or None.
Find = Callable[[str], str | None]

#: Lanes of the vector variants that functions with a branch have.
LANES = (2, 4, 8, 16)

#: Functions with a branch, by symbol: name, type, number of arguments.
BRANCHING = {
    symbol(function, type): (function, type, arity)
    for function, arity in scalar_functions.BRANCHING.items()
    for type in (F32, F64)
}

_DECLARED = re.compile(r"^declare [^\n]*?@([\w.]+)\([^\n]*\n?", re.M)
_DEFINED = re.compile(r"^define [^\n]*?@([\w.]+)\(", re.M)
_CALLED = re.compile(r"call [^@\n]* @([\w.]+)\(")
_FUNCTION = re.compile(r"^(define [^\n]*?@([\w.]+)\([^\n]*)\{\n(?:[^}\n][^\n]*\n|\n)*\}\n", re.M)
_VARIABLE = re.compile(r"^@([\w.]+) = [^\n]*\n", re.M)
_NAMED = re.compile(r"@([\w.]+)")
_QUOTED = re.compile(r'@"([A-Za-z_][\w.]*)"')
_SMALL = re.compile(r"^attributes (#\d+) = \{[^\n]*\boptsize\b", re.M)


def functions_for(processor: Processor) -> Find:
    """The scalar functions as a processor computes them best."""
    has_fma = processor.has_fma or processor.has_libm
    has_half = processor.has_half
    return partial(scalar_function, has_ldexp=processor.has_ldexp, has_fma=has_fma, has_half=has_half)


def complete(text: str, find: Find | None = None) -> str:
    """Replace the declarations of functions that `find` has by definitions; add what these call in turn.

    Without `find` these are the scalar functions, for the host.
    """
    find = find or functions_for(host())
    defined = set(_DEFINED.findall(text))
    waiting: list[str] = _DECLARED.findall(text)
    bodies: list[str] = []
    while waiting:
        name = waiting.pop()
        body = None if name in defined else find(name)
        if body is not None:
            bodies.append(body)
            defined.add(name)
            waiting += _CALLED.findall(body)
    if not bodies:
        return text
    text = _DECLARED.sub(lambda m: "" if m[1] in defined else m[0], text)
    declared = set(_DECLARED.findall(text))
    needed = sorted(
        line for line in declarations("".join(bodies)) if not declared & set(_DECLARED.findall(line))
    )
    return "\n".join([text.rstrip("\n"), "", *bodies, *needed, ""])


_SUM_OF_INDICES = re.compile(r"( = (?:add|sub)) (i64 )")


def exact_indices(text: str) -> str:
    """The text of kernels with their sums of indices marked as exact.

    An index is the place of an element, or the end of a loop: none comes near 2**63. Upstream's lowerings
    mark products of indices, but not sums, without which LLVM takes up to half longer, and leaves more
    code. Texts must have no scalar functions yet, some of which compute with the bits of numbers.
    """
    return _SUM_OF_INDICES.sub(r"\1 nsw \2", text)


def fused_if_fast(text: str, processor: Processor) -> str:
    """The text for a processor: without an instruction for it a fused product and sum is a slow call."""
    return text if processor.has_fma else text.replace("@llvm.fma.", "@llvm.fmuladd.")


def without(text: str, names: set[str]) -> str:
    """The text less the declarations and definitions of these functions."""
    text = _DECLARED.sub(lambda m: "" if m[1] in names else m[0], text)
    return _FUNCTION.sub(lambda m: "" if m[2] in names else m[0], text)


def loops_for_speed(text: str) -> str:
    """The functions with loops that are not compiled for the size of their code; no scalar functions."""
    small = set(_SMALL.findall(text))
    return "".join(
        found[0]
        for found in _FUNCTION.finditer(text)
        if " = phi " in found[0] and not small & set(found[1].split()) and scalar_function(found[2]) is None
    )


def set_apart(text: str) -> tuple[str, list[str], str]:
    """The functions that are compiled for the size of their code: the text that declares these, their names,
    and a text of them alone. Those that use variables of the text, or call its other functions, are not set
    apart."""
    small = set(_SMALL.findall(text))
    if not small:
        return text, [], ""
    text = _QUOTED.sub(r"@\1", text)
    variables = set(_VARIABLE.findall(text))
    found = {m[2]: m for m in _FUNCTION.finditer(text)}
    names = [
        name for name, m in found.items()
        if small & set(m[1].split()) and not (variables and variables & set(_NAMED.findall(m[0])))
    ]  # fmt: skip
    called = {name: found.keys() & _CALLED.findall(m[0]) for name, m in found.items()}
    own = {name for name in found if not name.startswith("tadc_") and name not in names}
    names = [name for name in names if called[name].isdisjoint(own)]
    needed = [*names]
    for name in needed:
        needed += called[name] - {*needed}
    used = {name for one in needed for name in _NAMED.findall(found[one][0])}
    alone = _VARIABLE.sub(lambda m: m[0] if m[1] in used else "", without(text, found.keys() - {*needed}))
    rest = text
    for name in names:
        whole, head = found[name][0], found[name][1]
        rest = rest.replace(whole, re.sub("^define (internal )?", "declare ", head) + "\n")
        alone = alone.replace(head, head.replace("internal ", "", 1))
    return rest, names, alone


def defer(text: str, find: Find) -> str | None:
    """The text with functions that branch declared, not defined; None if no loop for speed calls any."""
    found = set(_CALLED.findall(text)) & set(BRANCHING)
    if not found & set(_CALLED.findall(loops_for_speed(text))):
        return None
    text = complete(without(text, found), lambda name: None if name in BRANCHING else find(name))
    lines: list[str] = []
    variants: list[str] = []
    for name in sorted(found):
        function, type, arity = BRANCHING[name]
        vectors = [Type(True, type.bits, lanes) for lanes in LANES]
        named = [(v, symbol(function, v)) for v in (type, *vectors)]
        mapping = ",".join(
            f"_ZGV_LLVM_N{v.lanes}{'v' * arity}_{name}({symbol(function, v)})" for v in vectors
        )
        scalar, *wide = (f"declare {t} @{n}({', '.join([str(t)] * arity)}) #9000" for t, n in named)
        lines += [f'{scalar} "vector-function-abi-variant"="{mapping}"', *wide]
        variants += [variant for _, variant in named[1:]]
    # Nothing may call the variants yet: this keeps the optimiser from dropping their declarations.
    array = f"[{len(variants)} x ptr] [{', '.join(f'ptr @{variant}' for variant in variants)}]"
    lines.append(f'@llvm.compiler.used = appending global {array}, section "llvm.metadata"')
    lines.append("attributes #9000 = { nounwind willreturn speculatable memory(none) }")
    return "\n".join([without(text, set(variants)), *lines, ""])


def not_inlined(text: str) -> str:
    """The complete text with functions that branch left as calls."""
    functions = "|".join(scalar_functions.BRANCHING)
    head = rf"^(define [^\n]*@tadc_(?:{functions})_(?:v\d+)?f\d+\([^\n]*) alwaysinline"
    return re.sub(head, r"\1 noinline", text, flags=re.M)


def undefer(text: str, find: Find) -> str:
    """After `defer` and the optimiser: the text with definitions of what it calls."""
    text = re.sub(r"^@llvm\.compiler\.used[^\n]*\n", "", text, flags=re.M)
    called = set(_CALLED.findall(text))
    unused = {name for name in _DECLARED.findall(text) if name not in called and find(name)}
    return complete(without(text, unused), find)
