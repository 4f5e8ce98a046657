"""Programs written in Python: expressions of indices and tensors, and what is made of them.

An expression is text of the language with holes for its parts, and each part knows the line of Python it was
written on. A program is written as text once, and read by the parser and the checker of every other
text: there is one grammar, one syntax tree and one set of checks. What they find wrong is shown at the
line of Python (`python_lines.py`).
"""

from tadc.building.built_programs import define, program
from tadc.building.decorated import ElementType, bf16, f16, f32, f64, kernel
from tadc.building.einsums import einsum
from tadc.building.python_expressions import Condition, Expression, Index, Size, Tensor
from tadc.building.python_forms import logsumexp, max, min, norm, prod, select, sum, where
from tadc.building.rearrangements import rearrange, reduce, repeat
from tadc.building.tensors import IndexArray, argument, index, index_array, indices, let, size, sizes
from tadc.building.whole_arrays import ArrayExpression

__all__ = [
    "ArrayExpression",
    "Condition",
    "ElementType",
    "Expression",
    "Index",
    "IndexArray",
    "Size",
    "Tensor",
    "argument",
    "bf16",
    "define",
    "einsum",
    "f16",
    "f32",
    "f64",
    "index",
    "index_array",
    "indices",
    "kernel",
    "let",
    "logsumexp",
    "max",
    "min",
    "norm",
    "prod",
    "program",
    "rearrange",
    "reduce",
    "repeat",
    "select",
    "size",
    "sizes",
    "sum",
    "where",
]
