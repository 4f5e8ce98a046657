"""What a function is made from, and what the disk cache keeps by that.

A function is known by its text and by the derivatives taken of it. A kernel on disk runs without the
program being parsed, differentiated or compiled; what else is asked of a function before it runs is its
signature, which is kept too.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import partial
from hashlib import sha256
from operator import index
from typing import TYPE_CHECKING, Any

from tadc.api.compiled import Compiled
from tadc.backend.cpu.linking import LinkError
from tadc.backend.disk_cache import configured
from tadc.backend.fingerprint import fingerprint
from tadc.frontend.source import Source
from tadc.lattice.late_dataclasses import dataclass, replace

if TYPE_CHECKING:
    from tadc.compiler.compile_options import Options
    from tadc.frontend.diagnostics import Diagnostic
    from tadc.frontend.program import Program
    from tadc.passes.supports.entry_listing import Listing

#: What entries that cannot be read raise: they may be of another version in spite of their key.
UNREADABLE = (ValueError, KeyError, TypeError, IndexError, AttributeError)

_SIGNATURE, _LISTING, _KERNEL = "signature", "listing", "kernel"


@dataclass(frozen=True)
class Recipe:
    """A text, and what was made of it in turn: equal recipes make equal programs, whatever their names.

    Each of `steps` is made of strings, numbers and tuples of these.
    """

    source: Source
    steps: tuple[Any, ...] = ()

    def then(self, *step: Any) -> Recipe:
        """The recipe with a step more."""
        return Recipe(self.source, (*self.steps, step))

    def at(self, sizes: Mapping[str, Any]) -> Recipe | None:
        """The recipe for values of size symbols; None where they are not integers."""
        try:
            values = [(str(name), index(value)) for name, value in sizes.items()]
        except (TypeError, AttributeError):
            return None
        return self.then("sizes", tuple(sorted(values))) if values else self

    def key(self, kind: str, *details: Any) -> str:
        """The key of an entry: a digest of all that it depends on."""
        everything = json.dumps([kind, self.source.text, self.steps, details, fingerprint()])
        return sha256(everything.encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(frozen=True)
class Signature:
    """The names of the tensors of a function, and how those of a derivative belong together.

    There is no derivative by `index_arrays`, which are among the inputs.
    """

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    cotangents: Mapping[str, str]
    gradients: Mapping[str, str]
    tangents: Mapping[str, str]
    index_arrays: tuple[str, ...] = ()

    @staticmethod
    def of(program: Program) -> Signature:
        """The signature of a program."""
        return Signature(
            tuple(a.name for a in program.passed()),
            tuple(d.name for d in program.outputs),
            {a.cotangent_of: a.name for a in program.arguments if a.cotangent_of},
            {d.gradient_of: d.name for d in program.outputs if d.gradient_of},
            {t.tangent_of: t.name for t in (*program.arguments, *program.outputs) if t.tangent_of},
            tuple(a.name for a in program.passed() if a.is_index_array),
        )


def find_signature(recipe: Recipe | None) -> Signature | None:
    """The signature that was kept; there is one only of what was made before without error or warning."""
    cache = configured()
    if recipe is None or cache is None:
        return None
    try:
        found = json.loads(cache.get(recipe.key(_SIGNATURE)) or b"null")
        inputs, outputs, cotangents, gradients, tangents, indices = found
        roles = dict(cotangents), dict(gradients), dict(tangents)
        return Signature(tuple(inputs), tuple(outputs), *roles, tuple(indices))
    except UNREADABLE:
        return None


def keep_signature(recipe: Recipe | None, signature: Signature) -> None:
    """Keep the signature of what was made without error or warning."""
    cache = configured()
    if recipe is not None and cache is not None:
        cache.put(recipe.key(_SIGNATURE), json.dumps(list(vars(signature).values())).encode())


def find_listing(recipe: Recipe | None) -> Listing | None:
    """The lists of entries that were kept."""
    cache = configured()
    found = cache.get(recipe.key(_LISTING)) if recipe is not None and cache is not None else None
    if found is None:
        return None
    from tadc.passes.supports.entry_listing import Listing

    try:
        return Listing.from_json(json.loads(found))
    except UNREADABLE:
        return None


def keep_listing(recipe: Recipe | None, listing: Listing) -> None:
    """Keep the lists of entries that a function of this recipe computes."""
    cache = configured()
    if recipe is not None and cache is not None:
        cache.put(recipe.key(_LISTING), json.dumps(listing.as_json()).encode())


def find_kernel(recipe: Recipe | None, options: Options) -> Compiled | None:
    """The kernel that was compiled of a recipe with these options, loaded into this process.

    Raises CompileError, TAD0706, where this machine cannot run the target.
    """
    cache = configured()
    if recipe is None or cache is None:
        return None
    options = replace(options, target=options.backend.runnable(options.target))
    image = cache.get(_kernel_key(recipe, options))
    if image is None:
        return None
    try:
        source = recipe.source
        return Compiled(options.backend.load(image, options.target, source, partial(_Recheck, source)))
    except (*UNREADABLE, LinkError):
        return None


def keep_kernel(recipe: Recipe | None, options: Options, image: bytes) -> None:
    """Keep a kernel with all that its calls need; the target is one that this machine runs."""
    cache = configured()
    if recipe is not None and cache is not None:
        cache.put(_kernel_key(recipe, options), image)


def _kernel_key(recipe: Recipe, options: Options) -> str:
    return recipe.key(_KERNEL, repr(options), options.backend.tools())


@dataclass(frozen=True)
class _Recheck:
    """What is wrong with a text at sizes that a call gives, besides those that are given already."""

    source: Source
    given: Mapping[str, int]

    def __call__(self, sizes: Mapping[str, int]) -> list[Diagnostic] | None:
        from tadc.frontend.specialise import problems_in

        return problems_in(self.source, {**self.given, **sizes})
