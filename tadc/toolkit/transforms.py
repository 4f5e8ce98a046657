"""Programs of programs: derivatives, simplification, and the algebra that they are written in."""

from tadc.compiler.derive import derive, resolve_wrt
from tadc.passes.derivatives.derivative_table import RULES, in_terms
from tadc.passes.derivatives.fibres import with_fibres
from tadc.passes.derivatives.forward import forward_program
from tadc.passes.maps.blocks import with_arrays
from tadc.passes.rewrites.compared import store_compared
from tadc.passes.rewrites.copied_tensors import without_copied_results, without_copies
from tadc.passes.terms.algebra import Algebra, is_const
from tadc.passes.terms.few_points import elements
from tadc.passes.terms.liveness import needed, used_sizes
from tadc.passes.terms.products import product_of
from tadc.passes.terms.simplify import Simplifier, simplify_program

__all__ = [
    "RULES", "Algebra", "Simplifier", "derive", "elements", "forward_program", "in_terms", "is_const",
    "needed", "product_of", "resolve_wrt", "simplify_program", "store_compared", "used_sizes", "with_arrays",
    "with_fibres", "without_copied_results", "without_copies",
]  # fmt: skip
