"""Ranges of indices without a stated size: the one that all that tells it agrees on, or an error."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from tadc.frontend import syntax
from tadc.frontend.diagnostics import Diagnostic
from tadc.frontend.extents import Extent, extent_text, is_static
from tadc.frontend.index_uses import SizeCandidate, Uses, is_least
from tadc.frontend.report import Rejected, error
from tadc.frontend.source import Span

#: Different ranges that one error shows.
_SHOWN = 4
_SAME = "or declare both with one size symbol, if they are always equal"
_TELLS = "`x[i]` and `x[i + 1]` tell the range of `i`, `x[2*i]` does not, nor what a condition on `i` guards"


def inferred_size(
    name: str, span: Span, uses: Uses, text: Callable[[Span], str], sizes: Iterable[str], kind: str = ""
) -> Extent:
    """The size of an index without a stated range, of a reduction where its `kind` is given.

    `sizes` are symbols that one could state. Raises Rejected where there is none or several, silently if the
    reads that would tell are rejected.
    """
    found = uses.candidates()
    if len(found) > 1:
        raise Rejected(_disagreement(name, span, found, text, kind))
    if found:
        return found[0].size
    if uses.excused:
        raise Rejected
    if (other := uses.hidden_by) is not None:
        raise Rejected(_hidden(name, span, other))
    symbols = sorted(sizes, key=lambda symbol: symbol != name.upper())
    guess = uses.guess()
    size = extent_text(guess) if guess is not None else symbols[0] if symbols else "5"
    raise Rejected(
        error(
            "TAD0306",
            f"index `{name}` has no range",
            span,
            f"no read tells the range of `{name}`",
            notes=[_TELLS],
            helps=[f"state it, for example `{_stated(name, size, kind)}`"],
        )
    )


def _stated(name: str, size: str, kind: str) -> str:
    """An index with its size, in a reduction where its `kind` is given."""
    return f"{kind}{{{name}: {size}}} (…)" if kind else f"{name}: {size}"


def _hidden(name: str, span: Span, other: syntax.IndexSpec) -> Diagnostic:
    free = next(letter for letter in "jklmn" if letter != name)
    return error(
        "TAD0306",
        f"index `{name}` has no range",
        span,
        f"nothing reads this `{name}`",
        secondary=[(other.span, f"another index `{name}`, which hides it inside")],
        helps=[f"give one of them another name, as `{free}`, or leave the first out if all is to be reduced"],
    )


def _disagreement(
    name: str, span: Span, found: list[SizeCandidate], text: Callable[[Span], str], kind: str
) -> Diagnostic:
    # The least is in range for every one of the reads, where it is known which that is.
    sizes = [candidate.size for candidate in found]
    size = next((size for size in sizes if is_least(size, sizes)), sizes[0])
    stated = _stated(name, extent_text(size), kind)
    count = "two" if len(found) == 2 else str(len(found))
    return error(
        "TAD0305",
        f"cannot infer one range for index `{name}`",
        span,
        f"`{name}` has {count} candidate ranges",
        secondary=[(c.stated, f"{interval_text(c.size)} from `{text(c.read)}`") for c in found[:_SHOWN]],
        helps=[f"give the range: `{stated}`"] + ([] if is_static(sizes) else [_SAME]),
    )


def interval_text(size: Extent) -> str:
    """The values of an index of this size."""
    return f"0..{extent_text(size - 1)}" if size else "no values"
