"""The attributes of `tad` on functions, arguments, results and maps, with what they say.

Names are written where they are read and set; a test says that this table has all of them.
"""

from __future__ import annotations

#: Each attribute: what carries it, what it is, and what it says.
# fmt: off
ATTRIBUTES = {
    "tad.name": ("an argument or result", "string", "its name in the program"),
    "tad.shape": ("a tensor argument with dynamic extents", "affine map",
        "its extents, over the sizes, which are the index arguments in order"),
    "tad.below": ("an argument of i32", "affine map",
        "its elements are at least 0 and less than this form of the sizes"),
    "tad.increasing": ("an argument of i32", "unit", "its elements do not fall along its dimension"),
    "tad.inspected": ("an argument of i32", "array",
        "the caller does not pass it: an inspector makes it; its kind, the axis, and the names of the arrays"
        " that it follows from"),
    "tad.values": ("an argument of i32", "string",
        "of one of the kind `values`: the form of `#0`, `#1`, … that an element is, as JSON"),
    "tad.pattern": ("an argument or result", "array",
        "it holds what a sparse tensor stores: the shape of that, a map of the sizes, and the names of the "
        "index arrays that say where each element stands"),
    "tad.excluded": ("a function", "array of integer sets", "sizes for which calls are refused"),
    "tad.cotangent_of": ("an argument", "string", "the output that it is the cotangent of"),
    "tad.gradient_of": ("a result", "string", "the argument that it is the gradient by"),
    "tad.tangent_of": ("an argument or result", "string", "what it is the tangent of"),
    "tad.chain": ("a map", "array of two or five integers",
        "the number of its chain, and how many rows of that run at a time; 0 for points of its sum; on a GPU "
        "how many indices number rows, and the threads of a row and of a block"),
    "tad.row": ("a map", "integer",
        "the number of its index that counts rows of its chain; the first without it"),
    "tad.chain_steps": ("a map", "unit", "its first index numbers the steps of the chain that it is in"),
    "tad.in_place": ("a map", "unit",
        "its elements are those of another tensor but on a thin set; these alone are computed, in its "
        "memory"),
    "tad.parts": ("a map", "unit", "its elements are long parts of a reduction, a few for each thread"),
    "tad.joined": ("a map", "unit", "nothing long is left to do: it is computed without vectors"),
    "tad.window": ("a map", "array of integers",
        "of how many steps its tensors are kept, and the weights of all subscripts, one of them 1 or -1, "
        "whose sum is the step of an element"),
    "tad.sweep": ("a map", "array of four integers",
        "its chain runs some steps of a recurrence at a time: the index that follows these, how many steps a"
        " value of it takes, where they begin, and whether they go down"),
    "tad.tape": ("a map", "array of six integers",
        "it runs again for a chain that goes back over the steps: the number of that chain, how many states "
        "are saved, how many steps a state has, how far ahead of a step others are at hand, how many of "
        "these are computed just before, and for how many steps of that chain at a time"),
    "tad.kept": ("a map", "unit",
        "its elements are the same in all calls, of which the first alone computes them"),
}
# fmt: on
