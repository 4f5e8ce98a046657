"""The command `tad-opt`: `tadc passes` as `mlir-opt` is called, for scripts and lit tests of hosts.

    tad-opt f.mlir --tad-vjp="function=f wrt=x" --canonicalize
    tad-opt f.mlir -pass-pipeline='builtin.module(tad-vjp{function=f},func.func(cse))'

Passes run in the order in which they stand. One of MLIR that runs on functions alone is nested, as there.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

#: What upstream's flags are here.
SPELLED = {
    "mlir-print-ir-before": "print-ir-before",
    "mlir-print-ir-after": "print-ir-after",
    "mlir-print-ir-after-all": "print-ir-after-all",
    "mlir-print-ir-after-change": "print-ir-after-change",
    "mlir-print-op-generic": "generic",
    "load-pass-plugin": "load",
}

#: Those that are the same, and what is so of itself.
SAME = (
    *("allow-unregistered-dialect", "split-input-file", "verify-diagnostics", "mlir-timing"),
    *("load", "help", "version"),
)
IGNORED = ("verify-each", "mlir-disable-threading", "show-dialects")

_FLAG = re.compile(r"--?([A-Za-z][\w.-]*)(?:=(.*))?\Z", re.S)


def translated(words: Iterable[str]) -> list[str]:
    """The words of `tadc` for those of `tad-opt`; what is neither stays as it is, to be complained of."""
    passes: list[str] = []
    others: list[str] = []
    for word in words:
        found = _FLAG.match(word)
        if found is None or word == "-o":
            others.append(word)
            continue
        name, value = found[1], found[2]
        if name == "pass-pipeline":
            passes.append(re.sub(r"\Abuiltin\.module\((.*)\)\Z", r"\1", value or "", flags=re.S))
        elif name in SAME or name in SPELLED:
            others.append(f"--{SPELLED.get(name, name)}" + (f"={value}" if value is not None else ""))
        elif name not in IGNORED:
            passes.append(_nested(name, "" if value is None else f"{{{value}}}"))
    return ["passes", ",".join(passes), *others]


def _nested(name: str, options: str) -> str:
    """A pass as a pipeline on a module spells it."""
    from tadc.dialect.mlir import new_context, passmanager
    from tadc.passes.catalogue import REGISTRY

    if name in REGISTRY:
        return name + options
    for operation in ("builtin.module", "func.func", "gpu.module"):
        try:
            passmanager.PassManager.parse(f"{operation}({name}{options})", new_context())
        except ValueError:
            continue
        text = f"{name}{options}"
        return text if operation == "builtin.module" else f"{operation}({text})"
    return name + options
