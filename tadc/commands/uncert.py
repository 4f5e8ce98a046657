"""`tadc uncert`: uncertainties of a program's outputs."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any, cast

import numpy as np

from tadc.commands.files import Sink
from tadc.commands.option_parser import UsageError
from tadc.commands.run import read_arrays
from tadc.commands.subcommand import SubcommandParser, program_of
from tadc.uncertainty import Result, propagate
from tadc.uncertainty.result import KINDS

HELP = """\
tadc uncert FILE: uncertainties of a program's outputs

  --at V=4.999,I=0.0197     values of the inputs: numbers, or arrays as in V=v.npy
  --u V=3.2e-3,I=9.5e-6     standard uncertainties; an input without is exact
  --corr V,I=-.36           a correlation; again, or several words, for more
  --cov V,I=-1e-8           a covariance; V,V=1e-5 is a variance
  --dof V=5                 degrees of freedom (default: infinite)
  --method gum              gum     first order with correlations, JCGM 100 (default)
                            worst   largest errors in place of --u; linear, no bound
                            interval  largest errors; bounds that always hold
                            mc      Monte Carlo, JCGM 101
  --k 2                     expanded uncertainty U = k u
  --budget                  what each input contributes
  --samples 200000 --seed 0 of --method mc
  --pieces 1                of --method interval: cut the inputs, for tighter bounds
  --size N=4                a value of a size symbol
  -e TEXT                   a program on the command line in the place of FILE
  -o FILE.json              write all results as JSON
"""


def _parser() -> SubcommandParser:
    p = SubcommandParser("uncert")
    for name in ("--at", "--u", "--corr", "--cov", "--dof"):
        p.add_argument(name, action="extend", nargs="+", default=[])
    p.add_argument("--method", choices=tuple(KINDS), default="gum")
    p.add_argument("--k", type=float, default=2.0)
    p.add_argument("--samples", type=int, default=200_000)
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--pieces", type=int, default=1)
    p.add_argument("--budget", action="store_true")
    return p


def uncert_command(words: list[str]) -> int:
    """Do what follows `tadc uncert`; the exit code. Raises UsageError, CompileError."""
    if not words or "-h" in words or "--help" in words:
        Sink("-").write(HELP)
        return 0
    found = _parser().parsed(words)
    if not found.k > 0 or math.isinf(found.k):
        raise UsageError(f"`--k {found.k:g}` is no positive number")
    if found.samples < 2:
        raise UsageError(f"`--samples {found.samples}` is too few")
    if found.seed < 0:
        raise UsageError(f"`--seed {found.seed}` is less than 0")
    if found.pieces < 1 or (found.pieces > 1 and found.method != "interval"):
        raise UsageError(f"`--pieces {found.pieces}`: a number from 1 on, of `--method interval`")
    if found.budget and found.method in ("interval", "mc"):
        raise UsageError(f"`--method {found.method}` has no budget", "`--method gum` and `worst` have one")
    if found.output not in (None, "-") and not found.output.endswith(".json"):
        raise UsageError(f"`-o {found.output}`: results are written as JSON", "let its name end in .json")
    f = program_of(found)
    result = propagate(
        f,
        read_arrays(_items(found.at, "--at")),
        u=read_arrays(_items(found.u, "--u")),
        corr=_pairs(found.corr, "--corr"),
        cov=_pairs(found.cov, "--cov"),
        dof=read_arrays(_items(found.dof, "--dof")),
        method=found.method,
        k=found.k,
        samples=found.samples,
        seed=found.seed,
        pieces=found.pieces,
    )
    if found.output and found.output != "-":
        Sink(found.output).write(as_json(result))
    else:
        Sink("-").write(str(result) + ("\n" + str(result.budget) if found.budget else ""))
    return 0


def _items(texts: list[str], option: str) -> list[str]:
    """`A=1,B=2` as `A=1` and `B=2`."""
    found = [item for text in texts for item in text.replace(" ", "").split(",")]
    for item in found:
        name, equals, value = item.partition("=")
        if not (name and equals and value):
            raise UsageError(
                f"`{option} {item}` is not of the form NAME=VALUE", f"write `{option} V=4.999,I=0.02`"
            )
    return found


def _pairs(texts: list[str], option: str) -> dict[tuple[str, str], Any]:
    """`A,B=r` by pair; several in a word are separated by `;`."""
    found: dict[tuple[str, str], Any] = {}
    for item in (item for text in texts for item in text.replace(" ", "").split(";") if item):
        pair, _, value = item.partition("=")
        names = pair.split(",")
        if len(names) != 2 or not all(names) or not value:
            raise UsageError(f"`{option} {item}` is not of the form A,B=NUMBER", f"write `{option} V,I=-.36`")
        if (names[0], names[1]) in found:
            raise UsageError(f"`{option}` gives `{pair}` twice")
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
