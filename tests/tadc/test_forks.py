"""Forks of a process that compiles in another thread: the child compiles, calls and differentiates too."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks on this system")

#: A thread compiles and never stops; `check` compiles and calls.
HEAD = """
import itertools, multiprocessing, os, sys, threading, time
import numpy as np
import tadc

numbers = itertools.count(2)
shared = tadc.function("x: f64[N]; y[i] = 5*sin(x[i])")

def check(number):
    f = tadc.function(f"x: f64[N]; y[i] = {number}*sin(x[i])")
    np.testing.assert_allclose(tadc.vjp(f)(np.zeros(3), np.ones(3)), number)
    np.testing.assert_allclose(shared(np.ones(2)), 5*np.sin(1))
    assert "sin" in str(shared)

def compiling():
    while not done:
        check(next(numbers))
        shared.lower().compile()

done = False
compilers = [threading.Thread(target=compiling, daemon=True) for _ in range(2)]
for compiler in compilers:
    compiler.start()
"""

#: Some children at moments of the compilation that differ; the first while modules are imported.
FORKS = """
for n in range(3):
    time.sleep(n * 0.037)
    child = os.fork()
    if not child:
        check(1000 + n)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
"""

PROCESSES = """
made = multiprocessing.get_context("fork")
for n in range(3):
    time.sleep(n * 0.029)
    with made.Pool(2) as pool:
        pool.map(check, range(1000, 1004))
"""

#: Children that know only what their parent has compiled, and children of their own.
GENERATIONS = """
shared(np.ones(2))
def child(depth):
    check(1000 + depth)
    if depth:
        process = multiprocessing.get_context("fork").Process(target=child, args=(depth - 1,))
        process.start()
        process.join()
        assert process.exitcode == 0
child(3)
"""

TAIL = """
done = True
for compiler in compilers:
    compiler.join()
"""


#: A thread stops in the middle of a question to a system of inequalities.
QUESTION = """
import os, threading
from tadc.lattice.affine import Affine, at_least_zero
from tadc.lattice.polyhedron import implied
from tadc.lattice.simplex import Tableau

i, j = Affine.var("i"), Affine.var("j")
facts = [at_least_zero(i - j), at_least_zero(j - 1)]
entered, real = threading.Event(), Tableau.bounded

def stopped(self, *arguments):
    entered.set()
    threading.Event().wait()

Tableau.bounded = stopped
threading.Thread(target=implied, args=(i - 1, facts), daemon=True).start()
assert entered.wait(60)
child = os.fork()
if not child:
    Tableau.bounded = real
    os._exit(0 if implied(i - 1, facts) and not implied(i - 2, facts) else 1)
os._exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


#: A thread is in the middle of an import of what functions of ours import where they need it.
IMPORT = """
import importlib.util, os, signal, sys, threading, time
import tadc.frontend.forks

begun = threading.Event()

class Slow:
    def find_spec(self, name, path, target=None):
        return importlib.util.spec_from_loader(name, self) if name == "colorsys" else None

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        begun.set()
        time.sleep(0.5)

sys.meta_path.insert(0, Slow())
threading.Thread(target=__import__, args=("colorsys",), daemon=True).start()
assert begun.wait(60)
child = os.fork()
if not child:
    signal.alarm(20)
    import colorsys
    os._exit(0)
os._exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


def ends_well(program: str, seconds: float = 120) -> None:
    run = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program],
        capture_output=True, text=True, timeout=seconds, check=False,
    )  # fmt: skip
    assert run.returncode == 0, run.stdout + run.stderr


@pytest.mark.parametrize(
    "program",
    [
        FORKS,
        pytest.param(PROCESSES, marks=pytest.mark.sweep),
        pytest.param(GENERATIONS, marks=pytest.mark.sweep),
    ],
    ids=["forks", "processes", "generations"],
)
def test_a_child_compiles(program: str) -> None:
    ends_well(HEAD + program + TAIL)


def test_a_child_asks_what_another_thread_was_asking() -> None:
    ends_well(QUESTION)


def test_a_child_imports_what_another_thread_was_importing() -> None:
    ends_well(IMPORT)
