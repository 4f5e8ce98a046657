"""Threads of calls from Python: their number, other callers, signals, forks, the end of a process."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import tadc
from tadc.backend.cpu import thread_pool as pool

LARGE = 1 << 19

needs_pool = pytest.mark.skipif(not pool.is_supported(), reason="one thread on this system")


@pytest.fixture(autouse=True)
def threads_as_before() -> Iterator[None]:
    """Other tests see the number of threads that they would see without these."""
    before = tadc.get_num_threads()
    yield
    tadc.set_num_threads(before)


def run(program: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """A program in a process of its own."""
    return subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True, text=True, timeout=300, env=os.environ | environment, check=False,
    )  # fmt: skip


def ok(program: str, **environment: str) -> str:
    """What a program prints that ends well."""
    done = run(program, **environment)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_several_at_a_time_share_the_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """And who comes next has the share of who left just now."""
    from tadc.backend.runtime import thread_count

    told: list[int] = []
    monkeypatch.setattr(thread_count, "_listeners", [told.append])
    monkeypatch.setattr(thread_count, "LATELY", 0.01)
    tadc.set_num_threads(6)
    with thread_count.sharing_threads():
        with thread_count.sharing_threads(), thread_count.sharing_threads():
            pass
        with thread_count.sharing_threads():
            pass
    time.sleep(0.02)
    with thread_count.sharing_threads():
        pass
    assert told == [6, 6, 3, 2, 2, 2, 2, 2, 6, 6, 6]
    assert tadc.get_num_threads() == 6


def test_results_do_not_depend_on_the_number() -> None:
    """Set between calls, also of one compiled kernel."""
    f = tadc.function("x: f32[N]; w: f32[K]; y[i: N - K + 1] = sum{k} (sin(x[i + k]) * w[k])")
    rng = np.random.default_rng(0)
    x, w = rng.standard_normal(LARGE, np.float32), rng.standard_normal(5, np.float32)
    results: set[bytes] = set()
    for count in (1, 3, 2, 1, 4):
        tadc.set_num_threads(count)
        assert tadc.get_num_threads() == count
        results.add(f(x, w).tobytes())
    assert len(results) == 1
    with np.errstate(all="raise"):
        s = np.sin(x.astype(np.float64))
        want = sum(s[k : LARGE - 4 + k] * w[k] for k in range(5))
    np.testing.assert_allclose(np.frombuffer(results.pop(), np.float32), want, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("count", [0, -1, 1025, 2.5, "2", None, True, 10**30])
def test_what_is_no_number(count: object) -> None:
    before = tadc.get_num_threads()
    with pytest.raises(tadc.ArgumentError) as caught:
        tadc.set_num_threads(count)  # pyright: ignore[reportArgumentType]
    assert [d.code for d in caught.value.diagnostics] == ["TAD0509"]
    assert tadc.get_num_threads() == before


def test_an_integer_of_numpy() -> None:
    tadc.set_num_threads(np.int64(2))  # pyright: ignore[reportArgumentType]
    assert type(tadc.get_num_threads()) is int


SHOW = "import tadc; print(tadc.get_num_threads())"


def test_environment() -> None:
    assert ok(SHOW, TADC_NUM_THREADS="3") == "3\n"
    assert ok(SHOW, TADC_NUM_THREADS="") == ok(SHOW) == f"{len(os.sched_getaffinity(0))}\n"


@pytest.mark.parametrize("value", ["0", "two", "1.5", "-1", "99999999999999999999"])
def test_wrong_environment(value: str) -> None:
    """The command says so, without a traceback, whatever the program."""
    argv = ["-e", "x: f64; f = x**2", "--run", "x=3"]
    done = run(f"import sys; from tadc.cli import main; sys.exit(main({argv}))", TADC_NUM_THREADS=value)
    assert done.returncode == 1
    assert f"error[TAD0509]: `TADC_NUM_THREADS={value}` is no number of threads" in done.stderr
    assert "Traceback" not in done.stderr


def test_many_callers() -> None:
    """Python threads that call one kernel and different ones, at the same time, while the number changes."""
    tadc.set_num_threads(3)
    programs = [f"x: f64[N]; y[i] = x[i]*{n} + x[N - 1 - i]; z[i] = exp(y[i])" for n in range(3)]
    functions = [tadc.function(text) for text in programs]
    x = np.random.default_rng(0).uniform(-1, 1, LARGE // 8)
    want = [f(x) for f in functions]
    wrong: list[int] = []
    start = threading.Barrier(6)

    def hammer(number: int) -> None:
        n = number % 3
        start.wait()
        for _ in range(40):
            found = functions[n](x)
            if not all(np.array_equal(a, b) for a, b in zip(found, want[n], strict=True)):
                wrong.append(number)

    callers = [threading.Thread(target=hammer, args=(number,)) for number in range(6)]
    for caller in callers:
        caller.start()
    for count in (1, 2, 4, 3):
        tadc.set_num_threads(count)
    for caller in callers:
        caller.join()
    assert not wrong


HEAD = """
import os, signal, sys, threading, time
import numpy as np
import tadc
tadc.set_num_threads(3)
f = tadc.function("x: f64[N]; y[i] = exp(x[i]) + sin(x[i])")
x = np.linspace(-1, 1, 1 << 19)
want = f(x)
def check():
    assert np.array_equal(f(x), want)
"""


@needs_pool
def test_fork() -> None:
    """The child starts helpers of its own, also when the parent was in a call at that moment."""
    program = (
        HEAD
        + """
def calls():
    while not done:
        check()
done = False
caller = threading.Thread(target=calls)
caller.start()
def helpers():
    return len(os.listdir("/proc/self/task")) - 1
for _ in range(5):
    child = os.fork()
    if not child:
        assert helpers() == 0
        check()
        assert helpers() == 2
        grandchild = os.fork()
        if not grandchild:
            check()
            os._exit(0 if helpers() == 2 else 1)
        os._exit(os.waitstatus_to_exitcode(os.waitpid(grandchild, 0)[1]))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    check()
done = True
caller.join()
"""
    )
    ok(program)


@needs_pool
def test_helpers_take_no_signals() -> None:
    """But for faults of their own, which `faulthandler` reports."""
    program = (
        HEAD
        + """
time.sleep(0.5)  # a thread that starts blocks all signals for a moment
for task in os.listdir("/proc/self/task"):
    if int(task) != os.getpid():
        lines = open(f"/proc/self/task/{task}/status").read().splitlines()
        blocked = int(next(line.split()[1] for line in lines if line.startswith("SigBlk")), 16)
        print({name for name in ("SIGINT", "SIGALRM", "SIGSEGV") if blocked >> getattr(signal, name) - 1 & 1})
"""
    )
    # OpenBLAS has threads of its own.
    printed = ok(program, OPENBLAS_NUM_THREADS="1").splitlines()
    assert [set(eval(line)) for line in printed] == [{"SIGINT", "SIGALRM"}] * 2


def test_interrupt() -> None:
    """Ctrl-C during a kernel is raised when the kernel is done; everything works after that."""
    program = (
        HEAD
        + """
g = tadc.function("x: f64[N]; y[i] = sum{j} (exp(x[i] * x[j]))")
v = np.linspace(0, 1, 3000)
g(v)
n = 3000
while True:
    begin = time.perf_counter()
    expected = g(v)
    if time.perf_counter() - begin > 0.3:
        break
    v = np.linspace(0, 1, 2 * len(v))
signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background ignores it
threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    g(v)
    time.sleep(10)
except KeyboardInterrupt:
    print("interrupted")
check()
assert np.array_equal(g(v), expected)
"""
    )
    assert ok(program) == "interrupted\n"


def test_end_of_the_process() -> None:
    """While helpers look for work, or sleep, and while a thread that nobody waits for is in a call."""
    ok(HEAD + "check()")
    ok(HEAD + "check()\ntime.sleep(0.2)")
    ok(
        HEAD
        + """
def calls():
    while True:
        f(x)
threading.Thread(target=calls, daemon=True).start()
time.sleep(0.2)
"""
    )


@needs_pool
def test_threads_that_the_system_refuses() -> None:
    """A call has the help of those that there are."""
    program = (
        HEAD.replace("tadc.set_num_threads(3)", "")
        + """
import resource
tadc.set_num_threads(1024)
resource.setrlimit(resource.RLIMIT_AS, (1 << 31, 1 << 31))
check()
assert len(os.listdir("/proc/self/task")) < 1024
check()
"""
    )
    ok(program)


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
@pytest.mark.parametrize("pool_too", [False, True])
def test_emitted_code_stands_alone(tmp_path: Path, pool_too: bool) -> None:
    """A C program can link it: without a pool it works on one thread, else with the pool that is linked."""
    f = tadc.function("x: f64[N]; f[i] = 2*x[i]")
    (tmp_path / "f.s").write_text(f.lower().as_text("asm"))
    (tmp_path / "main.c").write_text(
        """
#include <stdint.h>
int parts;
#ifdef POOL
void tadc_parallel(void (*body)(void *, int64_t, int64_t), void *arguments, int64_t elements,
                   int64_t multiple, int64_t operations) {
  for (int64_t i = 0; i < elements; i += 10 * multiple, parts++)
    body(arguments, i, i + 10 * multiple < elements ? i + 10 * multiple : elements);
}
#endif
void tad_f(const double *x, double *f, int64_t N);
static double x[10000], f[10000];
int main(void) {
  for (int i = 0; i < 10000; i++) x[i] = i;
  tad_f(x, f, 10000);
  for (int i = 0; i < 10000; i++) if (f[i] != 2.0 * i) return 100;
  return parts;
}
"""
    )
    define = ["-DPOOL"] if pool_too else []
    subprocess.run(["cc", *define, "main.c", "f.s", "-lm", "-o", "main"], cwd=tmp_path, check=True)
    assert subprocess.run([tmp_path / "main"], check=False).returncode == (16 if pool_too else 0)


@pytest.mark.parametrize("layout", ["t, b", "b, t"])
def test_threads_divide_what_a_recurrence_does_not_go_along(layout: str) -> None:
    """Rows of a batch are independent: the same bits for any number of threads."""
    shape = {"t": 50, "b": 4001}
    sizes = [shape[name] for name in layout.split(", ")]
    back = layout.replace("t", "t - 1")
    f = tadc.function(
        f"x: f64[{', '.join(map(str, sizes))}]\n"
        f"scan{{t}} f[{layout}] = x[{layout}] + (if {{t >= 1}} then (0.5*sin(f[{back}])) else (0))"
    )
    x = np.random.default_rng(0).normal(size=sizes)
    expected, rows = np.moveaxis(x.copy(), layout.split(", ").index("t"), 0), 50
    for t in range(1, rows):
        expected[t] += 0.5 * np.sin(expected[t - 1])
    found: list[np.ndarray] = []
    for count in (1, 2, 5):
        tadc.set_num_threads(count)
        found.append(f(x=x))
    moved = np.moveaxis(found[0], layout.split(", ").index("t"), 0)
    np.testing.assert_allclose(moved, expected, rtol=1e-13, atol=1e-13)
    assert all(np.array_equal(one, found[0]) for one in found)
