"""Try the random programs of some seeds, and show what fails."""

from __future__ import annotations

import argparse
import time
import warnings

import tadc
from tests.fuzz.compare import Skipped
from tests.fuzz.kinds import KINDS

kinds = "\n".join(f"  {name:14}{kind.about}" for name, kind in KINDS.items())
parser = argparse.ArgumentParser(
    prog="python -m tests.fuzz",
    description=f"{__doc__}\n\nkinds:\n{kinds}",
    formatter_class=argparse.RawDescriptionHelpFormatter,
)
parser.add_argument("first", type=int)
parser.add_argument("last", type=int, nargs="?", help="default: FIRST, whose program is printed")
parser.add_argument("--order", type=int, default=1)
parser.add_argument("--kind", choices=KINDS, default="plain")
parser.add_argument("--sized", dest="kind", action="store_const", const="sized", help="--kind sized")
parser.add_argument("--seconds", type=float, default=float("inf"), help="try no further program then")
given = parser.parse_args()
warnings.simplefilter("ignore", tadc.CompileWarning)
kind = KINDS[given.kind]
if given.last is None:
    print(kind.program(given.first, given.order))
seeds = range(given.first, (given.first if given.last is None else given.last) + 1)
failed, tried, skipped, start = 0, 0, 0, time.monotonic()
for seed in seeds:
    if time.monotonic() - start > given.seconds:
        break
    tried += 1
    try:
        found = kind.failure(seed, given.order)
    except Skipped:
        skipped += 1
        continue
    if found:
        failed += 1
        print(found, "=" * 80, sep="\n", flush=True)
print(f"{failed} of {tried - skipped} programs failed" + (f", {skipped} skipped" if skipped else ""))
