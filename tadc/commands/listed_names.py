"""`tadc list`: what there is of stages, passes, functions and targets, as lines or as JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from tadc.backend.target import BACKENDS, UNIT_FORMS
from tadc.commands.files import Sink
from tadc.commands.option_parser import BadUsage
from tadc.compiler.all_stages import STAGES

#: The column of `tadc list targets` in which what is said of one begins.
_WIDTH = 14


def list_names(what: str, names: Sequence[str] = (), as_json: bool = False) -> int:
    """Print what there is, of passes those that are named. Raises BadUsage for names of other things."""
    if names and what != "passes":
        raise BadUsage(f"`tadc list {what}` takes no `{names[0]}`", f"write `tadc list {what}`")
    entries, lines = _LISTED[what](names)
    Sink("-").write(json.dumps(entries, indent=2) if as_json else "\n".join(lines))
    return 0


Listed = tuple[list[dict[str, Any]], list[str]]


def _stages(_: Sequence[str]) -> Listed:
    stages = {s.name: s.about for s in STAGES} | {form.name: form.about for form in UNIT_FORMS.values()}
    entries = [{"name": name, "about": about} for name, about in stages.items()]
    return entries, [f"{name:16}{about}" for name, about in stages.items()]


def _targets(_: Sequence[str]) -> Listed:
    lines = [line for backend in BACKENDS.values() for line in backend.devices()]
    entries: list[dict[str, Any]] = []
    for line in lines:
        name, about = line[:_WIDTH].strip(), line[_WIDTH:]
        if name:
            entries.append({"name": name, "about": [about]})
        else:
            entries[-1]["about"].append(about)
    return entries, lines


def _functions(_: Sequence[str]) -> Listed:
    from tadc.frontend.functions import FUNCTIONS

    arities = {name: f.arity for name, f in sorted(FUNCTIONS.items())}
    entries = [{"name": name, "arity": arity} for name, arity in arities.items()]
    return entries, [f"{name}({', '.join('xy'[:arity])})" for name, arity in arities.items()]


def _passes(names: Sequence[str]) -> Listed:
    from tadc.commands.passes import described, named_passes

    entries = [
        {"name": item.argument, "about": item.description, "options": [asdict(o) for o in options]}
        for item, options in named_passes(names)
    ]
    return entries, [line for item, options in named_passes(names) for line in described(item, options)]


_LISTED = {"stages": _stages, "targets": _targets, "functions": _functions, "passes": _passes}
