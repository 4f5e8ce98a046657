"""The caches of a core: of this machine as the system tells them, of others as they usually are."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from functools import cache

from tadc.lattice.late_dataclasses import dataclass

_SYSTEM = "/sys/devices/system/cpu/cpu0/cache"


@dataclass(frozen=True)
class Caches:
    """The first cache for data has so many sets of so many lines, of 64 bytes mostly; the second one `l2`
    bytes."""

    sets: int
    ways: int
    l2: int


#: The least first cache and a second cache as most of those have that are sold now: Zen 4, Alder Lake and
#: Sapphire Rapids have 1 to 2 MiB, Neoverse V1 and SiFive P670 1 MiB or more.
_USUAL: Mapping[str, Caches] = {
    "x86_64": Caches(64, 8, 2 << 20),
    "aarch64": Caches(256, 4, 1 << 20),
    "riscv64": Caches(64, 8, 1 << 20),
    "wasm32": Caches(64, 8, 1 << 20),
}


def usual_caches(machine: str) -> Caches:
    """Those of an architecture."""
    return _USUAL.get(machine, _USUAL["x86_64"])


@cache
def host_caches(folder: str = _SYSTEM) -> Caches | None:
    """Those of this machine, None where the system does not tell."""
    found = {level: facts for level, facts in _told(folder)}
    if not found.keys() >= {1, 2}:
        return None
    size, ways, line = found[1]
    return Caches(size // (ways * line), ways, found[2][0])


def _told(folder: str) -> Iterator[tuple[int, tuple[int, int, int]]]:
    """By level the bytes, the ways and the bytes of a line of what holds data."""
    try:
        for name in sorted(os.listdir(folder)):
            place = os.path.join(folder, name)
            if name.startswith("index") and _text(place, "type") in ("Data", "Unified"):
                size = int(_text(place, "size").removesuffix("K")) << 10
                facts = (
                    size,
                    int(_text(place, "ways_of_associativity")),
                    int(_text(place, "coherency_line_size")),
                )
                if all(facts):
                    yield int(_text(place, "level")), facts
    except (OSError, ValueError):
        return


def _text(folder: str, name: str) -> str:
    with open(os.path.join(folder, name), encoding="utf-8") as file:
        return file.read().strip()
