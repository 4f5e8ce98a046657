"""Run tests in an AArch64 Python under qemu (`make aarch64`): on Debian for x86-64 with `qemu-user`, as root.

What is not there is fetched into build/aarch64: Debian's Python 3.11, and wheels from PyPI. An import needs
some seconds here, as does a first call. Arguments are pytest's: options, or tests in place of those below.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib.metadata import requires, version
from pathlib import Path

ROOT = Path(__file__).parent.parent
PLACE = ROOT / "build" / "aarch64"
PYTHON = PLACE / "root" / "usr" / "bin" / "python3.11"
#: Libraries that Debian's Python and the wheels load.
LIBRARIES = "libc6 libgcc-s1 libstdc++6 zlib1g libssl3 libffi8 libexpat1 libbz2-1.0 liblzma5 libuuid1"
PACKAGES = f"python3.11-minimal libpython3.11-minimal libpython3.11-stdlib {LIBRARIES}"
TESTERS = ("pytest", "pluggy", "iniconfig", "packaging", "hypothesis", "sortedcontainers", "mpmath")
#: What has machine code, and what is the same everywhere.
WHEELS = ("numpy", "llvmlite", "torch-mlir")
PURE = ("rich", "pygments", "markdown-it-py", "mdurl", *TESTERS)
TESTS = (
    "tests/backend/test_pool.py",
    "tests/backend/test_jit.py",
    "tests/backend/test_scalar_functions.py",
    "tests/backend/test_direct_calls.py",
    "tests/backend/test_runtime.py",
    "tests/conformance/test_memory.py",
)
#: qemu ends where a process with threads forks, and no program for AArch64 is started.
LEFT_OUT = "not fork and not imports_neither"


def main(arguments: list[str]) -> int:
    """Fetch what is missing and run tests; pytest's exit code."""
    if all(argument.startswith("-") for argument in arguments):
        arguments = [*arguments, *TESTS]
    if not PYTHON.exists():
        fetch_python()
    if not (PLACE / "site").exists():
        fetch_wheels()
    paths = os.pathsep.join([str(ROOT), str(PLACE / "site")])
    environment = os.environ | {"PYTHONPATH": paths, "TADC_CACHE_DIR": str(PLACE / "cache")}
    words = ["qemu-aarch64", "-L", PLACE / "root", PYTHON, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    words += ["-o", "addopts=--import-mode=importlib", "-o", "testpaths=tests", "-k", LEFT_OUT, *arguments]
    return subprocess.run(words, cwd=ROOT, env=environment, check=False).returncode


def fetch_python() -> None:
    """Debian's Python for AArch64, unpacked and not installed."""
    debs = PLACE / "debs"
    debs.mkdir(parents=True, exist_ok=True)
    subprocess.run(["dpkg", "--add-architecture", "arm64"], check=True)
    subprocess.run(["apt-get", "update", "-qq"], check=True)
    names = [f"{name}:arm64" for name in PACKAGES.split()]
    subprocess.run(["apt-get", "download", "-qq", *names], cwd=debs, check=True)
    for package in debs.glob("*.deb"):
        subprocess.run(["dpkg", "-x", package, PLACE / "root"], check=True)


def fetch_wheels() -> None:
    """The packages of this environment, in the same versions."""
    named = {re.split(r"\W", need)[0] for need in requires("tadc-compiler") or () if "extra" not in need}
    assert named <= {name.split("-")[0] for name in (*WHEELS, *PURE)}, f"the package needs more: {named}"
    glibc = [f"--platform=manylinux_2_{minor}_aarch64" for minor in (28, 27, 17)]
    pip = [sys.executable, "-m", "pip", "install", "-qq", "--no-deps", "--target", PLACE / "site"]
    pip += ["--only-binary=:all:", "--python-version=3.11", "--implementation=cp", *glibc]
    subprocess.run([*pip, *(f"{name}=={version(name)}" for name in (*WHEELS, *PURE))], check=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
