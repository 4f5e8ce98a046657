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
    state.rewrite(*prepare, tensors(options), MODES.get(options.mode, reverse)(options))


def forward(options: Options) -> TermPass:
    """The pass for tangents."""
    from tadc.passes.term_catalogue import ForwardDiff

    return ForwardDiff(list(options.wrt or ()), options.mode == "tangents", options.chunk)


def reverse(options: Options) -> TermPass:
    """The pass for gradients."""
    from tadc.passes.term_catalogue import ReverseDiff

    return ReverseDiff(
        list(options.wrt or ()),
        keep_values=options.mode.startswith("value-and"),
        unit_cotangent=options.mode.endswith("grad"),
        separate=options.separate,
    )


def jacobian(options: Options) -> TermPass:
    """The pass for all partial derivatives."""
    from tadc.passes.term_catalogue import DeriveJacobian

    return DeriveJacobian(list(options.wrt or ()))


#: The pass of a mode; reverse mode's for all others.
MODES = {"jvp": forward, "tangents": forward, "jacobian": jacobian}


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
    from tadc.passes.term_catalogue import (
        CollectPowers,
        ElementValues,
        Factor,
        Fibres,
        LogProducts,
        OtherFactors,
        PackLookups,
        Recompute,
        Simplify,
    )

    options = state.options
    limit = -1 if options.memory_limit is None else options.memory_limit
    if state.form is None or state.form.index_arrays():
        state.rewrite(ElementValues(options.materialize, limit), Fibres())
        if options.materialize != "never":
            state.rewrite(OtherFactors())
        state.rewrite(Simplify())
    recompute = Recompute(limit, options.materialize != "auto")
    recompute.decisions = state.decisions
    if options.materialize == "never":
        # The program as it is written, but for what it has no room for.
        state.rewrite(recompute, PackLookups())
        return
    collect = [] if options.differentiates else [CollectPowers()]
    # Before a logsumexp is written by the shares of its terms.
    state.rewrite(LogProducts(limit), *collect, Factor(values=True))
    known, before = state.names(), state.form
    state.rewrite(recompute)
    if state.form is not before:
        state.rewrite(Factor(values=True))
    recompute.before = known | state.names()
    state.rewrite(LogProducts(limit, sums=True), tensors(options, values=True), PackLookups(), recompute)
    state.decisions.check_inlined(known | state.names())
