"""Programs to run between guard pages, by where they are from."""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import tadc
from tadc.frontend.extents import symbols_in
from tests.fuzz import generate as plain
from tests.fuzz import indexed, sized, stepwise
from tests.guards import windows

ROOT = Path(__file__).parents[2]


class Guarded(NamedTuple):
    """A program and values of its sizes; `fixed` if it is compiled for them alone.

    It is differentiated `order` times.
    """

    name: str
    text: str
    sizes: Mapping[str, int]
    fixed: bool = False
    order: int = 1

    def functions(self, dtype: str) -> Iterator[tadc.Function]:
        """The value, and the gradients from cotangents of what is before, in an element type."""
        f = tadc.function(self.text.replace("f64", dtype))
        f = f.at(self.sizes) if self.fixed or f.per_value is not None else f
        yield f
        for _ in range(self.order):
            f = tadc.vjp(f)
            yield f


#: Programs in which a mask that is lost, or a guard, is a read outside of an array.
BY_HAND = (
    "x: f64[32, 56, 56]; d: f64[32, 3, 3]\n"
    "f[c, i: 56, j: 56] = sum{p}_(max [0; 1 - i])^(min [2; 56 - i]) "
    "(sum{q}_(max [0; 1 - j])^(min [2; 56 - j]) (x[c, i + p - 1, j + q - 1]*d[c, p, q]))",
    "x: f64[5]; y: f64[4]\nf[i: 6] = if {i - 2 >= 0} then (x[i - 1]*y[i - 2]) else (0)",
    "x: f64[5]\nf[i: 5] = if {i = 0} then (1) else (x[i - 1]**3)",
    "x: f64[10]\nf[i: 7] = x[i + 2]**2",
    "x: f64[9]\nf[i: 4] = x[2*i]**3",
    "x: f64[6, 7]\nf[i: 4, j: 3] = x[i + j, i - j + 2]**3",
    "x: f64[14]\nf[i: 3, j: 6] = exp(x[4*i + j])",
    "x: f64[6]\nf[i: 5] = if {i - 2 >= 0} then (exp(sum{k}_0^3 (x[i - 2 + k]**3))) else (x[i])",
    "x: f64[6]; k: f64[3]\n"
    "f[i: 6] = sum{t} (if {0 <= i + t - 1 and i + t - 1 <= 5} then (x[i + t - 1]) else (0) * k[t])",
    "x: f64[5, 5]\nf[i] = sum{k}_0^(i) (x[i, k]**3)",
    "x: f64[0]; y: f64[3]\nf[i: 3] = sum{k} (x[k]) + y[i]",
    "x: f64[23, 3]; y: f64[23]\nf[i, j] = exp(x[i, j]); g[i] = sum{j} (x[i, j]**2) + y[i]",
    "x: f64[7, 5, 3]\nf[b] = sum{i, j} (x[b, i, j]**3)\n"
    "g[b, i, j] = if {b >= 2} then (x[b, i, j]**2) else (0)",
)


#: Programs in which a mask that is lost is a read outside of an index array, or through one.
LOOKUPS = (
    "src: index[E] in N; dst: index[E] in N; w: f64[E]; x: f64[N, C]\n"
    "m[n: N, c] = sum{e: dst[e] = n} (w[e]*x[src[e], c]**2)",
    "ptr: index[N + 1] in E + 1 increasing; col: index[E] in N; v: f64[E]; x: f64[N]\n"
    "y[i: N] = sum{e}_(ptr[i])^(ptr[i + 1] - 1) (v[e]*x[col[e]]**2)",
    "src: index[E] in N; x: f64[N]; w: f64[C]\n"
    "y[i: E] = if {i >= 3} then (if {src[i - 3] >= 1} then (exp(x[src[i - 3] - 1])*w[0]) else (x[0])) "
    "else (x[src[i]])",
    "src: index[E] in N; dst: index[E] in N; w: f64[E]; x: f64[C]\n"
    "y[n: N] = sum{e: E: e != 0 and dst[e - 1] = n and src[e] >= 1} (if {dst[src[e] % 2] = e} then (0) "
    "else (if {src[e] != e and e >= 2 and dst[e - 2] = n} then (w[e - 2]**2) else (w[e]*x[0])))",
    "p: index[E] in E; q: index[E, C] in N; x: f64[N, N]\n"
    "y[e: E, c: C] = sum{k}_(max [0; e - 3])^(min [E - 1; e + 3]) (x[q[p[k], c], q[e, c]]**2)",
    "src: index[E] in N; x: f64[N, C]\ny[e: E] = max{c} (x[src[E - 1 - e], c])",
    "ptr: index[N + 1] in E + 1 increasing; v: f64[E]; x: f64[N]; w: f64[C]\n"
    "s[i: N] = logsumexp{e}_(ptr[i])^(ptr[i + 1] - 1) (v[e]*x[i]); u[i: N] = s[i]*w[0]",
)
LOOKUP_SIZES = ({"N": 5, "E": 23, "C": 35}, {"N": 40, "E": 70, "C": 3}, {"N": 1, "E": 0, "C": 17})


def _by_hand() -> Iterator[Guarded]:
    for number, text in enumerate(BY_HAND):
        yield Guarded(str(number), text, {}, order=2 if number else 1)


def _lookups() -> Iterator[Guarded]:
    for number, text in enumerate(LOOKUPS):
        for sizes in LOOKUP_SIZES:
            own = {name: size for name, size in sizes.items() if re.search(rf"\b{name}\b", text)}
            yield from _both(f"lookups {number}", text, own)


def _conformance() -> Iterator[Guarded]:
    for file in sorted((ROOT / "tests" / "conformance").glob("test_*.py")):
        if "CATALOGUE = " in file.read_text():
            module = importlib.import_module(f"tests.conformance.{file.stem}")
            for case in module.CATALOGUE.cases:
                shapes = {name: tensor.shape for name, tensor in case.tensors.items()}
                yield from _at_shapes(f"{file.stem}: {case.name}", case.program, shapes)


def _at_shapes(name: str, text: str, shapes: Mapping[str, tuple[int, ...]]) -> Iterator[Guarded]:
    """A program at the sizes that shapes of its arguments tell, if they tell all."""
    from tadc.backend.runtime.call_sizes import SizeSymbols
    from tadc.backend.runtime.parameters import Parameter

    f = tadc.function(text)
    arguments = f.program.arguments
    names = sorted(symbols_in([extent for a in arguments for extent in a.shape]))
    symbols = SizeSymbols(names, [Parameter(a.name, str(a.type), a.shape) for a in arguments])
    if symbols.untold:
        return
    yield Guarded(name, text, symbols.values([shapes[a.name] for a in arguments], {}))


#: Sizes of the examples: small, and such that vectors do not end where rows do.
EXAMPLE_SIZES = (
    {"N": 7, "M": 6, "K": 3, "T": 6, "D": 4, "L": 5},
    {"N": 37, "M": 35, "K": 5, "T": 19, "D": 9},
)


def _examples() -> Iterator[Guarded]:
    for file in sorted((ROOT / "examples").glob("*.tad")):
        text = file.read_text()
        f = tadc.function(text)
        extents = [e for tensor in (*f.program.arguments, *f.program.outputs) for e in tensor.shape]
        symbols = symbols_in(extents) if f.per_value is None else set(f.per_value.symbols)
        for sizes in EXAMPLE_SIZES:
            values = {name: sizes.get(name, 5) for name in sorted(symbols)}
            yield from _both(file.stem, text, values)


def _bench() -> Iterator[Guarded]:
    from bench.everyday import EVERYDAY
    from bench.workloads import WORKLOADS

    for workload in (*EVERYDAY, *WORKLOADS):
        yield from _both(workload.name, workload.program, workload.small)
        # What stands later is mostly the size of a window over what stands before it.
        grown = {
            name: min(size, 11 + 13 * n) for n, (name, size) in enumerate([*workload.sizes.items()][::-1])
        }
        yield from _both(f"{workload.name}, larger", workload.program, grown)


def _both(name: str, text: str, sizes: Mapping[str, int]) -> Iterator[Guarded]:
    """For all sizes, and for these alone."""
    yield Guarded(name, text, sizes)
    if sizes:
        yield Guarded(f"{name}, fixed", text, sizes, fixed=True)


def _fuzz(first: int, count: int) -> Iterator[Guarded]:
    for seed in range(first, first + count):
        yield Guarded(f"seed {seed}", str(plain.generate(seed)), {})


def _sized(first: int, count: int) -> Iterator[Guarded]:
    for seed in range(first, first + count):
        program, tries = sized.generate(seed)
        for sizes in tries[:3]:
            yield Guarded(f"seed {seed}", str(program), sizes)


def _windows(first: int, count: int) -> Iterator[Guarded]:
    for seed in range(first, first + count):
        yield Guarded(f"seed {seed}", windows.generate(seed), {})


def _recurrences(first: int, count: int) -> Iterator[Guarded]:
    for seed in range(first, first + count):
        case = stepwise.generate(seed)
        yield Guarded(f"seed {seed}", case.text, case.sizes)


def _index(first: int, count: int) -> Iterator[Guarded]:
    for seed in range(first, first + count):
        program, sizes = indexed.generate(seed)
        yield Guarded(f"seed {seed}", str(program), sizes, fixed=bool(seed % 2))


#: What makes the programs of a source; those that are random, from so many seeds.
SOURCES: Mapping[str, Callable[[], Iterator[Guarded]]] = {
    "hand": _by_hand,
    "lookups": _lookups,
    "conformance": _conformance,
    "examples": _examples,
    "bench": _bench,
}
RANDOM: Mapping[str, Callable[[int, int], Iterator[Guarded]]] = {
    "fuzz": _fuzz,
    "sized": _sized,
    "windows": _windows,
    "recurrences": _recurrences,
    "index": _index,
}


def programs(source: str, first: int = 1, count: int = 100) -> Sequence[Guarded]:
    """All programs of a source; of a random one, those of `count` seeds."""
    return list(SOURCES[source]() if source in SOURCES else RANDOM[source](first, count))
