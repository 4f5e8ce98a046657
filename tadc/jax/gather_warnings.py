"""The warning of an array that is divided over devices, and of which each device gets all."""

from __future__ import annotations

from collections.abc import Sequence

from tadc.caller.warn_caller import warn_of
from tadc.frontend.diagnostics import CompileWarning, Diagnostic
from tadc.frontend.program import Program
from tadc.lattice.affine import Affine
from tadc.passes.terms.checked_reads import accesses


class GatheredWarning(CompileWarning):
    """Each device gets all of an array that is divided over them; `diagnostic` says for which index."""


def warn_of_gathered(program: Program, name: str, dimension: int, mesh: Sequence[str]) -> None:
    """Warn (GatheredWarning, TAD1004) of a dimension that is divided along axes of a mesh."""
    along = " and ".join(f"`{axis}`" for axis in mesh)
    why = next((f": {text}" for text in _reads(program, name, dimension)), "")
    message = (
        f"each device gets all of dimension {dimension} of `{name}`, which is divided along {along}{why}"
    )
    helps = [
        f"divide `{name}` along another dimension, or give all of it to each device: "
        "`jax.device_put(…, NamedSharding(mesh, PartitionSpec()))`"
    ]
    found = Diagnostic("TAD1004", message, helps=helps, source=program.source, severity="warning")
    warn_of([found], GatheredWarning)


def warn_of_undivided(program: Program, devices: int, why: str) -> None:
    """Warn (GatheredWarning, TAD1004) that each device computes all, of all of what is divided over them."""
    results = ", ".join(f"`{d.name}`" for d in program.outputs)
    message = f"each of {devices} devices computes all of {results}: {why}"
    helps = ["call it in JAX's `shard_map`, on the part of each device"]
    found = Diagnostic("TAD1004", message, helps=helps, source=program.source, severity="warning")
    warn_of([found], GatheredWarning)


def _reads(program: Program, name: str, dimension: int) -> list[str]:
    """Who reads a dimension, first at other indices than its own, last at no index."""
    found: dict[str, int] = {}
    for definition in program.definitions:
        spoken: dict[str, str] = {}
        for read, _, _ in list(accesses(program, program.shapes(), definition, spoken=spoken)):
            if (read.tensor, read.dimension) == (name, dimension):
                form = read.form.substitute({said: Affine.var(word) for said, word in spoken.items()})
                text = f"`{definition.name}` reads it at `{form}`"
                found[text] = 2 if form.is_constant else int(read.form.variable in definition.indices)
    return sorted(found, key=found.__getitem__)
