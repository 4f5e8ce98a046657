"""Fit the weights of the cost to this machine: `python -m bench calibrate [--nests N] [--fit]`.

Nests that seeds draw are timed with what is chosen for them and with some of what was passed over, for AVX2
and for what this machine has. For each kind of machine the table says how well costs and times are ordered
alike (Spearman, within a nest), and the loss: the time of what is chosen over that of the best that was
timed. Where weights are fitted, that is to one half of the nests, and the table is of the other.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

import tadc
from bench.drawn_nests import drawn_nest
from bench.weights import FITTED, fitted
from tadc.analysis.random_inputs import random_array
from tadc.api.execute import compile_program
from tadc.api.timed_calls import race
from tadc.backend.target import parse_target
from tadc.compiler.choices import choices_of
from tadc.compiler.compile_options import Options
from tadc.compiler.stages import Compilation, machine_facts
from tadc.frontend.source import Source
from tadc.passes.schedule.accesses import Accesses
from tadc.passes.schedule.alternatives import Alternative, MapChoices
from tadc.passes.schedule.candidate import Candidate
from tadc.passes.schedule.cost import cost
from tadc.passes.schedule.cpu_machine import CpuMachine
from tadc.passes.schedule.loop_order import TileLoops
from tadc.passes.schedule.packing import packing
from tadc.passes.schedule.text import MapSchedule, schedule_text

TARGETS = "cpu:x86-64-v3", "cpu"

NEAR, FAR, LISTED = 6, 3, 14
"""Of the first candidates that are listed so many are timed, and so many drawn of the others."""

SECONDS = 0.03
"""The time of a race of all that are timed of a nest, for each of them."""

Times = dict[str, dict[str, dict[str, float]]]
"""Seconds by target, program and steps."""


@dataclass
class Nest:
    """A nest with the tilings that were timed, the chosen one first."""

    text: str
    accesses: Accesses
    tilings: list[Candidate]
    seconds: list[float]
    steps: list[str]
    fastest: float
    machine: CpuMachine

    def costs(self, weights: Mapping[str, float]) -> list[float]:
        """What the tilings cost with these weights."""
        machine = replace(self.machine, **weights)
        priced = [self.priced(tiling, machine) for tiling in self.tilings]
        # The search counts lines of some tilings alone.
        return [
            cost(self.accesses, each, machine)
            + (TileLoops(self.accesses, each, machine).cost() if each.lines else 0)
            for each in priced
        ]

    def priced(self, tiling: Candidate, machine: CpuMachine) -> Candidate:
        """A tiling with what its panels cost."""
        if tiling.packed is None:
            return tiling
        own, panels = tiling.packed, packing(self.accesses, replace(tiling, packed=None), machine)
        if panels is None or (panels.copied, panels.block) != (own.copied, own.block):
            return tiling
        return replace(tiling, packed=panels)

    @property
    def loss(self) -> float:
        """The time of what is chosen over the best, which may be of another version of tadc."""
        return self.seconds[0] / self.fastest

    def loss_by(self, costs: Sequence[float]) -> float:
        """The time of the cheapest over the best."""
        return self.seconds[int(np.argmin(costs))] / min(self.seconds)


def main(words: list[str]) -> None:
    """Time, fit and report."""
    parser = argparse.ArgumentParser("python -m bench calibrate", description=__doc__)
    parser.add_argument("--nests", type=int, default=100, help="so many are drawn (100)")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--times", default="build/calibration.json", help="where times are kept")
    parser.add_argument("--fit", action="store_true", help="fit the weights, and print them")
    parser.add_argument("--worst", type=int, default=5, help="so many nests are shown with their steps")
    parser.add_argument("--target", action="append", choices=TARGETS, help="one of these alone")
    asked = parser.parse_args(words)
    tadc.set_num_threads(1)
    file = Path(asked.times)
    times: Times = json.loads(file.read_text()) if file.exists() else {}
    for target in asked.target or TARGETS:
        known = times.setdefault(target, {})
        nests = list[Nest]()
        for seed in range(asked.first, asked.first + asked.nests):
            found = timed(drawn_nest(seed), target, known)
            if found is not None:
                nests.append(found)
                file.parent.mkdir(exist_ok=True)
                file.write_text(json.dumps(times))
        report(target, nests, asked)


def timed(text: str, target: str, known: dict[str, dict[str, float]]) -> Nest | None:
    """The nest of a program with its times; None where there is nothing to choose."""
    program = tadc.function(text).program
    options = Options(target=parse_target(target), long_fibres=False)
    state = Compilation(options, program.source, program=program)
    maps = [item for function in choices_of(state) for item in function.maps]
    if len(maps) != 1 or maps[0].accesses is None or maps[0].chosen.tiling is None:
        return None
    listed = {_text(maps[0], each): each for each in _to_time(maps[0], text)}
    own = known.setdefault(text, {})
    if not own.keys() >= listed.keys():
        own |= _time(program, options, list(listed))
    kept = [(steps, each) for steps, each in listed.items() if own.get(steps)]
    if len(kept) < 3 or kept[0][1] is not maps[0].chosen:
        return None
    tilings = [each.tiling for _, each in kept if each.tiling is not None]
    machine = CpuMachine(**machine_facts(state))
    steps = [each for each, _ in kept]
    fastest = min(seconds for seconds in own.values() if seconds)
    return Nest(text, maps[0].accesses, tilings, [own[each] for each in steps], steps, fastest, machine)


def _to_time(item: MapChoices, text: str) -> Iterator[Alternative]:
    """What is chosen, the likeliest others, and some that are not likely."""
    yield item.chosen
    others = [each for each in islice(item.others, LISTED) if each.tiling is not None]
    yield from others[:NEAR]
    rest = others[NEAR:]
    yield from random.Random(text).sample(rest, min(FAR, len(rest)))


def _text(item: MapChoices, each: Alternative) -> str:
    return schedule_text([MapSchedule(item.tensors, each.steps)])


def _time(program: Any, options: Options, texts: Sequence[str]) -> dict[str, float]:
    """Seconds by steps, 0 of those that do not fit: all by turns."""
    draw = np.random.default_rng(0)
    arrays = {a.name: random_array(a, draw, -1) for a in program.arguments}
    found, calls = dict.fromkeys(texts, 0.0), dict[str, Any]()
    for text in texts:
        try:
            compiled = compile_program(program, replace(options, schedule=Source(text, "<schedule>")))
        except tadc.CompileError:
            continue
        out = compiled(**arrays)
        calls[text] = lambda compiled=compiled, out=np.empty_like(out): compiled(**arrays, out=out)
    for call in calls.values():
        call()
    fastest = race(list(calls.values()), SECONDS * len(calls))
    return found | dict(zip(calls, fastest, strict=True))


def report(target: str, nests: Sequence[Nest], asked: Any) -> None:
    """Print how good the cost is, and what weights would make of it."""
    print(f"\n{target}: {len(nests)} nests, {sum(len(nest.tilings) for nest in nests)} schedules")
    _print_losses("what is chosen", [nest.loss for nest in nests])
    _print_model("the cost as it is", nests, {})
    if asked.fit:
        weights = fitted(nests[::2])
        _print_model("on the nests of the fit", nests[::2], weights)
        _print_model("on the other nests: as it is", nests[1::2], {})
        _print_model("on the other nests: fitted", nests[1::2], weights)
        now = {name: getattr(CpuMachine(), name) for name in FITTED}
        changed = [name for name in weights if weights[name] != now[name]]
        print(", ".join(f"{name} {now[name]:g} -> {weights[name]:.3g}" for name in changed))
    for nest in sorted(nests, key=lambda nest: -nest.loss)[: asked.worst]:
        _print_case(nest)


def _print_model(what: str, nests: Sequence[Nest], weights: Mapping[str, float]) -> None:
    costs = [nest.costs(weights) for nest in nests]
    _print_losses(what, [nest.loss_by(own) for nest, own in zip(nests, costs, strict=True)])
    ranks = [_spearman(own, nest.seconds) for nest, own in zip(nests, costs, strict=True)]
    print(f"{'':32} Spearman {statistics.mean(ranks):.2f} in the mean, {statistics.median(ranks):.2f} median")


def _print_losses(what: str, losses: Sequence[float]) -> None:
    mean = math.exp(statistics.mean(map(math.log, losses)))
    half, most = np.percentile(losses, [50, 95])
    print(f"{what:32} loss {half:.3f} median, {most:.2f} at 95 %, {mean:.3f} in the mean")


def _spearman(costs: Sequence[float], seconds: Sequence[float]) -> float:
    ranks = [np.argsort(np.argsort(each)) for each in (costs, seconds)]
    return float(np.corrcoef(ranks[0], ranks[1])[0, 1])


def _print_case(nest: Nest) -> None:
    """A nest for which what is chosen is not the best: both, and what they cost and take."""
    best = int(np.argmin(nest.seconds))
    costs = nest.costs({})
    print(f"\nloss {nest.loss:.2f}\n{nest.text.rstrip()}")
    for number in (0, best):
        print(f"cost {costs[number]:.3f}, {nest.seconds[number] * 1e6:.1f} µs\n{nest.steps[number].rstrip()}")
