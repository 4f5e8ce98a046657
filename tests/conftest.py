"""Settings of all tests."""

import ctypes
import os
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import pytest

from tadc import stages

# The oracle computes in double precision, on the CPU; read when JAX is imported.
os.environ["JAX_ENABLE_X64"] = "1"
os.environ["JAX_PLATFORMS"] = "cpu"

# Tests of the cache turn it on, in folders of their own: others are to see the compiler at work.
os.environ["TADC_CACHE"] = "0"

# The same examples in every run: a red test is red for everyone. HYPOTHESIS_PROFILE=search draws new ones.
hypothesis.settings.register_profile("repeat", derandomize=True, deadline=None, database=None)
hypothesis.settings.register_profile("search", deadline=None, print_blob=True)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeat"))

#: glibc's `malloc_trim`; None on other systems.
_TRIM = getattr(ctypes.CDLL(None), "malloc_trim", None) if os.name == "posix" else None


@pytest.fixture(autouse=True)
def plain_output(monkeypatch: pytest.MonkeyPatch) -> None:
    """No colours, and lines as wide as the tests expect them."""
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "100")


@pytest.fixture(autouse=True)
def vectors_everywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tensors of tests are small, and their code is to be that of large ones."""
    monkeypatch.setattr(stages, "WORTH_VECTORS", 0)


@pytest.fixture(scope="module", autouse=True)
def give_memory_back() -> Iterator[None]:
    """XLA and LLVM leave memory in pieces, which glibc would keep: gigabytes in a whole run."""
    yield
    if _TRIM is not None:
        _TRIM(0)


@pytest.fixture(scope="session")
def root() -> Path:
    """The top folder of the project."""
    return Path(__file__).parent.parent
