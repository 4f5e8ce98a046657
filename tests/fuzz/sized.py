"""A random program with size symbols, from a seed.

The points at several values of the sizes are enumerated together, sizes standing among the indices, while a
program grows: a read is placed where it is in range at all of them. Whether it is at others is left to the
compiler, which may derive a condition.
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterator, Sequence

import numpy as np

from tests.fuzz.forms import Division, Form, Relation
from tests.fuzz.generate import ARGUMENTS, DEFINITIONS, INDICES, Generator
from tests.fuzz.lanes import Lanes, box, padded
from tests.fuzz.reads import Reads
from tests.fuzz.restyle import INFERRED, Shapes, as_size, is_inferable, with_inferred_sums
from tests.fuzz.sized_tree import SizedDefinition, SizedProgram, Sizes, extents, plus
from tests.fuzz.styles import PLAIN, Style
from tests.fuzz.tree import Guard, Literal, Node, Read, Sum

#: Values of sizes.
VALUES = (0, 1, 2, 3, 4, 5, 7)

#: For so many values of the sizes a program is made; it is tried at as many others.
SAMPLES, OTHERS = 4, 3

N, M = Form((("N", 1),)), Form((("M", 1),))

#: Extents, and how often each is chosen.
EXTENTS: dict[Form, float] = {
    N: 8,
    M: 6,
    N.shifted(1): 4,
    N.shifted(2): 2,
    plus(N, N): 3,
    plus(N, M): 3,
    plus(N, M).shifted(1): 1,
    plus(N, N).shifted(1): 2,
    plus(plus(N, N), M).shifted(2): 1,
    Form(((Division("//", N, 2), 1),)): 3,
    Form(((Division("//", N.shifted(1), 2), 1),)): 1,
    Form(((Division("//", plus(N, M), 2), 1),)): 1,
    Form(((Division("%", M, 3), 1),), 1): 1,
    N.shifted(-1): 0.5,
    Form((), 3): 2,
    Form((), 1): 0.5,
}

#: How often a read is put one further than it fits.
BEYOND = 0.04


def generate(seed: int, *, small: bool = False, style: Style = PLAIN) -> tuple[SizedProgram, list[Sizes]]:
    """The program of a seed, and values of its sizes at which to try it; it may be refused at some."""
    rng = random.Random(seed)
    names: tuple[str, ...] = ("N", "M")
    every = {tuple(rng.choices(VALUES, style.values, k=len(names))) for _ in range(40)}
    chosen: list[Sizes] = [dict(zip(names, values, strict=True)) for values in sorted(every)]
    rng.shuffle(chosen)
    program = Sized(rng, small, chosen[:SAMPLES], style).sized_program()
    return program, chosen[: SAMPLES + OTHERS]


class Sized(Generator):
    """A program with size symbols that grows, expression by expression."""

    def __init__(self, rng: random.Random, small: bool, samples: Sequence[Sizes], style: Style) -> None:
        super().__init__(rng, small, style)
        self.samples = samples
        self.points = 400 if small else 2000
        self.sized = SizedReads(rng, style)
        self.reads = self.sized

    def sized_program(self) -> SizedProgram:
        """The program."""
        rng = self.rng
        for name in rng.sample(ARGUMENTS, rng.choice((1, 2, 2, 3))):
            self.sized.argument(name, rng.choices((0, 1, 2, 3), (0.5, 6, 4, 1))[0])
        names = rng.sample(DEFINITIONS, rng.choices((1, 2, 3), (5, 4, 2))[0])
        grown = [self._sized_definition(name, last=name == names[-1]) for name in names]
        arguments = {name: self.sized.final(name) for name in self.reads.extents}
        shapes: Shapes = {
            name: [as_size(form) for form in shape]
            for name, shape in (*arguments.items(), *((d.name, d.shape) for d in grown))
        }
        definitions = tuple(self._restyled(definition, shapes) for definition in grown)
        return SizedProgram(tuple(self.samples[0]), arguments, definitions)

    def _sized_definition(self, name: str, last: bool) -> SizedDefinition:
        rng = self.rng
        shape = tuple(self.sized.extent() for _ in range(rng.choices((0, 1, 2, 3), (1, 5, 5, 1))[0]))
        while max(math.prod(extents(shape, sizes)) for sizes in self.samples) > 60:
            shape = shape[1:]
        indices = tuple(rng.sample(INDICES[:5], len(shape)))
        body = self.body(lanes_at(indices, shape, self.samples))
        self.sized.definition(name, shape)
        is_output = last or rng.random() < 0.4
        ranges = "declared" if is_output and rng.random() < 0.2 else "stated"
        return SizedDefinition(name, indices, shape, body, is_output, ranges)

    def _restyled(self, definition: SizedDefinition, shapes: Shapes) -> SizedDefinition:
        body = with_inferred_sums(definition.body, shapes, self.rng)
        sizes = [as_size(form) for form in definition.shape]
        ranges = definition.ranges
        inferred = ranges == "stated" and is_inferable(definition.indices, sizes, body, shapes)
        if inferred and self.rng.random() < INFERRED:
            ranges = "inferred"
        return SizedDefinition(
            definition.name, definition.indices, definition.shape, body, definition.is_output, ranges
        )

    def sum_of_size(self, lanes: Lanes, avoid: str | None = None) -> Sum:
        """A sum over as many points as an extent says."""
        upper = (self.sized.extent().shifted(-1),)
        return Sum(self.fresh(lanes, avoid), (Form(()),), upper, Literal(0.0), "size")


class SizedReads(Reads):
    """Reads of tensors whose extents are forms; an argument's is what the first read needs."""

    def __init__(self, rng: random.Random, style: Style) -> None:
        super().__init__(rng, style, large=False)
        self.weights = {
            form: weight * (style.quotients if divides(form) else 1) for form, weight in EXTENTS.items()
        }
        self.forms: dict[str, list[Form | None]] = {}

    def argument(self, name: str, rank: int) -> None:
        """Have an argument of this rank."""
        self.extents[name] = [0] * rank
        self.forms[name] = [None] * rank

    def definition(self, name: str, shape: tuple[Form, ...]) -> None:
        """Have a definition."""
        self.shapes[name] = (0,) * len(shape)
        self.forms[name] = list(shape)

    def extent(self) -> Form:
        """One of EXTENTS."""
        (form,) = self.rng.choices(list(self.weights), list(self.weights.values()))
        return form

    def shuffled(self) -> list[Form]:
        """EXTENTS in random order, those that are chosen often before others."""
        return sorted(self.weights, key=lambda form: self.rng.random() / self.weights[form])

    def final(self, name: str) -> tuple[Form, ...]:
        """The shape of a tensor."""
        return tuple(self.extent() if form is None else form for form in self.forms[name])

    def fits(self, tensor: str, forms: Sequence[Form], lanes: Lanes) -> bool:
        """Whether each form can be moved into the range of its dimension."""
        return all(next(self._fitting(tensor, d, f, lanes), None) for d, f in enumerate(forms))

    def placed(self, tensor: str, dimension: int, form: Form, lanes: Lanes) -> Form:
        """The form moved into the range of a dimension; an argument's extent is chosen with it."""
        fitting = list(itertools.islice(self._fitting(tensor, dimension, form, lanes), 60))
        fitting.sort(key=lambda found: found[0])
        _, extent, moved = self.rng.choice(fitting[:4])
        self.forms[tensor][dimension] = extent
        beyond = self.rng.choice((-1, 1)) if self.rng.random() < BEYOND else 0
        return moved.shifted(beyond)

    def _fitting(
        self, tensor: str, dimension: int, form: Form, lanes: Lanes
    ) -> Iterator[tuple[int, Form, Form]]:
        """Extents and moved forms in their range; first how much room is left, and how long the form is."""
        known = self.forms[tensor][dimension]
        values = lanes.form(form)
        moves = list(itertools.product((0, 0, -1, 1, 2), (0, -1, 1)))
        for extent in [known] if known else self.shuffled():
            sizes = lanes.form(extent)
            for n, m in moves:
                move = Form(tuple((a, c) for a, c in (("N", n), ("M", m)) if c))
                moved = (values + lanes.form(move))[lanes.active]
                low = int(moved.min(initial=10**6)) if len(moved) else 0
                for shift in (0, -low) if low > 0 else (-low,):
                    room = (sizes[lanes.active] - 1 - moved - shift).min(initial=10**6)
                    if room >= 0:
                        found = plus(form, move).shifted(shift)
                        yield int(room) + len(found.terms), extent, found

    def guarded(self, tensor: str, forms: list[Form], lanes: Lanes) -> Node:
        """A read under the guard that it is in range."""
        conditions: list[Relation] = []
        for dimension, form in enumerate(forms):
            extent = self.forms[tensor][dimension] or self.extent()
            self.forms[tensor][dimension] = extent
            conditions += [Relation(">=", form, Form(())), Relation("<", form, extent)]
        return Guard(tuple(conditions), Read(tensor, tuple(forms)), Literal(self.rng.choice((0.0, 1.0))))


def divides(form: Form) -> bool:
    """Whether a size is divided."""
    return any(isinstance(atom, Division) for atom, _ in form.terms)


def lanes_at(indices: Sequence[str], shape: tuple[Form, ...], samples: Sequence[Sizes]) -> Lanes:
    """All points at all of the values of the sizes, which are among the names."""
    boxes = [box(indices, [max(0, n) for n in extents(shape, sizes)]) for sizes in samples]
    counts = [int(found.active.sum()) for found in boxes]
    env = {name: np.concatenate([found.env[name][found.active] for found in boxes]) for name in indices} | {
        name: np.repeat([sizes[name] for sizes in samples], counts) for name in samples[0]
    }
    count = sum(counts)
    lanes = padded(count)
    wide = {name: np.pad(values, (0, lanes - count)) for name, values in env.items()}
    return Lanes(lanes, wide, np.arange(lanes) < count)
