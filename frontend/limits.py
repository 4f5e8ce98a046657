"""What the compiler takes, so that every program gets an answer soon: beyond it there is a diagnostic.

Programs that people write stay far below; generated ones can be split with `let`.
"""

from __future__ import annotations

from tadc.frontend.diagnostics import CompileError, Diagnostic

#: How deep brackets, signs, powers and bare applications may nest.
MAX_NESTING = 500
#: How deep sums and `if`s may nest: each is a region of the IR, which MLIR walks on the machine's stack.
MAX_REGIONS = 200
#: How deep the tree of one definition may be; a chain `x + x + …` is as deep as it is long.
MAX_DEPTH = 10_000
#: How many dimensions a tensor may have, and how many indices may be bound at one place.
MAX_INDICES = 100
#: How many floor divisions one index expression may hold.
MAX_DIVISIONS = 100
#: The most summands with elements of sparse tensors in one sum of products.
MAX_PARTS = 200
#: The most different subterms of a program; a derivative can have many more than its program.
MAX_TERMS = 400_000
#: The most operations of a program in the IR, where a branch repeats what it needs.
MAX_OPERATIONS = 120_000
#: The most pieces of a program as text, where nothing is shared.
MAX_PIECES = 1_000_000
#: What making a term is charged, with the walks over it, as `lattice/effort.py` counts, which limits all work
#: together to about a minute.
TERM_WORK = 40
#: What an operation of loops is charged, and a line of LLVM IR, of which machine code is made.
LOOP_WORK = 200
LINE_WORK = 160


def too_large(what: str) -> CompileError:
    """The error for a program that grew beyond a limit; it names no place, for there is none."""
    helps = ["name parts of it with `let`, or differentiate by fewer arguments"]
    return CompileError([Diagnostic("TAD0113", f"program is too large: {what}", helps=helps)])
