"""Powers of equal positive bases in a product are collected.

    m * x / (r * sqrt(r))                   is  m * x * r**-1.5
    let q[i] = 1 / sqrt(r[i]), q[i]**3      is  r[i]**-1.5
    x / exp(a)                              is  x * exp(-a)

Several terms become one with a single derivative, and the cotangent of the base of roots and quotients is
summed once. If a base may be 0, the product stays as written.
"""

from __future__ import annotations

from fractions import Fraction
from functools import reduce

from tadc.frontend.program import Definition, Program
from tadc.frontend.terms import (
    Apply,
    Guard,
    Read,
    Reduce,
    Select,
    Term,
    operands,
    reachable,
    tensors_read,
)
from tadc.lattice.affine import Affine
from tadc.lattice.late_dataclasses import dataclass, field, replace
from tadc.passes.rewrites.logarithms import Logarithms
from tadc.passes.rewrites.written_powers import discrete_terms
from tadc.passes.terms.algebra import Algebra
from tadc.passes.terms.costs import LONGEST
from tadc.passes.terms.equations import HALF, is_whole
from tadc.passes.terms.liveness import needed
from tadc.passes.terms.powers import PowerForms, PowerProduct, exponent, is_factored
from tadc.passes.terms.term_rewriter import with_sums_open
from tadc.passes.terms.value_ranges import ValueRanges


def with_collected_powers(program: Program) -> Program:
    """The program with one power for those of a base; it itself where there are none."""
    collected = _Collected(program)
    made = [new for d in program.definitions for new in collected.definition(d)]
    if all(new is old for new, old in zip(made, program.definitions, strict=False)):
        return program
    return replace(program, definitions=needed(made))


@dataclass
class _Collected:
    """A walk over definitions in order; `powers` are those whose readers have the power."""

    program: Program
    powers: dict[str, Definition] = field(default_factory=dict[str, Definition])
    known: dict[int, Term] = field(default_factory=dict[int, Term])

    def __post_init__(self) -> None:
        program = self.program
        self.terms = program.terms
        self.algebra = Algebra(self.terms, ValueRanges(program))
        self.forms = PowerForms(self.algebra, collects=True)
        self.logarithms = Logarithms(program, self.forms)
        self.kept = set(discrete_terms(program))
        self.in_steps = tensors_read([d.body for d in program.definitions if d.order is not None])
        self.whole, self.once = self.read_whole(), self.read_once()
        terms = reachable([d.body for d in program.definitions])
        self.asked = {t.tensor for t in terms if isinstance(t, Read) and t.number in self.kept}

    def definition(self, definition: Definition) -> list[Definition]:
        """The definition over powers; of one that is a power itself, that of the base before it."""
        body = self.visit(definition.body)
        made = definition if body is definition.body else replace(definition, body=body)
        self.logarithms.made[made.name] = made
        power = self.power_of(made)
        if power is None:
            if made.name in self.once and self.has_no_own_sum(made):
                self.powers[made.name] = made
            return [made]
        base, whole = power
        self.powers[made.name] = replace(made, body=whole)
        return [base] if base else [made]

    def has_no_own_sum(self, definition: Definition) -> bool:
        """Whether a short definition may stand where it is read.

        Each of its reductions has fewer indices, and it is no quotient: its divisor may be one there too, and
        the square of that too small.
        """
        if definition.is_output or definition.order is not None or definition.body.type != definition.type:
            return False
        if isinstance(definition.body, Read) or definition.name in self.in_steps | self.asked:
            return False
        own, terms = frozenset(definition.indices), list(reachable([definition.body]))
        if len(terms) > LONGEST or any(isinstance(t, Apply) and t.function == "div" for t in terms):
            return False
        return all(t.free < own for t in terms if isinstance(t, Reduce))

    def read_once(self) -> set[str]:
        """The tensors of which each element is read once, by one term, and not under a choice or compared."""
        found: dict[str, bool] = {}
        for definition in self.program.definitions:
            stack: list[tuple[Term, frozenset[str]]] = [(definition.body, frozenset(definition.indices))]
            while stack:
                term, around = stack.pop()
                if isinstance(term, Reduce):
                    around |= set(term.binders)
                if isinstance(term, Read):
                    names = [name for f in term.indices for name in f.variables if f == Affine.var(name)]
                    is_all = len(names) == len(term.indices) == len(around) and around == frozenset(names)
                    found[term.tensor] = is_all and term.tensor not in found
                elif isinstance(term, Guard | Select) or getattr(term, "kind", "sum") != "sum":
                    found |= dict.fromkeys(tensors_read([term]), False)
                else:
                    stack += [(below, around) for below in operands(term)]
        return {name for name, is_once in found.items() if is_once}

    def power_of(self, definition: Definition) -> tuple[Definition | None, Term] | None:
        """A definition that is a power of something positive: that of the base, if it is no element, and the
        power of an element of it."""
        if definition.is_output or definition.order is not None or definition.name in self.in_steps:
            return None
        if definition.name not in self.whole or definition.name in self.asked:
            return None
        product = self.forms.of(definition.body)
        if product is None or len(product.factors) != 1 or definition.body.type != definition.type:
            return None
        ((base, a),) = product.factors
        if (is_whole(a) and a > 0) or not self.may_collect(base, a) or base.type != definition.type:
            return None
        if isinstance(base, Read):
            return None, definition.body
        # Steps of a schedule name the tensor as the program does.
        read = self.terms.read(definition.name, definition.own, definition.type)
        own = replace(definition, body=base)
        self.algebra.values.add(own)
        return own, self.written(replace(product, factors=((read, a),)))

    def read_whole(self) -> set[str]:
        """The tensors of which powers are read, or elements by what has as many indices."""
        found: set[str] = set()
        seen: set[tuple[int, int, bool]] = set()
        stack = [(d.body, d.body, False) for d in self.program.definitions]
        while stack:
            term, around, is_power = stack.pop()
            if (term.number, around.number, is_power) in seen:
                continue
            seen.add((term.number, around.number, is_power))
            if isinstance(term, Read) and (is_power or (term.free == around.free and _is_plain(term))):
                found.add(term.tensor)
            inside = is_factored(term)
            for place, below in enumerate(operands(term)):
                changes = isinstance(term, Apply) and (
                    term.function in ("pow", "sqrt") or (term.function == "div" and place == 1)
                )
                stack.append((below, around if inside else below, inside and (is_power or changes)))
        return found

    def may_collect(self, base: Term, a: Fraction) -> bool:
        """Whether a power has one slope, however it is written: not a root where its base may be 0."""
        return is_whole(a) or self.algebra.values.of(base).is_positive

    def visit(self, root: Term) -> Term:
        """A term with one power for those of a base."""
        return with_sums_open(self.terms, root, self.known, self.node, self.opens)

    def opens(self, body: Term, opened: Term) -> None:
        """Note what stays as it is under other names of its indices."""
        pairs = zip(reachable([body]), reachable([opened]), strict=True)
        self.kept.update(other.number for one, other in pairs if one.number in self.kept)

    def node(self, node: Term, below: list[Term]) -> Term:
        """A term whose operands are done."""
        made = self.terms.rebuild(node, below)
        if made is not node and isinstance(node, Apply) and node.function in ("add", "sub"):
            made = self.algebra.rebuild(node, below)
        if isinstance(made, Read) and made.tensor in self.powers:
            found = self.powers[made.tensor]
            return self.terms.substitute(found.body, found.at(made.indices))
        if node.number in self.kept:
            return made
        made = self.without_signs(made)
        found = self.logarithm(made) or self.collected(made) or made
        found.span = found.span or node.span
        return found

    def without_signs(self, term: Term) -> Term:
        """A term; of a sum of what is taken away that is taken away itself, the sum."""
        match term:
            case Apply(function="neg", operands=(Reduce(kind="sum") as total,)):
                body = total.below[0]
                if self.algebra.is_negative(body):
                    return self.terms.rebuild(total, [self.algebra.neg(body)])
            case _:
                pass
        return term

    def logarithm(self, term: Term) -> Term | None:
        """A logarithm of a product with exponentials, or a sum with one of a sum of exponentials."""
        if not isinstance(term, Apply):
            return None
        if term.function in ("add", "sub"):
            return self.logarithms.of_sum(term)
        found, algebra = self.logarithms.of_product(term), self.algebra
        if found is None:
            return None
        exponent, rest = found
        if not rest.factors and rest.scale == 1:
            return exponent
        inverse = replace(rest, factors=tuple((base, -a) for base, a in rest.factors))
        if rest.scale == 1 and all(a > 0 for _, a in inverse.factors):
            return algebra.sub(exponent, algebra.apply("log", self.written(inverse)))
        return algebra.add(exponent, algebra.apply("log", self.written(rest)))

    def collected(self, term: Term) -> Term | None:
        """A product with one power for those of what is positive."""
        if isinstance(term, Apply) and term.function in ("add", "sub"):
            # A sum of exponentials may be one function.
            made = self.forms.of(term)
            return None if made is None or made.factors == ((term, 1),) else self.written(made)
        if not self.forms.is_product(term):
            return None
        product = self.forms.of(term)
        if product is None or term.type is None:
            return None
        is_plain = all(is_whole(a) and a > 0 for _, a in product.factors)
        if is_plain and not is_divided(term) and not self.forms.repeats(term):
            return None
        if not all(self.may_collect(base, a) for base, a in product.factors):
            return None
        if not self.forms.has_joined and any(map(self.has_pole, product.factors)):
            return None
        made = self.written(product)
        return made if made.type == term.type else None

    def has_pole(self, power: tuple[Term, Fraction]) -> bool:
        """Whether a power is infinite somewhere: what is a mask of its slope is where it is written."""
        base, a = power
        return a < 0 and not self.algebra.values.of(base).is_nonzero

    def written(self, product: PowerProduct) -> Term:
        """A product with one quotient for all integer powers."""
        algebra = self.algebra
        divides = [is_whole(a) and a < 0 for _, a in product.factors]
        over, under = (
            [
                self.power(base, abs(a) if side else a)
                for (base, a), found in zip(product.factors, divides, strict=True)
                if found is side
            ]
            for side in (False, True)
        )
        made = reduce(algebra.mul, over) if over else algebra.one
        made = algebra.mul(algebra.const(float(product.scale)), made)
        return algebra.div(made, reduce(algebra.mul, under)) if under else made

    def power(self, base: Term, a: Fraction) -> Term:
        """A power; the square root by its name."""
        if is_whole(a):
            return self.algebra.power(base, int(a))
        return (
            self.algebra.apply("sqrt", base)
            if a == HALF
            else self.algebra.apply("pow", base, self.algebra.const(float(a)))
        )


def _is_plain(read: Read) -> bool:
    """Whether each index of an element is a name of its own."""
    names = [name for form in read.indices for name in form.variables]
    return len(set(names)) == len(names) == len(read.indices) and all(f.is_linear for f in read.indices)


def is_divided(term: Term) -> bool:
    """Whether a product is divided by something other than a number."""
    stack = [term]
    while stack:
        match stack.pop():
            case Apply(function="mul" | "neg", operands=factors):
                stack += factors
            case Apply(function="div", operands=(over, under)):
                if under.type is not None:
                    return True
                stack.append(over)
            case Apply(function="pow") as power if (exponent(power) or 0) < 0:
                return True
            case _:
                pass
    return False
