"""`python -m bench`: run time against JAX; `python -m bench compile`: how long compiling takes."""

from __future__ import annotations

import sys


def main(words: list[str]) -> None:
    """Run the benchmark that the words name."""
    if words == ["compile"]:
        from bench.compile_time import main as run
    elif not words:
        from bench.run_time import main as run
    else:
        sys.exit("usage: python -m bench [compile]")
    run()


main(sys.argv[1:])
