"""Consecutive components in one kernel each way: what they share is computed once, by one call for all."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import TypeAlias

from tadc.apps.undoing.forms import ComponentForm, moved_definition
from tadc.apps.undoing.roles import INNER, Naming, Role, RoledProgram, program_of
from tadc.toolkit.language import Argument, Definition, Reduce, Terms, reachable

#: So many definitions of one kernel are compiled together.
_DEFINITIONS = 24
#: So many components are.
_COMPONENTS = 12

Part: TypeAlias = tuple[RoledProgram, Naming]


def composed(parts: Sequence[Part], wanted: Callable[[Role], bool]) -> RoledProgram:
    """The program that does what the parts do in turn, and returns what is wanted of their results.

    Its tensors are named in the order in which they appear, so that equal sequences give equal programs.
    """
    terms, names = Terms(), dict[Role, str]()
    arguments: dict[Role, Argument] = {}
    made: dict[Role, Definition] = {}
    for number, (part, naming) in enumerate(parts):
        inner: dict[str, str] = {}
        for argument in part.program.arguments:
            role = naming(part.role(argument.name))
            inner[argument.name] = names.setdefault(role, f"t{len(names)}")
            if role not in made:
                arguments.setdefault(role, replace(argument, name=inner[argument.name]))
        for d in part.program.definitions:
            role = naming(part.role(d.name)) if d.is_output else Role(INNER, d.name, number)
            inner[d.name] = names.setdefault(role, f"t{len(names)}")
            is_output = d.is_output and wanted(role)
            made[role] = replace(moved_definition(d, terms, inner, d.indices), is_output=is_output)
    program = program_of(list(made.values()), arguments.values(), terms)
    return RoledProgram(program, {name: role for role, name in names.items()})


def groups(forms: Sequence[ComponentForm], light: Collection[int]) -> list[range]:
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


def _has_sums(form: ComponentForm) -> bool:
    return any(isinstance(t, Reduce) for t in reachable(d.body for d in form.program.definitions))


def _length(forms: Sequence[ComponentForm]) -> int:
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
