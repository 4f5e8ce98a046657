"""Builds the site: `make site`, or `python -m docs.site`.

The pages of `docs/` and those that are generated go to `build/site/pages`, zensical makes HTML of them, and
`check_html` looks whether each link leads somewhere and each page works without a network.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from pathlib import Path

from docs.site.check_html import problems
from docs.site.search_order import order_search
from docs.site.staging import configuration, pages_of_navigation, stage

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
BUILD = ROOT / "build" / "site"


def main() -> int:
    """Build and check; the exit code."""
    begun = time.perf_counter()
    shutil.rmtree(BUILD, ignore_errors=True)
    stage(BUILD / "pages")
    shutil.copytree(HERE / "theme", BUILD / "theme")
    (BUILD / "zensical.toml").write_text(configuration(), encoding="utf-8")
    built = subprocess.run([sys.executable, "-m", "zensical", "build", "--strict"], cwd=BUILD, check=False)
    if built.returncode:
        return built.returncode
    order_search(BUILD / "html", pages_of_navigation())
    found = problems(BUILD / "html")
    print(*found, sep="\n", end="\n" if found else "")
    print(f"{BUILD / 'html' / 'index.html'}: {time.perf_counter() - begun:.0f} s, {len(found)} problems")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
