"""Modules of WebAssembly from terms, for small arrays in a browser: plain loops, an element after the other.

All sizes have values, so every address is a constant or linear in indices. A module has one function `run`,
which reads arguments from the module's memory and writes every tensor there; what has no instruction is
imported from the host as `math`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from math import prod

from tadc.frontend.dtypes import COMPUTING, DEFAULT
from tadc.frontend.extents import as_form, shape_at
from tadc.frontend.formula_values import OPERANDS, by_squaring, evaluate
from tadc.frontend.functions import APPLIED, REDUCTIONS
from tadc.frontend.naming import first_free
from tadc.frontend.program import Definition, Program
from tadc.frontend.terms import (
    Apply,
    Const,
    Domain,
    Guard,
    IndexValue,
    Read,
    Reduce,
    Select,
    Term,
    integer_exponent,
    join_types,
    tensors_read,
    type_in,
)
from tadc.lattice.affine import Affine, Constraint, Floor, Lookup, box
from tadc.lattice.late_dataclasses import dataclass
from tadc.lattice.loop_nests import LoopNest, loop_nest
from tadc.playground.wasm_code import F32, F64, I32, FunctionCode, module_bytes

#: The most bytes of all tensors together.
MOST = 1 << 26
_TYPES = {"f32": F32, "f64": F64, "i32": I32}
_BYTES = {F32: 4, F64: 8, I32: 4}
_NAMES = {F32: "f32", F64: "f64"}
_INSTRUCTIONS = frozenset("add sub mul div neg abs floor ceil sqrt max min".split())


class NotRun(Exception):
    """Why a program has no kernel here, in words."""


@dataclass(frozen=True)
class Placed:
    """A tensor in the memory of a module."""

    name: str
    type: str
    shape: tuple[int, ...]
    address: int


@dataclass(frozen=True)
class WasmKernel:
    """A module: its code, and where its tensors are."""

    code: bytes
    inputs: tuple[Placed, ...]
    outputs: tuple[Placed, ...]


def wasm_kernel(program: Program) -> WasmKernel:
    """The kernel of a program without size symbols.

    Raises NotRun for element types that WebAssembly lacks and for tensors that are too large.
    """
    assert not program.sizes
    placed: dict[str, Placed] = {}
    end = 16
    for tensor in (*program.arguments, *program.definitions):
        if tensor.type not in _TYPES:
            raise NotRun(f"`{tensor.name}` is of {tensor.type}: kernels in the browser are of f32 and f64")
        if getattr(tensor, "inspected", None) is not None:
            raise NotRun(f"`{tensor.name}` is made of index arrays before a call")
        shape = shape_at(tensor.shape, {})
        placed[tensor.name] = Placed(tensor.name, tensor.type, shape, end)
        end += -(-max(1, prod(shape)) * 8 // 16) * 16
        if end > MOST:
            raise NotRun(f"the tensors take more than {MOST >> 20} MB: choose smaller sizes")
    writer = _ModuleWriter(program, placed)
    return WasmKernel(
        writer.module(end),
        tuple(placed[a.name] for a in program.arguments),
        tuple(placed[d.name] for d in program.outputs),
    )


class _ModuleWriter:
    """Writes the functions of a module: one for each definition, and one that calls them in order."""

    def __init__(self, program: Program, placed: dict[str, Placed]) -> None:
        self.program, self.placed = program, placed
        self.imports: dict[tuple[str, int], int] = {}

    def module(self, memory: int) -> bytes:
        """The module."""
        functions = [_DefinitionWriter(self, d).function() for d in self.program.definitions]
        run = FunctionCode()
        for n in range(len(functions)):
            run.call(len(self.imports) + n)
        return module_bytes(list(self.imports), [*functions, run], "run", memory)

    def imported(self, name: str, arity: int) -> int:
        """The number of a function of the host."""
        return self.imports.setdefault((name, arity), len(self.imports))


class _DefinitionWriter:
    """Writes the loops of one definition.

    `known` are locals with values of terms, by region: what is made in a branch or a loop is known in it.
    """

    def __init__(self, module: _ModuleWriter, definition: Definition) -> None:
        self.module, self.definition = module, definition
        self.out = FunctionCode()
        self.indices: dict[str, int] = {}
        self.known: list[dict[tuple[int, int], int]] = [{}]

    def function(self) -> FunctionCode:
        """The function that computes all elements."""
        definition = self.definition
        place = self.module.placed[definition.name]
        rows = list(box(definition.indices, [as_form(n) for n in definition.shape]))
        names = list(definition.indices)
        if definition.order is not None and definition.name in tensors_read([definition.body]):
            step = first_free("t", {*names})
            rows.append(Constraint(Affine.var(step) - definition.order, equality=True))
            names.insert(0, step)
        type = _TYPES[definition.type]

        def element() -> None:
            self.address(place, definition.own)
            self.value(definition.body, definition.type)
            self.out.store(type, place.address)

        self.loops(loop_nest(names, rows, ()), element)
        return self.out

    # -- regions and loops ---------------------------------------------------------------------

    def inside(self, fill: Callable[[], None]) -> None:
        """A region of its own."""
        self.known.append({})
        fill()
        self.known.pop()

    def loops(self, nest: LoopNest, fill: Callable[[], None], depth: int = 0) -> None:
        """What `fill` writes, at each point."""
        if depth == 0 and nest.outside:
            return self.where(nest.outside, lambda: self.loops(LoopNest((), nest.levels, nest.inside), fill))
        if depth == len(nest.levels):
            return self.where(nest.inside, fill) if nest.inside else self.inside(fill)
        level, out = nest.levels[depth], self.out
        index, last = out.local(I32), out.local(I32)
        self.extreme([bound.ceil() for bound in level.lower], "i32.gt_s")
        out.set(index)
        self.extreme([bound.floor() for bound in level.upper], "i32.lt_s")
        out.set(last)
        before = self.indices.get(level.name)
        self.indices[level.name] = index
        out.open("block")
        out.open("loop")
        out.get(index)
        out.get(last)
        out.put("i32.gt_s")
        out.branch_if(1)
        self.inside(lambda: self.loops(nest, fill, depth + 1))
        out.get(index)
        out.i32(1)
        out.put("i32.add")
        out.set(index)
        out.branch(0)
        out.close()
        out.close()
        if before is None:
            del self.indices[level.name]
        else:
            self.indices[level.name] = before

    def where(self, rows: Domain, fill: Callable[[], None]) -> None:
        """What `fill` writes, where all rows hold."""
        ordered = _tested_first(rows)
        for row in ordered:
            self.test(row)
            self.out.open("if")
        self.inside(fill)
        for _ in ordered:
            self.out.close()

    def extreme(self, forms: Sequence[Affine], relation: str) -> None:
        """Push the greatest or the least of forms."""
        out = self.out
        found = out.local(I32)
        for n, form in enumerate(dict.fromkeys(forms)):
            self.form(form)
            if n:
                other = out.local(I32)
                out.set(other)
                out.get(other)
                out.get(found)
                out.get(other)
                out.get(found)
                out.put(relation, "select")
            out.set(found)
        out.get(found)

    # -- index forms ---------------------------------------------------------------------------

    def form(self, form: Affine) -> None:
        """Push the value of a form."""
        out = self.out
        out.i32(form.constant)
        for atom, k in form.terms:
            match atom:
                case Floor():
                    self.quotient(atom)
                case Lookup():
                    place = self.module.placed[atom.array]
                    self.address(place, atom.at, clamped=True)
                    out.load(I32, place.address)
                case _:
                    out.get(self.indices[atom])
            if k != 1:
                out.i32(k)
                out.put("i32.mul")
            out.put("i32.add")

    def quotient(self, atom: Floor) -> None:
        """Push a quotient, rounded down: that of the numerator less its remainder, which is not negative."""
        out, d = self.out, atom.denominator
        top, rest = out.local(I32), out.local(I32)
        self.form(atom.numerator)
        out.set(top)
        out.get(top)
        out.i32(d)
        out.put("i32.rem_s")
        out.i32(d)
        out.put("i32.add")
        out.i32(d)
        out.put("i32.rem_s")
        out.set(rest)
        out.get(top)
        out.get(rest)
        out.put("i32.sub")
        out.i32(d)
        out.put("i32.div_s")

    def address(self, place: Placed, at: Sequence[Affine], clamped: bool = False) -> None:
        """Push the offset of an element in its tensor.

        Where it is `clamped`, subscripts beyond the tensor count as its last or first element: conditions
        that are tested at once may name such elements, though nothing follows from them.
        """
        out = self.out
        size = _BYTES[_TYPES[place.type]]
        if not clamped:
            flat = Affine.const(0)
            for form, extent in zip(at, place.shape, strict=True):
                flat = flat * extent + form
            return self.form(flat * size)
        out.i32(0)
        for form, extent in zip(at, place.shape, strict=True):
            out.i32(extent)
            out.put("i32.mul")
            self.clamped(form, extent)
            out.put("i32.add")
        out.i32(size)
        out.put("i32.mul")

    def clamped(self, form: Affine, extent: int) -> None:
        """Push a subscript, at least 0 and less than an extent where that is not 0."""
        out = self.out
        found = out.local(I32)
        self.form(form)
        for limit, relation in ((max(0, extent - 1), "i32.lt_s"), (0, "i32.gt_s")):
            out.set(found)
            out.get(found)
            out.i32(limit)
            out.get(found)
            out.i32(limit)
            out.put(relation, "select")

    def test(self, row: Constraint) -> None:
        """Push whether a row holds."""
        self.form(row.form)
        if row.equality:
            self.out.put("i32.eqz")
        else:
            self.out.i32(0)
            self.out.put("i32.ge_s")

    # -- values --------------------------------------------------------------------------------

    def value(self, term: Term, wanted: str) -> None:
        """Push the value of a term, in the type of arithmetic on `wanted`."""
        own, type = _TYPES[type_in(term, wanted)], _TYPES[COMPUTING[wanted]]
        key = term.number, own
        found = next((known[key] for known in reversed(self.known) if key in known), None)
        if found is None:
            self.computed(term, type_in(term, wanted))
            found = self.out.local(own)
            self.out.set(found)
            self.known[-1][key] = found
        self.out.get(found)
        self.convert(own, type)

    def convert(self, given: int, wanted: int) -> None:
        """Convert what is pushed."""
        if given != wanted:
            self.out.put(f"{_NAMES[wanted]}.of {'i32' if given == I32 else _NAMES[given]}")

    def computed(self, term: Term, type: str) -> None:
        """Push the value of a term that is of this type."""
        out, code = self.out, _TYPES[type]
        n = integer_exponent(term)
        match term:
            case Const(value=value):
                out.number(code, float(value))
            case IndexValue(form=form):
                self.form(form)
                self.convert(I32, code)
            case Read(tensor=name, indices=at):
                place = self.module.placed[name]
                self.address(place, at)
                out.load(_TYPES[place.type], place.address)
                self.convert(_TYPES[place.type], code)
            case Apply(operands=below) if n is not None:
                self.value(below[0], type)
                out.get(by_squaring(self.popped(code), n, _Locals(self, code)))
            case Apply(function=function, operands=below):
                operands: list[int] = []
                for operand in below:
                    self.value(operand, type)
                    operands.append(self.popped(code))
                out.get(_Locals(self, code).apply(function, *operands))
            case Select(relation=relation, lhs=lhs, rhs=rhs):
                compared = join_types((lhs.type, rhs.type)) or COMPUTING[DEFAULT]
                self.value(lhs, compared)
                self.value(rhs, compared)
                out.put(f"{compared}.{relation}")
                self.choice(
                    lambda: self.value(term.then, type), lambda: self.value(term.otherwise, type), code
                )
            case Guard(conditions=rows):
                self.guarded(
                    rows, lambda: self.value(term.then, type), lambda: self.value(term.otherwise, type), code
                )
            case Reduce():
                self.reduced(term, type)
            case _:
                raise TypeError(f"no term of the language: {term!r}")

    def popped(self, type: int) -> int:
        """A local with what is pushed."""
        found = self.out.local(type)
        self.out.set(found)
        return found

    def choice(self, then: Callable[[], None], otherwise: Callable[[], None], type: int) -> None:
        """Push what `then` pushes where a condition that is pushed holds."""
        self.out.open("if", type)
        self.inside(then)
        self.out.put("else")
        self.inside(otherwise)
        self.out.close()

    def guarded(
        self, rows: Domain, then: Callable[[], None], otherwise: Callable[[], None], type: int
    ) -> None:
        """Push what `then` pushes where all rows hold; a row is tested where those before hold."""
        found = self.out.local(I32)
        self.out.i32(0)
        self.out.set(found)

        def holds() -> None:
            self.out.i32(1)
            self.out.set(found)

        self.where(rows, holds)
        self.out.get(found)
        self.choice(then, otherwise, type)

    def reduced(self, term: Reduce, type: str) -> None:
        """Push a reduction."""
        nest = loop_nest(term.binders, term.domain, ())
        if term.kind == "logsumexp":
            return self.logsumexp(term, nest, type)
        self.out.get(self.folded(term, nest, type, term.kind, lambda: self.value(term.body, type)))
        return None

    def folded(self, term: Reduce, nest: LoopNest, type: str, kind: str, element: Callable[[], None]) -> int:
        """A local with what elements are joined to."""
        out, code = self.out, _TYPES[type]
        total = out.local(code)
        out.number(code, float(REDUCTIONS[kind].nothing))
        out.set(total)

        def join() -> None:
            element()
            value = self.popped(code)
            out.get(_Locals(self, code).apply(REDUCTIONS[kind].join, total, value))
            out.set(total)

        self.loops(nest, join)
        return total

    def logsumexp(self, term: Reduce, nest: LoopNest, type: str) -> None:
        """Push a logsumexp: the exponentials are of what elements are less than the greatest one."""
        out, code = self.out, _TYPES[type]
        numbers = _Locals(self, code)
        top = self.folded(term, nest, type, "max", lambda: self.value(term.body, type))

        def share() -> None:
            self.value(term.body, type)
            out.get(numbers.apply("exp", numbers.apply("sub", self.popped(code), top)))

        out.get(top)
        out.put(f"{type}.abs")
        out.number(code, math.inf)
        out.put(f"{type}.<")

        def finite() -> None:
            total = self.folded(term, nest, type, "sum", share)
            out.get(numbers.apply("add", top, numbers.apply("log", total)))

        self.choice(finite, lambda: out.get(top), code)


@dataclass(frozen=True)
class _Locals:
    """Locals of one type as the numbers of formulas."""

    writer: _DefinitionWriter
    type: int

    def const(self, value: float) -> int:
        """A literal."""
        self.writer.out.number(self.type, float(value))
        return self.writer.popped(self.type)

    def apply(self, function: str, *operands: int) -> int:
        """A function or an operator: an instruction, a formula, or a function of the host on f64."""
        out, name = self.writer.out, _NAMES[self.type]
        record = APPLIED[function]
        if function in _INSTRUCTIONS:
            for operand in operands:
                out.get(operand)
            out.put(f"{name}.{function}")
        elif record.formula is not None:
            return evaluate(record.formula_for(name), dict(zip(OPERANDS, operands, strict=False)), self)
        else:
            for operand in operands:
                out.get(operand)
                self.writer.convert(self.type, F64)
            out.call(self.writer.module.imported(function, len(operands)))
            self.writer.convert(F64, self.type)
        return self.writer.popped(self.type)

    def power(self, x: int, n: int) -> int:
        """A power with a literal exponent."""
        return by_squaring(x, n, self)

    def select(self, relation: str, x: int, y: int, then: int, otherwise: int) -> int:
        """A choice."""
        out = self.writer.out
        for local in (then, otherwise, x, y):
            out.get(local)
        out.put(f"{_NAMES[self.type]}.{relation}", "select")
        return self.writer.popped(self.type)


def _tested_first(rows: Domain) -> list[Constraint]:
    """Rows in the order of tests: those first that have the least elements of index arrays."""
    return sorted(rows, key=lambda row: sum(1 for _ in row.form.lookups()))
