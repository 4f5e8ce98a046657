"""Runs the scripts of the gallery and writes their pages and pictures: `python -m docs.gallery [NAME ...]`.

Without names, all of them; the page with all pictures is always written, and with `--index` only this.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Any

from bench.machine import describe, made_on
from docs.gallery.scripts import PAGES, SCRIPTS, index, line_of_times, page, run, scripts

MOST = 60_000  # bytes of a picture
WIDTH = 1200  # of a picture, in pixels


def main() -> int:
    made = argparse.ArgumentParser(prog="python -m docs.gallery", description="write pages of the gallery")
    made.add_argument("names", nargs="*", help="scripts of examples/gallery, without .py (all)")
    made.add_argument("--index", action="store_true", help="write only the page with all pictures")
    options = made.parse_args()
    chosen = [SCRIPTS / f"{name}.py" for name in options.names] or ([] if options.index else scripts())
    for script in chosen:
        begun = time.perf_counter()
        write(script)
        print(f"{script.stem}: {time.perf_counter() - begun:.1f} s", flush=True)
    (PAGES / "index.md").write_text(index(), encoding="utf-8")
    return 0


def write(script: Path) -> None:
    """Run a script; write its page and its picture."""
    import matplotlib as mpl

    mpl.use("Agg")
    ran = run(script)
    times = ran.names.get("times")
    timed = line_of_times(times, made_on(describe())) if times else ""
    (PAGES / f"{script.stem}.md").write_text(page(script, ran.printed, timed), encoding="utf-8")
    save(ran.names["figure"], PAGES / f"{script.stem}.png")


def save(figure: Any, path: Path) -> None:
    """A small PNG: of 256 colours, and of fewer where it is still large."""
    from PIL import Image

    figure.savefig(path, dpi=WIDTH / figure.get_figwidth(), facecolor="white")
    full = Image.open(path).convert("RGB")
    for colours in (256, 128, 64, 32, 16):
        full.quantize(colours).save(path, optimize=True)
        if path.stat().st_size < MOST:
            return
    raise SystemExit(f"{path}: {path.stat().st_size:,} bytes, where at most {MOST:,} are allowed")


if __name__ == "__main__":
    sys.exit(main())
