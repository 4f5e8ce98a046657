"""Build the wheel and the sdist into build/dist, and try the wheel without a checkout (`make package`).

Built is a copy of the files that git tracks or would track: what an earlier build left gets in no wheel.
Ends with exit code 1 at the first thing that is not as it should be, and says what.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parent.parent
DIST = ROOT / "build" / "dist"
PACKAGES = ("backend", "dialect", "frontend", "lattice", "passes", "tadc")
FORMULA = "x: f64[8]; f[i: 3, j: 4] = exp(x[i + j])"


def main() -> tuple[Path, Path]:
    """All steps, each with how long it took; the wheel and the sdist."""
    with tempfile.TemporaryDirectory(prefix="tadc-package-") as name:
        work = Path(name)
        with step("building the sdist and the wheel"):
            copy_checkout(work / "source")
            builder = environment(work / "building", "build", "setuptools>=77")
            wheel, sdist = build(builder, work / "source", DIST)
        with step("comparing their files"):
            compare(builder, wheel, sdist, work)
        with step("installing the wheel in a fresh environment"):
            python = environment(work / "using", str(wheel))
        with step("trying it there"):
            (work / "empty").mkdir()
            try_it(python, work / "empty")
    print(f"good: {wheel.relative_to(ROOT)}, {sdist.relative_to(ROOT)}")
    return wheel, sdist


@contextmanager
def step(words: str) -> Generator[None]:
    """A line with how long the block took."""
    print(f"{words} ...", end=" ", flush=True)
    begin = time.perf_counter()
    yield
    print(f"{time.perf_counter() - begin:.1f} s", flush=True)


def run(*command: str | Path, at: Path) -> str:
    """What a command prints; ends the program where it fails."""
    words = [str(word) for word in command]
    done = subprocess.run(words, cwd=at, capture_output=True, text=True, check=False)
    if done.returncode:
        fail(f"exit code {done.returncode} of {' '.join(words)}\n{done.stdout}{done.stderr}")
    return done.stdout


def fail(words: str) -> None:
    """End with exit code 1."""
    sys.exit(f"\npackage: {words}")


def expect(holds: bool, words: str) -> None:
    """End where something does not hold."""
    if not holds:
        fail(words)


def version() -> str:
    """The version that the checkout has."""
    text = (ROOT / "frontend" / "packages.py").read_text(encoding="utf-8")
    return text.split('\nVERSION = "')[1].split('"')[0]


def tracked() -> list[str]:
    """Files that git tracks or would track."""
    listed = run("git", "ls-files", "--cached", "--others", "--exclude-standard", at=ROOT)
    return [name for name in listed.splitlines() if (ROOT / name).exists()]


def copy_checkout(target: Path) -> None:
    """The working tree, without what is ignored."""
    for name in tracked():
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, target / name)


def environment(folder: Path, *packages: str, of: str | Path = sys.executable) -> Path:
    """The Python of a new environment with these packages, made by a Python of this machine."""
    run(of, "-m", "venv", folder, at=folder.parent)
    python = folder / "bin" / "python"
    install(python, *packages)
    return python


def install(python: Path, *packages: str) -> None:
    """As `pip install` does; compiled are only the files that are used."""
    options = ("-q", "--no-compile", "--disable-pip-version-check")
    run(python, "-m", "pip", "install", *options, *packages, at=python.parent)


def build(python: Path, source: Path, target: Path) -> tuple[Path, Path]:
    """The wheel and the sdist of a folder."""
    shutil.rmtree(target, ignore_errors=True)
    run(python, "-m", "build", "--no-isolation", "--sdist", "--wheel", "--outdir", target, source, at=source)
    (wheel,), (sdist,) = target.glob("*.whl"), target.glob("*.tar.gz")
    return wheel, sdist


def compare(python: Path, wheel: Path, sdist: Path, work: Path) -> None:
    """The wheel has every file of the packages, and the sdist alone gives the same wheel."""
    shutil.unpack_archive(sdist, work / "unpacked", filter="data")
    (unpacked,) = (work / "unpacked").iterdir()
    command = ("-m", "build", "--no-isolation", "--wheel", "--outdir", work / "again", unpacked)
    run(python, *command, at=unpacked)
    (again,) = (work / "again").glob("*.whl")
    expect(contents(wheel) == contents(again), "the sdist builds another wheel than the checkout")
    files = [name for name in tracked() if name.startswith(PACKAGES)]
    wanted = {name if name.startswith("tadc/") else f"tadc/{name}" for name in files}
    missing = wanted - set(contents(wheel))
    expect(not missing, f"not in the wheel; see `packages` and `package-data`: {sorted(missing)}")


def contents(wheel: Path) -> dict[str, int]:
    """The checksum of each file of the packages."""
    with zipfile.ZipFile(wheel) as archive:
        return {item.filename: item.CRC for item in archive.infolist() if item.filename.startswith("tadc/")}


def try_it(python: Path, at: Path) -> None:
    """The first example of the README, the help, a gradient, its value and a picture."""
    place = run(python, "-c", "import tadc; print(tadc.__file__)", at=at)
    expect(str(python.parent.parent) in place, f"imported was {place}")
    example = re.search(r"^```python\n(.*?)^```$", (ROOT / "README.md").read_text(), re.M | re.S)
    expect(example is not None, "the README has no example in Python")
    run(python, "-c", example[1] if example else "", at=at)
    tadc = python.parent / "tadc"
    install_what_is_told(python, tadc, at)
    expect("tadc f.tad --wrt" in run(tadc, "-h", at=at), "`tadc -h` does not show the forms of the command")
    expect("dx[x_0] = " in run(tadc, "-e", FORMULA, "--wrt", "x", at=at), "no gradient is printed")
    value = run(tadc, "-e", "x: f64; f = x**3", "--wrt", "x", "--run", "x=2", "df=1", at=at)
    expect("12" in value, f"the derivative of x**3 at 2 came out as {value}")
    run(tadc, "-e", FORMULA, "--plot", "f.svg", at=at)
    expect("<svg" in (at / "f.svg").read_text(), "no picture was drawn")


def install_what_is_told(python: Path, tadc: Path, at: Path) -> None:
    """Without matplotlib there is no picture, and the command that the error tells brings it."""
    command = [str(tadc), "-e", FORMULA, "--plot", "f.svg"]
    done = subprocess.run(command, cwd=at, capture_output=True, text=True, check=False)
    told = re.search(r"help: install it with `pip install '(\S+)'`", done.stderr)
    if done.returncode != 1 or told is None:
        fail(f"without matplotlib, --plot ends with {done.returncode} and says\n{done.stderr}")
    else:
        install(python, told[1])


if __name__ == "__main__":
    main()
