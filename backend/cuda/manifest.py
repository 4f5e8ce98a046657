"""What a kernel needs to know of its PTX, also as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tadc.backend.runtime.interface import Interface
from tadc.lattice.form_json import Json, form_json, form_of
from tadc.lattice.late_dataclasses import dataclass, replace
from tadc.passes.gpu.launch import GridAxis, Launch
from tadc.passes.maps.size_tests import SizeTest

#: Of the JSON; a bundle of another is refused.
VERSION = 2


@dataclass(frozen=True)
class Manifest:
    """The interface of a program and its launches in order; `sm` is the architecture of its PTX."""

    interface: Interface
    launches: tuple[Launch, ...]
    sm: int

    @staticmethod
    def of(interface: Interface, launches: Iterable[Launch], sm: int, places: Mapping[str, str]) -> Manifest:
        """From what the lowering says of each kernel, and the place of the program that it computes."""
        made = (replace(launch, place=places.get(launch.kernel, "")) for launch in launches)
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
                "steps": [form_json(e) for e in launch.steps],
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


def _launch(found: Json) -> Launch:
    grid = tuple(GridAxis(tuple(map(form_of, forms)), int(each)) for forms, each in found["grid"])
    x, y, z = map(int, found["block"])
    buffers = tuple(map(int, found["buffers"]))
    return Launch(
        str(found["kernel"]), grid, (x, y, z), buffers, _conditions_of(found["when"]),
        tuple(map(_conditions_of, found["unless"])), int(found["alignment"]), int(found["shared"]),
        tuple(map(form_of, found["steps"])), str(found["place"]),
    )  # fmt: skip


def _conditions_json(conditions: Iterable[SizeTest]) -> Json:
    return [[[form_json(e) for e in one.extents], one.least, one.most] for one in conditions]


def _conditions_of(found: Json) -> tuple[SizeTest, ...]:
    return tuple(
        SizeTest(tuple(map(form_of, forms)), int(least), None if most is None else int(most))
        for forms, least, most in found
    )
