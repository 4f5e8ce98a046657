"""Einstein's notation, as NumPy's `einsum` writes it: subscripts, and the array that they say of others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from string import ascii_lowercase
from typing import Any, NoReturn

from tadc.building.array_sums import JOINS, contracted
from tadc.building.whole_arrays import ArrayExpression, as_array
from tadc.frontend.diagnostics import Diagnostic, Label, UsageError
from tadc.frontend.functions import SPELLED_REDUCTIONS
from tadc.frontend.source import Source, Span

#: The names of the dimensions of an operand, or of the result.
Names = tuple[str, ...]


def einsum_of(subscripts: Any, operands: Sequence[Any], reduce: str = "sum") -> ArrayExpression:
    """The array that subscripts say of others. Raises UsageError (TAD0510) that shows the place."""
    arrays = [as_array(operand) for operand in operands]
    names, result = read_subscripts(subscripts, [len(array.extents) for array in arrays])
    kind, join = read_semiring(reduce)
    return contracted(list(zip(arrays, names, strict=True)), result, kind, join)


def read_semiring(reduce: Any) -> tuple[str, str]:
    """What a word such as "max" or "max-plus" reduces by, and joins operands by."""
    kind, _, join = reduce.partition("-") if isinstance(reduce, str) else ("", "", "")
    join = join or "times"
    if kind not in SPELLED_REDUCTIONS or join not in JOINS:
        kinds, joins = (", ".join(f'"{word}"' for word in words) for words in (SPELLED_REDUCTIONS, JOINS))
        help = f'`reduce` is one of {kinds}, perhaps with what joins operands, one of {joins}: "max-plus"'
        raise UsageError([Diagnostic("TAD0510", f"there is no reduction {reduce!r}", helps=[help])])
    return kind, join


def read_subscripts(subscripts: Any, ranks: Sequence[int] | None = None) -> tuple[list[Names], Names]:
    """The names of each operand's dimensions, and those of the result. Without ranks there is no ellipsis."""
    if not isinstance(subscripts, str):
        raise UsageError([Diagnostic("TAD0510", f'subscripts are text, as "ij,jk->ik", not {subscripts!r}')])
    left, arrow, right = subscripts.partition("->")
    _check_letters(left, subscripts, 0, ", ")
    _check_letters(right, subscripts, len(left) + len(arrow), " ")
    operands = left.replace(" ", "").split(",")
    if len(operands) > len(ascii_lowercase):
        _stop(subscripts, 0, f"more than {len(ascii_lowercase)} operands", "multiply some of them first")
    if ranks is not None and len(ranks) != len(operands):
        _stop(
            subscripts,
            0,
            f"{len(operands)} operands are named, and {len(ranks)} given",
            "one for each comma and one more",
        )
    if ranks is None and "..." in subscripts:
        help = 'call it with arrays, `tadc.einsum("...i->...", a)`, or give each dimension a letter'
        _stop(subscripts, subscripts.index("..."), "how many dimensions the ellipsis has is not known", help)
    given = ranks if ranks is not None else [len(operand) for operand in operands]
    dots = [rank - len(operand.replace("...", "")) for operand, rank in zip(operands, given, strict=True)]
    for number, (operand, many) in enumerate(zip(operands, dots, strict=True)):
        if many < 0 or (many and "..." not in operand):
            place = sum(len(item) + 1 for item in left.split(",")[:number])
            help = "give each dimension a letter, or write `...` for the others"
            _stop(
                subscripts,
                place,
                f"`{operand}` names other dimensions than the {given[number]} of its operand",
                help,
            )
    most = max((n for operand, n in zip(operands, dots, strict=True) if "..." in operand), default=0)
    all_dots = [f".{n}" for n in range(most)]
    names = [_names(operand, all_dots[most - n :]) for operand, n in zip(operands, dots, strict=True)]
    counts = Counter(name for operand in names for name in operand)
    if not arrow:
        return names, (*all_dots, *sorted(c for c, n in counts.items() if n == 1 and len(c) == 1))
    _check_result(right, subscripts, len(left) + len(arrow), counts)
    return names, _names(right.replace(" ", ""), all_dots)


def _names(letters: str, dots: Sequence[str]) -> Names:
    before, found, behind = letters.partition("...")
    return (*before, *(dots if found else ()), *behind)


def _check_result(right: str, subscripts: str, start: int, counts: Counter[str]) -> None:
    for position, c in enumerate(right):
        place = start + position
        if c not in (" ", ".") and c not in counts:
            _stop(subscripts, place, f"no operand has the index `{c}`", "a result has indices of operands")
        if c not in (" ", ".") and c in right[:position]:
            help = "a diagonal is read, not written: `ii->i`"
            _stop(subscripts, place, f"`{c}` stands twice in the result", help)


def _check_letters(part: str, subscripts: str, start: int, others: str) -> None:
    # An ellipsis stands once in an operand.
    shown = ",".join(operand.replace("...", "   ", 1) for operand in part.split(","))
    for position, c in enumerate(shown, start):
        if not (c.isascii() and c.isalpha()) and c not in others and c != " ":
            _stop(
                subscripts, position, f"unexpected `{c}`", "subscripts are letters, `,`, `...` and one `->`"
            )


def _stop(subscripts: str, position: int, message: str, help: str) -> NoReturn:
    source = Source(subscripts, "<einsum>")
    found = Diagnostic("TAD0510", message, Label(Span(position, position + 1)), helps=[help], source=source)
    raise UsageError([found])
