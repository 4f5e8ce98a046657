"""LLVM IR text made complete: definitions of the scalar functions that it calls.

Functions that branch would keep LLVM from vectorising the loops that call them. So
the optimiser first sees declarations of these, which name their vector variants
(`defer`), and the definitions of what it chose once loops are vectors (`complete`).
"""

from __future__ import annotations

import re

from tadc.backend.ir_text import declarations
from tadc.backend.scalar_functions import DEFINITIONS, VECTOR_VARIANTS, Definitions

_DECLARED = re.compile(r"^declare [^\n]*?@([\w.]+)\([^\n]*\n?", re.M)
_DEFINED = re.compile(r"^define [^\n]*?@([\w.]+)\(", re.M)
_CALLED = re.compile(r"call [^@\n]* @([\w.]+)\(")


def complete(text: str, definitions: Definitions = DEFINITIONS) -> str:
    """Replace the declarations of functions in `definitions` by these, and add what they call in turn."""
    defined = set(_DEFINED.findall(text))
    waiting = [name for name in _DECLARED.findall(text) if name in definitions and name not in defined]
    if not waiting:
        return text
    bodies: list[str] = []
    while waiting:
        name = waiting.pop()
        if name in defined or name not in definitions:
            continue
        bodies.append(definitions[name]())
        defined.add(name)
        waiting += _CALLED.findall(bodies[-1])
    text = _DECLARED.sub(lambda m: "" if m[1] in defined else m[0], text)
    declared = set(_DECLARED.findall(text))
    needed = sorted(
        line for line in declarations("".join(bodies)) if _DECLARED.findall(line)[0] not in declared
    )
    return "\n".join([text.rstrip("\n"), "", *bodies, *needed, ""])


def without(text: str, names: set[str]) -> str:
    """The text less the declarations and definitions of these functions."""
    text = _DECLARED.sub(lambda m: "" if m[1] in names else m[0], text)
    for name in names:
        text = re.sub(rf"^define [^\n]*@{re.escape(name)}\([^\n]*\{{\n.*?^\}}\n", "", text, flags=re.M | re.S)
    return text


def defer(text: str) -> str | None:
    """The text with declarations, instead of definitions, of what has vector variants; None if nothing has."""
    found = set(_CALLED.findall(text)) & set(VECTOR_VARIANTS)
    if not found:
        return None
    declared: list[str] = []
    for name in sorted(found):
        element = {"f32": "float", "f64": "double"}[name[-3:]]
        variants = VECTOR_VARIANTS[name]
        mapping = ",".join(f"_ZGV_LLVM_N{lanes}v_{name}({variant})" for lanes, variant in variants.items())
        declared.append(f'declare {element} @{name}({element}) #9000 "vector-function-abi-variant"="{mapping}"')
        for lanes, variant in variants.items():
            declared.append(f"declare <{lanes} x {element}> @{variant}(<{lanes} x {element}>) #9000")
    kept = [f"ptr @{variant}" for name in sorted(found) for variant in VECTOR_VARIANTS[name].values()]
    text = without(text, found | {variant for name in found for variant in VECTOR_VARIANTS[name].values()})
    # Nothing calls the variants yet: this keeps the optimiser from dropping their declarations.
    used = f"@llvm.compiler.used = appending global [{len(kept)} x ptr] [{', '.join(kept)}], section \"llvm.metadata\""
    attributes = "attributes #9000 = { nounwind willreturn speculatable memory(none) }"
    return "\n".join([text, *declared, used, attributes, ""])


def undefer(text: str, definitions: Definitions) -> str:
    """After `defer` and the optimiser: the text with definitions of what it calls, and of nothing else."""
    text = re.sub(r"^@llvm\.compiler\.used[^\n]*\n", "", text, flags=re.M)
    unused = set(definitions) - set(_CALLED.findall(text))
    return complete(without(text, unused), definitions)
