"""Random affine forms and reads, in range wherever they are evaluated."""

from __future__ import annotations

import random
from collections.abc import Sequence

from tests.fuzz.forms import Division, Form, Relation
from tests.fuzz.lanes import Lanes
from tests.fuzz.styles import Style
from tests.fuzz.tree import Guard, Literal, Node, Read

#: The largest extent of an argument whose reads have large coefficients, by rank.
LARGE_EXTENTS = (1, 60, 20, 8)

#: Coefficients of indices, and those of programs that are about them.
COEFFICIENTS, LARGE_COEFFICIENTS = (1, 1, 1, 1, 1, -1, 2, -2, 3), (1, 1, 2, -2, 3, -3, 4, 5, 6, 10)

#: How often a form has no index, one, two, three.
INDICES, MANY_INDICES = (1, 7, 4, 1), (1, 3, 4, 3)


class Reads:
    """The tensors so far: arguments grow with what is read of them, definitions have their shapes."""

    def __init__(self, rng: random.Random, style: Style, *, large: bool) -> None:
        self.rng = rng
        self.divided = style.divided
        self.extents: dict[str, list[int]] = {}
        self.shapes: dict[str, tuple[int, ...]] = {}
        self.seen: set[str] = set()
        self.largest = tuple(map(max, LARGE_EXTENTS, style.largest)) if large else style.largest
        self.coefficients = LARGE_COEFFICIENTS if large else COEFFICIENTS
        self.indices = MANY_INDICES if large else INDICES

    def arguments(self) -> dict[str, tuple[int, ...]]:
        """The arguments, each as large as what is read of it, or larger."""
        return {name: self._final(extents) for name, extents in self.extents.items()}

    def _final(self, extents: list[int]) -> tuple[int, ...]:
        if not all(extents):
            return tuple(self.rng.choice((0, 1, 2, 3)) for _ in extents)
        return tuple(size + self.rng.choice((0, 0, 0, 0, 0, 0, 1, 2)) for size in extents)

    def sizes(self) -> list[int]:
        """Sizes of dimensions that an index may have too."""
        return [e for shape in (*self.extents.values(), *self.shapes.values()) for e in shape if 0 < e < 7]

    def form(self, lanes: Lanes, avoid: str | None = None) -> Form:
        """An affine form of the indices in scope."""
        rng = self.rng
        names = [name for name in lanes.env if name != avoid]
        # The innermost index, which no other read may have used yet, more often.
        weights = [2 if name == names[-1] else 1 for name in names]
        count = min(len(names), rng.choices((0, 1, 2, 3), self.indices)[0])
        chosen: list[str] = []
        while len(chosen) < count:
            (name,) = rng.choices(names, weights)
            if name not in chosen:
                chosen.append(name)
        constant = rng.choice((0, 0, 0, 1, -1, 2)) if count != 1 or rng.random() < 0.5 else 0
        form = Form(tuple((name, rng.choice(self.coefficients)) for name in chosen), constant)
        return self._divided(form) if chosen and rng.random() < self.divided else form

    def _divided(self, form: Form) -> Form:
        """A form with one division of the form, or of a part of it."""
        rng = self.rng
        division = Division(rng.choice(("//", "%")), form, rng.choice((2, 2, 3, 4)))
        rest = form.terms[:1] if rng.random() < 0.3 else ()
        return Form((*rest, (division, rng.choice((1, 1, 1, 2, -1)))), rng.choice((0, 0, 0, 1)))

    def read(self, lanes: Lanes, alone: str | None = None) -> Node:
        """An element of a tensor, if need be under a guard; a tensor not read yet more often.

        If there is a dimension, the index `alone` stands alone in one.
        """
        rng = self.rng
        tensors = [*self.extents, *self.shapes]
        (tensor,) = rng.choices(tensors, [2 if name in self.seen else 6 for name in tensors])
        self.seen.add(tensor)
        forms = self._forms(lanes, len(self.extents.get(tensor, self.shapes.get(tensor, ()))))
        if alone and forms:
            forms[rng.randrange(len(forms))] = Form(((alone, 1),))
        if (forms and rng.random() < 0.12) or not self.fits(tensor, forms, lanes):
            return self.guarded(tensor, forms, lanes)
        return Read(tensor, tuple(self.placed(tensor, d, form, lanes) for d, form in enumerate(forms)))

    def _forms(self, lanes: Lanes, rank: int) -> list[Form]:
        rng = self.rng
        names = list(lanes.env)
        if names and rng.random() < 0.35:
            return [Form(((rng.choice([*names, names[-1]]), 1),)) for _ in range(rank)]
        forms: list[Form] = []
        for _ in range(rank):
            diagonal = forms and rng.random() < 0.15
            forms.append(rng.choice(forms) if diagonal else self.form(lanes))
        return forms

    def fits(self, tensor: str, forms: Sequence[Form], lanes: Lanes) -> bool:
        """Whether these forms can be moved into the range of a tensor."""
        if tensor in self.extents:
            return True
        spans = [span(form, lanes) for form in forms]
        return all(high - low < size for (low, high), size in zip(spans, self.shapes[tensor], strict=True))

    def placed(self, tensor: str, dimension: int, form: Form, lanes: Lanes) -> Form:
        """The form moved into the range of a dimension, which grows if it is an argument's."""
        rng = self.rng
        if not lanes.active.any():
            return form
        low, high = span(form, lanes)
        if tensor in self.shapes:
            room = self.shapes[tensor][dimension] - 1 - (high - low)
            return form.shifted(rng.randint(0, room) - low)
        extents = self.extents[tensor]
        largest = self.largest[len(extents)]
        if high - low >= largest:
            form, low, high = Form(()), 0, 0
        # Where nothing needs a constant, mostly leave the form as short as it is.
        short = low >= 0 and high < largest and rng.random() < 0.6
        offset = 0 if short else rng.choice((0, 0, 0, 1, 2)) - low
        extents[dimension] = max(extents[dimension], high + offset + 1)
        return form.shifted(offset)

    def guarded(self, tensor: str, forms: list[Form], lanes: Lanes) -> Node:
        """A read under the guard that it is in range."""
        sizes = self.shapes.get(tensor, (4,) * len(forms))
        conditions: list[Relation] = []
        for form, size in zip(forms, sizes, strict=True):
            conditions += [Relation(">=", form, Form(())), Relation("<", form, Form((), size))]
        taken = lanes.only(lanes.where(conditions))
        if tensor in self.extents and taken.active.any():
            highest = [span(form, taken)[1] + 1 for form in forms]
            self.extents[tensor] = [max(e, h) for e, h in zip(self.extents[tensor], highest, strict=True)]
        return Guard(tuple(conditions), Read(tensor, tuple(forms)), Literal(self.rng.choice((0.0, 0.0, 1.0))))


def span(form: Form, lanes: Lanes) -> tuple[int, int]:
    """The least and the largest value of a form; (0, 0) where there is no point."""
    values = lanes.form(form)[lanes.active]
    return (int(values.min()), int(values.max())) if len(values) else (0, 0)
