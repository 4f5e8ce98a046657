"""The attributes of `tad` on functions, arguments, results and maps, with their meaning.

Names are written where they are read and set; a test checks that this table has all of them.
"""

from __future__ import annotations

#: Each attribute: its carrier, type and meaning.
# fmt: off
ATTRIBUTES = {
    "tad.name": ("an argument or result", "string", "its name in the program"),
    "tad.shape": ("a tensor argument with dynamic extents", "affine map",
        "its extents, over the sizes, which are the index arguments in order"),
    "tad.below": ("an argument of i32", "affine map",
        "its elements are at least 0 and less than this form of the sizes"),
    "tad.increasing": ("an argument of i32", "unit", "its elements never decrease along its dimension"),
    "tad.inspected": ("an argument of i32", "array",
        "an inspector computes it, not the caller: its kind, the axis, and the names of the arrays"
        " it is computed from"),
    "tad.values": ("an argument of i32", "string",
        "for the kind `values`: an element as a form of `#0`, `#1`, …, in JSON"),
    "tad.pattern": ("an argument or result", "array",
        "it contains the stored elements of a sparse tensor: that tensor's shape, a map of the sizes, and"
        " the names of the index arrays with the position of each element"),
    "tad.excluded": ("a function", "array of integer sets", "sizes for which calls are errors"),
    "tad.cotangent_of": ("an argument", "string", "the output whose cotangent it is"),
    "tad.gradient_of": ("a result", "string", "the argument by which it is the gradient"),
    "tad.tangent_of": ("an argument or result", "string", "the argument or output whose tangent it is"),
    "tad.chain": ("a map", "array of two or five integers",
        "the number of its chain, and how many rows of it run at a time, 0 for points of its sum; on a GPU "
        "also how many indices number rows, and the threads of a row and of a block"),
    "tad.row": ("a map", "integer",
        "the position of the index that counts rows of its chain; by default the first"),
    "tad.chain_steps": ("a map", "unit", "its first index numbers the steps of its chain"),
    "tad.in_place": ("a map", "unit",
        "it equals another tensor except on a thin set; only the elements of this set are computed, in the "
        "memory of that tensor"),
    "tad.parts": ("a map", "unit", "its elements are long parts of a reduction, a few for each thread"),
    "tad.joined": ("a map", "unit", "little work remains: it is computed without vectors"),
    "tad.window": ("a map", "array of integers",
        "the number of kept steps of its tensors, and the weights of all subscripts, one of them 1 or -1:"
        " the weighted sum is the step of an element"),
    "tad.sweep": ("a map", "array of four integers",
        "its chain runs some steps of a recurrence at a time: the index along the steps, the number of steps"
        " per value of this index, the first step, and whether they go down"),
    "tad.tape": ("a map", "array of six integers",
        "it is recomputed for a chain that runs backwards over the steps: the number of that chain, of "
        "checkpoints, of steps per checkpoint, of steps available ahead of the current one, of those of them "
        "computed just before, and of steps of that chain at a time"),
    "tad.kept": ("a map", "unit",
        "its elements are the same in all calls; only the first computes them"),
}
# fmt: on
