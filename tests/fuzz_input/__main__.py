"""`python -m tests.fuzz_input [SECONDS] [--kind KIND] [--first SEED]`: try inputs, and show what fails.

A crash or a hang leaves the input in the file that is named first. Memory is limited to 4 GiB.
"""

from __future__ import annotations

import argparse
import faulthandler
import itertools
import resource
import tempfile
import time
from pathlib import Path

from tests.fuzz_input.attempt import failure
from tests.fuzz_input.inputs import KINDS, make

parser = argparse.ArgumentParser(prog="python -m tests.fuzz_input", description=__doc__)
parser.add_argument("seconds", type=int, nargs="?", default=600)
parser.add_argument("--kind", choices=KINDS, action="append")
parser.add_argument("--first", type=int, default=0)
given = parser.parse_args()

resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
file = Path(tempfile.mkdtemp(prefix="tadc-fuzz-")) / "input.tad"
print(f"the input at hand is in {file}", flush=True)
kinds = given.kind or list(KINDS)
end = time.monotonic() + given.seconds
failed = tried = 0
seed = given.first
for seed in itertools.count(given.first):
    for kind in kinds:
        faulthandler.dump_traceback_later(60, exit=True)
        wrong = failure(make(kind, seed), file)
        tried += 1
        if wrong:
            failed += 1
            print(f"{'=' * 80}\n{kind} {seed}: {wrong}", flush=True)
    if time.monotonic() > end:
        break
faulthandler.cancel_dump_traceback_later()
print(f"{failed} of {tried} inputs failed, seeds {given.first} to {seed}")
