"""Consecutive components in one kernel each way: what they share is computed once, by one call for all."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace

from tadc.frontend.program import Argument, Definition, Program
from tadc.frontend.terms import Reduce, Terms, reachable, tensors_read
from tadc.passes.terms.liveness import needed
from tadc.undoing.forms import Form, moved

#: So many definitions of one kernel are compiled together.
_DEFINITIONS = 24
#: So many components are.
_COMPONENTS = 12

#: A program, and the name among all programs of each of its arguments and results.
Part = tuple[Program, Callable[[str], str]]


@dataclass(frozen=True)
class Composed:
    """Programs one after another as one: the names among all of what it takes and returns, in order.

    `names` are those of all its tensors.
    """

    program: Program
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    names: dict[str, str]


def composed(parts: Sequence[Part], wanted: Callable[[str], bool]) -> Composed:
    """The program that does what the parts do in turn, and returns what is wanted of their results.

    Its tensors are named in the order in which they appear, so that equal sequences give equal programs.
    """
    terms, names = Terms(), dict[str, str]()
    arguments: dict[str, Argument] = {}
    made: dict[str, Definition] = {}
    for number, (program, naming) in enumerate(parts):
        inner: dict[str, str] = {}
        for argument in program.arguments:
            name = naming(argument.name)
            inner[argument.name] = names.setdefault(name, f"t{len(names)}")
            if name not in made:
                arguments.setdefault(name, replace(argument, name=inner[argument.name]))
        for definition in program.definitions:
            own = naming(definition.name) if definition.is_output else f"{number}:{definition.name}"
            inner[definition.name] = names.setdefault(own, f"t{len(names)}")
            body = moved(definition.body, terms, inner)
            is_output = definition.is_output and wanted(own)
            made[own] = replace(
                definition, name=inner[definition.name], body=body, is_output=is_output, span=None
            )
    kept = needed(list(made.values()))
    read = {name for d in kept for name in tensors_read([d.body])}
    taken = {name: a for name, a in arguments.items() if a.name in read}
    spoken = {definition.name: own for own, definition in made.items()}
    outputs = tuple(spoken[d.name] for d in kept if d.is_output)
    own = {inner: name for name, inner in names.items()}
    return Composed(Program(tuple(taken.values()), kept, terms), tuple(taken), outputs, own)


def groups(forms: Sequence[Form], light: Collection[int]) -> list[range]:
    """The components that go together, by position; equal groups where the sequence of forms repeats.

    `light` are the positions of components that may be in a group. One with sums stays alone: it takes long
    to compile, and nothing is gained.
    """
    found: list[range] = []
    start = 0
    joins = [n in light and not _has_sums(form) for n, form in enumerate(forms)]
    while start < len(forms):
        end = start
        while end < len(forms) and joins[end]:
            end += 1
        if end == start:
            found.append(range(start, start + 1))
            start += 1
            continue
        step = _length(forms[start:end])
        found += [range(n, min(n + step, end)) for n in range(start, end, step)]
        start = end
    return found


def _has_sums(form: Form) -> bool:
    return any(isinstance(t, Reduce) for t in reachable(d.body for d in form.program.definitions))


def _length(forms: Sequence[Form]) -> int:
    """How many components are one group: a multiple of the period, one that divides it if it can."""
    count = len(forms)
    repeats = (p for p in range(1, count // 2 + 1) if all(forms[n] is forms[n - p] for n in range(p, count)))
    period = next(repeats, count)
    size = sum(len(form.program.definitions) for form in forms[:period])
    most = max(1, min(_DEFINITIONS // size, _COMPONENTS // period))
    if size > _DEFINITIONS or period > _COMPONENTS:
        return max(1, _DEFINITIONS * period // max(size, 2 * _DEFINITIONS))
    best = next((n for n in range(most, 0, -1) if count % (n * period) == 0), most)
    return (best if 2 * best > most else most) * period
