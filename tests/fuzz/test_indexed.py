"""Random programs with index arrays: their reference, what they are made of, derivatives, bits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np
import pytest

from tests.fuzz import loops
from tests.fuzz.compare import Skipped
from tests.fuzz.evaluate import Evaluator, Flat
from tests.fuzz.forms import Division, Form, Lookup
from tests.fuzz.indexed import generate
from tests.fuzz.indexed_compare import bits
from tests.fuzz.kinds import KINDS
from tests.fuzz.sized_tree import SizedProgram, Sizes
from tests.fuzz.tree import Guard, Read, Sum, Value, forms_in, nodes
from tests.reference.small_parts import small_parts_of_maps

LAYOUT = Flat()

pytestmark = pytest.mark.filterwarnings("ignore::tadc.CompileWarning")


def failures(first: int, count: int, order: int) -> list[str]:
    found: list[str] = []
    for seed in range(first, first + count):
        try:
            found += filter(None, [KINDS["index"].failure(seed, order)])
        except Skipped:
            continue
    return found


@pytest.mark.parametrize(
    ("first", "count", "order"), [(0, 3, 1), (3, 12, 1), (100, 4, 2), (201, 1, 3), (300, 12, 1)]
)
def test_some(first: int, count: int, order: int) -> None:
    assert not failures(first, count, order)


@pytest.mark.parametrize(("first", "count", "order"), [(0, 4, 1), (10, 8, 0), (20, 2, 2), (30, 8, 1)])
def test_the_same_bits_by_any_number_of_threads_and_in_every_run(first: int, count: int, order: int) -> None:
    for seed in range(first, first + count):
        with small_parts_of_maps():
            one, two, again = bits(seed, order)
        assert one == two == again, f"seed {seed}"


@pytest.mark.parametrize("first", range(0, 100, 20))
def test_values_are_those_of_loops(first: int) -> None:
    for seed in range(first, first + 20):
        sized, sizes = generate(seed)
        program, rng = sized.at(sizes), np.random.default_rng(seed)
        inputs = {name: rng.uniform(-1, 1, shape) for name, shape in program.arguments.items()}
        found = Evaluator(program)({name: LAYOUT.encode(array) for name, array in inputs.items()})
        for name, want in loops.run(program, inputs).items():
            got = LAYOUT.decode(found[name], want.shape)
            np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-12, err_msg=f"seed {seed}\n{program}")


def test_every_feature_is_common() -> None:
    """In 200 programs."""
    found: Counter[str] = Counter()
    for seed in range(200):
        found.update(_features(*generate(seed)))
    assert not {name: count for name, count in found.items() if count < 4}
    assert found.keys() >= {
        *("lookup in a read", "lookup in a condition", "lookup in a guard", "lookup in a bound"),
        *("lookup as a number", "lookup in a lookup", "two in one dimension", "stride", "diagonal"),
        *("matrix", "scalar", "increasing", "several equal", "let", "several outputs"),
        *("differing indices", "quotient of an element", "the element before"),
        *("no edges", "no nodes", "an empty row", "joined", "none", "max", "min", "logsumexp", "prod"),
    }


def _features(program: SizedProgram, sizes: Sizes) -> Iterator[str]:
    yield from {word for size, word in (("E", "no edges"), ("N", "no nodes")) if not sizes[size]}
    yield from {"let" for d in program.definitions if not d.is_output}
    yield from {"several outputs"} if len(program.at(sizes).outputs) > 1 else ()
    for name, array in program.arrays.items():
        yield {0: "scalar", 1: "vector", 2: "matrix"}[len(array.shape)]
        yield from {"increasing"} if array.increasing else ()
        yield from {"several equal"} if len(np.unique(array.values)) < array.values.size else ()
        yield from {"an empty row"} if name == "ptr" and (np.diff(array.values) == 0).any() else ()
    for node in (node for d in program.definitions for node in nodes(d.body)):
        where = {Read: "in a read", Guard: "in a guard", Value: "as a number"}.get(type(node), "")
        for form in forms_in(node):
            lookups = [atom for atom, _ in form.terms if isinstance(atom, Lookup)]
            if isinstance(node, Sum):
                where = "in a bound" if form in (*node.lower, *node.upper) else "in a condition"
            yield from {f"lookup {where}"} if lookups else ()
            yield from (
                {"lookup in a lookup"} if any(_holds_one(part) for a in lookups for part in a.parts) else ()
            )
            yield from {"two in one dimension"} if len(form.terms) > 1 and lookups else ()
            yield from {"stride" for atom, c in form.terms if c > 1 and atom in lookups}
            divided = [part for atom, _ in form.terms if isinstance(atom, Division) for part in atom.parts]
            yield from {"quotient of an element"} if any(map(_holds_one, divided)) else ()
            yield from {"the element before" for a in lookups for part in a.parts if part.constant == -1}
        if isinstance(node, Read) and any(map(_holds_one, node.indices)):
            yield from {"diagonal"} if len(set(node.indices)) < len(node.indices) else ()
        if isinstance(node, Sum):
            yield from {node.kind, node.style}
            yield from {"differing indices" for relation in node.where if relation.op == "!="}


def _holds_one(form: Form) -> bool:
    return any(isinstance(atom, Lookup) for atom, _ in form.terms)
