"""Dataclasses that are compiled late do what those of the standard library do."""

from __future__ import annotations

import copy
import dataclasses
import pickle
import subprocess
import sys
from collections.abc import Callable
from dataclasses import field, replace
from functools import cached_property
from types import SimpleNamespace
from typing import Any

import pytest

from tadc.lattice import late_dataclasses


def classes(dataclass: Any) -> SimpleNamespace:
    """Classes of all kinds that there are, by one decorator."""

    @dataclass(frozen=True)
    class Frozen:
        a: int
        b: str = "b"
        made: list[int] = field(default_factory=list[int])
        about: str = field(default="", compare=False, repr=False)

        @cached_property
        def twice(self) -> int:
            return 2 * self.a

    @dataclass(frozen=True)
    class Inherits(Frozen):
        b: str = "c"
        name: str = field(default="n", kw_only=True)

    @dataclass
    class Open:
        a: int
        found: dict[str, int] = field(default_factory=dict[str, int], init=False)

        def __post_init__(self) -> None:
            self.found["a"] = self.a

    @dataclass(eq=False)
    class Alone:
        a: int = 1

    @dataclass(frozen=True)
    class OwnEqual:
        a: int

        def __eq__(self, other: object) -> bool:
            return True

    return SimpleNamespace(
        Frozen=Frozen, Inherits=Inherits, Open=Open, Alone=Alone, OwnEqual=OwnEqual,
        Plain=type("Plain", (Inherits,), {}), Empty=dataclass(frozen=True)(type("Empty", (), {})),
    )  # fmt: skip


def changed(of: Any) -> object:
    of.a = 3
    return of.a


USES: list[Callable[[SimpleNamespace], object]] = [
    lambda of: [*map(repr, (of.Frozen(1), of.Inherits(1, name="m"), of.Open(2), of.Plain(1), of.Empty()))],
    lambda of: [of.Frozen(1) == other for other in (of.Frozen(1, about="x"), of.Inherits(1), of.Frozen(2))],
    lambda of: [of.Alone() == of.Alone(), of.OwnEqual(1) == of.OwnEqual(2), of.Open(1) == of.Open(1)],
    lambda of: of.Empty() == of.Empty(),
    lambda of: hash(of.Frozen(1, made=(1, 2))) == hash((1, "b", (1, 2))),
    lambda of: hash(of.OwnEqual(1)),
    lambda of: hash(of.Open(1)),
    lambda of: changed(of.Frozen(1)),
    lambda of: changed(of.Inherits(1)),
    lambda of: changed(of.Open(1)),
    lambda of: delattr(of.Frozen(1), "a"),
    lambda of: of.Frozen(),
    lambda of: of.Frozen(1, 2, 3, 4, 5),
    lambda of: of.Inherits(1, "b", [], "", "n"),
    lambda of: [repr(replace(of.Inherits(1), a=5)), of.Frozen(2).twice],
    lambda of: of.Frozen(1).made is of.Frozen(1).made,
    lambda of: [f.name for f in dataclasses.fields(of.Inherits)] + [dataclasses.is_dataclass(of.Empty)],
    lambda of: [copy.deepcopy(of.Frozen(1, made=[2])) == of.Frozen(1, made=[2]), of.Inherits.__match_args__],
]  # fmt: skip


@pytest.mark.parametrize("use", USES)
def test_late_dataclasses_are_as_those_of_the_standard_library(
    use: Callable[[SimpleNamespace], object],
) -> None:
    def seen(dataclass: Any) -> object:
        try:
            return repr(use(classes(dataclass)))
        except (TypeError, AttributeError) as error:
            return type(error), str(error).replace(f"{classes.__name__}.<locals>.", "")

    assert seen(late_dataclasses.dataclass) == seen(dataclasses.dataclass)


@late_dataclasses.dataclass(frozen=True)
class Kept:
    """One of a module, as others find it."""

    a: int


def test_another_process_compares_what_it_reads() -> None:
    text = f"import pickle\na, b = pickle.loads({pickle.dumps([Kept(1), Kept(1)])!r})"
    text += "\nprint(a == b, hash(a) == hash(b))"
    path = repr([folder for folder in sys.path if folder])
    run = subprocess.run(
        [sys.executable, "-c", f"import sys\nsys.path[:0] = {path}\n{text}"], capture_output=True, text=True
    )
    assert (run.stdout, run.stderr) == ("True True\n", "")
