"""`tadc.tune`: schedules are timed on this machine, and the fastest is kept.

From the schedule that is chosen one step is taken at a time: first in where tensors are computed
(`passes/schedule/where_moves.py`), then map by map in its tiling (`passes/schedule/alternatives.py`), the
likeliest of each map before the next of any. What is faster by more than noise, in two rounds, is where the
next step is taken from.
"""

from __future__ import annotations

import datetime
import time
from collections.abc import Mapping, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

import numpy as np

from tadc.analysis.random_inputs import random_array, told_sizes
from tadc.api.call_versions import adapt_to_calls
from tadc.api.execute import compile_program
from tadc.api.function import Function
from tadc.api.timed_calls import once, race
from tadc.api.tuned import TunedSchedule, find_tuned, keep_tuned
from tadc.api.tuning_report import INTERRUPTED, CostCase, Tuned
from tadc.backend.compile_steps import step
from tadc.backend.runtime.thread_count import get_num_threads
from tadc.backend.target import parse_target
from tadc.caller.boundary import (
    checked_function,
    checked_number,
    checked_sizes_given,
    checked_target,
    public,
    usage,
)
from tadc.compiler.choices import FunctionChoices, choices_of
from tadc.compiler.compile_options import Options
from tadc.compiler.stages import Compilation
from tadc.frontend.diagnostics import CompileError, Diagnostic
from tadc.frontend.program import Program
from tadc.frontend.source import Source
from tadc.lattice.late_dataclasses import dataclass, field, replace
from tadc.passes.numpy_types import numpy_type
from tadc.passes.schedule.alternatives import Alternative, MapChoices
from tadc.passes.schedule.reader import read_schedule, read_where
from tadc.passes.schedule.text import MapSchedule, function_text, schedule_text
from tadc.passes.schedule.where_moves import Places

if TYPE_CHECKING:
    from tadc.api.compiled import Compiled

LIMIT = 30.0
"""The seconds that tuning takes, if nothing is said."""

TRIES = 400
"""So many schedules are tried at most."""

NOISE = 1.03
"""A schedule that is not so many times as fast is as fast."""

HOPELESS = 1.3
"""One whose second call takes so many times as long is not timed again."""

PLACES = 0.4
"""The part of the time in which other places of tensors are tried."""

SHORT, LONG = 0.02, 0.1
"""So many seconds is a schedule timed before it is believed, and then again."""

TOLERANCES = {"f64": 1e-9, "f32": 1e-4}
"""By how much, as a part of its largest element, a result may differ where sums are added up in another
order."""


@public
def tune(
    f: Function,
    /,
    *arrays: Any,
    limit: float = LIMIT,
    reorder: bool = False,
    sizes: Mapping[str, int] | None = None,
    target: str = "cpu",
    fast_math: bool = False,
    **named: Any,
) -> Tuned:
    """Time schedules for f on this machine, for about `limit` seconds, and keep the fastest.

    Arrays are those of a call of f; inputs that are not given are random, of `sizes`. The result says what
    was gained and by which steps. These are kept on disk: from then on they are what calls, `tadc.compile`,
    `lower` and the command take for the same program at the same sizes, for the same target and options, on
    this machine and in this version of tadc. `TADC_TUNED=0` in the environment, or `tadc.compile(f,
    tuned=False)`, takes what is chosen without them.

    Results have the same bits as before, which is looked at for each schedule; with `reorder` sums may be
    added up in another order. Ctrl-C ends it with what was found so far.

    >>> import tadc
    >>> f = tadc.function("x: f64[N]; y[i] = 2*x[i]")
    >>> found = tadc.tune(f, [1.0, 2.0, 3.0], limit=0)
    >>> found.tried, found.steps
    (0, '')

    Raises CompileError as `compile` and as calls do, and where sizes are not known; UsageError for a target
    that is no CPU.
    """
    checked_function(f, Function, "tune")
    checked_target(target)
    checked_number(limit, "limit", -1, "a number of seconds", is_whole=False)
    checked_sizes_given(sizes)
    options = Options(target=parse_target(target), fast_math=fast_math)
    if options.backend.launches_kernels:
        raise usage(
            f"`tune` times kernels of a CPU, not of `{target}`", 'write `target="cpu"`, or leave it out'
        )
    given = {**dict(zip(f.inputs, arrays, strict=False)), **named}
    made = f.at(sizes) if sizes else f.at_call(arrays, named)
    made.require_types()
    told = told_sizes(made.program, given) if made.program.sizes else {}
    made = made.at(told) if told else made
    given = {name: value for name, value in given.items() if name not in told}
    return tuned(made, options, given, float(limit), bool(reorder), arrays[len(f.inputs) :])


def tuned(
    made: Function,
    options: Options,
    given: Mapping[str, Any],
    limit: float,
    reorder: bool,
    too_many: Sequence[Any] = (),
) -> Tuned:
    """Time schedules for a function of known sizes on arrays, those that are not given random. Raises as
    `tune`."""
    _check_sizes(made.program)
    options = options.storing(made.options.materialize, made.options.memory_limit)
    options = replace(options, reverse=made.options.reverse).for_calls
    return _Tuner(made, options, time.perf_counter() + limit, reorder).run(given, too_many)


def _check_sizes(program: Program) -> None:
    """Raises CompileError (TAD0212) for sizes that nothing has told."""
    if program.sizes:
        names = ", ".join(f"`{name}`" for name in program.sizes)
        values = " ".join(f"{name}=1000" for name in program.sizes)
        helps = [
            f"give arrays, or sizes: `--size {values}`, in Python `sizes={{'{program.sizes[0]}': 1000}}`"
        ]
        note = "which schedule is the fastest depends on them"
        found = Diagnostic("TAD0212", f"{names}: no value to tune for", notes=[note], helps=helps)
        raise CompileError([replace(found, source=program.source)])


@dataclass
class _State:
    """A schedule: where tensors are computed, None as chosen, and the steps of maps that were not chosen."""

    places: Mapping[str, Places] = field(default_factory=dict[str, Places])
    maps: Mapping[tuple[str, ...], Alternative] = field(default_factory=dict[tuple[str, ...], Alternative])

    @staticmethod
    def of(source: Source) -> _State:
        """That of a text."""
        places = {name: given.steps for name, given in read_where(source).items()}
        maps = [read.schedule for read in read_schedule(source)]
        return _State(places, {each.tensors: Alternative(each.steps) for each in maps})

    @property
    def text(self) -> str:
        """The schedule as text."""
        functions = [function_text(name, steps) for name, steps in self.places.items()]
        maps = [MapSchedule(tensors, each.steps) for tensors, each in self.maps.items()]
        return "\n".join([*functions, *([schedule_text(maps)] if maps else [])])


@dataclass
class _Runner:
    """A kernel by some schedule, with the arrays that it is called on."""

    compiled: Compiled
    arrays: Mapping[str, Any]
    out: Any

    def __call__(self) -> object:
        return self.compiled(**self.arrays, out=self.out)


class _TimeIsUp(Exception):
    """There is no time, or no number of tries, left."""


class _Tuner:
    """The search for one function: the fastest so far, and what was tried."""

    def __init__(self, made: Function, options: Options, end: float, reorder: bool) -> None:
        self.made, self.options, self.end, self.reorder = made, options, end, reorder
        self.begin, self.until = time.perf_counter(), end
        self.tried = self.refused = self.other_bits = 0
        self.seen = {""}
        self.state = _State()
        self.text, self.cases = "", list[CostCase]()
        self.gain = 1.0

    def run(self, given: Mapping[str, Any], too_many: Sequence[Any]) -> Tuned:
        """The search, as long as there is time."""
        compiled = compile_program(self.made.program, self.options)
        self._set_up(compiled, given, too_many)
        ended = ""
        try:
            with step("tuning"):
                self._search()
        except _TimeIsUp:
            ended = "until the time was up" if self.tried < TRIES else ""
        except KeyboardInterrupt:
            ended = INTERRUPTED
        return self._result(ended)

    def _set_up(self, compiled: Compiled, given: Mapping[str, Any], too_many: Sequence[Any]) -> None:
        """The inputs, what what is chosen makes of them and of others, and its time."""
        program, random = self.made.program, np.random.default_rng(0)
        own = {a.name: a for a in program.arguments if a.name in self.made.inputs}
        for low in (-1.0, 0.1):
            missing = {n: random_array(a, random, low) for n, a in own.items() if n not in given}
            self.arrays = {**given, **missing}
            # What is wrong with the arrays is said here.
            in_order = [self.arrays[name] for name in self.made.inputs] if too_many else []
            found = compiled(*in_order, *too_many, **({} if too_many else self.arrays))
            if all(np.all(np.isfinite(each)) for each in _results(compiled, found).values()):
                break
        self.arrays = {n: _as_array(v, numpy_type(own[n].type)) for n, v in self.arrays.items() if n in own}
        varied = {n: _varied(v, random) for n, v in self.arrays.items() if not own[n].is_index_array}
        self.others = {**self.arrays, **varied}
        self.expected = [_results(compiled, compiled(**each)) for each in (self.arrays, self.others)]
        outs = {name: np.empty_like(each) for name, each in self.expected[0].items()}
        self.out = outs if len(outs) > 1 else next(iter(outs.values()))
        self.base = self.best = _Runner(compiled, self.arrays, self.out)
        self.seconds = once(self.base)

    # -- what is tried -----------------------------------------------------------------------------

    def _search(self) -> None:
        before = find_tuned(self.made.recipe, replace(self.options, tuned=True))
        if before is not None:
            self._consider(_State.of(before.source))
        now = time.perf_counter()
        self.until = now + PLACES * (self.end - now)
        try:
            while self._improves_places():
                pass
        except _TimeIsUp:
            if self.tried >= TRIES:
                raise
        self.until = self.end
        self._improve_maps()

    def _improves_places(self) -> bool:
        """Whether one of the moves of where tensors are computed is faster; it is taken."""
        for function in self._choices():
            for places in function.moves:
                state = _State({**self.state.places, function.name: places})
                if self._consider(state):
                    return True
        return False

    def _improve_maps(self) -> None:
        """Take for each map what is faster, each by turns."""
        maps = [item for function in self._choices() for item in function.maps]
        for turn in zip_longest(*(item.others for item in maps)):
            for item, other in zip(maps, turn, strict=True):
                if other is not None and (self.reorder or other.keeps_order):
                    self._consider_map(item, other)

    def _consider_map(self, item: MapChoices, other: Alternative) -> None:
        before = self.state.maps.get(item.tensors, item.chosen)
        was, state = self.gain, _State(self.state.places, {**self.state.maps, item.tensors: other})
        if self._consider(state) and before.cost and other.cost and other.cost > before.cost:
            self.cases.append(CostCase(item.tensors, other.cost / before.cost, was / self.gain))

    def _choices(self) -> list[FunctionChoices]:
        program = self.made.program
        options = replace(self.options, schedule=_source(self.state.text) if self.state.text else None)
        return list(choices_of(Compilation(options, program.source, program=program)))

    # -- how it is tried ---------------------------------------------------------------------------

    def _consider(self, state: _State) -> bool:
        """Whether a schedule is faster than the fastest so far, in whose place it then is."""
        if self._consider_text(state.text):
            self.state = state
            return True
        return False

    def _consider_text(self, text: str) -> bool:
        if text in self.seen:
            return False
        if time.perf_counter() >= self.until or self.tried >= TRIES:
            raise _TimeIsUp
        self.seen.add(text)
        with step(self._about()):
            self.tried += 1
            runner = self._runner(text)
            gain = runner and self._gain(runner)
        if runner is None or gain is None:
            return False
        self.best, self.text = runner, text
        self.gain *= gain
        return True

    def _about(self) -> str:
        left = max(0.0, self.end - time.perf_counter())
        return f"{self.tried} tried, {self.gain:.2f} times as fast, {left:.0f} s left"

    def _runner(self, text: str) -> _Runner | None:
        """A kernel by a schedule; None where that does not fit, or computes something else."""
        try:
            compiled = compile_program(self.made.program, replace(self.options, schedule=_source(text)))
        except CompileError:
            self.refused += 1
            return None
        for arrays, expected in zip((self.arrays, self.others), self.expected, strict=True):
            if not self._are_same(_results(compiled, compiled(**arrays)), expected):
                self.other_bits += 1
                return None
        return _Runner(compiled, self.arrays, self.out)

    def _are_same(self, found: Mapping[str, Any], expected: Mapping[str, Any]) -> bool:
        if not self.reorder:
            return all(found[name].tobytes() == each.tobytes() for name, each in expected.items())
        return all(_is_close(found[name], each) for name, each in expected.items())

    def _gain(self, runner: _Runner) -> float | None:
        """How many times as fast as the best so far; None where not by more than noise, twice."""
        if once(runner) > HOPELESS * self.seconds:
            return None
        gain = 0.0
        for seconds in (SHORT, LONG):
            best, found = race([self.best, runner], seconds)
            gain = best / found
            if gain < NOISE:
                return None
            self.seconds = found
        return gain

    # -- what is found -----------------------------------------------------------------------------

    def _result(self, ended: str) -> Tuned:
        base, best = race([self.base, self.best], LONG) if self.text else [self.seconds] * 2
        if base < NOISE * best:
            self.text, self.cases, best = "", [], base
        made, names = self.made, ", ".join(self.made.outputs)
        found = TunedSchedule(
            names, self.text, base, best, get_num_threads(), datetime.date.today().isoformat()
        )
        kept = self.tried > 0 and keep_tuned(made.recipe, self.options, found)
        if self.text:
            schedule = found.source if kept else _source(self.text)
            compiled = compile_program(made.program, replace(self.options, schedule=schedule), made.recipe)
            adapt_to_calls(compiled.kernel, made, self.options)
            if self.options.target == Options().target and not self.options.fast_math:
                made.run_by(compiled)
        seconds = time.perf_counter() - self.begin
        counts = self.tried, self.refused, self.other_bits
        return Tuned(made, base, best, self.text, *counts, seconds, ended, kept, tuple(self.cases))


def _source(text: str) -> Source:
    return Source(text, "<schedule>")


def _results(compiled: Compiled, found: Any) -> dict[str, Any]:
    """The results of a call by name."""
    names = [p.name for p in compiled.kernel.outputs]
    return dict(zip(names, map(np.asarray, found if len(names) > 1 else [found]), strict=True))


def _as_array(value: Any, type: Any) -> Any:
    """An array of NumPy, consecutive in memory."""
    return np.ascontiguousarray(value, dtype=type).reshape(np.shape(value))


def _varied(array: Any, random: Any) -> Any:
    """An array of the same signs, none of whose elements is a round number: sums in another order differ."""
    return (array * random.uniform(0.5, 1, array.shape)).astype(array.dtype)


def _is_close(found: Any, expected: Any) -> bool:
    """Whether a result differs by rounding alone."""
    tolerance = TOLERANCES["f64" if expected.dtype == np.float64 else "f32"]
    scale = float(np.max(np.abs(expected), initial=0.0, where=np.isfinite(expected)))
    return bool(np.allclose(found, expected, rtol=tolerance, atol=tolerance * scale, equal_nan=True))
