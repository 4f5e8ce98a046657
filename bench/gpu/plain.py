"""`python -m bench.gpu.plain FOLDER NAME …`: run the cases once each, for a tool that watches."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from bench.gpu.cases import CASE, TOLERANCE, Case, worst_error
from tadc.backend.runtime import load_bundle


def main(words: list[str]) -> int:
    """1 where one is wrong."""
    folder, *names = words
    wrong: list[str] = []
    for name in names:
        path = Path(folder) / "test" / name
        case = Case.load(path / CASE)
        found = load_bundle(path)(*case.inputs, **case.sizes)
        arrays = list(found) if isinstance(found, tuple) else [found]
        error = worst_error(arrays, [a.astype(np.float64) for a in case.outputs])
        if not error <= TOLERANCE[min(a.itemsize for a in arrays)]:
            wrong.append(name)
    print(f"{len(names) - len(wrong)} of {len(names)} agree", *wrong)
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
