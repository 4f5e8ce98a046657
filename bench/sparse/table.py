"""`python -m bench sparse`: programs with index arrays, against sparse arrays, scatters and loops."""

from __future__ import annotations

from bench.breadth import show
from bench.sparse import SPARSE


def main(words: list[str]) -> None:
    """Print the table."""
    show(SPARSE, words)
