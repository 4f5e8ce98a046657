"""The paper's example from text to numbers, then a photograph sharpened (`make demo`)."""

from pathlib import Path
from runpy import run_path

import matplotlib as mpl
import numpy as np
from rich.console import Console
from rich.rule import Rule
from rich.table import Table

import tadc

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
    """Run a script of the gallery, and keep its picture."""
    mpl.use("Agg")
    script = Path(__file__).parent / "gallery" / "deblurring.py"
    made = run_path(str(script))
    for name, seconds in made["times"].items():
        console.print(f"a value and its gradient: {1000 * seconds:.2f} ms with {name}")
    output.mkdir(exist_ok=True)
    made["figure"].savefig(output / "deblurring.png", dpi=80)
    console.print(f"picture: {output / 'deblurring.png'}")


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
