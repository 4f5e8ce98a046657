"""Logarithms of products and of sums of exponentials, before a derivative.

    log(exp(x) * y)                         is  x + log(y)
    log(1 / y)                              is  -log(y)
    c[i] + log(sum{k} (exp(e - c[i])))      is  logsumexp{k} (e)
    c[i] + t*log(sum{k} (exp((e - c[i])/t)))  is  t * logsumexp{k} (e/t)

The sum, and each of its exponentials, may be a tensor of its own that nothing else reads. What overflows or
vanishes on the way comes out finite.
"""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from functools import reduce

from tadc.frontend.program import Definition, Program
from tadc.frontend.terms import Apply, Domain, Read, Reduce, Term, operands, reachable
from tadc.lattice.late_dataclasses import dataclass, field, replace
from tadc.passes.terms.algebra import Algebra
from tadc.passes.terms.collect import Signed, added, addends
from tadc.passes.terms.costs import COMPARED
from tadc.passes.terms.equations import is_whole
from tadc.passes.terms.powers import PowerForms, PowerProduct, is_factored


def _is_log(term: Term) -> bool:
    return isinstance(term, Apply) and term.function == "log"


@dataclass(frozen=True)
class _Exponents:
    """What is added up to an exponent, for each point of a domain."""

    names: tuple[str, ...]
    domain: Domain
    hints: tuple[str, ...]
    parts: tuple[Signed, ...]
    scale: Term | None = None
    """What the sum of the parts is divided by, and the logarithm is multiplied with."""

    def without(self, algebra: Algebra, shift: Term) -> Term | None:
        """The logarithm of the sum of the exponentials without what is taken away from each exponent."""
        if (True, shift) not in self.parts:
            return None
        place = self.parts.index((True, shift))
        element = added(algebra, (*self.parts[:place], *self.parts[place + 1 :]))
        element = element if self.scale is None else algebra.div(element, self.scale)
        total = algebra.reduction("logsumexp", self.names, self.domain, element, self.hints)
        return total if self.scale is None else algebra.mul(self.scale, total)


@dataclass
class Logarithms:
    """The logarithms of a program; `made` are its definitions so far, by name."""

    program: Program
    forms: PowerForms
    made: dict[str, Definition] = field(default_factory=dict[str, Definition])

    def __post_init__(self) -> None:
        self.algebra: Algebra = self.forms.algebra
        self.terms = self.program.terms
        #: Sums in tensors that are read beside their logarithms.
        self.shared = set[int]()
        #: How many terms read each tensor.
        self.readers = Counter[str]()
        for definition in self.program.definitions:
            for term in (None, *reachable([definition.body])):
                below = operands(term) if term is not None else (definition.body,)
                self.readers.update(t.tensor for t in set(below) if isinstance(t, Read))

    def of_product(self, term: Apply) -> tuple[Term, PowerProduct] | None:
        """The logarithm of a product as a sum of exponents and the rest of the product; None without such."""
        if term.function != "log":
            return None
        product = self.forms.product(self.seen(term.operands[0]), opens=True)
        if product is None:
            return None
        algebra, exponents, rest = self.algebra, list[Term](), list[tuple[Term, Fraction]]()
        for base, a in product.factors:
            if isinstance(base, Apply) and base.function == "exp" and is_whole(a):
                exponents.append(algebra.mul(algebra.const(int(a)), base.operands[0]))
            else:
                rest.append((base, a))
        is_inverse = product.scale == 1 and [a for _, a in rest] == [-1]
        if not exponents and not is_inverse:
            return None
        return reduce(algebra.add, exponents, algebra.zero), replace(product, factors=tuple(rest))

    def seen(self, term: Term) -> Term:
        """A product with what its factors are that are elements of tensors of products and exponentials."""
        if isinstance(term, Apply) and is_factored(term):
            return self.terms.rebuild(term, list(map(self.seen, term.operands)))
        held = self.made.get(term.tensor) if isinstance(term, Read) else None
        if (
            not isinstance(term, Read)
            or held is None
            or held.order is not None
            or held.body.type != held.type
        ):
            return term
        body = held.body
        if not isinstance(body, Apply) or not (is_factored(body) or body.function == "exp"):
            return term
        body = self.terms.substitute(body, held.at(term.indices))
        if self.readers[held.name] > 1:
            self.shared.update(t.number for t in reachable([body]) if isinstance(t, Reduce))
        return self.seen(body)

    def of_sum(self, node: Apply) -> Term | None:
        """A sum of which one part is the logarithm of a sum of exponentials that another makes smaller."""
        parts = addends(node, signs=True)
        if not 1 < len(parts) <= COMPARED:
            return None
        for place, (sign, part) in enumerate(parts):
            found = self.exponents(part)
            for other, (same, shift) in enumerate(parts) if found else ():
                total = found and same is sign and found.without(self.algebra, shift)
                if total:
                    kept: list[Signed] = [p for n, p in enumerate(parts) if n not in (place, other)]
                    return added(self.algebra, [*kept, (sign, total)])
        return None

    def exponents(self, term: Term) -> _Exponents | None:
        """The exponents of which a term is the logarithm of the sum of exponentials, or that times what all
        are divided by."""
        log, scale = self.opened(term), None
        if isinstance(log, Apply) and log.function == "mul":
            # The logarithm last, however it is written.
            scale, log = sorted(map(self.opened, log.operands), key=_is_log)
        if not isinstance(log, Apply) or log.function != "log":
            return None
        total = self.opened(log.operands[0])
        if not isinstance(total, Reduce) or total.kind != "sum" or total.number in self.shared:
            return None
        names, domain, body = self.terms.open(total)
        each = self.opened(body)
        if not isinstance(each, Apply) or each.function != "exp":
            return None
        exponent = each.operands[0]
        if scale is not None:
            if (
                not isinstance(exponent, Apply)
                or exponent.function != "div"
                or exponent.operands[1] is not scale
            ):
                return None
            exponent = exponent.operands[0]
        return _Exponents(names, domain, total.hints, tuple(addends(exponent, signs=True)), scale)

    def opened(self, term: Term) -> Term:
        """What an element of a tensor is that is read here alone; the term itself if it is no such."""
        if not isinstance(term, Read) or self.readers[term.tensor] > 1 or term.tensor not in self.made:
            return term
        held = self.made[term.tensor]
        if held.is_output or held.order is not None or held.body.type != held.type:
            return term
        return self.terms.substitute(held.body, held.at(term.indices))
