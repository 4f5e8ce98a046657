"""Groups of components that one kernel computes, and one undoes."""

from __future__ import annotations

from collections.abc import Sequence

from tadc.apps.inversion.bound import BoundComponent
from tadc.apps.undoing.plans.forms import ComponentForm
from tadc.toolkit.language import Reduce, reachable

#: So many definitions of one kernel are compiled together.
_DEFINITIONS = 24
#: So many components are.
_COMPONENTS = 12


def groups_of(components: Sequence[BoundComponent]) -> list[Sequence[BoundComponent]]:
    """The components that go together; equal groups where the sequence of forms repeats.

    One that is solved as a system stays alone, and so does a recurrence, which is a loop of its own anyway,
    and what has sums: it takes long to compile, and nothing is gained.
    """
    forms = [component.form for component in components]
    joins = [
        component.programs.is_closed
        and component.kind.base.method != "recurrence"
        and not _has_sums(component.form)
        for component in components
    ]
    found: list[Sequence[BoundComponent]] = []
    start = 0
    while start < len(forms):
        end = start
        while end < len(forms) and joins[end]:
            end += 1
        if end == start:
            found.append(components[start : start + 1])
            start += 1
            continue
        step = _length(forms[start:end])
        found += [components[n : min(n + step, end)] for n in range(start, end, step)]
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
