"""`python -m bench models`: whole models that are imported, value and gradients, against their origin.

Those of JAX against `jax.jit`, those of PyTorch against PyTorch itself, in f32, on one thread.
"""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import tadc
from bench.interleave import interleaved

#: Seconds for the turns of a model.
BUDGET = 2.0
#: In f32 results may be so far apart, relative to the largest.
CLOSE = 1e-3

Call = Callable[[], Sequence[Any]]
#: An imported function, its arguments by name, those with a gradient, the cotangent, its own call, and the
#: seconds of processors that importing took.
Prepared = tuple[Any, Mapping[str, Any], Sequence[str], Any, Call, float]
ONE_THREAD = {
    "OMP_NUM_THREADS": "1",
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1",
}


def main(words: list[str]) -> None:
    """Print the table, of the models that words name or of all."""
    os.environ.update(ONE_THREAD)  # read where JAX and PyTorch are loaded, which is below
    tadc.set_num_threads(1)
    table = Table(title="value + all gradients, f32, one thread")
    for column in ("from", "model", "import s", "tadc ms", "its own ms", "ratio"):
        table.add_column(column, justify="left" if column in ("from", "model") else "right")
    for door, made in {"JAX": _of_jax(words), "PyTorch": _of_torch(words)}.items():
        ratios: list[float] = []
        for name, prepare in made.items():
            f, named, by, cotangent, own, imported = prepare()
            call = _tadc(f, named, by, cotangent)
            _compare(name, call(), own())
            times = interleaved({"tadc": call, "own": own}, BUDGET, dict.fromkeys(("tadc", "own"), 0.01))
            mine, theirs = (1e3 * statistics.median(times[of]) for of in ("tadc", "own"))
            ratios.append(theirs / mine)
            row = (f"{imported:.2f}", f"{mine:.2f}", f"{theirs:.2f}", f"{ratios[-1]:.2f}")
            table.add_row(door, name, *row)
        if ratios:
            table.add_row(door, "geometric mean", "", "", "", f"{statistics.geometric_mean(ratios):.2f}")
    Console().print(table)


def _tadc(f: Any, named: Mapping[str, Any], by: Sequence[str], cotangent: Any) -> Call:
    """The value and the gradients by some arguments, in their order."""
    both = tadc.value_and_vjp(f, by)
    below = {a.name: a.below for a in f.program.arguments if a.below is not None}
    given = {n: tadc.relation(v, below[n]) if n in below else np.asarray(v) for n, v in named.items()}
    given |= {both.cotangents[f.results[0]]: np.asarray(cotangent)}
    compiled = tadc.compile(both)
    order = [f.results[0], *(both.gradients[n] for n in by)]

    def call() -> Sequence[Any]:
        found = compiled(**given)._asdict()
        return [found[name] for name in order]

    return call


def _compare(name: str, found: Sequence[Any], wanted: Sequence[Any]) -> None:
    for one, other in zip(found, wanted, strict=True):
        one, other = np.asarray(one), np.asarray(other)
        apart = np.abs(one - other).max() / (1e-6 + np.abs(other).max())
        if apart > CLOSE:
            raise AssertionError(f"{name}: results are {apart:.1e} apart")


def _of_jax(words: Sequence[str]) -> dict[str, Callable[[], Prepared]]:
    jax: Any = import_module("jax")
    models: Any = import_module("tests.importing.jax_models").models(big=True)

    def prepare(name: str) -> Prepared:
        model, given = models[name]
        given = jax.tree.map(lambda leaf: jax.numpy.asarray(leaf, leaf.dtype.kind + "4"), given)
        begin = time.process_time()
        f = tadc.from_jax(model, *given)
        took = time.process_time() - begin
        shape = jax.eval_shape(model, *given).shape
        cotangent = np.random.default_rng(0).normal(size=shape).astype("f4")

        def gradients(*arguments: Any) -> Any:
            fixed = arguments[2:]
            value, pull = jax.vjp(lambda *a: model(*a, *fixed), *arguments[:2])
            return value, *jax.tree.leaves(pull(jax.numpy.asarray(cotangent)))

        compiled = jax.jit(gradients).lower(*given).compile()
        named = {n: np.asarray(v) for n, v in f.arguments(*given).items()}
        by = [n for n in named if n in f.differentiable]
        return f, named, by, cotangent, lambda: jax.block_until_ready(compiled(*given)), took

    return {name: lambda name=name: prepare(name) for name in models if not words or name in words}


def _of_torch(words: Sequence[str]) -> dict[str, Callable[[], Prepared]]:
    torch: Any = import_module("torch")
    models: Any = import_module("tests.importing.torch_models").models(big=True)

    def prepare(name: str) -> Prepared:
        torch.manual_seed(0)
        model, given = models[name]()
        given = [x.float() if x.is_floating_point() else x for x in given]
        begin = time.process_time()
        f = tadc.from_torch(model.float(), *given)
        took = time.process_time() - begin
        leaves = [x.requires_grad_(x.is_floating_point()) for x in given]
        by_name = {k.replace(".", "_"): p for k, p in model.named_parameters()}
        named = f.arguments(*leaves)
        by_name |= {n: x for n, v in named.items() for x in leaves if v is x}
        by = [n for n in named if n in f.differentiable and n in by_name]
        inputs = [by_name[n] for n in by]
        cotangent = torch.randn_like(model(*leaves).detach())

        def gradients() -> Sequence[Any]:
            value = model(*leaves)
            return [x.detach() for x in (value, *torch.autograd.grad(value, inputs, cotangent))]

        plain = {n: np.asarray(v.detach()) for n, v in named.items()}
        return f, plain, by, cotangent, gradients, took

    return {name: lambda name=name: prepare(name) for name in models if not words or name in words}
