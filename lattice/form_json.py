"""Index forms as lists, strings and numbers, for what is kept in files and in attributes."""

from __future__ import annotations

from typing import Any

from tadc.lattice.affine import Affine, Floor, Lookup

Json = Any


def form_json(form: Affine) -> Json:
    """`[constant, [atom, factor], …]`, an atom a name, `[form, divisor]` or `[array, below, form, …]`."""
    return [form.constant, *([_atom_json(atom), factor] for atom, factor in form.terms)]


def _atom_json(atom: str | Floor | Lookup) -> Json:
    match atom:
        case str():
            return atom
        case Floor():
            return [form_json(atom.numerator), atom.denominator]
        case Lookup():
            return [atom.array, form_json(atom.below), *map(form_json, atom.at)]


def form_of(found: Json) -> Affine:
    """The form that `form_json` wrote."""
    constant, *terms = found
    return Affine(tuple((_atom(atom), int(factor)) for atom, factor in terms), int(constant))


def _atom(found: Json) -> str | Floor | Lookup:
    if isinstance(found, str):
        return found
    if isinstance(found[0], str):
        array, below, *at = found
        return Lookup(array, tuple(map(form_of, at)), form_of(below))
    return Floor(form_of(found[0]), int(found[1]))
