"""`python -m bench`: run time against other libraries; `python -m bench -h` has its options.

`python -m bench blocks [--large GB]`: programs in blocks against single calls and halos by hand; large files.
`python -m bench calibrate [--fit]`: how well the cost of schedules tells times here; fits its weights.
`python -m bench calls`: what a call from Python takes besides its work.
`python -m bench compile`: how long compiling takes, of random programs and of deep ones.
`python -m bench everyday [PROGRAM …]`: programs in three spellings, which no schedule was chosen for.
`python -m bench drawn [CLASS …]`: programs that are drawn when they are timed, against peers.
`python -m bench empty`: inner loops without an iteration.
`python -m bench functions`: the speed of scalar functions.
`python -m bench gpu-host`: what a call on a GPU takes on the host.
`python -m bench jax`: what a call in JAX takes, beside operations of JAX.
`python -m bench jvp [WORKLOAD …]`: value and tangent against `jax.jvp`.
`python -m bench inverse`: products with inverse Jacobians, and their plans.
`python -m bench mechanisms [MECHANISM …] [PROGRAM …]`: what each mechanism of the code generator buys.
`python -m bench memory [RECURRENCE …]`: gradients under memory limits against JAX with checkpoints.
`python -m bench models [MODEL …]`: whole models that are imported, against JAX and PyTorch.
`python -m bench operations`: what gradients, Jacobians and Hessians cost over the value, by count.
`python -m bench sizes`: what compiling for given sizes gains.
`python -m bench sparse [PROGRAM …] [--pattern NAME]`: programs with index arrays, against peers.
`python -m bench torch-calls`: what a call in PyTorch takes, beside its own operations.
`python -m bench uncertainty`: 10,000 measurements against arrays of `uncertainties`.
`python -m bench wasm`: modules of WebAssembly against plain JavaScript, in node.
"""

from __future__ import annotations

import sys
from importlib import import_module

MODULES = {
    "blocks": "blocks",
    "calibrate": "calibrate",
    "calls": "calls",
    "compile": "compile_time",
    "drawn": "drawn.table",
    "empty": "empty_iterations",
    "everyday": "breadth",
    "functions": "functions",
    "gpu-host": "gpu.host",
    "inverse": "inverse",
    "jax": "calls_in_jax",
    "jvp": "forward",
    "mechanisms": "mechanisms",
    "memory": "memory",
    "models": "models",
    "operations": "operations",
    "sizes": "specialised",
    "sparse": "sparse.table",
    "torch-calls": "torch_calls",
    "uncertainty": "uncertainty",
    "wasm": "wasm",
}
TAKE_WORDS = {"blocks", "calibrate", "drawn", "everyday", "jvp", "mechanisms", "memory", "models", "sparse"}


def main(words: list[str]) -> None:
    """Run the benchmark that the words name."""
    name, rest = (words[0], words[1:]) if words else ("", [])
    if name not in MODULES:
        import_module("bench.speed").main(words)
    elif {"-h", "--help"} & {*rest}:
        print(next(line for line in str(__doc__).splitlines() if line.startswith(f"`python -m bench {name}")))
    elif rest and name not in TAKE_WORDS:
        sys.exit(f"`python -m bench {name}` takes nothing more")
    else:
        run = import_module(f"bench.{MODULES[name]}").main
        run(rest) if name in TAKE_WORDS else run()


main(sys.argv[1:])
