"""The mechanisms of the code generator for CPUs, each with what stands in its place where it is off."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import islice
from pkgutil import resolve_name
from typing import Any
from unittest.mock import patch

from tadc.passes.nest.steps import Interleave, Peel, Prefetch, Step, Stream, Transpose
from tadc.passes.schedule.search import searched
from tadc.passes.schedule.splits import WHOLE

#: What a function or class is without a mechanism, made of what it is with it.
Without = Callable[[Any], Any]


@dataclass(frozen=True)
class Switch:
    """A mechanism; `without` has, for names of `tadc.passes`, what they are where it is off.

    Schedules where it is used have the word `step`; where that is empty, they do not tell.
    """

    name: str
    what: str
    without: dict[str, Without]
    step: str = ""

    @contextmanager
    def off(self) -> Iterator[None]:
        """Programs that are compiled inside do without it."""
        with ExitStack() as stack:
            # What was found with it on, or off, is not to be found again.
            searched.cache_clear()
            stack.callback(searched.cache_clear)
            for name, change in self.without.items():
                target = f"tadc.passes.{name}"
                stack.enter_context(patch(target.replace(":", "."), change(resolve_name(target))))
            yield


def _always(value: Any) -> Without:
    """A function that gives a value; or that value itself, in the place of one that is none."""
    return lambda found: (lambda *_, **__: value) if callable(found) else value


def _unchanged(_: Any) -> Any:
    """A rewrite that gives a program, or maps, as they are."""
    return lambda given, *_, **__: given


def _as_is(_: Any) -> Any:
    """A rewrite of terms that gives a term as it is."""
    return lambda _, body: body


def _nothing_cheap(found: Any) -> Any:
    """Tensors for what is expensive alone."""
    return lambda program, *given, **how: program if how.get("cheap") else found(program, *given, **how)


class _NothingInCommon:
    """Factors that stay where they are."""

    def __init__(self, *_: Any) -> None:
        pass

    def rewritten(self, root: Any) -> Any:
        """The term itself."""
        return root


def _without(*kinds: type[Step]) -> Without:
    """Schedules without steps of some kinds."""
    return lambda found: lambda *given: tuple(s for s in found(*given) if not isinstance(s, kinds))


def _parts(keeps: Callable[[Any], bool]) -> Without:
    """Parts of indices as they are, where they are to be kept, else one loop."""
    return lambda found: lambda *given: [part if keeps(part) else WHOLE for part in found(*given)]


def _candidates(keeps: Callable[[Any], bool]) -> Without:
    """The candidates that are to be kept."""
    return lambda found: lambda *given: filter(keeps, found(*given))


def _first(found: Any) -> Any:
    """The first that is found alone."""
    return lambda *given: islice(found(*given), 1)


def _whole_panels(found: Any) -> Any:
    """Panels of whole reductions alone."""

    def cut(*given: Any) -> Any:
        result = found(*given)
        return None if result is not None and result[1] is not None else result

    return cut


def _met_alone(found: Any) -> Any:
    """Loops of reductions in one part, but those that meet an equality."""
    return lambda *given, **named: (
        (step, fold) for step, fold in found(*given, **named) if not isinstance(step, Peel) or step.rows
    )


NOTHING: tuple[Any, ...] = ()

SWITCHES = [
    Switch("fusion", "maps over the same elements become one loop nest", {"catalogue:fused": _unchanged}),
    Switch(
        "kept tensors", "tensors that depend on no argument are computed once", {"catalogue:keep": _unchanged}
    ),
    Switch(
        "fills",
        "tensors that are 0 except on thin sets are filled with zeros first",
        {"catalogue:filled": _unchanged},
    ),
    Switch(
        "chains", "maps run row by row, one after the other", {"catalogue:with_rows_together": _unchanged}
    ),
    Switch(
        "short rows",
        "elements of short rows become tensors, which are fused",
        {"term_catalogue:split_rows": _unchanged},
    ),
    Switch(
        "powers of indices",
        "`x**k` for an index k becomes a product",
        {"term_catalogue:powers_as_products": _unchanged},
    ),
    Switch(
        "states of steps",
        "values of long steps that derivatives need are kept",
        {"term_catalogue:with_step_states": lambda found: lambda program, *given: program},
    ),
    Switch(
        "copies for steps",
        "loop-invariant operands of steps are copied once, contiguous for vectors",
        {"catalogue:with_copies_for_steps": _unchanged},
    ),
    Switch(
        "row products", "elements of a row share a quotient", {"term_catalogue:with_row_products": _unchanged}
    ),
    Switch(
        "reciprocals",
        "divisions by one value share a reciprocal",
        {
            f"term_catalogue:{name}": _unchanged
            for name in ("with_collected_powers", "with_written_powers", "with_reciprocals")
        },
    ),
    Switch(
        "short sums in sums",
        "short sums inside sums are unrolled",
        {"rewrites.rows:write_out_short_sums": _unchanged},
    ),
    Switch(
        "parts without choices",
        "a loop is split where an equality holds",
        {"schedule.reduction_parts:_equalities": _always(NOTHING)},
    ),
    Switch(
        "groups and residues",
        "a tensor whose index is divided is computed for groups or residues",
        {"term_catalogue:split_divided_indices": _unchanged},
    ),
    Switch(
        "counted sums",
        "indices of sums count from 0 if bounds move with an element",
        {"maps.fuse:with_counted_sums": _unchanged},
    ),
    Switch(
        "joined indices",
        "indices contiguous in memory become one loop",
        {"schedule.choose:joins_of": _always(NOTHING)},
        "join",
    ),
    Switch(
        "wavefronts",
        "recurrences along diagonals are computed in vectors",
        {"term_catalogue:skew_recurrences": _unchanged},
    ),
    Switch("joined sums", "nested sums become one sum", {"term_catalogue:join_nested_sums": _unchanged}),
    Switch(
        "log products",
        "exponentials of sums become products of fewer exponentials",
        {"term_catalogue:with_log_products": _unchanged},
    ),
    Switch(
        "shares of exponentials",
        "exponentials divided by their sum are computed once",
        {"term_catalogue:with_exponential_shares": _unchanged},
    ),
    Switch(
        "lifted sums",
        "sums under conditions are computed for all elements",
        {"maps.fuse:with_lifted_folds": _unchanged},
    ),
    Switch(
        "merged sums", "sums that share expensive values become one loop", {"maps.fuse:merged": _unchanged}
    ),
    Switch(
        "zeros",
        "identically zero terms of derivatives are dropped",
        {"term_catalogue:without_vanishing": _unchanged},
    ),
    Switch(
        "recomputed pairs",
        "large tensors are recomputed where they are read",
        {"term_catalogue:without_large_tensors": _unchanged},
    ),
    Switch(
        "separate contractions",
        "each of several added contractions becomes a tensor",
        {"term_catalogue:separate_contractions": _unchanged},
    ),
    Switch("one sign", "x - y and y - x become one value", {"rewrites.factor:with_one_sign": _as_is}),
    Switch(
        "common factors",
        "common factors of summands leave their sum",
        {"rewrites.factor:CommonFactors": lambda _: _NothingInCommon},
    ),
    Switch(
        "grouped factors",
        "common factors of products are computed once",
        {"rewrites.materialise:group_factors": _unchanged},
    ),
    Switch(
        "cheap values",
        "cheap values shared by many elements become tensors",
        {"rewrites.materialise:store_values": _nothing_cheap},
    ),
    Switch(
        "gathered rows",
        "scattered operands of all rows are copied once",
        {"maps.run_together:gathered": lambda _: lambda item, *_: ([], item)},
    ),
    Switch(
        "tapes", "steps of a recurrence are recomputed for gradients", {"catalogue:with_tapes": _unchanged}
    ),
    Switch(
        "sums over steps",
        "sums over steps are accumulated while the steps are computed",
        {"term_catalogue:with_sums_over_steps": _unchanged},
    ),
    Switch(
        "equal tensors",
        "equal tensors become one",
        {"term_catalogue:merge_equal_tensors": _unchanged},
    ),
    Switch(
        "rows last",
        "short rows are stored last, so that vectors run over rows",
        {"catalogue:with_rows_last": _unchanged},
    ),
    Switch(
        "copied tensors",
        "copies of tensors are dropped",
        {
            "rewrites.materialise:without_copies": _unchanged,
            "rewrites.materialise:without_copied_results": _unchanged,
        },
    ),
    Switch(
        "zeros between",
        "tensors are not stored where they are identically 0",
        {"term_catalogue:without_zeros_between": _unchanged},
    ),
    Switch(
        "element values",
        "values of index-array elements that sums share become tensors",
        {"term_catalogue:over_elements": _unchanged},
    ),
    Switch(
        "other factors",
        "products of all other elements of a fibre use the products before and after each",
        {"term_catalogue:with_other_factors": _unchanged},
    ),
    Switch(
        "entries in order",
        "operands of sums over fibres are stored in their order",
        {"rewrites.packed_lookups:with_entries_in_order": _unchanged},
    ),
    Switch(
        "packed lookups",
        "elements of index arrays are read in the order of loops",
        {"term_catalogue:packed_program": _unchanged},
    ),
    Switch(
        "scattered sums",
        "sums over fibres with scattered reads are computed in blocks",
        {"term_catalogue:with_scattered_sums": _unchanged},
        "scatter",
    ),
    Switch(
        "sparse products",
        "rows of products of sparse matrices are computed in a buffer",
        {"term_catalogue:with_sparse_products": _unchanged},
        "scatter",
    ),
    Switch(
        "maps at sums",
        "maps over entries run in the loop over those of a row",
        {"catalogue:with_maps_at_sums": _unchanged},
    ),
    Switch(
        "long fibres",
        "long fibres are cut into parts of a fixed length",
        {"term_catalogue:cut_fibres": _unchanged},
    ),
    Switch("windows", "only the last steps of a recurrence are kept", {"catalogue:with_windows": _unchanged}),
    Switch(
        "threads in steps",
        "threads divide the steps of recurrences",
        {"schedule.plans:_divided": _always(None)},
    ),
    Switch("cut sums", "long sums are cut into parts for threads", {"catalogue:cut_reductions": _unchanged}),
    Switch(
        "full parts",
        "edges are separate loops, and the others have no conditions",
        {"schedule.plans:parts_of": _parts(lambda part: part.factor > 1)},
        " where ",
    ),
    Switch(
        "residues",
        "each remainder of an index gets its own loop body",
        {"schedule.plans:parts_of": _parts(lambda part: part.factor == 1)},
        "residues",
    ),
    Switch(
        "register tiles",
        "copies along an index share loads",
        {"schedule.search:COUNTS": _always((1,)), "schedule.search:VECTORS": _always((1,))},
        "jam",
    ),
    Switch("panels", "scattered reads are copied first", {"schedule.search:packing": _always(None)}, "stage"),
    Switch(
        "panels of rows",
        "operands of the rows of a tile are copied too",
        {"schedule.packing:_ReductionPacking.row_reads": _always([])},
        "stage",
    ),
    Switch(
        "blocks of sums",
        "panels hold a part of a reduction",
        {"schedule.packing:_ReductionPacking.cut": _whole_panels},
        "cut",
    ),
    Switch(
        "blocks without panels",
        "tiles share a part of a long sum in the L1 cache",
        {"schedule.search:blocks_alone": _always(None)},
        "cut",
    ),
    Switch(
        "transposed panels",
        "panels are filled by transposes in registers",
        {"schedule.steps_of_plan:along": _always(False), "schedule.packing:along": _always(False)},
        "by transpose",
    ),
    Switch(
        "transposed reads",
        "reads of columns are transposed in registers",
        {
            "cpu.loop_functions:steps_of_plan": _without(Transpose),
            "schedule.candidate:Candidate.squares": _always(False),
        },
        "transpose %",
    ),
    Switch(
        "interleaved stores",
        "strided stores are interleaved in registers",
        {"cpu.loop_functions:steps_of_plan": _without(Interleave)},
        "interleave",
    ),
    Switch(
        "streaming",
        "stores of results bypass the caches",
        {"cpu.loop_functions:steps_of_plan": _without(Stream)},
        "stream",
    ),
    Switch(
        "prefetch",
        "cache lines of the next tile are prefetched",
        {"cpu.loop_functions:steps_of_plan": _without(Prefetch)},
        "prefetch",
    ),
    Switch(
        "cache sets",
        "tiles whose rows share a cache set are smaller",
        {"schedule.cost:cost_of_lines": _always(0)},
    ),
    Switch(
        "loop order",
        "loops are ordered to load the fewest cache lines",
        {"schedule.loop_order:_orders": _first},
    ),
    Switch(
        "lane folds",
        "reductions are vectorised along their own index",
        {"schedule.search:_Candidates.all": _candidates(lambda candidate: candidate.fold is None)},
    ),
    Switch(
        "leaps",
        "steps one vector apart share vectors",
        {"schedule.search:leaping_candidates": _always(NOTHING)},
        "unroll",
    ),
    Switch(
        "short sums",
        "sums of few steps are written out",
        {"schedule.steps_of_plan:_PlanSteps.short": _always(None)},
        "unroll",
    ),
    Switch(
        "shifts",
        "each lane starts a sum at its own position",
        {"schedule.reduction_parts:moved_by": _always(None)},
    ),
    Switch(
        "middle parts",
        "the part of a sum common to all lanes has no masks",
        {"schedule.reduction_parts:_of_loops": _met_alone},
    ),
]
