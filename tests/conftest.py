"""Settings of all tests."""

import ctypes
import gc
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import pytest

from tadc.backend.cpu import backend as cpu
from tests import measured_times

# The oracle computes in double precision, on the CPU; read when JAX is imported.
os.environ["JAX_ENABLE_X64"] = "1"
os.environ["JAX_PLATFORMS"] = "cpu"

# Tests of the cache turn it on, in folders of their own: others are to see the compiler at work.
os.environ["TADC_CACHE"] = "0"

# The same examples in every run: a red test is red for everyone. HYPOTHESIS_PROFILE=search draws new ones.
hypothesis.settings.register_profile("repeat", derandomize=True, deadline=None, database=None)
hypothesis.settings.register_profile("search", deadline=None, print_blob=True)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeat"))

# Programs are large graphs without cycles: looking for some is a twentieth of the time.
gc.set_threshold(100_000, 20, 20)

#: A process with more memory, and so much more than what was left the last time, gives back what it can. What
#: JAX has compiled is used again by tests of the sweep, which may take more.
MEMORY, GROWTH = 1200 << 20, 200 << 20
MEMORY_OF_SWEEP = 2500 << 20

#: glibc's `malloc_trim`; None on other systems.
_TRIM = getattr(ctypes.CDLL(None), "malloc_trim", None) if os.name == "posix" else None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave long tests, and most of many alike, to the sweep and to slow runs."""
    measured_times.choose(config, items)


@pytest.fixture(autouse=True)
def plain_output(monkeypatch: pytest.MonkeyPatch) -> None:
    """No colours, and lines as wide as the tests expect them."""
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "100")


@pytest.fixture(autouse=True)
def vectors_everywhere(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tensors of tests are small; their code is that of large ones where `as_shipped` does not stand."""
    if request.node.get_closest_marker("as_shipped") is None:
        monkeypatch.setattr(cpu, "WORTH_VECTORS", 0)


@pytest.fixture(autouse=True)
def give_memory_back(request: pytest.FixtureRequest) -> Iterator[None]:
    """JAX keeps all that it compiled, glibc what XLA and LLVM left in pieces: gigabytes in a whole run."""
    global _left
    yield
    most = MEMORY_OF_SWEEP if "sweep" in request.node.keywords else MEMORY
    if _TRIM is not None and _resident() > max(most, _left + GROWTH):
        jax = sys.modules.get("jax")
        if jax is not None:
            jax.clear_caches()
        gc.collect()
        _TRIM(0)
        _left = _resident()


_left = 0


def _resident() -> int:
    """The bytes of memory that this process has, 0 where the system does not say."""
    statm = Path("/proc/self/statm")
    is_told = statm.exists() and hasattr(os, "sysconf")
    return int(statm.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") if is_told else 0


@pytest.fixture(scope="session")
def root() -> Path:
    """The top folder of the project."""
    return Path(__file__).parent.parent
