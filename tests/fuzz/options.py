"""One program compiled in different ways: all results agree with the first."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

import tadc
from tadc.api.execute import compile_program
from tadc.backend.target import parse_target
from tadc.compiler.compile_options import Options
from tests.fuzz.compare import NARROW_TOLERANCE, Skipped, failing
from tests.fuzz.generate import generate
from tests.fuzz.tree import Program
from tests.reference.checking import assert_close

EMULATED = parse_target("emulated")

Arrays = Mapping[str, NDArray[np.floating]]

#: Each makes of a function something to call.
WAYS: dict[str, Callable[[tadc.Function], Any]] = {
    "as it is": lambda f: f.compiled(),
    "fast-math": lambda f: f.compiled_for(Options(fast_math=True)),
    "fused": lambda f: f.compiled_fused(),
    "-O0": lambda f: compile_program(f.program, Options(level=0)),
    "read back": lambda f: tadc.function(str(f)),
    "emulated": lambda f: f.compiled_for(Options(target=EMULATED)),
    "emulated, fast-math": lambda f: f.compiled_for(Options(target=EMULATED, fast_math=True)),
}

#: Those for a processor, for programs of which one is chosen by seed.
ON_CPU = [make for way, make in WAYS.items() if not way.startswith("emulated")]

#: How each derivative of a chain is taken.
DERIVATIVES: dict[str, dict[str, Any]] = {
    "auto": {},
    "always": {"materialize": "always"},
    "never": {"materialize": "never"},
    "within 16 bytes": {"memory_limit": 16},
}


def failure(seed: int, order: int) -> str | None:
    """Where the results of the program of a seed are not the same."""
    program = generate(seed, small=order > 0)
    return failing(program, lambda candidate: compare(candidate, seed, order), f"seed {seed}, order {order}")


def compare(program: Program, seed: int, order: int) -> None:
    """Assert that the last derivative is the same in all ways, of every fourth seed on a GPU too."""
    rng = np.random.default_rng(seed)
    types, arrays = program.types, dict[str, NDArray[np.floating]]()
    for name, shape in program.arguments.items():
        arrays[name] = rng.uniform(-1, 1, shape).astype(types[name].replace("f", "float"))
    chains = {how: [tadc.function(str(program))] for how in (DERIVATIVES if order else ["auto"])}
    for _ in range(order):
        mode = (tadc.vjp, tadc.jvp)[rng.integers(2)]
        plain = chains["auto"][-1]
        results = _results(plain, plain, arrays)
        for how, chain in chains.items():
            chain.append(mode(chain[-1], **DERIVATIVES[how]))
        made = chains["auto"][-1]
        like = {name: results[output] for output, name in made.cotangents.items()}
        like |= {name: arrays[argument] for argument, name in made.tangents.items()}
        arrays |= {name: rng.uniform(-1, 1, a.shape).astype(a.dtype) for name, a in like.items()}
    tolerance = NARROW_TOLERANCE if "f32" in types.values() else 1e-9
    first = chains["auto"][-1]
    expected = _results(first, first, arrays)
    if not all(np.isfinite(value).all() for value in expected.values()):
        raise Skipped("not finite")
    for how, chain in chains.items():
        for way, compiled in WAYS.items():
            if way.startswith("emulated") and (seed % 4 or how != "auto"):
                continue
            found = _results(compiled(chain[-1]), chain[-1], arrays)
            for name, want in expected.items():
                assert_close(found[name], want, tolerance, lambda: f"{way}, {how}, {name} of\n{chain[-1]}")


def _results(compiled: Any, function: tadc.Function, arrays: Arrays) -> dict[str, NDArray[np.floating]]:
    found = compiled(**{name: arrays[name] for name in function.inputs})
    results = found if len(function.outputs) > 1 else (found,)
    return {name: np.asarray(value) for name, value in zip(function.outputs, results, strict=True)}
