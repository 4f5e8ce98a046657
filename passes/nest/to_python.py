"""A nest as Python that `passes/nest/interpret.py` runs: a function `kernel` without arguments."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NoReturn

import numpy as np

from tadc.frontend.functions import REDUCTIONS
from tadc.frontend.terms import Domain
from tadc.lattice.affine import Affine
from tadc.lattice.loop_nests import loop_nest
from tadc.passes.maps.map import (
    Apply,
    Ask,
    Block,
    Choice,
    Fold,
    IndexNumber,
    Let,
    Load,
    Number,
    Tensor,
    Value,
)
from tadc.passes.nest import scalars
from tadc.passes.nest.nest import (
    At,
    Body,
    Bound,
    Compute,
    Either,
    Extreme,
    For,
    If,
    Know,
    Nest,
    Stage,
    Statement,
    Store,
)


class Fault(Exception):
    """What a nest may not do: at an element of a tensor, by a `Let` or a `Store`."""

    def __init__(self, message: str, tensor: str, node: object) -> None:
        super().__init__(message)
        self.message, self.tensor, self.node = message, tensor, node


class TooLong(Exception):
    """A nest that reads or writes a tensor more often than asked for."""


class Source:
    """A nest as lines of Python; `given` are the objects that these name."""

    def __init__(self, values: Mapping[str, int]) -> None:
        self.values = dict(values)
        self.sizes = {name: Affine.const(value) for name, value in values.items()}
        self.lines: list[str] = []
        self.depth = 0
        #: The lanes of the loop around, if there is one.
        self.width: int | None = None
        self.names: dict[str, str] = {}
        self.given: dict[str, Any] = {}
        self.nodes: list[tuple[str, object]] = []
        self.fresh = itertools.count()

    # -- names and forms -----------------------------------------------------------------------

    def called(self, name: str) -> str:
        """A tensor, an index or a value in Python."""
        if name not in self.names:
            letters = "".join(c if c.isalnum() else "_" for c in name)
            self.names[name] = f"x{len(self.names)}_{letters}"
        return self.names[name]

    def give(self, value: Any) -> str:
        """A name for an object."""
        name = f"g{next(self.fresh)}"
        self.given[name] = value
        return name

    def put(self, line: str) -> None:
        """One line."""
        self.lines.append("    " * self.depth + line)

    def open(self, line: str) -> None:
        """A line and what is in it, which is not nothing."""
        self.put(line)
        self.depth += 1
        self.put("pass")

    def form(self, form: Affine) -> str:
        """A form."""
        form = form.substitute(self.sizes)
        terms = [str(form.constant)]
        for atom, k in form.terms:
            if isinstance(atom, str):
                terms.append(f"{k}*{self.called(atom)}")
            else:
                terms.append(f"{k}*({self.form(atom.numerator)} // {atom.denominator})")
        return f"({' + '.join(terms)})"

    def holds(self, rows: Domain) -> str:
        """Whether all rows hold."""
        tests = [f"{self.form(row.form)} {'==' if row.equality else '>='} 0" for row in rows]
        return " and ".join(tests) or "True"

    def bound(self, bound: Bound) -> str:
        """A bound."""
        match bound:
            case Extreme(which=which, forms=forms):
                return f"{which}([{', '.join(map(self.form, forms))}])"
            case Either(rows=rows, then=then, otherwise=otherwise):
                return f"({self.form(then)} if {self.holds(rows)} else {self.form(otherwise)})"
            case form:
                return self.form(form)

    # -- tensors -------------------------------------------------------------------------------

    def nest(self, nest: Nest) -> None:
        """A function `kernel` without arguments."""
        self.open("def kernel():")
        for tensor in nest.tensors:
            self.tensor(tensor, True)
        self.body(nest.body)

    def tensor(self, tensor: Tensor, recorded: bool) -> None:
        """The functions that access a tensor: `x_load(i, j, node)`, `x_store(i, j, value, node)`."""
        own, rank = self.called(tensor.name), len(tensor.shape)
        if not recorded:
            extents = "*".join(["1", *map(self.form, tensor.shape)])
            self.put(f"{own}_data = [None] * {extents}")
        at = [f"i{n}" for n in range(rank)]
        for n, extent in enumerate(tensor.shape):
            self.put(f"{own}_n{n} = {self.form(extent)}")
        inside = " and ".join(f"0 <= i{n} < {own}_n{n}" for n in range(rank)) or "True"
        number = "0"
        for n in range(rank):
            number = f"({number})*{own}_n{n} + i{n}" if n else "i0"
        shape = f"({''.join(f'{own}_n{n}, ' for n in range(rank))})"
        place = f"({''.join(f'{i}, ' for i in at)})"

        def access(kind: str, more: Sequence[str]) -> None:
            self.open(f"def {own}_{kind}({', '.join([*at, *more, 'node'])}):")
            self.put(f"if not ({inside}): fault(node, {place}, {shape})")
            self.put(f"n = {number}")

        def record(kind: str) -> None:
            if recorded:
                self.put(f"{own}_{kind}.append(n)")
                self.put(f"if len({own}_{kind}) > most: raise TooLong()")

        for kind in ("load", "old"):
            access(kind, ())
            self.put(f"v = {own}_data[n]")
            self.put(f"if v is None: fault(node, {place}, None)")
            if kind == "load":
                record("reads")
            self.put("return v")
            self.depth -= 1
        access("store", ["v"])
        self.put(f"{own}_data[n] = v")
        record("writes")
        self.depth -= 1

    def fault(self, node: int, at: tuple[int, ...] | None, shape: tuple[int, ...] | None) -> NoReturn:
        """What is wrong with an access, or with what is known."""
        tensor, what = self.nodes[node]
        if at is None:
            raise Fault("what is said to be known does not hold", tensor, what)
        place = f"`{tensor}[{', '.join(map(str, at))}]`"
        if shape is None:
            raise Fault(f"{place} is read, but nothing wrote it", tensor, what)
        raise Fault(f"{place} is outside of its shape {list(shape)}", tensor, what)

    def access(self, kind: str, tensor: str, at: Iterable[Affine], node: object, *more: str) -> str:
        """A call of a function that accesses a tensor."""
        self.nodes.append((tensor, node))
        arguments = [*map(self.form, at), *more, str(len(self.nodes) - 1)]
        return f"{self.called(tensor)}_{kind}({', '.join(arguments)})"

    # -- statements ----------------------------------------------------------------------------

    def body(self, body: Body) -> None:
        """Statements in order."""
        for statement in body:
            self.statement(statement)

    def inside(self, head: str, body: Body) -> None:
        """Statements below a line."""
        self.open(head)
        self.body(body)
        self.depth -= 1

    def statement(self, statement: Statement) -> None:
        """One statement."""
        match statement:
            case For(index=index, start=start, stop=stop, step=step, body=body):
                steps = f"range({self.bound(start)}, {self.bound(stop)}, {step})"
                outer = self.width
                if statement.kind == "lane" and isinstance(start, Affine) and isinstance(stop, Affine):
                    self.width = (stop - start).constant
                self.inside(f"for {self.called(index)} in {steps}:", body)
                self.width = outer
            case If(rows=rows, then=then, otherwise=otherwise):
                self.inside(f"if {self.holds(rows)}:", then)
                self.inside("else:", otherwise)
            case Know(rows=rows):
                self.nodes.append(("", statement))
                self.put(f"if not ({self.holds(rows)}): fault({len(self.nodes) - 1}, None, None)")
            case At(index=index, value=value):
                self.put(f"{self.called(index)} = {self.bound(value)}")
            case Stage(tensor=tensor):
                self.tensor(tensor, False)
            case Compute(within=rows) if rows:
                self.inside(f"if {self.holds(rows)}:", (replace(statement, within=()),))
            case Compute(block=block, stores=stores):
                self.block(block)
                for store in stores:
                    self.store(store)

    def store(self, store: Store) -> None:
        """A store, joined with the element where that is asked for."""
        value = self.called(store.value)
        if store.joins:
            join = self.give(scalars.JOINS[store.joins])
            joined = f"{join}({self.access('old', store.tensor, store.at, store)}, {value})"
            value = f"({value} if {self.holds(store.fresh)} else {joined})" if store.fresh else joined
        self.put(self.access("store", store.tensor, store.at, store, value))

    # -- values --------------------------------------------------------------------------------

    def block(self, block: Block) -> None:
        """Values in order."""
        for let in block.lets:
            self.let(let)

    def let(self, let: Let) -> None:
        """A value under its names."""
        match let.value:
            case Choice(rows=rows, then=then, otherwise=otherwise):
                for head, block in ((f"if {self.holds(rows)}:", then), ("else:", otherwise)):
                    self.open(head)
                    self.block(block)
                    for name, given in zip(let.names, block.gives, strict=True):
                        self.put(f"{self.called(name)} = {self.called(given)}")
                    self.depth -= 1
            case Fold() as fold:
                results = _Folds(self, fold).all_of(fold.kind)
                for name, result in zip(let.names, results, strict=True):
                    self.put(f"{self.called(name)} = {result}")
            case Ask():
                pass
            case value:
                (name,) = let.names
                self.put(f"{self.called(name)} = {self.plain(value, let)}")

    def plain(self, value: Value, let: Let) -> str:
        """A value without blocks, of a `Let`."""
        match value:
            case Number(value=number, type=type):
                return self.give(scalars.DTYPES[type](number))
            case IndexNumber(form=form, type=type):
                return f"{self.give(scalars.DTYPES[type])}({self.form(form)})"
            case Load(tensor=tensor, at=at):
                return self.access("load", tensor, at, let)
            case Apply(function="convert", operands=(operand,), type=type):
                return f"{self.give(scalars.DTYPES[type])}({self.called(operand)})"
            case Apply(function="powi", operands=(operand,), exponent=exponent):
                return f"{self.give(scalars.integer_power)}({self.called(operand)}, {exponent})"
            case Apply(function=function, operands=operands):
                if function not in scalars.FUNCTIONS:
                    raise ValueError(f"no function `{function}`")
                return f"{self.give(scalars.FUNCTIONS[function])}({', '.join(map(self.called, operands))})"
            case _:
                raise AssertionError("has blocks")


@dataclass
class _Folds:
    """The loops of a fold, which are put as often as it takes passes over its elements."""

    source: Source
    fold: Fold
    count: int = field(init=False)

    def __post_init__(self) -> None:
        takes = self.fold.takes
        self.count = takes.parts * (takes.lanes if takes.leap == 1 else 1) * takes.together

    def all_of(self, kind: str) -> list[str]:
        """What the fold gives, in Python."""
        if kind != "logsumexp":
            return self.one_pass(kind, REDUCTIONS[kind].nothing, ["{}"] * len(self.fold.body.gives))
        put, number = self.source.put, scalars.DTYPES[self.fold.type]
        exp, log, finite = map(self.source.give, (np.exp, np.log, np.isfinite))
        most = self.one_pass("max", REDUCTIONS["max"].nothing, ["{}"] * len(self.fold.body.gives))
        shifts = [f"({m} if {finite}({m}) else {self.source.give(number(0))})" for m in most]
        names = [f"s{next(self.source.fresh)}" for _ in most]
        for name, shift in zip(names, shifts, strict=True):
            put(f"{name} = {shift}")
        totals = self.one_pass("sum", 0.0, [f"{exp}({{}} - {name})" for name in names])
        return [f"({log}({total}) + {name})" for total, name in zip(totals, names, strict=True)]

    def one_pass(self, kind: str, nothing: float, elements: Sequence[str]) -> list[str]:
        """What joining the elements leaves, in Python."""
        source, fold = self.source, self.fold
        join, start = source.give(scalars.JOINS[kind]), source.give(scalars.DTYPES[fold.type](nothing))
        results = [f"r{next(source.fresh)}" for _ in elements]
        for result in results:
            source.put(f"{result} = [{start}] * {self.count}")
        depth = source.depth
        slot = self.loops()
        source.block(fold.body)
        for result, element, given in zip(results, elements, fold.body.gives, strict=True):
            value = element.format(source.called(given))
            source.put(f"{result}[{slot}] = {join}({result}[{slot}], {value})")
        source.depth = depth
        lanes, joined = fold.takes.lanes, source.give(scalars.lanes_joined)
        if fold.takes.threads:
            joined = source.give(scalars.threads_joined)
            return [f"{joined}({result}, {fold.takes.warp}, {join})" for result in results]
        if fold.takes.leap > 1:
            joined = source.give(scalars.parts_joined)
            return [f"{joined}({result}, {join})" for result in results]
        return [f"{joined}({result}, {lanes}, {join})" for result in results]

    def loops(self) -> str:
        """The loops over the indices; the result that an element goes to."""
        source, fold, takes = self.source, self.fold, self.fold.takes
        rows = tuple(row.substitute(source.sizes) for row in fold.rows)
        nest = loop_nest(fold.indices, rows, ())
        source.open(f"if {source.holds(nest.outside)}:")
        slot = "0"
        for number, level in enumerate(nest.levels):
            first = f"max([{', '.join(source.form(bound.ceil()) for bound in level.lower)}])"
            last = f"min([{', '.join(source.form(bound.floor()) for bound in level.upper)}])"
            index = source.called(level.name)
            if number < len(nest.levels) - 1 or takes.leap == 1:
                begin = f"b{next(source.fresh)}"
                source.put(f"{begin} = {first}")
                source.open(f"for {index} in range({begin}, {last} + 1):")
                if takes.threads:
                    place = f"({index} - {begin}) % {takes.threads[number]}"
                    slot = f"({slot})*{takes.threads[number]} + {place}" if number else place
                else:
                    slot = f"({index} - {begin}) % {self.count}" if self.count > 1 else "0"
            else:
                width = source.width or takes.lanes
                steps = f"{source.give(scalars.leaping)}({first}, {last}, {width}, {takes.leap})"
                lane = f"l{next(source.fresh)}"
                source.open(f"for {index}, {lane} in {steps}:")
                slot = f"{lane} % {takes.parts}"
        if nest.inside:
            source.open(f"if {source.holds(nest.inside)}:")
        return slot
