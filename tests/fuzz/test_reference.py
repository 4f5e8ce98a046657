"""The reference against loops, its gradients against differences; and that programs are not all alike."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from tests.fuzz import loops
from tests.fuzz.evaluate import Evaluator, Flat
from tests.fuzz.forms import Division, Form
from tests.fuzz.generate import generate
from tests.fuzz.tree import Apply, Guard, Program, Read, Sum, Value, nodes
from tests.reference.autodiff import pullback

LAYOUT = Flat()


def arguments(program: Program, seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {name: rng.uniform(-1, 1, shape) for name, shape in program.arguments.items()}


@pytest.mark.parametrize("first", range(0, 100, 25))
def test_values_are_those_of_loops(first: int) -> None:
    for seed in range(first, first + 25):
        program = generate(seed)
        inputs = arguments(program, seed)
        expected = loops.run(program, inputs)
        found = Evaluator(program)({name: LAYOUT.encode(array) for name, array in inputs.items()})
        assert list(found) == list(expected)
        for name, want in expected.items():
            got = LAYOUT.decode(found[name], want.shape)
            limit = 1e-5 if program.narrow else 1e-12
            np.testing.assert_allclose(got, want, rtol=limit, atol=limit, err_msg=f"seed {seed}\n{program}")


def test_gradients_are_those_of_differences() -> None:
    for seed in range(0, 100, 5):
        # Differences need the digits of f64.
        program = replace(generate(seed), narrow=frozenset())
        inputs = arguments(program, seed)
        rng = np.random.default_rng(seed)
        cotangents = {name: rng.uniform(-1, 1, shape) for name, shape in program.outputs.items()}
        directions = {name: rng.uniform(-1, 1, array.shape) for name, array in inputs.items()}

        def value(step: float) -> float:
            moved = {name: array + step * directions[name] for name, array in inputs.items()}
            return sum(float((cotangents[n] * out).sum()) for n, out in loops.run(program, moved).items())

        names = {f"cotangent of {name}": array for name, array in cotangents.items()}
        pulled = pullback(
            Evaluator(program),
            {name: f"cotangent of {name}" for name in cotangents},
            {name: name for name in inputs},
        )
        found = pulled({name: LAYOUT.encode(array) for name, array in (inputs | names).items()})
        slope = sum(
            float((LAYOUT.decode(found[name], array.shape) * directions[name]).sum())
            for name, array in inputs.items()
        )
        expected = (value(1e-5) - value(-1e-5)) / 2e-5
        assert abs(slope - expected) <= 1e-5 * (1 + abs(expected)), f"seed {seed}\n{program}"


def test_a_seed_gives_one_program() -> None:
    assert [str(generate(seed)) for seed in range(20)] == [str(generate(seed)) for seed in range(20)]
    assert len({str(generate(seed)) for seed in range(300)}) == 300


def test_every_feature_is_common() -> None:
    """In 300 programs."""
    found: Counter[str] = Counter()
    for seed in range(300):
        found.update(_features(generate(seed)))
    rare = {name: count for name, count in found.items() if count < 10}
    assert not rare
    assert found.keys() >= {
        *(
            "let",
            "several outputs",
            "declared",
            "inferred",
            "size 0",
            "shadowed",
            "else",
            "equality",
            "value",
        ),
        *("bounds", "size", "none", "joined", "several bounds", "bounds of outer indices", "nested sums"),
        *("stride", "negative", "two indices in one dimension", "diagonal", "never read", "scalar"),
        *("// in a read", "% in a read", "// in a condition", "% in a condition", "division in a bound"),
        *("sum", "max", "min", "prod", "logsumexp", "maximum of several", "f32", "select", "index beside df"),
    }


def _features(program: Program) -> set[str]:
    definitions = program.definitions
    found = {d.ranges for d in definitions}
    found |= {"let" for d in definitions if not d.is_output}
    found |= {"several outputs"} if len(program.outputs) > 1 else set()
    found |= {"size 0" for shape in program.shapes.values() if 0 in shape}
    found |= {"f32"} if program.narrow else set()
    found |= {"index beside df"} if {"df", "dx"} & {n for d in definitions for n in d.indices} else set()
    found |= {"scalar" for shape in program.shapes.values() if not shape}
    read: set[str] = set()
    for definition in definitions:
        for node in nodes(definition.body):
            match node:
                case Read(tensor, indices):
                    read.add(tensor)
                    found |= {"diagonal"} if len(set(indices)) < len(indices) else set()
                    for form in indices:
                        found |= {"two indices in one dimension"} if len(form.terms) > 1 else set()
                        found |= {"stride" for _, c in form.terms if c > 1}
                        found |= {"negative" for _, c in form.terms if c < 0}
                        found |= {f"{op} in a read" for op in _divisions(form)}
                case Guard(conditions, _, otherwise):
                    found |= {"equality" for c in conditions if c.op == "="}
                    found |= {f"{op} in a condition" for c in conditions for op in _divisions(c.left)}
                    found |= {"else" for below in nodes(otherwise) if isinstance(below, Read)}
                case Sum():
                    below = list(nodes(node.body))
                    found |= {node.style, node.kind}
                    found |= (
                        {"maximum of several"}
                        if node.kind in ("max", "min") and node.style == "joined"
                        else set()
                    )
                    bounds = (*node.lower, *node.upper)
                    found |= {"division in a bound" for form in bounds if _divisions(form)}
                    found |= {"nested sums" for inner in below if isinstance(inner, Sum)}
                    found |= {"shadowed"} if node.name in definition.indices else set()
                    found |= {"several bounds"} if len(node.lower) + len(node.upper) > 2 else set()
                    found |= {"bounds of outer indices" for f in (*node.lower, *node.upper) if f.terms}
                case Value():
                    found.add("value")
                case Apply(op):
                    found |= {"select"} if op.startswith("select") else set()
                case _:
                    pass
    return found | {"never read" for name in program.arguments if name not in read}


def _divisions(form: Form) -> set[str]:
    return {atom.op for atom, _ in form.terms if isinstance(atom, Division)}
