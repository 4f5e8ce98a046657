"""Hangs a cloth of springs by four of its nodes: Newton steps on the sparse Hessian that tadc compiled.

The cloth is a net of nodes that springs join, along its threads and across. It starts flat; its weight pulls
it down until its energy is least. The energy is a program of a few lines, whose springs are index arrays:
spring e joins the nodes i[e] and j[e]. Its gradient gathers, for each node, what the springs at that node
pull; its Hessian has a block of 3 x 3 numbers for each node and each spring, and nothing else is stored.

    python examples/cloth.py --output build
"""

import argparse
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib import pyplot as plt
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from scipy import sparse
from scipy.sparse.linalg import spsolve

import tadc

Points = NDArray[np.float64]

NODES = 36  # along a side of the cloth
STIFFNESS = 2.0  # of a spring, in weights of the cloth for each side's length
SLACK = 0.97  # of the springs: rest lengths in the distances at first, so the flat cloth is tight

ENERGY = """
# Springs that are stretched or pressed, and the height of all nodes, which have the same weight.
i: index[E] in N
j: index[E] in N
x: f64[N, 3]
rest: f64[E]
stiffness: f64
let length[e] = sqrt(sum{c: 3} ((x[i[e], c] - x[j[e], c])**2))
energy = 0.5*stiffness*sum{e} ((length[e] - rest[e])**2) + sum{n} (x[n, 2]) / N
"""


@dataclass(frozen=True)
class Cloth:
    """Nodes where they are at first, the springs between them, and which nodes are held."""

    start: Points
    i: NDArray[np.int32]
    j: NDArray[np.int32]
    rest: NDArray[np.float64]
    held: NDArray[np.bool_]


def make_cloth(nodes: int = NODES) -> Cloth:
    """A square net with springs along its threads and both diagonals, held at its corners."""
    number = np.arange(nodes**2, dtype=np.int32).reshape(nodes, nodes)
    pairs = [
        (number[1:], number[:-1]),
        (number[:, 1:], number[:, :-1]),
        (number[1:, 1:], number[:-1, :-1]),
        (number[1:, :-1], number[:-1, 1:]),
    ]
    i, j = (np.concatenate([pair[side].ravel() for pair in pairs]) for side in (0, 1))
    side = np.linspace(0, 1, nodes)
    flat = np.stack([*np.meshgrid(side, side, indexing="ij"), np.zeros((nodes, nodes))], -1).reshape(-1, 3)
    rest = SLACK * np.linalg.norm(flat[i] - flat[j], axis=1)
    held = np.zeros(nodes**2, bool)
    held[number[[0, 0, -1, -1], [0, -1, 0, -1]]] = True
    # Exactly flat, springs would resist no move up or down.
    sag = 0.02 * np.outer(*[np.sin(np.pi * side)] * 2).reshape(-1)
    return Cloth(flat - np.outer(sag, [0, 0, 1]), i, j, rest, held)


@dataclass(frozen=True)
class Step:
    """Where the nodes are after a step of Newton's, their energy, the largest force on a free node, and what
    was added to the Hessian's diagonal."""

    points: Points
    energy: float
    force: float
    shift: float


def relax(cloth: Cloth, steps: int = 200, enough: float = 1e-9) -> Iterator[Step]:
    """Newton steps (Levenberg's: with a shift that makes the Hessian positive) until no force is left."""
    energy = tadc.function(ENERGY)
    slope, curvature = tadc.value_and_grad(energy, wrt="x"), tadc.hessian(energy, wrt="x")
    known: dict[str, Any] = {
        "i": tadc.relation(cloth.i, len(cloth.start)),
        "j": tadc.relation(cloth.j, len(cloth.start)),
        "rest": cloth.rest,
        "stiffness": STIFFNESS,
    }
    solve: Any = spsolve
    free = np.repeat(~cloth.held, 3)
    inside: Any = sparse.eye_array(free.size).tocsr()
    inside = inside[free]
    x, shift = cloth.start.copy(), 1.0
    value, gradient = slope(x=x, **known)
    for _ in range(steps):
        down = -gradient.reshape(-1)[free]
        yield Step(x, float(value), float(np.abs(down).max()), shift)
        if np.abs(down).max() < enough:
            return
        hessian = inside @ curvature.toscipy(x=x, **known) @ inside.T
        while True:
            move = np.zeros(free.size)
            move[free] = solve((hessian + shift * sparse.eye_array(down.size)).tocsc(), down)
            new = x + move.reshape(x.shape)
            new_value, new_gradient = slope(x=new, **known)
            if move[free] @ down > 0 and new_value < value + 1e-14:
                break
            shift *= 4
        x, value, gradient, shift = new, new_value, new_gradient, shift / 4


def draw(path: Path, pictures: dict[str, Points], cloth: Cloth) -> None:
    """Save the nets side by side, each thread a line, and the nodes that are held."""
    mpl.use("Agg")
    figure = plt.figure(figsize=(11, 4.6), layout="constrained")
    for place, (title, points) in enumerate(pictures.items(), 1):
        axis: Any = figure.add_subplot(1, len(pictures), place, projection="3d")
        nodes = round(len(points) ** 0.5)
        net = points.reshape(nodes, nodes, 3)
        axis.plot_surface(*np.moveaxis(net, 2, 0), rstride=1, cstride=1, cmap="viridis", linewidth=0.2)
        axis.scatter(*points[cloth.held].T, color="black", s=30)
        axis.set(title=title, zlim=(-0.5, 0.05), box_aspect=(1, 1, 0.65))
        axis.view_init(elev=22, azim=-60)
        axis.set_axis_off()
    figure.savefig(path, dpi=80)
    plt.close(figure)


def main(output: Path) -> None:
    """Relax the cloth, and say how it went."""
    console, cloth, begin = Console(), make_cloth(), time.perf_counter()
    table = Table("step", "energy", "largest force", "shift")
    last = Step(cloth.start, np.nan, np.inf, 0.0)
    for number, last in enumerate(relax(cloth)):
        if number % 5 == 0 or last.force < 1e-6:
            table.add_row(str(number), f"{last.energy:.9f}", f"{last.force:.1e}", f"{last.shift:.1e}")
    console.print(table)
    size, seconds = last.points.size, time.perf_counter() - begin
    console.print(f"{len(cloth.i):,} springs, {size:,} coordinates: {seconds:.1f} s, with compiling")
    blocks = len(cloth.start) + 2 * len(cloth.i)
    console.print(f"the Hessian has {size**2:,} elements, of which {9 * blocks:,} are stored")
    output.mkdir(parents=True, exist_ok=True)
    draw(output / "cloth.png", {"before": cloth.start, "at rest": last.points}, cloth)
    console.print(f"picture: {output / 'cloth.png'}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="hang a cloth of springs")
    parser.add_argument("--output", type=Path, default=Path("build"), help="folder for cloth.png (build)")
    main(parser.parse_args().output)
