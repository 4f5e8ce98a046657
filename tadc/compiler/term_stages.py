"""The stages that rewrite a program: from the one that was checked to the one whose maps are lowered."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tadc.compiler.compile_options import Options
    from tadc.compiler.stages import Compilation
    from tadc.passes.term_pass import TermPass


def begin(state: Compilation) -> None:
    """Typed program to a form of its own, which the passes on terms rewrite."""
    from tadc.passes.terms.renewal import renewed

    assert state.program is not None
    state.form, state.written = renewed(state.program), None


def differentiate(state: Compilation) -> None:
    """The derivative, deltas still in its sums; what it would compute again is a tensor before."""
    from tadc.passes.term_catalogue import CollectPowers, Factor

    options = state.options
    # The certificate and the paper's form show the sums as they are written.
    prepare = [] if options.materialize == "never" or options.separate else [CollectPowers(), Factor()]
    state.rewrite(*prepare, tensors(options), derivative(options))


def derivative(options: Options) -> TermPass:
    """The pass that differentiates: for partial derivatives, for tangents, or for gradients."""
    from tadc.passes.term_catalogue import DeriveJacobian, ForwardDiff, ReverseDiff

    wrt, mode = list(options.wrt or ()), options.mode
    if mode == "jacobian":
        return DeriveJacobian(wrt)
    if mode in ("jvp", "tangents"):
        return ForwardDiff(wrt, mode == "tangents", options.chunk)
    return ReverseDiff(wrt, mode.startswith("value-and"), mode.endswith("grad"), options.separate)


def tensors(options: Options, values: bool = False) -> TermPass:
    """The pass that gives tensors of their own to values; before a derivative unless it is for `values`."""
    from tadc.passes.term_catalogue import Materialize

    limit = -1 if options.memory_limit is None else options.memory_limit
    wrt = [] if values else list(options.wrt or ())
    cpu = not options.backend.launches_kernels
    states = cpu and not values and options.reverse == "store"
    return Materialize(wrt, values, options.materialize, limit, cpu, states)


def cancel_deltas(state: Compilation) -> None:
    """The derivative without deltas; a certificate needs how the sums that gather for reads were solved."""
    from tadc.passes.term_catalogue import CancelDeltas

    cancel = CancelDeltas()
    if state.options.separate:
        cancel.gathers = state.gathers
    state.rewrite(cancel)


def clean_up(state: Compilation) -> None:
    """What a person would write."""
    from tadc.passes.term_catalogue import Compress, DropZeros, FoldLiterals, Simplify

    options = state.options
    zeros = [] if options.materialize == "never" or options.separate else [DropZeros()]
    compress = [Compress()] if options.mode == "jacobian" else []
    state.rewrite(Simplify(), *zeros, *compress, FoldLiterals())


def hoist(state: Compilation) -> None:
    """Cheaper sums, and tensors for what would be computed more than once, but for what costs less anew."""
    from tadc.passes import term_catalogue as terms

    options = state.options
    limit = -1 if options.memory_limit is None else options.memory_limit
    if state.form is None or state.form.index_arrays():
        state.rewrite(terms.ElementValues(options.materialize, limit), terms.Fibres())
        if options.materialize != "never":
            state.rewrite(terms.OtherFactors())
        state.rewrite(terms.Simplify())
    recompute = terms.Recompute(limit, options.materialize != "auto")
    recompute.decisions = state.decisions
    if options.materialize == "never":
        # The program as it is written, but for what it has no room for.
        state.rewrite(recompute, terms.PackLookups())
        return
    collect = [] if options.differentiates else [terms.CollectPowers()]
    # Before a logsumexp is written by the shares of its terms.
    state.rewrite(terms.LogProducts(limit), *collect, terms.Factor(values=True))
    known, before = state.names(), state.form
    state.rewrite(recompute)
    if state.form is not before:
        state.rewrite(terms.Factor(values=True))
    recompute.before = known | state.names()
    stored = tensors(options, values=True)
    state.rewrite(terms.LogProducts(limit, sums=True), stored, terms.PackLookups(), recompute)
    state.decisions.check_inlined(known | state.names())
