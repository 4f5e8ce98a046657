"""What a function says of its arguments, results and sizes: attributes, written and read.

Shapes, bounds and excluded sizes are forms over the sizes, which are the function's index arguments in order.
`tad.values` has the form of an array that is computed, or how long the parts are that one is about, as
`lattice/form_json.py` writes it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, get_args, get_type_hints

from tadc.dialect.checks import is_index_array
from tadc.dialect.index_maps import index_attribute, parse
from tadc.dialect.locations import UnsupportedIR, place_of
from tadc.dialect.mlir import ir
from tadc.frontend.dtypes import FLOATS, INDEX_TYPE, types_listed
from tadc.frontend.extents import Extent, Shape, as_form, extent, is_static
from tadc.frontend.program import Argument, Definition, Inspected, Pattern
from tadc.frontend.terms import Domain
from tadc.lattice.affine import Affine
from tadc.lattice.form_json import form_json, form_of

_KINDS = get_args(get_type_hints(Inspected)["kind"])

#: Those that a form says more of.
_WITH_FORM = ("values", "whole", "rest", "start")


def attributes_of(tensor: Argument | Definition | str, sizes: Sequence[str], context: ir.Context) -> Any:
    """What is said of an argument or a result, or of a size, of which the name."""
    text, unit = ir.StringAttr.get, ir.UnitAttr.get()

    def map_of(*extents: Extent) -> Any:
        return index_attribute("map", map(as_form, extents), (), context, sizes)

    if isinstance(tensor, str):
        return ir.DictAttr.get({"tad.name": text(tensor)})
    found: dict[str, Any] = {"tad.name": text(tensor.name)}
    for role in ("tad.cotangent_of", "tad.gradient_of", "tad.tangent_of"):
        if of := getattr(tensor, role.removeprefix("tad."), ""):
            found[role] = text(of)
    if tensor.pattern is not None:
        found["tad.pattern"] = ir.ArrayAttr.get(
            [map_of(*tensor.pattern.shape), *map(text, tensor.pattern.at)]
        )
    if not isinstance(tensor, Argument):
        return ir.DictAttr.get(found)
    if not is_static(tensor.shape):
        found["tad.shape"] = map_of(*tensor.shape)
    if tensor.below is not None:
        found["tad.below"] = map_of(tensor.below)
    if tensor.increasing:
        found["tad.increasing"] = unit
    if (made := tensor.inspected) is not None:
        axis = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), made.axis)
        found["tad.inspected"] = ir.ArrayAttr.get([text(made.kind), axis, *map(text, made.of)])
        if made.form is not None:
            found["tad.values"] = text(json.dumps(form_json(made.form)))
    return ir.DictAttr.get(found)


def indices_of(op: Any) -> list[Any]:
    """The block arguments that are indices: those of what makes a tensor, or the sizes of a function."""
    return [a for a in op.regions[0].blocks[0].arguments if isinstance(a.type, ir.IndexType)]


def element_type(type: Any, location: Any) -> str:
    """That of a tensor of floats; raises UnsupportedIR for another type."""
    if not isinstance(type, ir.RankedTensorType):
        raise UnsupportedIR(f"expected a tensor, got {type}", location)
    if (element := str(type.element_type)) not in FLOATS:
        raise UnsupportedIR(f"expected elements of type {types_listed('or', '')}, got {element}", location)
    return element


class Declarations:
    """Reads what a function says, over these names of its sizes. Raises UnsupportedIR where it is wrong."""

    def __init__(self, function: Any, sizes: Sequence[str] = ()) -> None:
        self.function = function
        self.sizes = {f"s{n}": Affine.var(name) for n, name in enumerate(sizes)}

    def said(self, name: str, number: int, key: str = "arg_attrs") -> Any | None:
        """An attribute of an argument, or with `res_attrs` of a result, if it has it."""
        if key not in self.function.attributes:
            return None
        listed: Any = ir.ArrayAttr(self.function.attributes[key])
        about: Any = ir.DictAttr(listed[number])
        return about[name] if name in about else None

    def text(self, name: str, number: int, key: str = "arg_attrs") -> str:
        """An attribute that is a text, or nothing."""
        said = self.said(name, number, key)
        if said is not None and not isinstance(said, ir.StringAttr):
            raise UnsupportedIR(f"'{name}' must be a string, got {said}", self.function.location)
        return "" if said is None else said.value

    def argument(self, value: Any, name: str) -> Argument:
        """A tensor argument, of that name."""
        type, number, has_indices = value.type, value.arg_number, is_index_array(value.type)
        kind = INDEX_TYPE if has_indices else element_type(type, self.function.location)
        shape, below = self._shape(value), self._forms("tad.below", value)
        increasing = self.said("tad.increasing", number) is not None
        made = self.said("tad.inspected", number)
        if not has_indices and (below is not None or increasing or made is not None):
            raise UnsupportedIR(f"{type} is no index array: these are of i32", value.location)
        if has_indices and (below is None or len(below) != 1):
            raise UnsupportedIR(f"{type} needs a map 'tad.below' to one form", value.location)
        if increasing and type.rank != 1:
            raise UnsupportedIR(f"'tad.increasing' needs one dimension, not {type}", value.location)
        roles = (self.text(role, number) for role in ("tad.cotangent_of", "tad.tangent_of"))
        return Argument(
            name, kind, shape, place_of(value.location), *roles, below=below[0] if below else None,
            increasing=increasing, inspected=None if made is None else self._inspected(made, value),
            pattern=self.pattern(number),
        )  # fmt: skip

    def _shape(self, value: Any) -> Shape:
        type = value.type
        if type.has_static_shape:
            return tuple(type.shape)
        wanted = [None if type.is_dynamic_dim(n) else type.get_dim_size(n) for n in range(type.rank)]
        found = self._forms("tad.shape", value)
        if found is None:
            raise UnsupportedIR(f"the shape of {type} needs a map 'tad.shape'", value.location)
        if [size if isinstance(size, int) else None for size in found] != wanted:
            raise UnsupportedIR(f"'tad.shape' is no shape of {type} over the sizes", value.location)
        return found

    def _forms(self, name: str, value: Any) -> Shape | None:
        """The forms of an attribute of an argument, a map of the sizes; None where it has none."""
        said = self.said(name, value.arg_number)
        if said is None:
            return None
        try:
            found = self._map(said)
        except ValueError:
            raise UnsupportedIR(f"'{name}' must be a map of the sizes, got {said}", value.location) from None
        if found is None:
            raise UnsupportedIR(f"'{name}' is no map of the sizes: {said}", value.location)
        return found

    def _map(self, said: Any) -> Shape | None:
        """The forms of a map of the sizes; None of another map. Raises ValueError of what is none."""
        found = parse(str(said))
        if (found.dims, found.symbols) != (0, len(self.sizes)):
            return None
        return tuple(extent(form.substitute(self.sizes)) for form in found.forms)

    def _inspected(self, said: Any, value: Any) -> Inspected:
        """How an index array follows from others."""
        try:
            kind, axis, *of = list[Any](ir.ArrayAttr(said))
            names = tuple(ir.StringAttr(name).value for name in of)
            values = self.text("tad.values", value.arg_number)
            form = form_of(json.loads(values)) if values else None
            found = Inspected(ir.StringAttr(kind).value, names, ir.IntegerAttr(axis).value, form)
            if found.kind in _KINDS and names and (found.kind in _WITH_FORM) == bool(values):
                return found
        except (IndexError, TypeError, ValueError):
            pass
        kinds = ", ".join(f'"{kind}"' for kind in _KINDS)
        wanted = f"list one of {kinds}, an axis, and names of arrays"
        raise UnsupportedIR(f"'tad.inspected' must {wanted}, got {said}", value.location)

    def pattern(self, number: int, key: str = "arg_attrs") -> Pattern | None:
        """Where the elements of a sparse argument or result stand."""
        said = self.said("tad.pattern", number, key)
        if said is None:
            return None
        try:
            shape, *arrays = list[Any](ir.ArrayAttr(said))
            names, found = tuple(ir.StringAttr(name).value for name in arrays), self._map(shape)
            if names and found is not None:
                return Pattern(names, found)
        except ValueError:
            pass
        wanted = "list a map of the sizes and names of arrays"
        raise UnsupportedIR(f"'tad.pattern' must {wanted}, got {said}", self.function.location)

    def excluded(self) -> tuple[Domain, ...]:
        """The sets of sizes that calls are refused for."""
        if "tad.excluded" not in self.function.attributes:
            return ()
        try:
            listed: Any = ir.ArrayAttr(self.function.attributes["tad.excluded"])
            found = [parse(str(attribute)) for attribute in listed]
        except ValueError:
            found = []
        if not found or any((s.dims, s.symbols) != (0, len(self.sizes)) for s in found):
            raise UnsupportedIR("'tad.excluded' must list sets over the sizes", self.function.location)
        return tuple(tuple(row.substitute(self.sizes) for row in s.rows) for s in found)
