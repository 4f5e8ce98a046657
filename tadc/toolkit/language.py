"""Programs as data: definitions, terms, and the index forms and integer sets that stand in them."""

from tadc.frontend.conditions import NEGATED
from tadc.frontend.deep import deep_recursion
from tadc.frontend.dtypes import DEFAULT, bytes_of_type
from tadc.frontend.extents import as_form, extent, shape_at, size_sources
from tadc.frontend.float_functions import HOLDS, Floats, called, float_function, power, quotient
from tadc.frontend.formula_values import OPERANDS, evaluate
from tadc.frontend.functions import APPLIED, FUNCTIONS, REDUCTIONS, UNARY, complete, having
from tadc.frontend.functions.scalar_function import Course, ScalarFunction
from tadc.frontend.interval_rounding import LIBRARY, Bounds, down, lower, no_bound, up, upper
from tadc.frontend.printer import print_program
from tadc.frontend.program import Argument, Definition, Program
from tadc.frontend.size_values import needs_values
from tadc.frontend.specialise import specialised
from tadc.frontend.terms import (
    Apply,
    Const,
    Domain,
    Guard,
    IndexValue,
    Read,
    Reduce,
    Select,
    Term,
    Terms,
    bottom_up,
    in_text_order,
    index_forms,
    integer_exponent,
    join_types,
    operands,
    reachable,
    tensors_read,
    type_in,
)
from tadc.frontend.value_bounds import is_inside, value_at, values_over
from tadc.lattice.affine import Affine, Constraint, Floor, Lookup, at_least_zero, box, equals_zero
from tadc.lattice.bounds import level_of, project
from tadc.lattice.effort import EliminationLimit
from tadc.lattice.fibre import Fibre, fibres_in
from tadc.lattice.intervals import Interval, interval_of
from tadc.lattice.loop_nests import LoopNest, loop_nest
from tadc.lattice.points import SearchLimit, find_point
from tadc.lattice.polyhedron import NEVER, atom_facts, hold, implied, is_empty
from tadc.lattice.shadow import shadow
from tadc.passes.terms.checked_reads import accesses, all_proven, evaluated, outside
from tadc.passes.terms.names import Names
from tadc.passes.terms.operation_counts import count_program
from tadc.passes.terms.work_regions import Region, Regions, WorkLoop

__all__ = [
    "APPLIED", "DEFAULT", "FUNCTIONS", "HOLDS", "LIBRARY", "NEGATED", "NEVER", "OPERANDS", "REDUCTIONS",
    "UNARY", "Affine", "Apply", "Argument", "Bounds", "Const", "Constraint", "Course", "Definition", "Domain",
    "EliminationLimit", "Fibre", "Floats", "Floor", "Guard", "IndexValue", "Interval", "Lookup", "LoopNest",
    "Names", "Program", "Read", "Reduce", "Region", "Regions", "ScalarFunction", "SearchLimit", "Select",
    "Term", "Terms", "WorkLoop", "accesses", "all_proven", "as_form", "at_least_zero", "atom_facts",
    "bottom_up", "box", "bytes_of_type", "called", "complete", "count_program", "deep_recursion", "down",
    "equals_zero", "evaluate", "evaluated", "extent", "fibres_in", "find_point", "float_function", "having",
    "hold", "implied", "in_text_order", "index_forms", "integer_exponent", "interval_of", "is_empty",
    "is_inside", "join_types", "level_of", "loop_nest", "lower", "needs_values", "no_bound", "operands",
    "outside", "power", "print_program", "project", "quotient", "reachable", "shadow", "shape_at",
    "size_sources", "specialised", "tensors_read", "type_in", "up", "upper", "value_at", "values_over",
]  # fmt: skip
