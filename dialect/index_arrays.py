"""Index arrays among the arguments of a function, as its attributes say them.

An argument of i32 has `tad.below`, a form of the sizes that its elements are less than. One that is
`tad.increasing` has one dimension. `tad.inspected` says what makes it: a kind, the axis, and names of arrays.
"""

from __future__ import annotations

import json
from typing import Any, get_args, get_type_hints

from tadc.dialect.checks import is_index_array
from tadc.dialect.mlir import ir
from tadc.dialect.region_reader import UnsupportedIR
from tadc.dialect.shapes import forms_of_sizes, said_of
from tadc.frontend.program import Inspected
from tadc.lattice.affine import Affine
from tadc.lattice.form_json import form_of

_KINDS = get_args(get_type_hints(Inspected)["kind"])


def bound_of(function: Any, argument: Any) -> Affine | None:
    """What the elements of an index array are less than, over `s0, …`; None of another tensor.

    Raises UnsupportedIR where it is not said, or said of floats.
    """
    forms = forms_of_sizes(function, argument, "tad.below")
    if not is_index_array(argument.type):
        if forms is not None or is_increasing(function, argument) or inspected(function, argument):
            raise UnsupportedIR(f"{argument.type} is no index array: these are of i32", argument.location)
        return None
    if forms is None or len(forms) != 1:
        raise UnsupportedIR(f"{argument.type} needs a map 'tad.below' to one form", argument.location)
    return forms[0]


def is_increasing(function: Any, argument: Any) -> bool:
    """Whether the elements of an index array do not fall; raises UnsupportedIR for several dimensions."""
    if said_of(function, argument, "tad.increasing") is None:
        return False
    if argument.type.rank != 1:
        raise UnsupportedIR(f"'tad.increasing' needs one dimension, not {argument.type}", argument.location)
    return True


def inspected(function: Any, argument: Any) -> Inspected | None:
    """How an index array follows from others; raises UnsupportedIR where that is said wrongly."""
    said = said_of(function, argument, "tad.inspected")
    if said is None:
        return None
    try:
        listed: list[Any] = list(ir.ArrayAttr(said))
        kind, axis, *of = listed
        names = tuple(ir.StringAttr(name).value for name in of)
        values = said_of(function, argument, "tad.values")
        form = None if values is None else form_of(json.loads(ir.StringAttr(values).value))
        found = Inspected(ir.StringAttr(kind).value, names, ir.IntegerAttr(axis).value, form)
    except (ValueError, TypeError):
        found = None
    if found is None or found.kind not in _KINDS or not found.of:
        kinds = ", ".join(f'"{kind}"' for kind in _KINDS)
        raise UnsupportedIR(
            f"'tad.inspected' must list one of {kinds}, an axis, and names of arrays, got {said}",
            argument.location,
        )
    return found
