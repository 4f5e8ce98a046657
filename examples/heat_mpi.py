"""Heat on a plate, rows of it on each rank of MPI; its gradient too, to the bit that of one machine.

A step is a program; `f.block` says which rows of the plate before it a rank's rows need, and of the gradient
which rows of the cotangent behind it. All that is written here of MPI is `exchange`: who has rows that others
need sends them. There are no halos by hand, and nothing about the stencil.

    known      the plate after some steps, as it was measured
    computed   how far the simulated plate is from it, and the gradient of that by the plate at the start

    pip install 'tadc-compiler[mpi]'
    mpiexec -n 2 python examples/heat_mpi.py
"""

import argparse
from collections.abc import Sequence

import numpy as np
from mpi4py import MPI
from numpy.typing import NDArray

import tadc

Array = NDArray[np.float64]

STEP = """
# One explicit step; the rim keeps its temperature.
u: f64[N, M]
v[i: N, j: M] = if {i >= 1 and i <= N - 2 and j >= 1 and j <= M - 2} then (
    u[i, j] + 0.2*(u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1] - 4*u[i, j])) else (u[i, j])
"""


class Rows:
    """A function of one array of a plate that is divided by rows, on each rank a block of its results."""

    def __init__(self, f: tadc.Function, index: str, ranks: int, sizes: dict[str, int]) -> None:
        """`index` is that of the rows of its result."""
        block = f.block(**{index: -(-sizes["N"] // ranks)})
        stage = block.plan(**sizes).stages[0]
        self.function = block.function
        self.tasks = [stage.task(cell) for cell in stage.cells]
        self.input = next(iter(self.tasks[0].reads))
        self.own = [task.writes[f.outputs[0]][0] for task in self.tasks]

    def __call__(self, comm: MPI.Comm, mine: Array) -> Array:
        """A rank's rows of the result, of its rows of the argument."""
        task = self.tasks[comm.rank]
        needed = [t.reads[self.input][0] for t in self.tasks]
        given = {self.input: exchange(comm, mine, self.own, needed)}
        return self.function(**given, **task.sizes)


def exchange(comm: MPI.Comm, mine: Array, own: Sequence[range], needed: Sequence[range]) -> Array:
    """The rows that a rank needs, from those who own them; it sends what others need of its own."""
    me, waiting = comm.rank, list[MPI.Request]()
    found = np.empty((len(needed[me]), *mine.shape[1:]))
    for other in range(comm.size):
        out, back = common(own[me], needed[other]), common(own[other], needed[me])
        part = mine[out.start - own[me].start : out.stop - own[me].start]
        place = found[back.start - needed[me].start : back.stop - needed[me].start]
        if other == me:
            place[:] = part
            continue
        if out:
            waiting.append(comm.Isend(np.ascontiguousarray(part), other))
        if back:
            waiting.append(comm.Irecv(place, other))
    MPI.Request.Waitall(waiting)
    return found


def common(a: range, b: range) -> range:
    """The rows in both."""
    start = max(a.start, b.start)
    return range(start, max(start, min(a.stop, b.stop)))


def simulated(comm: MPI.Comm, start: Array, measured: Array, steps: int) -> tuple[Array, Array]:
    """The plate after some steps, and the gradient of half its squared distance from what was measured."""
    sizes = dict(zip("NM", start.shape, strict=True))
    step = tadc.function(STEP)
    forward = Rows(step, "i", comm.size, sizes)
    # The step is linear, so its gradient needs the cotangent alone.
    backward = Rows(tadc.vjp(step), "u_0", comm.size, sizes)
    rows = slice(forward.own[comm.rank].start, forward.own[comm.rank].stop)
    u = start[rows]
    for _ in range(steps):
        u = forward(comm, u)
    du = u - measured[rows]
    for _ in range(steps):
        du = backward(comm, du)
    return np.concatenate(comm.allgather(u)), np.concatenate(comm.allgather(du))


def main() -> None:
    """Compare with one process."""
    parser = argparse.ArgumentParser(description="heat on a plate, rows of it on each rank of MPI")
    parser.add_argument("--rows", type=int, default=301)
    parser.add_argument("--columns", type=int, default=200)
    parser.add_argument("--steps", type=int, default=20)
    given = parser.parse_args()
    rng = np.random.default_rng(1)
    start, measured = rng.uniform(0, 1, (2, given.rows, given.columns))
    plate, gradient = simulated(MPI.COMM_WORLD, start, measured, given.steps)
    if MPI.COMM_WORLD.rank == 0:
        alone = simulated(MPI.COMM_SELF, start, measured, given.steps)
        same = np.array_equal(plate, alone[0]) and np.array_equal(gradient, alone[1])
        bits = "the same bits" if same else "OTHER BITS"
        print(f"{MPI.COMM_WORLD.size} ranks, {given.steps} steps: {bits} as one")


if __name__ == "__main__":
    main()
