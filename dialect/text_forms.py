"""How each op of `tad` is written: a pattern that reader and writer of the readable form both follow."""

from __future__ import annotations

import re
from typing import Any

from tadc.dialect.index_maps import attribute_text
from tadc.dialect.text_indices import Space
from tadc.dialect.text_tokens import TextPiece, TextToken
from tadc.lattice.late_dataclasses import dataclass, field

#: What follows the name of an op; words in braces are fields, which a reader and a writer have a method for.
FORMS = {
    "tad.map": "{binders}{box}{attributes} -> {results} {region}",
    "tad.scan": "{own} {binders} by {order}{box}{attributes} -> {results} {region}",
    "tad.sum": "{binders} {domain}{attributes} -> {results} {region}",
    "tad.reduce": "{kind} {binders} {domain}{attributes} -> {results} {region}",
    "tad.guard": "{where}{attributes} -> {results} {region} else {region}",
    "tad.read": "{tensor}{subscripts}{attributes} : {tensor type}",
    "tad.lookup": "{tensor}{subscripts}{attributes} : {tensor type}",
    "tad.index": "{position}{attributes}{index type}",
    "tad.value_of": "{index}{attributes} : {results}",
    "tad.apply": "{fn}{arguments}{attributes} : {results}",
    "tad.vjp": "{callee}{attributes} : {function type}",
    "tad.jvp": "{callee}{attributes} : {function type}",
    "tad.yield": "{values}{attributes} : {results}",
}

#: Texts and fields of each form in turn: a text is at an even place.
PIECES = {name: re.split(r"\{([\w ]+)\}", form) for name, form in FORMS.items()}


@dataclass
class Op:
    """An op, read from either form.

    `binders` are the names of the indices of its region, and `own` that of its tensor there, each with the
    location that is written behind it; `tensor_type` is the type of its first operand where that is a tensor.
    `results` are types, of what is yielded where it has none.
    """

    name: str
    token: TextToken
    result: str = ""
    operands: list[TextToken] = field(default_factory=list[TextToken])
    attributes: list[TextPiece] = field(default_factory=list[TextPiece])
    said: dict[str, Any] = field(default_factory=dict[str, Any])
    binders: list[tuple[TextToken, str]] = field(default_factory=list[tuple[TextToken, str]])
    own: tuple[TextToken, str] | None = None
    lookups: list[Op] = field(default_factory=list["Op"])
    space: Space = field(default_factory=Space)
    is_box: bool = False
    tensor_type: str = ""
    results: list[str] = field(default_factory=list[str])
    place: str = ""

    @property
    def regions(self) -> int:
        """How many regions it has."""
        return PIECES[self.name].count("region")

    @property
    def bound(self) -> list[str]:
        """The names of the dimensions of its set: of its indices, and of what it looks up."""
        return [*(token.text for token, _ in self.binders), *(f"%{made.result}" for made in self.lookups)]

    def give(self, key: str, value: str, token: TextToken) -> None:
        """Set an attribute, said at a token."""
        self.attributes.append(TextPiece(f"{key} = {value}", token.start))

    def types(self) -> tuple[list[str], list[str]]:
        """The types of its operands and of its results, which follow from those that its form says."""
        count, results = len(self.operands), self.results
        match self.name:
            case "tad.read":
                return [self.tensor_type, *["index"] * (count - 1)], [element_type(self.tensor_type)]
            case "tad.lookup":
                return [self.tensor_type, *["index"] * (count - 1)], ["index"]
            case "tad.index":
                return ["index"] * count, ["index"]
            case "tad.yield":
                return results, []
            case "tad.apply":
                return results * count, results
            case _:
                return ["index"] * count, results


def element_type(type: str) -> str:
    """The element type of a plain tensor type, else nothing."""
    match = re.fullmatch(r"tensor<(?:[\d?]+x)*([a-z]\w*)>", type.replace(" ", ""))
    return match.group(1) if match else ""


def box_attribute(type: str, rank: int) -> str:
    """The index domain of a tensor type; of any `rank` where the type has no static shape."""
    match = re.fullmatch(r"tensor<((?:\d+x)*)\w+>", type)
    sizes = [int(size) for size in match.group(1).split("x")[:-1]] if match else []
    rows = [f"d{i} >= 0, -d{i} + {size - 1} >= 0" for i, size in enumerate(sizes)]
    return attribute_text("set", rows, len(sizes) if match else rank)
