"""`python -m tests.fuzz FIRST [LAST] [--order N] [--sized]`: try the programs of seeds, show what fails."""

from __future__ import annotations

import argparse

from tests.fuzz import sized, sized_compare
from tests.fuzz.compare import failure
from tests.fuzz.generate import generate

parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
parser.add_argument("first", type=int)
parser.add_argument("last", type=int, nargs="?", help="default: FIRST, whose program is printed")
parser.add_argument("--order", type=int, default=1)
parser.add_argument("--sized", action="store_true", help="programs with size symbols")
given = parser.parse_args()
if given.last is None:
    print(sized.generate(given.first, small=given.order > 1)[0] if given.sized else generate(given.first))
seeds = range(given.first, (given.first if given.last is None else given.last) + 1)
check = sized_compare.failure if given.sized else failure
failures = [found for seed in seeds if (found := check(seed, order=given.order))]
print(*failures, sep="\n" + "=" * 80 + "\n")
print(f"{len(failures)} of {len(seeds)} programs failed")
