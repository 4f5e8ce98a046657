"""Index arrays and sparse tensors among arguments and results of a function, as its attributes say them.

An argument of i32 has `tad.below`, a form of the sizes that its elements are less than. One that is
`tad.increasing` has one dimension. `tad.inspected` says what makes it: a kind, the axis, and names of arrays;
`tad.values` the form of one that is computed, or how long the parts are that one is about, as
`lattice/form_json.py` writes it. `tad.pattern` says of a sparse tensor its shape, a map of the sizes, and the
names of the arrays that tell where its elements stand.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, get_args, get_type_hints

from tadc.dialect.checks import is_index_array
from tadc.dialect.index_maps import map_attribute, parse_map
from tadc.dialect.mlir import ir
from tadc.dialect.region_reader import UnsupportedIR
from tadc.dialect.shapes import forms_of_sizes, said_of
from tadc.frontend.extents import Extent, as_form, extent
from tadc.frontend.program import Argument, Definition, Inspected, Pattern
from tadc.lattice.affine import Affine
from tadc.lattice.form_json import form_json, form_of

_KINDS = get_args(get_type_hints(Inspected)["kind"])

#: Those that a form says more of.
_WITH_FORM = ("values", "whole", "rest", "start")


def attributes_of(tensor: Argument | Definition, sizes: Sequence[str], context: ir.Context) -> dict[str, Any]:
    """The attributes of an argument or a result that say so."""
    found: dict[str, Any] = {}

    def map_of(extents: Sequence[Extent]) -> Any:
        return map_attribute([as_form(size) for size in extents], (), context, sizes)

    if tensor.pattern is not None:
        shape = map_of(tensor.pattern.shape)
        found["tad.pattern"] = ir.ArrayAttr.get([shape, *map(ir.StringAttr.get, tensor.pattern.at)])
    if not isinstance(tensor, Argument):
        return found
    if tensor.below is not None:
        found["tad.below"] = map_of([tensor.below])
    if tensor.increasing:
        found["tad.increasing"] = ir.UnitAttr.get()
    if (made := tensor.inspected) is not None:
        axis = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), made.axis)
        listed = [ir.StringAttr.get(made.kind), axis, *map(ir.StringAttr.get, made.of)]
        found["tad.inspected"] = ir.ArrayAttr.get(listed)
        if made.form is not None:
            found["tad.values"] = ir.StringAttr.get(json.dumps(form_json(made.form)))
    return found


def bound_of(function: Any, argument: Any) -> Affine | None:
    """What the elements of an index array are less than, over `s0, …`; None of another tensor.

    Raises UnsupportedIR where it is not said, or said of floats.
    """
    forms = forms_of_sizes(function, argument, "tad.below")
    if not is_index_array(argument.type):
        if forms is not None or is_increasing(function, argument) or is_inspected(function, argument):
            raise UnsupportedIR(f"{argument.type} is no index array: these are of i32", argument.location)
        return None
    if forms is None or len(forms) != 1:
        raise UnsupportedIR(f"{argument.type} needs a map 'tad.below' to one form", argument.location)
    return forms[0]


def is_increasing(function: Any, argument: Any) -> bool:
    """Whether the elements of an index array do not fall; raises UnsupportedIR for several dimensions."""
    if said_of(function, argument.arg_number, "tad.increasing") is None:
        return False
    if argument.type.rank != 1:
        raise UnsupportedIR(f"'tad.increasing' needs one dimension, not {argument.type}", argument.location)
    return True


def is_inspected(function: Any, argument: Any) -> bool:
    """Whether an index array is made of others."""
    return said_of(function, argument.arg_number, "tad.inspected") is not None


def inspected(function: Any, argument: Any) -> Inspected | None:
    """How an index array follows from others; raises UnsupportedIR where that is said wrongly."""
    said, values = (said_of(function, argument.arg_number, f"tad.{word}") for word in ("inspected", "values"))
    if said is None:
        return None
    try:
        listed: list[Any] = list(ir.ArrayAttr(said))
        kind, axis, *of = listed
        names = tuple(ir.StringAttr(name).value for name in of)
        form = None if values is None else form_of(json.loads(ir.StringAttr(values).value))
        found = Inspected(ir.StringAttr(kind).value, names, ir.IntegerAttr(axis).value, form)
    except (IndexError, TypeError, ValueError):
        found = None
    if (
        found is None
        or found.kind not in _KINDS
        or not found.of
        or (found.kind in _WITH_FORM) != bool(values)
    ):
        kinds = ", ".join(f'"{kind}"' for kind in _KINDS)
        raise UnsupportedIR(
            f"'tad.inspected' must list one of {kinds}, an axis, and names of arrays, got {said}",
            argument.location,
        )
    return found


def pattern_of(said: Any, sizes: Mapping[str, Affine], location: Any) -> Pattern | None:
    """Where the elements of a sparse tensor stand; raises UnsupportedIR where that is said wrongly."""
    if said is None:
        return None
    try:
        listed: list[Any] = list(ir.ArrayAttr(said))
        shape, *arrays = listed
        found = parse_map(str(shape))
        names = tuple(ir.StringAttr(name).value for name in arrays)
        if names and (found.dims, found.symbols) == (0, len(sizes)):
            return Pattern(names, tuple(extent(form.substitute(sizes)) for form in found.forms))
    except ValueError:
        pass
    raise UnsupportedIR(
        f"'tad.pattern' must list a map of the sizes and names of arrays, got {said}", location
    )
