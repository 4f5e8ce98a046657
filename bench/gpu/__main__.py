"""`python -m bench.gpu write|test|bench|sanitize FOLDER`."""

from __future__ import annotations

import argparse
import sys
from importlib.util import find_spec
from pathlib import Path

from tadc.frontend.diagnostics import CompileError

RESULTS = Path(__file__).parents[1] / "results"


def main(words: list[str] | None = None) -> int:
    """Run what the words say; 1 where something disagrees or there is no GPU."""
    parser = argparse.ArgumentParser(prog="python -m bench.gpu", description="Tests and times on a GPU.")
    parser.add_argument("what", choices=("write", "test", "bench", "sanitize"))
    parser.add_argument("folder", type=Path, help="where the bundles are")
    parser.add_argument(
        "--results", type=Path, help="where JSON is left (bench/results; of the emulator: FOLDER)"
    )
    parser.add_argument("--sm", type=int, help="architecture of the bundles (that of the GPU here, else 80)")
    parser.add_argument("--target", default="cuda", choices=("cuda", "emulated"), help="where they run")
    parser.add_argument("--only", nargs="*", default=None, help="names of workloads or cases")
    parser.add_argument("--small", action="store_true", help="bench: small sizes")
    parser.add_argument("--minutes", type=float, default=6.0, help="bench: no peer is begun later (6)")
    parser.add_argument("--here", action="store_true", help="test: in this process")
    parser.add_argument("--resume", action="store_true", help="test: only what has no result yet")
    a = parser.parse_args(words)
    results = a.results or (RESULTS if a.target == "cuda" else a.folder)
    try:
        if a.target == "cuda" and a.what != "write":
            from tadc.backend.cuda.device import cuda_device

            cuda_device(0)
        if a.what == "write" or (not a.here and find_spec("llvmlite") and find_spec("torch_mlir")):
            from bench.gpu.write import write

            kinds = {"write": ("test", "bench"), "sanitize": ()}.get(a.what, (a.what,))
            write(a.folder, kinds, a.sm or _architecture(), a.only, a.small)
        if a.what == "test":
            from bench.gpu.check import check, check_apart

            if a.target == "cuda" and not a.here:
                only = ["--only", *a.only] if a.only is not None else []
                return check_apart([str(a.folder), "--results", str(results), *only], results)
            return check(a.folder, a.target, a.only, results, resume=a.resume)
        if a.what == "sanitize":
            from bench.gpu.sanitize import sanitize

            return sanitize(a.folder, a.only, results)
        if a.what == "bench":
            from bench.gpu.times import bench

            return bench(a.folder, a.target, a.only, a.minutes, results)
    except CompileError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def _architecture() -> int:
    """Of the GPU of this machine, or the least that bundles are for."""
    from tadc.backend.cuda.architectures import DEFAULT_SM, best_for
    from tadc.backend.cuda.device import cuda_device

    try:
        return best_for(cuda_device(0).architecture)
    except CompileError:
        return DEFAULT_SM


if __name__ == "__main__":
    sys.exit(main())
