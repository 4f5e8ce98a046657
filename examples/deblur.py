"""Sharpens a shaken photograph by gradient descent on gradients that tadc compiled.

A camera that is shaken and a little out of focus blurs every picture with the same unknown kernel. As
in a laboratory, the kernel is found first, from a picture of a test chart whose sharp form is known;
then the photograph is sharpened with the kernel that was found.

    known      the chart, the camera's pictures of the chart and of the photograph, both with noise
    estimated  the kernel (13 x 13 numbers, positive, with sum 1), then the sharp photograph
    hidden     the true kernel and the sharp photograph: they simulate the camera and score the result

Both losses are programs of the language, each a few lines; the optimiser is L-BFGS in NumPy.

    python examples/deblur.py --output build
"""

import argparse
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib import pyplot as plt
from matplotlib.cbook import get_sample_data
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

import tadc

Image = NDArray[np.float64]
Loss = Callable[[Image], tuple[float, Image]]

WIDTH = 13  # of the kernel
NOISE = 0.004  # of the camera: one grey level of 256
WEIGHT = 3e-4  # of calm photographs, against ones that explain the picture

KERNEL_LOSS = """
# How far the chart, blurred by the kernel, is from what the camera saw. The squares keep the kernel positive.
w: f64[13, 13]
chart: f64[96, 96]
seen: f64[84, 84]
let total = sum{u, v} (w[u, v]**2)
let kernel[u, v] = w[u, v]**2 / total
let off[i, j] = sum{u, v} (kernel[u, v] * chart[i + u, j + v]) - seen[i, j]
loss = sum{i, j} (off[i, j]**2) / 2
"""

PHOTO_LOSS = """
# How far the photograph, blurred by the kernel, is from what the camera saw; and how much it varies
# from pixel to pixel, since of all photographs that explain the picture the calm ones are likelier.
photo: f64[260, 260]
kernel: f64[13, 13]
seen: f64[248, 248]
weight: f64
let off[i, j] = sum{u, v} (kernel[u, v] * photo[i + u, j + v]) - seen[i, j]
let slope[i: 259, j: 259] = sqrt(1e-4 + (photo[i + 1, j] - photo[i, j])**2
                                 + (photo[i, j + 1] - photo[i, j])**2)
loss = sum{i, j} (off[i, j]**2) / 2 + weight * sum{i, j} (slope[i, j])
"""


@dataclass(frozen=True)
class Scene:
    """What the camera was pointed at, what it did, and what it saw."""

    photo: Image
    chart: Image
    kernel: Image
    seen_photo: Image
    seen_chart: Image


def make_scene() -> Scene:
    """Grace Hopper, the photograph that matplotlib ships, through a simulated camera."""
    random = np.random.default_rng(0)
    colours = plt.imread(str(get_sample_data("grace_hopper.jpg", asfileobj=False)))
    photo = (colours[24:284, 126:386] @ np.array([0.299, 0.587, 0.114])) / 255
    chart = random.random((96, 96))
    kernel = shaken_kernel()

    def see(picture: Image) -> Image:
        blurred = blur(picture, kernel)
        return blurred + NOISE * random.standard_normal(blurred.shape)

    return Scene(photo, chart, kernel, see(photo), see(chart))


def shaken_kernel() -> Image:
    """Where the light of one point goes while a hand shakes: a curved path, drawn with a soft pen."""
    time = np.linspace(0, 1, 400)
    down = -3.5 * time + 1.8 * np.cos(6 * time)
    right = 5 * time + 1.6 * np.sin(5 * time)
    place = np.arange(WIDTH) - WIDTH // 2
    pen_down = np.exp(-((place[:, None] - down + down.mean()) ** 2) / 0.72)
    pen_right = np.exp(-((place[:, None] - right + right.mean()) ** 2) / 0.72)
    kernel = pen_down @ pen_right.T
    return kernel / kernel.sum()


def blur(picture: Image, kernel: Image) -> Image:
    """The camera itself, in NumPy: it owes nothing to the programs above."""
    windows = np.lib.stride_tricks.sliding_window_view(picture, kernel.shape)
    return np.einsum("ijuv,uv->ij", windows, kernel)


def minimise(loss: Loss, x: Image, steps: int, memory: int = 12) -> Iterator[tuple[Image, float]]:
    """L-BFGS (Nocedal 1980) with backtracking: yields the point and its loss after every step."""
    value, gradient = loss(x)
    pairs: list[tuple[Image, Image]] = []
    for _ in range(steps):
        direction = -inverse_hessian(pairs, gradient)
        descent, length = dot(gradient, direction), 1.0
        while True:
            new_x = x + length * direction
            new_value, new_gradient = loss(new_x)
            if new_value <= value + 1e-4 * length * descent or length < 1e-9:
                break
            length /= 2
        step, change = new_x - x, new_gradient - gradient
        if dot(step, change) > 0:
            pairs = [*pairs, (step, change)][-memory:]
        x, value, gradient = new_x, new_value, new_gradient
        yield x, value


def dot(a: Image, b: Image) -> float:
    """The inner product; np.vdot would start threads that get in the way of each other."""
    return float((a * b).sum())


def inverse_hessian(pairs: list[tuple[Image, Image]], gradient: Image) -> Image:
    """The two loops of L-BFGS: the inverse Hessian that the last steps suggest, times the gradient."""
    if not pairs:
        return gradient / (10 * np.abs(gradient).max())
    result, weights = gradient, list[float]()
    for step, change in reversed(pairs):
        weights.append(dot(step, result) / dot(step, change))
        result = result - weights[-1] * change
    step, change = pairs[-1]
    result = result * (dot(step, change) / dot(change, change))
    for (step, change), weight in zip(pairs, reversed(weights), strict=True):
        result = result + step * (weight - dot(change, result) / dot(step, change))
    return result


@dataclass(frozen=True)
class Found:
    """The picture with the least loss, and how long each value and gradient took on the way, in seconds."""

    picture: Image
    seconds: list[float]

    @property
    def milliseconds(self) -> float:
        """Of one value and gradient: the median."""
        return 1000 * float(np.median(self.seconds))


def timed(loss: Loss, seconds: list[float]) -> Loss:
    """The same, with the time of each call put down."""

    def call(x: Image) -> tuple[float, Image]:
        begin = time.perf_counter()
        result = loss(x)
        seconds.append(time.perf_counter() - begin)
        return result

    return call


def find_kernel(scene: Scene, progress: Progress, steps: int = 80) -> Found:
    """The kernel, from the picture of the chart."""
    gradient = tadc.value_and_grad(tadc.function(KERNEL_LOSS), wrt="w")

    def loss(w: Image) -> tuple[float, Image]:
        return gradient(w=w, chart=scene.chart, seen=scene.seen_chart)

    task = progress.add_task("finding the kernel", total=steps, loss=np.nan)
    w, seconds = np.ones((WIDTH, WIDTH)), list[float]()
    for w, value in minimise(timed(loss, seconds), w, steps):
        progress.update(task, advance=1, loss=value)
    return Found(w**2 / (w**2).sum(), seconds)


def sharpen(scene: Scene, kernel: Image, progress: Progress, steps: int = 60) -> Found:
    """The photograph, from its picture and the kernel."""
    gradient = tadc.value_and_grad(tadc.function(PHOTO_LOSS), wrt="photo")

    def loss(photo: Image) -> tuple[float, Image]:
        return gradient(photo=photo, kernel=kernel, seen=scene.seen_photo, weight=WEIGHT)

    task = progress.add_task("sharpening the photograph", total=steps, loss=np.nan)
    photo, seconds = widened(scene.seen_photo), list[float]()
    for photo, value in minimise(timed(loss, seconds), photo, steps):
        progress.update(task, advance=1, loss=value)
    return Found(photo, seconds)


def widened(picture: Image) -> Image:
    """A picture of the camera, with a rim that makes it as large as what the camera was pointed at."""
    return np.pad(picture, WIDTH // 2, mode="edge")


def psnr(picture: Image, truth: Image) -> float:
    """Peak signal-to-noise ratio in decibels, away from the rim that the camera did not see fully."""
    inner = (slice(WIDTH - 1, 1 - WIDTH),) * 2
    return float(-10 * np.log10(np.mean((picture[inner] - truth[inner]) ** 2)))


def draw(path: Path, pictures: dict[str, Image]) -> None:
    """Save the pictures in one row."""
    mpl.use("Agg")
    figure, axes = plt.subplots(1, len(pictures), figsize=(4 * len(pictures), 4.3), layout="constrained")
    for axis, (title, picture) in zip(axes, pictures.items(), strict=True):
        axis.imshow(picture, cmap="gray", vmin=0, vmax=None if picture.shape[0] == WIDTH else 1)
        axis.set_title(title)
        axis.axis("off")
    figure.savefig(path, dpi=80)
    plt.close(figure)


def statements(program: str) -> str:
    """The lines of a program that compute: neither comments nor arguments."""
    lines = program.strip().splitlines()
    first = next(n for n, line in enumerate(lines) if line.startswith("let "))
    return "\n".join(f"    {line}" for line in lines[first:])


def work(found: Found) -> str:
    """How much was computed, and in what time."""
    size = " x ".join(map(str, found.picture.shape))
    count = f"{len(found.seconds)} values with gradients by {size} = {found.picture.size:,} numbers"
    times = f"{found.milliseconds:.2f} ms each, {sum(found.seconds):.2f} s in all, with compiling"
    return f"{count}, f64: {times}"


def beside(scene: Scene, photo: Image, kernel: Image) -> list[str]:
    """The time of the photograph's loss and gradient in other libraries, a line for each."""
    import deblur_in_numpy

    image = scene.seen_photo
    others = {"In NumPy (gradient by hand)": deblur_in_numpy.value_and_grad(kernel, image, WEIGHT)}
    try:
        from deblur_in_jax import WAYS, value_and_grad
    except ImportError:
        missing = ["In JAX: the package `jax` is not installed here."]
    else:
        missing = []
        for name, way in WAYS.items():
            others[f"In JAX (jit), by {name}"] = value_and_grad(way, kernel, image, WEIGHT)
    return [line_beside(name, theirs, scene, photo, kernel) for name, theirs in others.items()] + missing


def line_beside(name: str, theirs: Loss, scene: Scene, photo: Image, kernel: Image) -> str:
    """A line, after a check that the gradients are equal; both are compiled before, and called in turns."""
    gradient = tadc.value_and_grad(tadc.function(PHOTO_LOSS), wrt="photo")

    def loss(photo: Image) -> tuple[float, Image]:
        return gradient(photo=photo, kernel=kernel, seen=scene.seen_photo, weight=WEIGHT)

    (value, slope), (same_value, same_slope) = theirs(photo), loss(photo)  # the first calls compile
    if not (np.isclose(value, same_value) and np.allclose(slope, same_slope, atol=1e-9)):
        raise RuntimeError(f"{name}: another gradient than that of tadc")
    ours, others = Found(photo, []), Found(photo, [])
    for _ in range(10):
        timed(loss, ours.seconds)(photo)
        timed(theirs, others.seconds)(photo)
    times = f"{others.milliseconds / ours.milliseconds:.1f} times as long"
    return f"{name}: {others.milliseconds:.2f} ms, {times} as tadc ({ours.milliseconds:.2f} ms)"


def main(output: Path) -> None:
    """Run the task and say how well it went."""
    console = Console()
    scene = make_scene()
    columns = (TextColumn("{task.description:26}"), BarColumn(), TextColumn("loss {task.fields[loss]:9.4f}"))
    with Progress(*columns, TimeElapsedColumn(), console=console) as progress:
        shake = find_kernel(scene, progress)
        kernel = shake.picture
        sharpened = sharpen(scene, kernel, progress)
        sharp = sharpened.picture
    before = widened(scene.seen_photo)
    error = np.linalg.norm(kernel - scene.kernel) / np.linalg.norm(scene.kernel)
    console.print(f"kernel: off by {100 * error:.1f} % of its norm")
    console.print(f"photograph: PSNR {psnr(before, scene.photo):.1f} dB blurred,", end=" ")
    console.print(f"{psnr(sharp, scene.photo):.1f} dB sharpened")
    for loss, found, name in ((KERNEL_LOSS, shake, "kernel"), (PHOTO_LOSS, sharpened, "photograph")):
        console.print(f"\nThe {name}: these lines, and the gradient that tadc made of them\n")
        console.print(statements(loss), highlight=False, soft_wrap=True, markup=False)
        console.print("\n" + work(found), highlight=False, soft_wrap=True)
    for line in beside(scene, sharp, kernel):
        console.print(line, highlight=False, soft_wrap=True)
    output.mkdir(parents=True, exist_ok=True)
    draw(
        output / "deblur.png",
        {
            "what the camera saw": before,
            "sharpened": sharp,
            "the truth": scene.photo,
            "true kernel": scene.kernel,
            "kernel found": kernel,
        },
    )
    console.print(f"pictures: {output / 'deblur.png'}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="sharpen a shaken photograph")
    parser.add_argument("--output", type=Path, default=Path("build"), help="folder for deblur.png (build)")
    main(parser.parse_args().output)
