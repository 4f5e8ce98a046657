"""A nest as Python that `passes/nest/interpret.py` runs: a function `kernel` without arguments."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn

from tadc.frontend.functions import REDUCTIONS
from tadc.frontend.terms import Domain
from tadc.lattice.affine import Affine, Floor, Lookup
from tadc.lattice.late_dataclasses import dataclass
from tadc.lattice.loop_nests import loop_nest
from tadc.passes.maps.map import (
    Applied,
    Block,
    Choice,
    Constant,
    Fold,
    IndexNumber,
    Let,
    Load,
    TensorDecl,
    Value,
)
from tadc.passes.nest import scalars
from tadc.passes.nest.exponentials import without_exponentials
from tadc.passes.nest.nest import (
    At,
    Body,
    Bound,
    Call,
    Compute,
    Either,
    Extreme,
    For,
    If,
    Know,
    Nest,
    Stage,
    Store,
)


class NestFault(Exception):
    """A mistake that shows when a nest runs: at an element of a tensor, by a `Let` or a `Store`."""

    def __init__(self, message: str, tensor: str, node: object) -> None:
        super().__init__(message)
        self.message, self.tensor, self.node = message, tensor, node


class Unwritten(NestFault):
    """A read of an element that nothing wrote."""


class TooManyAccesses(Exception):
    """A nest that reads or writes a tensor more often than asked for."""


class PythonSource:
    """A nest as lines of Python; `given` are the objects that these name."""

    def __init__(self, values: Mapping[str, int], nests: Mapping[str, Nest]) -> None:
        self.values, self.nests = dict(values), nests
        self.sizes = {name: Affine.const(value) for name, value in values.items()}
        self.lines: list[str] = []
        self.depth = 0
        self.names: dict[str, str] = {}
        self.given: dict[str, Any] = {}
        self.nodes: list[tuple[str, object]] = []
        self.fresh = itertools.count()
        self.shapes: dict[str, tuple[Affine, ...]] = {}
        self.recorded: set[str] = set()

    # -- names and forms -----------------------------------------------------------------------

    def called(self, name: str) -> str:
        """A tensor, an index or a value in Python."""
        if name not in self.names:
            letters = "".join(c if c.isalnum() else "_" for c in name)
            self.names[name] = f"x{next(self.fresh)}_{letters}"
        return self.names[name]

    def give(self, value: Any) -> str:
        """A name for an object."""
        name = f"g{next(self.fresh)}"
        self.given[name] = value
        return name

    def put(self, line: str) -> None:
        """One line."""
        self.lines.append("    " * self.depth + line)

    def open(self, head: str) -> None:
        """A line, inside of which those that follow are, which are not none."""
        self.put(head)
        self.depth += 1
        self.put("pass")

    @contextmanager
    def block(self, head: str) -> Generator[None]:
        """A line and those inside of it."""
        self.open(head)
        yield
        self.depth -= 1

    def form(self, form: Affine) -> str:
        """A form."""
        form = form.substitute(self.sizes)
        terms = [str(form.constant)]
        for atom, k in form.terms:
            match atom:
                case Floor():
                    terms.append(f"{k}*({self.form(atom.numerator)} // {atom.denominator})")
                case Lookup():
                    terms.append(f"{k}*{self.access('load', atom.array, atom.at, None)}")
                case _:
                    terms.append(f"{k}*{self.called(atom)}")
        return f"({' + '.join(terms)})"

    def holds(self, rows: Domain) -> str:
        """Whether all rows hold; those are tested first that have the least elements of index arrays, where
        others may be out of range."""
        ordered = sorted(rows, key=lambda row: sum(1 for _ in row.form.lookups()))
        tests = [f"{self.form(row.form)} {'==' if row.equality else '>='} 0" for row in ordered]
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
        with self.block("def kernel():"):
            for tensor in nest.tensors:
                self.tensor(tensor, True)
            self.body(nest.body)

    def tensor(self, tensor: TensorDecl, recorded: bool, seen: str = "") -> None:
        """The functions that access a tensor: `x_load(i, j, node)`, `x_store(i, j, value, node)`; one that is
        `seen` in another shape has the elements of that one."""
        own, dimensions = self.called(tensor.name), range(len(tensor.shape))
        self.shapes[own] = tuple(extent.substitute(self.sizes) for extent in tensor.shape)
        if seen:
            for kind in ("data", *(("reads", "writes") if recorded else ())):
                self.put(f"{own}_{kind} = {seen}_{kind}")
        elif not recorded:
            data = list(tensor.elements) or f"[None] * {'*'.join(['1', *map(self.form, tensor.shape)])}"
            self.put(f"{own}_data = {data}")
        self.recorded |= {own} if recorded else set()
        for n, extent in enumerate(tensor.shape):
            self.put(f"{own}_n{n} = {self.form(extent)}")
        at, shape = ("".join(f"{name}{n}, " for n in dimensions) for name in ("i", f"{own}_n"))
        inside = " and ".join(f"0 <= i{n} < {own}_n{n}" for n in dimensions) or "True"
        number = "i0" if dimensions else "0"
        for n in dimensions[1:]:
            number = f"({number})*{own}_n{n} + i{n}"
        found = [f"v = {own}_data[n]", f"if v is None: fault(node, ({at}), None)"]
        reads, writes = (
            [f"{own}_{kind}.append(n)", f"if len({own}_{kind}) > most: raise TooLong()"] if recorded else []
            for kind in ("reads", "writes")
        )
        for kind, lines in (
            (f"load({at}node)", [*found, *reads, "return v"]),
            (f"old({at}node)", [*found, "return v"]),
            (f"store({at}v, node)", [f"{own}_data[n] = v", *writes]),
        ):
            with self.block(f"def {own}_{kind}:"):
                self.put(f"if not ({inside}): fault(node, ({at}), ({shape}))")
                self.put(f"n = {number}")
                for line in lines:
                    self.put(line)

    def fault(self, node: int, at: tuple[int, ...] | None, shape: tuple[int, ...] | None) -> NoReturn:
        """Raise what is wrong with an access, or with what is known."""
        tensor, what = self.nodes[node]
        if at is None:
            raise NestFault("what is said to be known does not hold", tensor, what)
        place = f"`{tensor}[{', '.join(map(str, at))}]`"
        if shape is None:
            raise Unwritten(f"{place} is read, but nothing wrote it", tensor, what)
        raise NestFault(f"{place} is outside of its shape {list(shape)}", tensor, what)

    def access(self, kind: str, tensor: str, at: Iterable[Affine], node: object, *more: str) -> str:
        """A call of a function that accesses a tensor."""
        number = len(self.nodes)
        self.nodes.append((tensor, node))
        arguments = [*map(self.form, at), *more, str(number)]
        return f"{self.called(tensor)}_{kind}({', '.join(arguments)})"

    # -- statements ----------------------------------------------------------------------------

    def body(self, body: Body) -> None:
        """Statements in order."""
        for statement in body:
            match statement:
                case For():
                    self.loop(statement)
                case If(rows=rows, then=then, otherwise=otherwise):
                    with self.block(f"if {self.holds(rows)}:"):
                        self.body(then)
                    with self.block("else:"):
                        self.body(otherwise)
                case Know(rows=rows):
                    self.nodes.append(("", statement))
                    self.put(f"if not ({self.holds(rows)}): fault({len(self.nodes) - 1}, None, None)")
                case At(index=index, value=value):
                    self.put(f"{self.called(index)} = {self.bound(value)}")
                case Stage(tensor=tensor):
                    self.tensor(tensor, False)
                case Compute(block=block, stores=stores, within=rows):
                    with self.block(f"if {self.holds(rows)}:"):
                        self.values_of(block)
                        for store in stores:
                            self.store(store)
                case Call():
                    self.call(statement)

    def call(self, call: Call) -> None:
        """The statements of another nest, whose names mean what stands in their place."""
        nest, outer = self.nests[call.nest], (self.names, self.sizes)
        values = [self.form(form) for form in call.ranges]
        given = call.sizes or tuple(map(Affine.var, nest.sizes))
        sizes = dict(zip(nest.sizes, (form.substitute(self.sizes) for form in given), strict=True))
        tensors = map(self.called, call.tensors)
        names = dict(zip((tensor.name for tensor in nest.tensors), tensors, strict=True))
        self.names, self.sizes = names, sizes
        for tensor in nest.tensors:
            given = names[tensor.name]
            if tuple(extent.substitute(sizes) for extent in tensor.shape) != self.shapes[given]:
                del names[tensor.name]
                self.tensor(tensor, given in self.recorded, given)
        self.assign(list(map(self.called, nest.ranges)), values)
        self.body((Know(nest.known), *nest.body))
        self.names, self.sizes = outer

    def loop(self, loop: For) -> None:
        """A loop."""
        steps = f"range({self.bound(loop.start)}, {self.bound(loop.stop)}, {loop.step})"
        with self.block(f"for {self.called(loop.index)} in {steps}:"):
            self.body(loop.body)

    def store(self, store: Store) -> None:
        """A store, joined with the element where that is asked for."""
        value = self.called(store.value)
        if store.joins:
            join = self.give(scalars.JOINS[store.joins])
            joined = f"{join}({self.access('old', store.tensor, store.at, store)}, {value})"
            value = f"({value} if {self.holds(store.fresh)} else {joined})" if store.fresh else joined
        self.put(self.access("store", store.tensor, store.at, store, value))

    # -- values --------------------------------------------------------------------------------

    def values_of(self, block: Block) -> None:
        """Values in order."""
        for let in without_exponentials(block).lets:
            names = [self.called(name) for name in let.names]
            match let.value:
                case Choice(rows=rows, then=then, otherwise=otherwise):
                    for head, branch in ((f"if {self.holds(rows)}:", then), ("else:", otherwise)):
                        with self.block(head):
                            self.values_of(branch)
                            self.assign(names, map(self.called, branch.gives))
                case Fold() as fold:
                    self.assign(names, _Folds(self, fold).results())
                case value:
                    self.assign(names, [self.plain(value, let) for _ in names])

    def assign(self, names: Sequence[str], values: Iterable[str]) -> None:
        """Give names their values."""
        for name, value in zip(names, values, strict=True):
            self.put(f"{name} = {value}")

    def plain(self, value: Value, let: Let) -> str:
        """A value without blocks, of a `Let`."""
        match value:
            case Constant(value=number, type=type):
                return self.give(scalars.number_of(type)(number))
            case IndexNumber(form=form, type=type):
                return f"{self.give(scalars.number_of(type))}({self.form(form)})"
            case Load(tensor=tensor, at=at):
                return self.access("load", tensor, at, let)
            case Applied(function="convert", operands=(operand,), type=type):
                return f"{self.give(scalars.number_of(type))}({self.called(operand)})"
            case Applied(function="powi", operands=(operand,), exponent=exponent):
                return f"{self.give(scalars.integer_power)}({self.called(operand)}, {exponent})"
            case Applied(function=function, operands=operands):
                if function not in scalars.FUNCTIONS:
                    raise ValueError(f"no function `{function}`")
                return f"{self.give(scalars.FUNCTIONS[function])}({', '.join(map(self.called, operands))})"
            case _:
                raise AssertionError("has blocks")


@dataclass
class _Folds:
    """The loops of a fold."""

    source: PythonSource
    fold: Fold

    def results(self) -> list[str]:
        """The results of joining the elements, in Python."""
        source, fold = self.source, self.fold
        nothing = scalars.number_of(fold.type)(REDUCTIONS[fold.kind].nothing)
        join, start = source.give(scalars.JOINS[fold.kind]), source.give(nothing)
        results = [f"r{next(source.fresh)}" for _ in fold.body.gives]
        if fold.is_in_lockstep:
            return self.in_lockstep(results, join)
        source.assign(results, map(source.called, fold.first) if fold.first else [start] * len(results))

        def fill() -> None:
            source.values_of(fold.body)
            for result, given in zip(results, fold.body.gives, strict=True):
                source.put(f"{result} = {join}({result}, {source.called(given)})")

        self.loops(fold.indices, fold.rows, fold.parts, fill)
        return results

    def in_lockstep(self, results: Sequence[str], join: str) -> list[str]:
        """The results for all points joined: of copies in order, of lanes by halves, of threads by warps."""
        source, fold = self.source, self.fold
        source.assign(results, ["[]"] * len(results))
        depth = source.depth
        for index, count in zip(fold.indices, fold.counts, strict=True):
            source.open(f"for {source.called(index)} in range({count}):")
        source.values_of(fold.body)
        for result, given in zip(results, fold.body.gives, strict=True):
            source.put(f"{result}.append({source.called(given)})")
        source.depth = depth
        joined, by = scalars.lanes_joined, fold.count if fold.loop == "lane" else 1
        if fold.loop == "thread":
            joined, by = scalars.threads_joined, fold.warp
        return [f"{source.give(joined)}({result}, {by}, {join})" for result in results]

    def loops(
        self, indices: tuple[str, ...], rows: Domain, parts: Sequence[Domain], fill: Callable[[], None]
    ) -> None:
        """The loops over indices, those from one on for one part after the other, and what is in them."""
        source, fold, depth = self.source, self.fold, self.source.depth
        nest = loop_nest(indices, tuple(row.substitute(source.sizes) for row in rows), ())
        source.open(f"if {source.holds(nest.outside)}:")
        for number, level in enumerate(nest.levels):
            if parts and level.name == fold.parted:
                for part in parts:
                    self.loops(indices[number:], (*rows, *part), (), fill)
                source.depth = depth
                return
            first = f"max([{', '.join(source.form(bound.ceil()) for bound in level.lower)}])"
            last = f"min([{', '.join(source.form(bound.floor()) for bound in level.upper)}])"
            index = source.called(level.name)
            source.open(f"for {index} in range({first}, {last} + 1):")
        if nest.inside:
            source.open(f"if {source.holds(nest.inside)}:")
        fill()
        source.depth = depth
