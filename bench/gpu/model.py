"""`python -m bench.gpu.model FOLDER`: what a model foretells of bundles, for the kit to show.

The emulator runs some blocks of each launch and counts (`backend/emulator/counts.py`). A launch then takes
as long as the busiest part of the GPU: the issue of instructions, a pipe of them, shared memory, the second
cache or DRAM; and no less than the time from one launch to the next. The model knows no latency, so it is a
bound from below. It takes the speeds of the data sheet, not those measured.
"""

from __future__ import annotations

import argparse
import json
import math
import multiprocessing
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.gpu.cases import WORK
from bench.gpu.sizes import TIMED, sizes_of
from tadc.backend.emulator.counts import LaunchCounts

#: Of each launch so many blocks run, and a workload is given up after so many seconds.
BLOCKS, PATIENCE = 2, 120.0


@dataclass(frozen=True)
class Speeds:
    """Multiprocessors, cycles a second, bytes a second, and the least seconds from launch to launch."""

    multiprocessors: int
    clock: float
    dram: float
    second_cache: float
    launch: float = 2e-6


#: By the architecture; that of the H100 with HBM3 by NVIDIA's data sheet, its second cache by measurements of
#: others (Luo et al., arXiv 2402.13499).
SPEEDS = {90: Speeds(132, 1.755e9, 3.35e12, 5.5e12)}

#: Warps that a multiprocessor of compute capability 9.0 begins a cycle, by the kind of instruction (CUDA C++
#: Programming Guide, throughput of native arithmetic instructions).
PIPES = {"f32": 4.0, "f64": 2.0, "special": 0.5, "integer": 2.0, "convert": 0.5, "shuffle": 1.0}
ISSUE, SHARED = 4.0, 1.0


def seconds(launch: LaunchCounts, most_bytes: int, speeds: Speeds) -> float:
    """The time of a launch whose arrays have so many bytes."""
    blocks = math.prod(launch.grid)
    counted = min(blocks, launch.most_blocks or blocks)
    # As many as the multiprocessor has that has most.
    each = -(-blocks // speeds.multiprocessors) / counted
    busy = [sum(launch.issued.values()) / ISSUE, launch.shared.parts / SHARED]
    busy += [launch.issued[kind] / rate for kind, rate in PIPES.items()]
    moved = launch.l2_bytes * blocks / counted
    least = min(launch.dram_bytes * blocks / counted, most_bytes)
    return max(
        speeds.launch, each * max(busy) / speeds.clock, moved / speeds.second_cache, least / speeds.dram
    )


def foretold(name: str, dtype: str, small: bool, sm: int = 90) -> float:
    """Seconds of value and all gradients of a workload."""
    import numpy as np

    import tadc
    from tadc.backend.emulator.counts import counting
    from tadc.frontend.extents import shape_at

    f = TIMED[name].derivative(dtype, sizes_of(TIMED[name], small))
    kernel: Any = tadc.compile(f, target=f"emulated:sm_{sm}")
    arrays = [np.zeros(shape_at(a.shape, {}), f"f{int(a.type[1:]) // 8}") for a in f.program.arguments]
    manifest = kernel.kernel.manifest
    of = manifest.interface
    between = [t.tensor for t in of.temporaries]
    bytes = [p.bytes for p in (*of.arguments, *of.made, *of.outputs, *between)]
    touched = {launch.kernel: sum(bytes[n] for n in launch.buffers) for launch in manifest.launches}
    with counting(BLOCKS) as launches:
        kernel(*arrays)
    return sum(seconds(one, touched[one.kernel], SPEEDS[sm]) for one in launches)


def _put(queue: Any, *words: Any) -> None:
    queue.put(foretold(*words))


def within(patience: float, *words: Any) -> float | None:
    """What is foretold, None where the emulator takes longer. In a process of its own."""
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    process = context.Process(target=_put, args=(queue, *words))
    process.start()
    process.join(patience)
    if process.is_alive():
        process.terminate()
        process.join()
        return None
    return None if queue.empty() else queue.get()


def cells_of(found: Any) -> Sequence[dict[str, Any]]:
    """What is foretold of: a bundle's work, the cells of results, or of what is published."""
    if "workload" in found:
        return [found]
    if "cells" in found:
        return found["cells"]
    return [cell for name, cell in found["bench"].items() if name != "ceilings"]


def main(words: list[str] | None = None) -> None:
    """Write into each cell what is foretold, of the bundles of a folder into what stands beside them."""
    parser = argparse.ArgumentParser(prog="python -m bench.gpu.model", description=__doc__)
    parser.add_argument("file", type=Path, help="a folder of bundles, results, or docs/gpu.json")
    parser.add_argument("--patience", type=float, default=PATIENCE, help=f"seconds a cell ({PATIENCE:.0f})")
    a = parser.parse_args(words)
    for file in sorted((a.file / "bench").glob(f"*/{WORK}")) if a.file.is_dir() else [a.file]:
        found = json.loads(file.read_text(encoding="utf-8"))
        for cell in cells_of(found):
            told = within(a.patience, cell["workload"], cell["dtype"], cell["small"])
            cell["model"] = None if told is None else float(f"{told:.3g}")
            print(cell["workload"], cell["dtype"], cell["model"], flush=True)
            file.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
