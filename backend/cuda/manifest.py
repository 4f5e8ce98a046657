"""What a kernel needs to know of its PTX, also as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from tadc.backend.runtime.interface import Interface, Json, form_json, form_of
from tadc.lattice.affine import Affine

#: Of the JSON; a bundle of another is refused.
VERSION = 1


@dataclass(frozen=True)
class GridExtent:
    """Blocks along a dimension of a grid: each has so many of a product of extents, the last fewer."""

    extents: tuple[Affine, ...]
    """Forms over `s0, s1, …`, the sizes of the program in order."""
    each: int

    def blocks(self, point: dict[str, int]) -> int:
        """Their number at these sizes."""
        return -(-_product(self.extents, point) // self.each)


@dataclass(frozen=True)
class Condition:
    """The product of extents, forms over the sizes, is from `least` to `most`; None is no bound."""

    extents: tuple[Affine, ...]
    least: int = 0
    most: int | None = None

    def holds(self, point: dict[str, int]) -> bool:
        """Whether it does at these sizes."""
        value = _product(self.extents, point)
        return self.least <= value and (self.most is None or value <= self.most)


def _product(extents: Sequence[Affine], point: dict[str, int]) -> int:
    return prod(max(extent.evaluate(point), 0) for extent in extents)


@dataclass(frozen=True)
class KernelLaunch:
    """A kernel, its grid and block, and the buffers that it takes, by position; sizes are its last arguments.

    Buffers are counted over inputs, outputs, temporaries. `place` is the line of the program that the kernel
    computes, as `f.tad:3:1`, or the name of the tensor.
    """

    kernel: str
    grid: tuple[GridExtent, ...]
    block: tuple[int, int, int]
    buffers: tuple[int, ...]
    shared: int = 0
    place: str = ""
    when: tuple[Condition, ...] = ()
    """What must hold of the sizes, all of it."""
    unless: tuple[tuple[Condition, ...], ...] = ()
    """Where all of one of these hold, another kernel runs."""
    alignment: int = 16
    """The address of each buffer is a multiple of so many bytes."""

    def grid_at(self, sizes: Sequence[int]) -> tuple[int, int, int]:
        """Blocks in x, y and z; with a 0 there is nothing to launch."""
        point = {f"s{n}": size for n, size in enumerate(sizes)}
        others = any(all(test.holds(point) for test in tests) for tests in self.unless)
        if others or not all(test.holds(point) for test in self.when):
            return 0, 0, 0
        x, y, z = [*(axis.blocks(point) for axis in self.grid), 1, 1, 1][:3]
        return x, y, z


@dataclass(frozen=True)
class Manifest:
    """The interface of a program and its launches in order; `sm` is the architecture of its PTX."""

    interface: Interface
    launches: tuple[KernelLaunch, ...]
    sm: int

    @staticmethod
    def of(interface: Interface, launches: Iterable[Any], sm: int, places: dict[str, str]) -> Manifest:
        """From what the lowering says of each kernel, `passes.gpu.Launch`."""
        made = (
            KernelLaunch(
                launch.kernel,
                tuple(GridExtent(tuple(axis.extents), axis.each) for axis in launch.grid),
                launch.block,
                tuple(launch.buffers),
                getattr(launch, "shared", 0),
                places.get(launch.kernel, ""),
                _conditions(getattr(launch, "when", ())),
                tuple(map(_conditions, getattr(launch, "unless", ()))),
                getattr(launch, "alignment", 16),
            )
            for launch in launches
        )
        return Manifest(interface, tuple(made), sm)

    def as_json(self) -> Json:
        """Lists, strings and numbers that `from_json` reads."""
        launches = [
            {
                "kernel": launch.kernel,
                "grid": [[[form_json(e) for e in axis.extents], axis.each] for axis in launch.grid],
                "block": launch.block,
                "buffers": launch.buffers,
                "shared": launch.shared,
                "place": launch.place,
                "when": _conditions_json(launch.when),
                "unless": [_conditions_json(tests) for tests in launch.unless],
                "alignment": launch.alignment,
            }
            for launch in self.launches
        ]
        return {
            "version": VERSION,
            "sm": self.sm,
            "interface": self.interface.as_json(),
            "launches": launches,
        }

    @staticmethod
    def from_json(found: Json) -> Manifest:
        """What `as_json` wrote. Raises KeyError, TypeError or ValueError for anything else."""
        if found["version"] != VERSION:
            raise ValueError(f"it is of version {found['version']}, this tadc reads {VERSION}")
        return Manifest(
            Interface.from_json(found["interface"]), tuple(map(_launch, found["launches"])), int(found["sm"])
        )


def _launch(found: Json) -> KernelLaunch:
    grid = tuple(GridExtent(tuple(map(form_of, forms)), int(each)) for forms, each in found["grid"])
    x, y, z = map(int, found["block"])
    buffers = tuple(map(int, found["buffers"]))
    return KernelLaunch(
        str(found["kernel"]), grid, (x, y, z), buffers, int(found["shared"]), str(found["place"]),
        _conditions_of(found["when"]), tuple(map(_conditions_of, found["unless"])), int(found["alignment"]),
    )  # fmt: skip


def _conditions(found: Iterable[Any]) -> tuple[Condition, ...]:
    return tuple(Condition(tuple(one.extents), one.least, one.most) for one in found)


def _conditions_json(conditions: Iterable[Condition]) -> Json:
    return [[[form_json(e) for e in one.extents], one.least, one.most] for one in conditions]


def _conditions_of(found: Json) -> tuple[Condition, ...]:
    return tuple(
        Condition(tuple(map(form_of, forms)), int(least), None if most is None else int(most))
        for forms, least, most in found
    )
