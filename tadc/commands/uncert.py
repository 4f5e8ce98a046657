"""`tadc uncert`: uncertainties of a program's outputs."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import numpy as np

from tadc.apps.uncertainty import Result, propagate
from tadc.backend.compile_steps import step
from tadc.commands.array_files import read_arrays
from tadc.commands.files import Sink
from tadc.commands.given_program import read_program
from tadc.commands.option_parser import BadUsage
from tadc.commands.options import Arguments
from tadc.commands.warn import function_of


def execute(arguments: Arguments) -> int:
    """Print the uncertainties, or write them as JSON. Raises BadUsage, CompileError."""
    source = read_program(arguments)
    with step("typed"):
        program = function_of(arguments, source)
    given: dict[str, Any] = {
        "values": _values(arguments.at, "--at"),
        "u": _values(arguments.u, "--u"),
        "corr": _pairs(arguments.corr, "--corr"),
        "cov": _pairs(arguments.cov, "--cov"),
        "dof": _values(arguments.dof, "--dof"),
        "method": arguments.method,
        "k": arguments.k,
        "samples": arguments.samples,
        "seed": arguments.seed,
        "pieces": arguments.pieces,
    }
    with step("propagate"):
        result = propagate(program, **given)
    output = arguments.output or "-"
    if arguments.json or output != "-":
        Sink(output).write(as_json(result))
    else:
        Sink("-").write(str(result) + ("\n" + str(result.budget) if arguments.budget else ""))
    return 0


def _values(items: list[str], option: str) -> dict[str, Any]:
    """`A=1` and `B=b.npy` by name."""
    for item in items:
        name, equals, value = item.partition("=")
        if not (name and equals and value):
            raise BadUsage(
                f"`{option} {item}` is not of the form NAME=VALUE", f"write `{option} V=4.999,I=0.02`"
            )
        if Path(value).exists():
            continue
        if uncertain := re.match(r"(.+?)(?:±|\+/?-)(.+)", value):
            best, spread = uncertain.groups()
            raise BadUsage(
                f"`{option} {item}` is more than a value", f"write `--at {name}={best} --u {name}={spread}`"
            )
        if value.endswith("%"):
            raise BadUsage(
                f"`{option} {item}` is relative", "write the number itself, in the unit of the value"
            )
    return read_arrays(["=".join(part.strip() for part in item.split("=", 1)) for item in items])


def _pairs(items: list[str], option: str) -> dict[tuple[str, str], Any]:
    """`A,B=r` by pair."""
    found: dict[tuple[str, str], Any] = {}
    for item in items:
        pair, _, value = item.replace(" ", "").partition("=")
        names = pair.split(",")
        if len(names) != 2 or not all(names) or not value:
            raise BadUsage(f"`{option} {item}` is not of the form A,B=NUMBER", f"write `{option} V,I=-.36`")
        if (names[0], names[1]) in found:
            raise BadUsage(f"`{option}` gives `{pair}` twice")
        found[names[0], names[1]] = read_arrays([f"value={value}"])["value"]
    return found


def as_json(result: Result) -> str:
    """All that a result says; infinite and undefined numbers as strings."""
    has = {"gum": ("u", "dof", "cov", "budget"), "mc": ("u", "cov"), "worst": ("budget",)}
    parts: dict[str, Any] = {
        "method": result.method,
        "kind": result.kind,
        "is_rigorous": result.is_rigorous,
        "k": result.k,
        "value": result.value,
        "U": result.U,
        "bounds": result.bounds,
    }
    parts |= {name: getattr(result, name) for name in has.get(result.method, ())}
    return json.dumps(_json(parts), indent=2)


def _json(x: Any) -> Any:
    if hasattr(x, "__dataclass_fields__"):
        return {name: _json(getattr(x, name)) for name in x.__dataclass_fields__}
    if isinstance(x, str | bool | int):
        return x
    if isinstance(x, Mapping):
        return {str(name): _json(x[name]) for name in cast("Mapping[str, Any]", x)}
    if np.ndim(x) == 0:
        return float(x) if math.isfinite(x) else str(float(x))
    return [_json(part) for part in x]
