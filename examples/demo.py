"""The paper's example from text to numbers, then a photograph sharpened (`make demo`)."""

from importlib.util import find_spec
from pathlib import Path
from timeit import repeat
from typing import Any

import matplotlib as mpl
import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.rule import Rule
from rich.table import Table

import tadc

Array = NDArray[np.float64]

STEP = 1e-5  # of the central differences


def main() -> None:
    """Show a program, its gradients as programs, and that they are right; then use gradients."""
    console = Console()
    paper = tadc.function((Path(__file__).parent / "paper.tad").read_text(encoding="utf-8"))
    gradients = tadc.vjp(paper)

    console.print(Rule("A program"))
    console.print(paper, highlight=False, soft_wrap=True)
    console.print(Rule("Its gradients are programs too"))
    console.print(gradients, highlight=False, soft_wrap=True)
    console.print(Rule("Compiled, and checked on random arrays"))
    console.print(check(paper, gradients))
    console.print(Rule("A use of gradients: a shaken photograph"))
    sharpen(console, Path("build"))


def sharpen(console: Console, output: Path) -> None:
    """Run a script of the gallery, and keep its picture. Its last cell needs JAX; without, NumPy is timed."""
    mpl.use("Agg")
    script = (Path(__file__).parent / "gallery" / "deblurring.py").read_text(encoding="utf-8")
    made: dict[str, Any] = {}
    *cells, in_jax = script.split("# %%\n")
    for cell in cells:
        exec(cell, made)
    if find_spec("jax"):
        exec(in_jax, made)
        times = made["times"]
    else:
        times = beside_numpy(made["loss"], made["sharp"], made["kernel"], made["seen"])
    for name, seconds in times.items():
        console.print(f"a value and its gradient: {1000 * seconds:.2f} ms with {name}")
    output.mkdir(exist_ok=True)
    made["figure"].savefig(output / "deblurring.png", dpi=80)
    console.print(f"picture: {output / 'deblurring.png'}")


def beside_numpy(loss: tadc.Function, photo: Array, kernel: Array, seen: Array) -> dict[str, float]:
    """Seconds of a value and its gradient, by tadc and in NumPy, whose gradient is derived by hand."""
    ours = tadc.value_and_grad(loss, "photo")
    assert np.allclose(ours(photo, kernel, seen)[1], in_numpy(photo, kernel, seen)[1], atol=1e-12)
    return {
        name: min(repeat(lambda call=call: call(photo, kernel, seen), number=1, repeat=20))
        for name, call in (("tadc", ours), ("NumPy", in_numpy))
    }


def in_numpy(photo: Array, kernel: Array, seen: Array) -> tuple[float, Array]:
    """The loss of the script, and its gradient."""
    off = correlate(photo, kernel) - seen
    down, right = photo[1:, :-1] - photo[:-1, :-1], photo[:-1, 1:] - photo[:-1, :-1]
    slope = np.sqrt(1e-4 + down**2 + right**2)
    by_down, by_right = 0.0003 * down / slope, 0.0003 * right / slope
    gradient = correlate(np.pad(off, [(size - 1, size - 1) for size in kernel.shape]), kernel[::-1, ::-1])
    gradient[1:, :-1] += by_down
    gradient[:-1, 1:] += by_right
    gradient[:-1, :-1] -= by_down + by_right
    return float((off**2).sum() / 2 + 0.0003 * slope.sum()), gradient


def correlate(picture: Array, kernel: Array) -> Array:
    """The sum over a window of the picture at each position; faster so than as a product of matrices."""
    windows = np.lib.stride_tricks.sliding_window_view(picture, kernel.shape)
    return np.einsum("ijuv,uv->ij", windows, kernel)


def check(f: tadc.Function, gradients: tadc.Function) -> Table:
    """How far each gradient is from central differences, along a random direction."""
    random = np.random.default_rng(1)
    shapes = {"a": (3, 5), "b": (4, 5), "c": (3, 3), "d": (8,)}
    arrays = {name: random.uniform(0, 0.8, shape) for name, shape in shapes.items()}
    df = random.uniform(-1, 1, (3, 4))
    found = gradients(**arrays, df=df)
    table = Table("argument", "gradient along a direction", "central difference", "difference")
    for name, shape in shapes.items():
        direction = random.uniform(-1, 1, shape)
        above, below = (f(**{**arrays, name: arrays[name] + sign * STEP * direction}) for sign in (1, -1))
        slope = np.vdot(getattr(found, gradients.gradients[name]), direction)
        measured = np.vdot(df, above - below) / (2 * STEP)
        table.add_row(name, f"{slope:+.12f}", f"{measured:+.12f}", f"{abs(slope - measured):.1e}")
    return table


if __name__ == "__main__":
    main()
