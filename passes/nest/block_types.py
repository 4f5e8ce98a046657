"""Whether values of a computation are named before their use and once, and have the types that they need."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping

from tadc.frontend.dtypes import FLOATS
from tadc.frontend.functions import APPLIED, REDUCTIONS
from tadc.frontend.suggest import nearest_help
from tadc.lattice.late_dataclasses import dataclass, field
from tadc.passes.maps.map import Applied, Ask, Block, Choice, Fold, Let, Load, TensorDecl, Type
from tadc.passes.nest.mistake import Mistake
from tadc.passes.nest.nest import Compute
from tadc.passes.nest.scalars import FUNCTIONS
from tadc.passes.nest.usual_types import CONVERT, is_relation, usual_type

FUNCTION_HELP = "take one that formulas have, as `exp`, or `convert`, `choose`"

Types = Generator[Mistake, None, dict[str, Type]]
"""Mistakes on the way to the types of all values that stand somewhere."""


def type_mistakes(compute: Compute, tensors: Mapping[str, TensorDecl]) -> Iterator[Mistake]:
    """The mistakes in the names and types of a computation among these tensors."""
    walk = _TypeWalk(tensors)
    types = yield from walk.block(compute.block, {}, None)
    for store in compute.stores:
        if store.value not in types:
            yield Mistake(store, f"`{store.value}` is no value that stands above", "store one that does")
        elif store.tensor in tensors and tensors[store.tensor].type != types[store.value]:
            label = f"`{store.value}` is {types[store.value]}, `{store.tensor}` {tensors[store.tensor].type}"
            yield Mistake(store, label, "use `convert`")


@dataclass
class _TypeWalk:
    """The names of a computation so far, each of which stands once."""

    tensors: Mapping[str, TensorDecl]
    names: set[str] = field(default_factory=set[str])

    def block(self, block: Block, above: Mapping[str, Type], node: object) -> Types:
        """The types of all values that stand in a block or above it; the outermost block only stores."""
        types = dict(above)
        for let in block.lets:
            for name in let.names:
                if name in self.names:
                    yield Mistake(let, f"a second value `{name}`", "give it another name")
                self.names.add(name)
            yield from self.value(let, types)
            types.update(dict.fromkeys(let.names, "" if isinstance(let.value, Ask) else let.value.type))
        for name in block.gives if node is not None else ():
            if name not in types:
                yield Mistake(node, f"`{name}` is no value that stands above", "give one that does")
        return types

    def value(self, let: Let, types: Mapping[str, Type]) -> Iterator[Mistake]:
        """The mistakes of a value by itself."""
        value, count = let.value, 1
        match value:
            case Ask():
                count = 0
            case Applied():
                yield from self.apply(let, value, types)
            case Load(tensor=name, type=type):
                if name in self.tensors and self.tensors[name].type != type:
                    yield Mistake(let, f"`{name}` has elements of {self.tensors[name].type}", "use `convert`")
            case Choice(then=then, otherwise=otherwise, type=type):
                for block in (then, otherwise):
                    inside = yield from self.block(block, types, let)
                    yield from self.given(let, block, inside, 1)
            case Fold(body=body, first=first, type=type):
                count = len(body.gives)
                is_plain = not (value.is_in_lockstep or not REDUCTIONS[value.kind].in_loops)
                if first and not (is_plain and [types.get(name) for name in first] == [type] * count):
                    label = f"it goes on from other than {count} values of type {type}, or in lockstep"
                    yield Mistake(let, label, "write `from` and a value above for each result of a plain one")
                if value.when and types.get(value.when) != "i1":
                    yield Mistake(let, f"`{value.when}` is no condition", "compare two values above")
                inside = yield from self.block(body, types, let)
                yield from self.given(let, body, inside, max(len(let.names), 1))
            case _:
                pass
        if len(let.names) != count:
            yield Mistake(let, f"{len(let.names)} names for {count} values", "name each once")

    def given(self, let: Let, block: Block, types: Mapping[str, Type], count: int) -> Iterator[Mistake]:
        """A block gives values of the type of what holds it."""
        assert not isinstance(let.value, Ask)
        if len(block.gives) != count:
            label = f"a block gives {len(block.gives)} values for {count}"
            yield Mistake(let, label, "give one for each name")
        for name in block.gives:
            if types.get(name, let.value.type) != let.value.type:
                yield Mistake(let, f"`{name}` is {types[name]}, not {let.value.type}", "use `convert`")

    def apply(self, let: Let, value: Applied, types: Mapping[str, Type]) -> Iterator[Mistake]:
        """The operands of a function."""
        function, operands = value.function, value.operands
        for name in operands:
            if name not in types:
                yield Mistake(let, f"`{name}` is no value that stands above", "a value stands before its use")
                return
        arity = _arity(function)
        if arity is None and function not in FUNCTIONS:
            help = nearest_help(function, FUNCTIONS, FUNCTION_HELP)
            yield Mistake(let, f"no function `{function}`", help)
            return
        if arity is not None and len(operands) != arity:
            yield Mistake(let, f"`{function}` takes {arity} operands, not {len(operands)}", "write as many")
            return
        found = [types[name] for name in operands]
        if function == CONVERT:
            if value.type not in FLOATS or found[0] not in FLOATS:
                yield Mistake(let, "only numbers are converted", "choose numbers by the condition")
            return
        if function == "choose" and found[0] != "i1":
            yield Mistake(let, f"`{operands[0]}` is no condition", "compare two values")
        numbers = found[1:] if function == "choose" else found
        if len(set(numbers)) > 1:
            yield Mistake(let, f"operands of types {' and '.join(sorted(set(numbers)))}", "use `convert`")
        elif (usual := usual_type(value, types, self.tensors, "")) != value.type:
            yield Mistake(let, f"a value of type {usual}, not {value.type}", "use `convert`")


def _arity(function: str) -> int | None:
    """The number of operands of a function, if it is known."""
    if function in APPLIED:
        return APPLIED[function].arity
    if is_relation(function):
        return 2
    return {CONVERT: 1, "powi": 1, "choose": 3}.get(function)
