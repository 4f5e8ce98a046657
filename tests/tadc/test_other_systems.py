"""Calls and commands in a copy of a checkout, and without what only POSIX or Linux has."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

#: What Windows has not, of `os`, the standard library and `ctypes`; modules of others are loaded before.
LOADED = """
import asyncio, concurrent.futures.process, ctypes, multiprocessing, os, platform
import signal, subprocess, sys, tempfile
import hypothesis, llvmlite.binding, matplotlib.figure, numpy as np, pytest, rich.console, rich.progress
import scipy.sparse
import _pytest.faulthandler, _pytest.tmpdir
"""
WITHOUT = """
for name in (
    "uname geteuid getuid getegid getgid sched_getaffinity sched_setaffinity sysconf confstr register_at_fork"
    " fork forkpty getppid getloadavg O_NOFOLLOW O_DIRECTORY O_CLOEXEC fchmod fchown chown killpg setsid"
    " getpgid mkfifo statvfs fstatvfs pread pwrite posix_fallocate posix_fadvise memfd_create wait wait4"
).split():
    if hasattr(os, name):
        delattr(os, name)
for name in "SIGALRM SIGCHLD SIGHUP SIGKILL SIGQUIT SIGUSR1 SIGUSR2 alarm setitimer pthread_sigmask".split():
    delattr(signal, name)
for name in ("fcntl", "resource", "pwd", "grp", "termios", "tty", "pty"):
    sys.modules[name] = None

class CDLL(ctypes.CDLL):
    def __init__(self, name, *others, **more):
        of = sys._getframe(1).f_globals["__name__"]
        assert name is not None or not of.startswith("tadc"), "the libraries of the process have no name"
        super().__init__(name, *others, **more)

ctypes.CDLL = CDLL
os.environ.pop("TADC_CACHE", None)
sys.platform = "win32"
"""

#: Runs tests; pytest asks who a user is where the system is none of these.
SUITE = """
_pytest.tmpdir.get_user_id = lambda: None
sys.exit(pytest.main(["-q", "-n0", "-p", "no:cacheprovider", *sys.argv[1:]]))
"""

#: Tests of what most programs need, which start no other process.
CORE = (
    "tests/tadc/test_api.py tests/tadc/test_explain.py tests/tadc/test_debug_nans.py tests/tadc/test_flat.py"
    " tests/building/test_einsums.py tests/conformance/test_scan.py tests/conformance/test_index_arrays.py"
).split()

CALLS = """
import pickle
import tadc, tadc.passes
from tadc.cli import main

root = os.getcwd()
assert [os.path.dirname(m.__file__) for m in (tadc, tadc.passes)] == [root + "/tadc", root + "/passes"]

f = tadc.function("x: f64[N]; w: f64[K]; y[i: N - K + 1] = sum{k} (x[i + k] * w[k])")
dx, dw = tadc.vjp(f)(x=np.arange(9.0), w=np.ones(3), dy=np.ones(7))
assert dw.tolist() == [21, 28, 35]
assert f.at({"N": 9, "K": 3})(np.arange(9.0), np.ones(3))[-1] == 21
g = tadc.function("src: index[E] in N; x: f64[N]; y[n: N] = sum{e: src[e] = n} (x[src[e]])")
assert g(src=np.array([0, 0, 2]), x=np.ones(3)).tolist() == [2, 0, 1]
assert str(pickle.loads(pickle.dumps(g))) == str(g)
sys.path.append("examples")
import demo

paper = tadc.function(open("examples/paper.tad").read())
assert all(float(far) < 1e-6 for far in demo.check(paper, tadc.vjp(paper)).columns[3].cells)
COMMANDS = "check, gradcheck, diff --wrt x, emit asm -o f.s, uncert --at x=1 --u x=.1"
for command in COMMANDS.split(", "):
    first, *others = command.split()
    assert main([first, "-e", "x: f64; y = x**2", *others]) == 0, command
assert main(["cache"]) == 0 and main(["list", "targets"]) == 0
print("done")
"""


def test_a_copy_of_a_checkout_runs_without_posix(tmp_path: Path, root: Path) -> None:
    """It is not installed, and has no links."""
    for folder in ("backend", "dialect", "examples", "frontend", "lattice", "passes", "tadc"):
        shutil.copytree(root / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__"))
    done = subprocess.run(
        [sys.executable, "-c", LOADED + WITHOUT + CALLS],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.endswith("done\n"), done.stderr
    assert "off: this system does not tell who owns a file" in done.stdout


@pytest.mark.sweep
def test_the_core_of_the_suite_runs_without_posix(root: Path) -> None:
    """As on macOS, which tells of forks: what pytest itself does on Windows needs more of Windows."""
    without = WITHOUT.replace("win32", "darwin").replace(" register_at_fork", "")
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path.insert(0, '')\n{LOADED}{without}{SUITE}", *CORE],
        cwd=root, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert int(done.stdout.rpartition(" passed")[0].rpartition("\n")[2].split()[-1]) > 50
