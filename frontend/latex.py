"""Programs in LaTeX, for notebooks and papers: the terms that the printer prints, as formulas.

The order of what is computed and all ranges are kept; the text cannot be read back.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from tadc.frontend.extents import as_form
from tadc.frontend.functions import APPLIED, REDUCTIONS
from tadc.frontend.index_sets import limits_told
from tadc.frontend.print_index import (
    ATOM,
    POWER,
    PRODUCT,
    SIGN,
    SUM,
    FormWriter,
    form_level,
)
from tadc.frontend.printer import Item, Job, PrintScope, bind, bodies
from tadc.frontend.program import Definition, Program
from tadc.frontend.said_domains import over_box, told_apart
from tadc.frontend.terms import Apply, Const, Guard, IndexValue, Read, Reduce, Select, Term
from tadc.lattice.bounds import Bound, level_of

#: A big operator reaches over the products to its right, and over no sum.
_REACH = SUM + 0.5

#: Operators: text, how tightly the whole, the left and the right operand must hold together.
_INFIX = {
    "add": (" + ", SUM, SUM, _REACH),
    "sub": (" - ", SUM, SUM, _REACH),
    "mul": (r" \, ", PRODUCT, PRODUCT, POWER),
    "mod": (r" \bmod ", PRODUCT, PRODUCT, POWER),
}

_RELATIONS = {"<=": r"\le", ">=": r"\ge", "!=": r"\ne"}

_GREEK = frozenset(
    "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi pi rho sigma tau upsilon phi "
    "chi psi omega Gamma Delta Theta Lambda Xi Pi Sigma Upsilon Phi Psi Omega".split()
)


def program_latex(program: Program) -> str:
    """The definitions of a program as an `aligned`, a row each, with the ranges of its indices.

    Raises as `print_program`.
    """
    with limits_told(program.source):
        rows = [_row(d, body) for d, body in bodies(program, _items, (r"\left(", r"\right)"))]
    return "\\begin{aligned}\n" + " \\\\\n".join(rows) + "\n\\end{aligned}"


def name_latex(name: str) -> str:
    """A name: Greek letters as such, what follows the first `_` as a subscript, `x_dot` with its dot."""
    if name.endswith("_dot"):
        return rf"\dot{{{name_latex(name.removesuffix('_dot'))}}}"
    base, _, below = name.lstrip("?$").partition("_")
    if not base:
        return rf"\mathit{{{_escaped(name)}}}"
    letters = base.rstrip("0123456789")
    digits = base[len(letters) :]
    head = f"\\{letters}" if letters in _GREEK else letters if len(letters) <= 1 else rf"\mathit{{{letters}}}"
    parts = [part for part in (digits, below) if part]
    return head + (f"_{{{','.join(map(_subscript, parts))}}}" if parts else "")


LATEX_FORMS = FormWriter(
    named=name_latex,
    times=r" \, ",
    element="{{{}}}_{{{}}}",
    quotient=r"\left\lfloor \frac{{{form}}}{{{divisor}}} \right\rfloor",
    remainder=r"{operand} \bmod {divisor}",
    relations=_RELATIONS,
)
"""Forms, conditions and bounds in LaTeX."""
form_latex, condition_latex = LATEX_FORMS.form, LATEX_FORMS.condition


def _escaped(text: str) -> str:
    return text.replace("_", r"\_")


def _subscript(text: str) -> str:
    return text if text.isdigit() or len(text) == 1 else rf"\mathrm{{{_escaped(text)}}}"


def _element(name: str, indices: Sequence[str]) -> str:
    head = name_latex(name)
    if not indices:
        return head
    return f"{{{head}}}_{{{','.join(indices)}}}" if "_" in head else f"{head}_{{{','.join(indices)}}}"


def _row(d: Definition, body: str) -> str:
    ranges = [
        rf"0 \le {name_latex(name)} < {form_latex(as_form(size))}"
        for name, size in zip(d.indices, d.shape, strict=True)
    ]
    where = rf" && \text{{for }} {', '.join(ranges)}" if ranges else ""
    if d.order is not None:
        where += rf" \text{{ in the order of }} {form_latex(d.order)}"
    return f"{_element(d.name, [name_latex(n) for n in d.indices])} &= {body}{where}"


def _items(term: Term, scope: PrintScope) -> tuple[float, list[Item]]:
    match term:
        case Const():
            return _constant(term.value)
        case IndexValue():
            form = term.form.substitute(scope.names)
            return form_level(form), [form_latex(form)]
        case Read():
            forms = [form_latex(form.substitute(scope.names)) for form in term.indices]
            return ATOM, [_element(term.tensor, forms)]
        case Apply():
            return _apply(term, scope)
        case Reduce():
            return _REACH, _reduce(term, scope)
        case Guard():
            rows = (condition_latex(row.substitute(scope.names)) for row in term.conditions)
            joined = r" \text{ and } ".join(dict.fromkeys(rows))
            return _REACH, _cases([joined], term.then, term.otherwise, scope)
        case Select():
            relation = f" {_RELATIONS.get(term.relation, term.relation)} "
            condition: list[Item] = [Job(term.lhs, SUM, scope), relation, Job(term.rhs, SUM, scope)]
            return _REACH, _cases(condition, term.then, term.otherwise, scope)
        case _:
            raise TypeError(f"no term of the language: {term!r}")


def _cases(condition: list[Item], then: Term, otherwise: Term, scope: PrintScope) -> list[Item]:
    return [
        "\\begin{cases} ", Job(then, SUM, scope), r" & \text{if } ", *condition, r" \\ ",
        Job(otherwise, SUM, scope), r" & \text{otherwise} \end{cases}",
    ]  # fmt: skip


def _constant(value: int | float) -> tuple[float, list[Item]]:
    text = r"\pi" if abs(value) == math.pi else repr(abs(value))
    digits, _, power = text.partition("e")
    level = ATOM
    if power:
        text, level = rf"{digits} \cdot 10^{{{int(power)}}}", PRODUCT
    return (SIGN, [f"-{text}"]) if math.copysign(1, value) < 0 else (level, [text])


def _apply(term: Apply, scope: PrintScope) -> tuple[float, list[Item]]:
    name, below = term.function, term.operands
    if name == "neg":
        return PRODUCT, ["-", Job(below[0], POWER if _has_minus(below[0]) else PRODUCT, scope)]
    if name in _INFIX:
        text, own, left, right = _INFIX[name]
        # Two numbers side by side would read as one.
        if name == "mul" and isinstance(below[1], Const | IndexValue):
            text = r" \cdot "
        right = POWER if _has_minus(below[1]) else right
        return own, [Job(below[0], left, scope), text, Job(below[1], right, scope)]
    if name == "div":
        match below:
            case (Const(value=int() as top), Const(value=0)):
                return ATOM, [r"\infty" if top else r"\mathrm{NaN}"]
            case _:
                pass
        return POWER, [r"\frac{", Job(below[0], SUM, scope), "}{", Job(below[1], SUM, scope), "}"]
    if name == "pow":
        return POWER, [Job(below[0], ATOM, scope), "^{", Job(below[1], SUM, scope), "}"]
    latex = APPLIED[name].latex
    if "#" in latex:
        before, after = latex.split("#")
        return POWER if before.endswith("^{") else ATOM, [before, Job(below[0], SUM, scope), after]
    items: list[Item] = [latex, r"\left("]
    for operand in below:
        items += [Job(operand, SUM, scope), ", "]
    return ATOM, [*items[:-1], r"\right)"]


def _has_minus(term: Term) -> bool:
    """Whether a minus stands in front, which does not go behind another operator."""
    while isinstance(term, Apply) and term.function in ("mul", "mod"):
        term = term.operands[0]
    match term:
        case Const(value=value):
            return math.copysign(1, value) < 0
        case IndexValue(form=form):
            return form_latex(form).startswith("-")
        case _:
            return isinstance(term, Apply) and term.function == "neg"


def _reduce(term: Reduce, scope: PrintScope) -> list[Item]:
    inner = bind(term, scope)
    names = [str(inner.names[name]) for name in term.binders]
    ranging, held = told_apart(term.binders, term.domain)
    if len(names) > 1:
        sizes, held = over_box(term.binders, term.domain) or ((), held)
        ends = [("0", form_latex(size.substitute(scope.names) - 1)) for size in sizes]
    else:
        level = level_of(names[0], [row.substitute(inner.names) for row in ranging])
        ends = [
            (_bound("max", level.lower, LATEX_FORMS.ceiling), _bound("min", level.upper, LATEX_FORMS.floor))
        ]
    big = REDUCTIONS[term.kind].latex
    sides = list(zip(map(name_latex, names), ends, strict=True))
    between = [rf"{low} \le {index} \le {high}" for index, (low, high) in sides]
    if held:
        where = [condition_latex(row.substitute(inner.names)) for row in held]
        text = rf"{big}_{{{', '.join([*between, *where])}}} "
    elif term.kind in ("sum", "prod"):
        text = "".join(rf"{big}_{{{index}={low}}}^{{{high}}} " for index, (low, high) in sides)
    else:
        text = "".join(rf"{big}_{{{each}}} " for each in between)
    return [text, Job(term.body, POWER if _has_minus(term.body) else _REACH, inner)]


def _bound(several: str, bounds: Sequence[Bound], text_of: Callable[[Bound], str]) -> str:
    """A bound of a sum; of several the largest or the least."""
    shown = list(map(text_of, bounds))
    return shown[0] if len(shown) == 1 else rf"\{several}\left({', '.join(shown)}\right)"
