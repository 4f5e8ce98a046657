"""The passes on terms, each a dataclass with its name and what it guarantees.

They are plain Python: the front half of the compiler, down to `hoist`, runs where there is neither MLIR nor
NumPy. Those that need them are in `passes/catalogue.py`.
"""

from __future__ import annotations

from tadc.frontend.diagnostics import CompileError
from tadc.frontend.program import Program
from tadc.frontend.specialise import specialised
from tadc.lattice.late_dataclasses import dataclass
from tadc.passes.derivatives.activity import active_tensors
from tadc.passes.derivatives.cancel import cancel_program
from tadc.passes.derivatives.fibres import with_fibres
from tadc.passes.derivatives.forward import forward_program
from tadc.passes.derivatives.gathers import Gather
from tadc.passes.derivatives.jacobian import jacobian_program
from tadc.passes.derivatives.reverse import reverse_program
from tadc.passes.registry import flag_option, names_option, number_option, register, word_option
from tadc.passes.rewrites.collected_powers import with_collected_powers
from tadc.passes.rewrites.compared import store_compared, store_compared_of_recurrences
from tadc.passes.rewrites.element_values import is_of_elements, over_elements
from tadc.passes.rewrites.equal_tensors import merge_equal_tensors
from tadc.passes.rewrites.exponential_shares import with_exponential_shares
from tadc.passes.rewrites.factor import factor_program
from tadc.passes.rewrites.index_powers import powers_as_products
from tadc.passes.rewrites.log_products import with_log_products
from tadc.passes.rewrites.long_fibres import PART, cut_fibres
from tadc.passes.rewrites.materialise import MODES, stored_for_derivative, stored_for_values
from tadc.passes.rewrites.nested_sums import join_nested_sums
from tadc.passes.rewrites.other_factors import with_other_factors
from tadc.passes.rewrites.packed_lookups import packed_program
from tadc.passes.rewrites.reciprocals import with_reciprocals
from tadc.passes.rewrites.recomputed import with_stored_values, without_large_tensors
from tadc.passes.rewrites.row_products import with_row_products
from tadc.passes.rewrites.rows import split_rows
from tadc.passes.rewrites.scattered_sums import with_scattered_sums
from tadc.passes.rewrites.separate_sums import separate_contractions
from tadc.passes.rewrites.sparse_products import with_sparse_products
from tadc.passes.rewrites.split_indices import split_divided_indices
from tadc.passes.rewrites.step_states import with_step_states
from tadc.passes.rewrites.stored_values import store_values
from tadc.passes.rewrites.sums_over_steps import with_sums_over_steps
from tadc.passes.rewrites.vanishing import without_vanishing
from tadc.passes.rewrites.wavefronts import skew_recurrences
from tadc.passes.rewrites.written_powers import with_written_powers
from tadc.passes.supports.compress import without_zeros_between
from tadc.passes.supports.jacobian_modes import by_tangents
from tadc.passes.term_pass import Refused, TermPass, most, pass_of
from tadc.passes.terms.renewal import renewed
from tadc.passes.terms.simplify import simplify_program
from tadc.passes.where import Separated, Skewed

#: What the limit of most passes is.
ROOM = "maximum bytes of an intermediate (-1: any)"


@dataclass
class ReverseOptions:
    """What a vector-Jacobian product is of, and what it returns."""

    wrt: list[str] = names_option("arguments to differentiate by (all)")
    keep_values: bool = flag_option("return the outputs as well, before the gradients")
    unit_cotangent: bool = flag_option("the cotangent of the only output, a scalar, is 1")
    separate: bool = flag_option("contributions of different reads stay separate sums")


@register("tad-reverse-diff", "each function becomes its vector-Jacobian product, in gather form with deltas")
@dataclass
class ReverseDiff(ReverseOptions, TermPass):
    """Reverse-mode differentiation: a function becomes one of its inputs and cotangents.

    The result computes a gradient for each argument in `wrt`. A gradient gathers: it is a sum over all points
    that read the element, with an equality (the delta) in its domain. Values that the derivative compares for
    equality are stored in a tensor first.
    """

    suffix = "_vjp"

    def rewrite(self, program: Program) -> Program:
        """Differentiate; raises Refused for a name in `wrt` that is no argument."""
        names = argument_names(program, self.wrt)
        if self.unit_cotangent and [d.shape for d in program.outputs] != [()]:
            raise Refused("unit-cotangent needs one scalar output")
        # What is separate shows the sums of the program itself, and is never computed.
        stored = program if self.separate else store_compared(program, names)
        made = reverse_program(
            stored,
            names,
            keep_values=self.keep_values,
            unit_cotangent=self.unit_cotangent,
            separate=self.separate,
        )
        return made if self.separate else store_compared_of_recurrences(made, names)


@dataclass
class ForwardOptions:
    """What a Jacobian-vector product is of, and what it returns."""

    wrt: list[str] = names_option("arguments to differentiate by (all)")
    drop_values: bool = flag_option("return only the tangents")
    chunk: int = number_option(0, "number of tangents, along a leading dimension (0: one tangent without it)")


@register("tad-forward-diff", "each function becomes its value and its Jacobian-vector product")
@dataclass
class ForwardDiff(ForwardOptions, TermPass):
    """Forward-mode differentiation: a function becomes one of its inputs and tangents.

    Each value is followed by its tangent. Sums keep their domains; there are no deltas.
    """

    suffix = "_jvp"

    def rewrite(self, program: Program) -> Program:
        """Differentiate; raises Refused for a name in `wrt` that is no argument."""
        names = argument_names(program, self.wrt)
        stored = store_compared(program, names)
        made = forward_program(stored, names, keep_values=not self.drop_values, chunk=self.chunk)
        return store_compared_of_recurrences(made, names)


@register("tad-jacobian", "each function becomes the partial derivatives of all elements, with deltas")
@dataclass
class DeriveJacobian(TermPass):
    """Jacobians: tensors with the indices of the output, then those of the argument.

    They contain deltas, which `tad-cancel-deltas` solves.
    """

    wrt: list[str] = names_option("arguments to differentiate by (all)")

    suffix = "_jacobian"

    def rewrite(self, program: Program) -> Program:
        """Differentiate; raises Refused for a name in `wrt` that is no argument."""
        names = argument_names(program, self.wrt)
        stored = store_compared(program, names)
        made = jacobian_program(stored, names, by_tangents(stored, names))
        return store_compared_of_recurrences(made, names)


def argument_names(program: Program, wrt: list[str]) -> list[str]:
    """The arguments to differentiate by, all but index arrays where none is named.

    Raises Refused for another name.
    """
    names = list(program.differentiable())
    for name in wrt:
        if name not in names:
            raise Refused(f"no argument `{name}`; has: {', '.join(names)}")
    return wrt or names


@register("tad-materialize", "reductions needed more than once are stored as tensors")
@dataclass
class Materialize(TermPass):
    """Reductions and expensive values that would be computed again become definitions of their own.

    One definition becomes several, which read each other; `mode` chooses the values, and `limit` bounds their
    size. Without `values`, a derivative follows: the values that it will read are stored.
    """

    wrt: list[str] = names_option("arguments to differentiate by next (all)")
    values: bool = flag_option("no derivative follows")
    mode: str = word_option("auto", "auto, always or never")
    limit: int = number_option(-1, "maximum bytes of a tensor (-1: those of the largest tensor)")
    keeps: bool = flag_option("tensors that depend on no argument are kept from call to call")
    states: bool = flag_option("values of long steps that a derivative needs become states of the recurrence")

    def rewrite(self, program: Program) -> Program:
        """Materialise; raises Refused for another mode."""
        if self.mode not in MODES:
            raise Refused(f"no mode `{self.mode}`; has: {', '.join(MODES)}")
        limit = most(self.limit)
        if self.values:
            return stored_for_values(program, self.mode, limit, self.keeps)
        active = active_tensors(program, self.wrt or program.differentiable())
        if self.states and self.mode != "never":
            program = with_step_states(program, active, limit)
            active = active_tensors(program, self.wrt or program.differentiable())
        return stored_for_derivative(program, active, self.mode, limit)


def _with_element_values(program: Program, mode: str, limit: int) -> Program:
    if not program.index_arrays() or mode == "never":
        return program
    seen = over_elements(program)
    made = store_values(seen, most(limit), always=mode == "always", only=is_of_elements)
    return program if made is seen else made


ElementValues = pass_of(
    "tad-element-values",
    "values shared by several sums over index arrays are stored as tensors",
    _with_element_values,
    mode=word_option("auto", "auto, always or never"),
    limit=number_option(-1, "maximum bytes of a tensor (-1: those of the largest tensor)"),
)


CollectPowers = pass_of(
    "tad-collect-powers",
    "each positive base has one power in a product",
    lambda program: with_collected_powers(program),
)

Factor = pass_of(
    "tad-factor",
    "no sum contains a factor independent of its indices; cheaper sums, quotients and powers",
    lambda program, values: factor_program(
        with_written_powers(with_exponential_shares(program)) if values else program, values
    ),
    values=flag_option("no derivative follows"),
)

LogProducts = pass_of(
    "tad-log-products",
    "exponentials of sums in sums are products of fewer exponentials, if these are in a safe range",
    lambda program, limit, sums: with_log_products(program, most(limit), sums=sums),
    limit=number_option(-1, ROOM),
    sums=flag_option("in other sums with exponentials too, not only in logsumexp"),
)

DropZeros = pass_of(
    "tad-drop-zeros",
    "derivatives have no tensor or summand that is identically 0",
    lambda program: without_vanishing(program),
)


@register(
    "tad-recompute", "large tensors that are cheaper to recompute than to store and load are not stored"
)
@dataclass
class Recompute(TermPass):
    """Large tensors, such as those over pairs, become formulas where they are read, if that is cheaper.

    Tensors of more than `limit` bytes do so at any cost, except those that a derivative compares. With
    `bounded`, only these do.
    """

    limit: int = number_option(-1, "maximum bytes of a tensor (-1: any)")
    bounded: bool = flag_option("only tensors above the limit")

    def __post_init__(self) -> None:
        #: The tensors of programs that this has seen; the second time those that are new are looked at.
        self.before: set[str] | None = None

    def rewrite(self, program: Program) -> Program:
        """Put formulas in the place of tensors of a program."""
        limit, where = most(self.limit), self.decisions.of(program.symbol)
        if self.before is not None:
            return with_stored_values(program, self.before, where)
        return without_large_tensors(program, limit, not self.bounded, where)


@register("tad-specialise", "size symbols with given values are replaced by these")
@dataclass
class Specialise(TermPass):
    """Size symbols get values: ranges and shapes become numbers.

    A program that is invalid for these values is an error.
    """

    dialects = ("cf", "tensor")
    sizes: list[str] = names_option("values, as in N=4")

    def rewrite(self, program: Program) -> Program:
        """Put values in the place of symbols; raises Refused where that has no meaning."""
        pairs = [text.partition("=") for text in self.sizes]
        values = {name: int(value) if value.isdecimal() else value for name, _, value in pairs}
        try:
            return specialised(program, values)
        except CompileError as error:
            raise Refused(error.diagnostics[0].message) from None


@register("tad-cancel-deltas", "no equality is left in the domain of a sum")
@dataclass
class CancelDeltas(TermPass):
    """Sums with equalities become sums over the solutions, by the Smith normal form.

    A sum without a free index becomes a read at the solution, under a guard: a range or a divisibility, which
    says for which elements there is a solution.
    """

    def __post_init__(self) -> None:
        #: A list to add to, where someone asks how sums were solved.
        self.gathers: list[Gather] | None = None

    def rewrite(self, program: Program) -> Program:
        """Solve the equalities of every sum."""
        return cancel_program(program, self.gathers)


Compress = pass_of(
    "tad-compress",
    "no intermediate is stored where it is identically 0",
    lambda program: without_zeros_between(program),
)

Fibres = pass_of(
    "tad-fibres",
    "no equality with an element of an index array is left in the domain of a sum",
    lambda program: with_fibres(program),
)

OtherFactors = pass_of(
    "tad-other-factors",
    "no product over a fibre omits each element in turn",
    lambda program: with_other_factors(program),
)

PackLookups = pass_of(
    "tad-pack-lookups",
    "elements of index arrays are read in the order of loops over fibres",
    lambda program: packed_program(program),
)

ScatterSums = pass_of(
    "tad-scatter",
    "sums over fibres with scattered reads are computed in blocks, in order",
    lambda program, limit: with_scattered_sums(with_sparse_products(program, most(limit))),
    limit=number_option(-1, ROOM),
)


Simplify = pass_of(
    "tad-simplify",
    "no redundant guard, row or factor is left",
    lambda program: simplify_program(program),
)

FoldLiterals = pass_of(
    "tad-fold",
    "no arithmetic on literals is left, and no two tensors are equal",
    lambda program: merge_equal_tensors(renewed(program, folds=True)),
)

CutFibres = pass_of(
    "tad-cut-fibres",
    "no loop over a fibre is longer than a part",
    lambda program, part, limit: cut_fibres(program, part, most(limit)),
    part=number_option(PART, "elements of a part"),
    limit=number_option(-1, ROOM),
)

SumSteps = pass_of(
    "tad-sum-steps",
    "no sum over the steps of a recurrence is in another sum, or under a guard",
    lambda program, limit: with_sums_over_steps(program, most(limit)),
    limit=number_option(-1, ROOM),
)

Rows = pass_of(
    "tad-rows",
    "short rows are tensors if their sums share expensive values; short sums are unrolled",
    lambda program: split_rows(with_row_products(with_reciprocals(powers_as_products(program)))),
)

Split = pass_of(
    "tad-split",
    "tensors whose index is divided are computed for groups or residues of elements",
    lambda program, limit: split_divided_indices(program, most(limit)),
    limit=number_option(-1, "maximum bytes of a tensor (-1: those of the tensor to split)"),
)

Skew = pass_of(
    "tad-skew",
    "recurrences along diagonals are computed in wavefronts, whose elements are contiguous",
    lambda program, limit, takes: skew_recurrences(program, most(limit), takes),
    (Skewed, "is no recurrence along long diagonals alone"),
    limit=number_option(-1, ROOM),
)

JoinSums = pass_of(
    "tad-join-sums",
    "no reduction directly contains one of its kind; conditions on factors bound sums",
    lambda program: join_nested_sums(program),
)

Separate = pass_of(
    "tad-separate",
    "no tensor is the sum of two contractions",
    lambda program, limit, takes: separate_contractions(program, most(limit), takes),
    (Separated, "adds up no two long contractions"),
    limit=number_option(-1, ROOM),
)
