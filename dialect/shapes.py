"""Shapes and excluded sizes of a function, as its attributes say them: forms over `s0, s1, …`, its sizes.

A tensor argument whose type has a dynamic extent says its shape by a map `tad.shape` over the sizes,
which are the function's index arguments in order; a `tad.map` by its domain over its operands.
`tad.excluded` lists sets of sizes that calls are refused for.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tadc.dialect.index_maps import box_extents, parse_map, parse_set
from tadc.dialect.mlir import ir
from tadc.dialect.region_reader import UnsupportedIR
from tadc.frontend.terms import Domain
from tadc.lattice.affine import Affine

Forms = tuple[Affine, ...]


def sizes_of(function: Any) -> list[Any]:
    """The index arguments of a function."""
    return [a for a in function.regions[0].blocks[0].arguments if isinstance(a.type, ir.IndexType)]


def argument_shape(function: Any, argument: Any) -> Forms:
    """The extents of a tensor argument; raises UnsupportedIR where they are not said."""
    type = argument.type
    if type.has_static_shape:
        return tuple(Affine.const(size) for size in type.shape)
    wanted = [None if type.is_dynamic_dim(n) else type.get_dim_size(n) for n in range(type.rank)]
    forms = forms_of_sizes(function, argument, "tad.shape")
    if forms is None:
        raise UnsupportedIR(f"the shape of {type} needs a map 'tad.shape'", argument.location)
    if [form.constant if form.is_constant else None for form in forms] != wanted:
        raise UnsupportedIR(f"'tad.shape' is no shape of {type} over the sizes", argument.location)
    return forms


def said_of(function: Any, number: int, name: str, key: str = "arg_attrs") -> Any | None:
    """An attribute of an argument, or with `res_attrs` of a result, if it has it."""
    if key not in function.attributes:
        return None
    listed: Any = ir.ArrayAttr(function.attributes[key])
    about: Any = ir.DictAttr(listed[number])
    return about[name] if name in about else None


def forms_of_sizes(function: Any, argument: Any, name: str) -> Forms | None:
    """The forms of an attribute of an argument; None where it has none.

    Raises UnsupportedIR where it is no map of the sizes.
    """
    said = said_of(function, argument.arg_number, name)
    if said is None:
        return None
    try:
        found = parse_map(str(said))
    except ValueError:
        raise UnsupportedIR(f"'{name}' must be a map of the sizes, got {said}", argument.location) from None
    if (found.dims, found.symbols) != (0, len(sizes_of(function))):
        raise UnsupportedIR(f"'{name}' is no map of the sizes: {said}", argument.location)
    return found.forms


def map_shape(op: Any, names: Mapping[Any, Affine]) -> Forms:
    """The extents of a `tad.map`, its operands by name."""
    extents = box_extents(parse_set(str(op.attributes["domain"]))) or []
    operands = {f"s{n}": names[value] for n, value in enumerate(op.operands)}
    return tuple(form.substitute(operands) for form in extents)


def excluded_sets(function: Any) -> tuple[Domain, ...]:
    """The sets of `tad.excluded`; raises UnsupportedIR where it is something else."""
    if "tad.excluded" not in function.attributes:
        return ()
    try:
        listed: Any = ir.ArrayAttr(function.attributes["tad.excluded"])
        found = [parse_set(str(attribute)) for attribute in listed]
    except ValueError:
        found = []
    if not found or any((s.dims, s.symbols) != (0, len(sizes_of(function))) for s in found):
        raise UnsupportedIR("'tad.excluded' must list sets over the sizes", function.location)
    return tuple(s.constraints for s in found)
