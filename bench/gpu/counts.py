"""`python -m bench.gpu.counts NAME …`: what the kernels of workloads do, counted by the emulator.

Value and all gradients at the size of the benchmark; some blocks of each launch run, spread over its grid.
"""

from __future__ import annotations

import argparse

import numpy as np

import tadc
from bench.everyday import EVERYDAY
from bench.gpu.sizes import sizes_of
from bench.workloads import WORKLOADS
from tadc.backend.emulator.counts import counting, table
from tadc.frontend.extents import shape_at


def main(words: list[str] | None = None) -> None:
    """Print a table for each workload."""
    known = {w.name: w for w in (*WORKLOADS, *EVERYDAY)}
    parser = argparse.ArgumentParser(prog="python -m bench.gpu.counts", description=__doc__)
    parser.add_argument("names", nargs="+", choices=sorted(known), metavar="NAME", help="workloads")
    parser.add_argument("--sm", type=int, default=90, help="architecture (90)")
    parser.add_argument("--dtype", choices=("f32", "f64"), default="f32")
    parser.add_argument("--blocks", type=int, default=4, help="blocks of each launch that are run (4)")
    parser.add_argument("--small", action="store_true", help="the sizes for tests, all blocks")
    a = parser.parse_args(words)
    for name in a.names:
        f = known[name].derivative(a.dtype, sizes_of(known[name], a.small))
        given = [np.zeros(shape_at(x.shape, {}), f"f{int(x.type[1:]) // 8}") for x in f.program.arguments]
        kernel = tadc.compile(f, target=f"emulated:sm_{a.sm}")
        with counting(None if a.small else a.blocks) as launches:
            kernel(*given)
        print(f"{known[name].title}\n{table(launches)}\n")


if __name__ == "__main__":
    main()
