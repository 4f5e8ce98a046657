"""What ptxas makes of GPU kernels: no register is spilled, and blocks fit on a multiprocessor."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.everyday import EVERYDAY
from bench.workloads import WORKLOADS
from tadc.backend.cuda.ptx import resources
from tadc.backend.target import parse_target
from tadc.compiler.all_stages import compile_until
from tadc.compiler.compile_options import Options
from tadc.compiler.stages import Compilation
from tadc.frontend.program import Program
from tadc.frontend.source import Source
from tests.gpu_programs import PROGRAMS

ROOT = Path(__file__).parents[2]
REGISTERS = 1 << 16
SHARED_BYTES = 48 << 10


def compiled(program: Program, sm: int) -> Compilation:
    state = Compilation(Options(target=parse_target(f"cuda:sm_{sm}")), program.source, program=program)
    compile_until(state, "ptx", first="tad")
    return state


def check(state: Compilation, sm: int, spills: bool = False) -> None:
    """Blocks have the registers and shared memory that they need; nothing is atomic."""
    found = resources(str(state.code["ptx"]), sm)
    assert set(found) == {launch.kernel for launch in state.launches}
    for launch in state.launches:
        used = found[launch.kernel]
        threads = launch.block[0] * launch.block[1] * launch.block[2]
        assert threads * used.registers <= REGISTERS
        assert used.shared <= SHARED_BYTES
        assert spills or not used.spilled, launch.kernel


#: A kernel of forces and energies keeps some values of pairs in memory of the thread, one of the gradient of
#: a transition matrix some of its tile.
SPILLING = {"coulomb", "markov"}

#: Kernels that spill on one architecture alone: of 64 registers a thread in blocks of 1,024, and of 128.
SPILLING_ON = {(70, "gravity"), (70, "springs"), (80, "batch-norm"), (120, "local")}


@pytest.mark.parametrize("workload", [*WORKLOADS, *EVERYDAY], ids=lambda w: w.name)
@pytest.mark.parametrize("sm", [80, 70, 90, 120])
def test_no_workload_spills(workload, sm):
    """Value and gradients of the benchmark, at its sizes."""
    program = workload.derivative("f32", workload.sizes).program
    spills = workload.name in SPILLING or (sm, workload.name) in SPILLING_ON
    check(compiled(program, sm), sm, spills=spills)


@pytest.mark.parametrize("name", ["strided_conv2d", "conv2d"])
def test_kernels_for_unknown_sizes_do_not_spill(name):
    """Strides that are not known take registers too: tiles in f64 are smaller there."""
    source = Source((ROOT / "examples" / f"{name}.tad").read_text(encoding="utf-8"), name)
    state = Compilation(Options("vjp", target=parse_target("cuda:sm_90")), source)
    compile_until(state, "ptx")
    check(state, 90)


@pytest.mark.parametrize("name", PROGRAMS)
def test_layouts_are_accepted(name):
    """Value and gradients of a program for each layout of threads."""
    state = Compilation(
        Options("value-and-vjp", target=parse_target("cuda:sm_80")), Source(PROGRAMS[name].text, name)
    )
    compile_until(state, "ptx")
    check(state, 80, spills=True)
