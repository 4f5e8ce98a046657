"""The partition into components against all partitions, and the flow against SciPy."""

import random
import time

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components, maximum_flow

import tadc
from tadc.apps.undoing.plans.components import partition, widths
from tadc.apps.undoing.plans.flow import Network, strongly_connected
from tadc.apps.undoing.plans.graph import StatementGraph, graph_of


def random_program(seed: int) -> str:
    """A straight line of scalar statements that read up to three of the values before them."""
    choose = random.Random(seed)
    inputs = choose.choice([1, 2, 2, 3, 3, 4])
    values = [f"x{i}" for i in range(inputs)]
    lines = [f"{name}: f64" for name in values]
    outputs: list[str] = []
    for t in range(choose.randint(3, 9)):
        pool = values[-(inputs + 3) :] if choose.random() < 0.7 else values
        read = choose.sample(pool, min(choose.choice([1, 2, 2, 3]), len(pool)))
        values.append(f"v{t}")
        outputs = [f"v{t}", *outputs]
        terms = " + ".join(f"{choose.uniform(0.5, 2):.3f}*sin({name})" for name in read)
        lines.append(f"let v{t} = {terms}")
    last = values[-(inputs + 2) :]
    made = choose.sample(last, min(inputs, len(last)))
    return "\n".join([*lines, *(f"y{n} = {name}" for n, name in enumerate(made))])


def ideals(graph: StatementGraph) -> set[frozenset[int]]:
    """All sets of statements that hold what they read."""
    made = {s.name: n for n, s in enumerate(graph.statements)}
    before = [{made[r] for r in graph.reads[s.name] if r in made} for s in graph.statements]
    seen = {frozenset[int]()}
    new = set(seen)
    while new:
        new = {
            done | {n} for done in new for n in range(len(before)) if n not in done and before[n] <= done
        } - seen
        seen |= new
    return seen


def live(graph: StatementGraph, done: frozenset[int]) -> set[str]:
    """The values that are live where these statements are done."""
    values = {*graph.inputs, *(graph.statements[n].name for n in done)}
    return {v for v in values if v in graph.outputs or not set(graph.readers[v]) <= done}


def best(graph: StatementGraph) -> tuple[int, int, int, int]:
    """Over all partitions: least largest numbers overwritten, with those read, statements; most parts."""
    width = len(graph.inputs)
    cuts = sorted((done for done in ideals(graph) if len(live(graph, done)) == width), key=len)
    found: dict[frozenset[int], list[int]] = {cuts[0]: [0, 0, 0, 0]}
    for cut in cuts[1:]:
        after = live(graph, cut)
        options: list[list[int]] = []
        for other in found:
            if other < cut:
                before = live(graph, other)
                read = {r for n in cut - other for r in graph.reads[graph.statements[n].name]}
                size, kept = len(after - before), len(read & before & after)
                rest = found[other]
                options.append(
                    [
                        max(rest[0], size),
                        max(rest[1], size + kept),
                        max(rest[2], len(cut - other)),
                        rest[3] - 1,
                    ]
                )
        found[cut] = [min(column) for column in zip(*options, strict=True)]
    worst = found[frozenset(range(len(graph.statements)))]
    return worst[0], worst[1], worst[2], -worst[3]


def rank(graph: StatementGraph, seed: int) -> int:
    """The rank of the Jacobian where all partial derivatives are random."""
    rng = np.random.default_rng(seed)
    rows = dict(zip(graph.inputs, np.eye(len(graph.inputs)), strict=True))
    for s in graph.statements:
        rows[s.name] = np.sum([rng.uniform(0.5, 2) * rows[read] for read in graph.reads[s.name]], axis=0)
    return int(np.linalg.matrix_rank(np.stack([rows[name] for name in graph.outputs]), tol=1e-9))


def test_no_partition_is_finer() -> None:
    """Exhaustively, on hundreds of small programs."""
    compared = singular = 0
    for seed in range(500):
        f = tadc.function(random_program(seed))
        graph = graph_of(f.program, f.inputs, {})
        if len(set(graph.outputs)) < len(f.inputs):
            continue
        try:
            components = partition(graph)
        except tadc.CompileError:
            assert rank(graph, seed) < len(f.inputs)
            singular += 1
            continue
        assert rank(graph, seed) == len(f.inputs)
        if not components:
            continue
        found = (
            max(len(component.new) for component in components),
            max(len(component.new) + len(component.kept) for component in components),
            max(len(component.statements) for component in components),
            len(components),
        )
        assert found == best(graph), seed
        order = [n for component in components for n in component.statements]
        ends = np.cumsum([0, *(len(component.statements) for component in components)])
        assert [widths(graph, order)[end] for end in ends] == [len(f.inputs)] * len(ends)
        compared += 1
    assert compared > 150
    assert singular > 50


@pytest.mark.parametrize("seed", range(20))
def test_flow(seed: int) -> None:
    rng = np.random.default_rng(seed)
    capacities = rng.integers(0, 9, (14, 14)) * (rng.random((14, 14)) < 0.3)
    np.fill_diagonal(capacities, 0)
    network = Network(14)
    for tail, head in zip(*np.nonzero(capacities), strict=True):
        network.add(int(tail), int(head), int(capacities[tail, head]))
    expected = maximum_flow(csr_array(capacities.astype(np.int32)), 0, 13).flow_value
    assert network.maximise(0, 13) == expected


@pytest.mark.parametrize("seed", range(20))
def test_strongly_connected_components(seed: int) -> None:
    rng = np.random.default_rng(seed)
    edges = rng.random((30, 30)) < 0.05
    found = strongly_connected([np.nonzero(row)[0].tolist() for row in edges])
    count, expected = connected_components(csr_array(edges), directed=True, connection="strong")
    assert len(set(zip(found, expected, strict=True))) == count == len(set(found))
    assert all(found[a] >= found[b] for a, b in zip(*np.nonzero(edges), strict=True))


def test_a_plan_of_3000_statements() -> None:
    """What is planned in well under a second is not planned in many."""
    lines = ["x0: f64[9]; y0: f64[9]"]
    for k in range(1500):
        lines.append(
            f"let x{k + 1}[i] = x{k}[i] + sin(y{k}[i]); let y{k + 1}[i] = y{k}[i] + cos(x{k + 1}[i])"
        )
    f = tadc.function("\n".join([*lines, "x[i] = x1500[i]; y[i] = y1500[i]"]))
    begin = time.process_time()
    plan = tadc.inverse(f).plan
    assert time.process_time() - begin < 60
    assert (len(plan.steps), plan.forms) == (3000, 2)
