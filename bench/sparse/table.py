"""`python -m bench sparse [--pattern NAME]`: programs with index arrays against arrays, scatters and loops.

With a pattern of `bench.sparse.drawing` the workloads whose indices are drawn have it, and no others are run.
"""

from __future__ import annotations

from bench.breadth import show
from bench.sparse import SPARSE, drawing

#: Workloads of a mesh and of a list of neighbours, whose indices are not drawn.
_FIXED = {"elasticity", "lennard-jones", "stiffness"}


def main(words: list[str]) -> None:
    """Print the table."""
    words, workloads = list(words), SPARSE
    if "--pattern" in words:
        at = words.index("--pattern")
        name = words[at + 1] if words[at + 1 :] else ""
        if name not in drawing.PATTERNS:
            said = "\n".join(f"  {name}: {about}" for name, about in drawing.PATTERNS.items())
            raise SystemExit(f"--pattern takes one of\n{said}")
        drawing.chosen = name
        del words[at : at + 2]
        workloads = tuple(workload for workload in SPARSE if workload.name not in _FIXED)
    show(workloads, words)
