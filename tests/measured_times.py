"""Which tests run where: by the CPU time that each was measured to take, in `cpu_seconds.txt`.

`make times` measures anew, two tests of each function: this module is the plugin of pytest that does it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from math import floor
from pathlib import Path
from statistics import median_low
from typing import NamedTuple

import pytest

#: Of the tests of a function `make test` runs as many as take `QUICK` seconds of CPU time; with those of the
#: sweep they take `SWEEP`, or are one. The others are slow.
QUICK, SWEEP = 0.5, 0.7

FILE = Path(__file__).with_name("cpu_seconds.txt")
HEADER = "# Seconds of CPU time of one test of each function whose tests are too long for `make test`.\n"
MEASURED_EACH = 2


def function_of(item: pytest.Item) -> str:
    """The function of a test, as `cpu_seconds.txt` names it."""
    return item.nodeid.partition("[")[0]


def measured() -> dict[str, float]:
    """Seconds of one test of each function that is listed."""
    lines = FILE.read_text(encoding="utf-8").splitlines() if FILE.exists() else []
    words = (line.split() for line in lines if not line.startswith("#"))
    return {function: float(seconds) for seconds, function in words}


def choose(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark as `sweep` or `slow` those tests of each function that are beyond its time."""
    if config.pluginmanager.has_plugin(__name__):
        return
    seconds = measured()
    alike: dict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        if item.get_closest_marker("slow") is None:
            alike[function_of(item)].append(item)
    for function, tests in alike.items():
        if function not in seconds:
            continue
        quick = floor(QUICK / seconds[function])
        both = max(1, quick, floor(SWEEP / seconds[function]))
        for n, item in enumerate(tests):
            if not _is_one_of(quick, n, len(tests)):
                item.add_marker("sweep" if _is_one_of(both, n, len(tests)) else "slow")


def _is_one_of(chosen: int, n: int, count: int) -> bool:
    """Whether the n-th of `count` is among so many that lie evenly, from the first on."""
    return chosen >= count or n * chosen // count != (n - 1) * chosen // count


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave a few tests of each function: none that says itself that it is slow."""
    seen: Counter[str] = Counter()
    kept: list[pytest.Item] = []
    for item in (item for item in items if item.get_closest_marker("slow") is None):
        seen[function_of(item)] += 1
        if seen[function_of(item)] <= MEASURED_EACH:
            kept.append(item)
    for item in kept:
        item.user_properties.append(("alike", seen[function_of(item)]))
    items[:] = kept


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Measure a test with what it sets up, here and in processes that it starts."""
    start = _cpu_seconds()
    item.user_properties.append(("cpu_start", start))
    yield


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    """Send the seconds to the process that writes them."""
    start = next(value for name, value in item.user_properties if name == "cpu_start")
    item.user_properties.append(("cpu_seconds", _cpu_seconds() - float(str(start))))
    yield


class Measured(NamedTuple):
    """How many tests a function has, and the seconds of those that ran, by their names."""

    alike: int
    seconds: dict[str, float]


_found: dict[str, Measured] = {}


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Keep what a test has taken so far."""
    told = dict(report.user_properties)
    found = _found.setdefault(report.nodeid.partition("[")[0], Measured(int(str(told["alike"])), {}))
    found.seconds[report.nodeid] = float(str(told["cpu_seconds"]))


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Write the file, in the process that has all results; what did not run keeps its line."""
    if hasattr(session.config, "workerinput") or exitstatus not in (0, 1):
        return
    seconds = {name: s for name, s in measured().items() if Path(name.partition("::")[0]).exists()}
    for name, found in _found.items():
        seconds.pop(name, None)
        if (one := median_low(found.seconds.values())) * found.alike > QUICK:
            seconds[name] = one
    lines = [f"{s:.3f} {name}\n" for name, s in sorted(seconds.items())]
    FILE.write_text(HEADER + "".join(lines), encoding="utf-8")


def _cpu_seconds() -> float:
    import resource  # which not all systems have that run tests

    own, children = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime
