"""What is wrong with calls, reductions and choices, and how it is written here."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import NamedTuple, NoReturn

from tadc.frontend import syntax
from tadc.frontend.cursor import Cursor, SyntaxStop, describe
from tadc.frontend.diagnostics import GUESS, SAFE, Edit, Label
from tadc.frontend.foreign_functions import CALLS
from tadc.frontend.functions import FUNCTIONS, RELATIONS, SPELLED_REDUCTIONS
from tadc.frontend.lexer import CLOSERS, RESERVED, Token
from tadc.frontend.source import Span
from tadc.frontend.suggest import correction, did_you_mean
from tadc.frontend.syntax import Expr
from tadc.frontend.tree import walk


def by_value(node: syntax.IfExpr, text: Callable[[Span], str]) -> tuple[list[str], list[Edit]]:
    """How an `if` by values is written: the help, and the edit where it is one choice."""
    first, *others = node.conditions
    if others:
        return ["to choose by values, write one `select(x[i] > 0, …, …)` in the other"], []
    condition, then, otherwise = (text(e.span) for e in (first, node.then, node.otherwise))
    edit = Edit(node.span, f"select({condition}, {then}, {otherwise})", SAFE)
    return [f"to choose by value, write `select({condition}, …, …)`"], [edit]


def sum_by_value(node: syntax.ReduceExpr, text: Callable[[Span], str]) -> str:
    """How a sum over those points is written where a condition on values holds."""
    condition = text(node.conditions[0].span) if len(node.conditions) == 1 else "x[i] > 0"
    return f"to choose by value, write `select({condition}, …, 0)` in its body"


class Bare(NamedTuple):
    """A branch that is not in parentheses: its first token and its end."""

    word: str
    first: Token
    end: int


class Complaints(Cursor):
    """The errors of an expression that more than the next token tells."""

    def text(self, span: Span) -> str:
        """The source at a place."""
        return self.source.text[span.start : span.end]

    def what_is_called(self, token: Token) -> str:
        """What a name is that stands where a function does: "a tensor", "a scalar", "an index or a size"."""
        if (has_indices := self.tensors.get(token.text)) is not None:
            return "a tensor" if has_indices else "a scalar"
        pairs = pairwise(self.tokens)
        is_bound = any(t.text == token.text and behind.kind in (":", ",", "}", "]") for t, behind in pairs)
        return "an index or a size" if is_bound else ""

    def called(self, token: Token, what: str) -> tuple[list[str], list[Edit]]:
        """How what is no function is meant in front of parentheses."""
        opener, closer = self.tokens[self.position], self.partner.get(self.position)
        if what != "a tensor":
            edit = Edit(Span(token.end, opener.start), " * ", GUESS)
            return ["to multiply, write `*`"], [edit] if opener.kind == "(" else []
        helps = ["an element is read with brackets: `x[i]`"]
        if closer is None or opener.kind != "(":
            return helps, []
        # Where no index stands inside, elements may be meant to begin at 1.
        sure = SAFE if any(t.kind == "name" for t in self.tokens[self.position : closer]) else GUESS
        return helps, [Edit(opener.span, "[", sure), Edit(self.tokens[closer].span, "]", sure)]

    def is_subscripted_sum(self, token: Token, following: str) -> bool:
        """Whether `sum_i x[i]` stands here."""
        return token.text.partition("_")[0] in SPELLED_REDUCTIONS and following in ("name", "number", "sum")

    def check_bounded(self, specs: list[syntax.IndexSpec], bounds: Span, kind: str) -> None:
        """Report bounds of two indices, and of one whose size is stated."""
        if len(specs) > 1:
            helps = [f"nest them: `{kind}{{{specs[0].name}}}_0^2 ({kind}{{{specs[1].name}}}_0^4 (…))`"]
            self.report("TAD0111", "bounds belong to one index", specs[1].span, "a second index", helps=helps)
        elif specs[0].size is not None:
            secondary = [Label(specs[0].span, "its size is stated here")]
            self.report("TAD0111", "the range is stated twice", bounds, "and its bounds here", secondary)

    def no_reduction(self, token: Token) -> NoReturn:
        """Give up at what is followed by a brace or a term as only a reduction is."""
        self.check_closed()
        if token.start in self.lexical:
            raise SyntaxStop
        kind, under, index = token.text.partition("_")
        edits: list[Edit] = []
        if under and kind in SPELLED_REDUCTIONS:
            helps = [
                f"the index stands in braces, `{kind}{{{index or 'i'}}} (…)`, bounds behind them, `_0^4`"
            ]
        elif hint := CALLS.get(token.text):
            helps = [hint.help]
        else:
            helps = did_you_mean(token.text, SPELLED_REDUCTIONS) or [
                f"the reductions are {', '.join(SPELLED_REDUCTIONS)}"
            ]
            edits = correction(token.text, token.span, SPELLED_REDUCTIONS)
        message = f"`{token.text}` is no reduction"
        self.report("TAD0201", message, token.span, "unknown", helps=helps, edits=edits)
        raise SyntaxStop

    def wrong_arity(self, token: Token, function: str, arguments: tuple[Expr, ...], span: Span) -> None:
        """Report a call with too many or too few arguments."""
        wanted, given = FUNCTIONS[function].arity, len(arguments)
        count = f"{wanted} argument{'s' if wanted > 1 else ''}"
        message = f"`{token.text}` takes {count}, not {given}"
        helps = [f"write `{token.text}({', '.join('xy'[:wanted])})`"]
        edits: list[Edit] = []
        if function in SPELLED_REDUCTIONS and given == 1:
            helps.append(CALLS[function].help)
        elif function in SPELLED_REDUCTIONS:
            nested = f"{function}(" * (given - 1) + self.text(arguments[0].span)
            nested += "".join(f", {self.text(e.span)})" for e in arguments[1:])
            helps, edits = [f"one in the other: `{nested}`"], [Edit(span, nested, SAFE)]
        elif function == "log" and given == 2:
            helps = ["to the base b: `log(x) / log(b)`, and there are `log2` and `log10`"]
        self.report("TAD0110", message, span, f"{given} given here", helps=helps, edits=edits)

    def is_relation_inside(self) -> bool:
        """Whether the parentheses here enclose a comparison, and no operand of one."""
        closer = self.partner.get(self.position)
        if closer is None:
            return False
        depth = 0
        for token in self.tokens[self.position : closer]:
            depth += (token.kind in CLOSERS) - (token.kind in CLOSERS.values())
            if depth == 1 and token.kind in RELATIONS:
                return True
        return False

    def unbraced(self, node: syntax.IfExpr, at: Token, end: int, *, braced: bool, bracket: bool) -> None:
        """Report the condition of an `if` that stands in parentheses, or in nothing."""
        if any(isinstance(part, syntax.Subscript) for c in node.conditions for _, _, part in walk(c)):
            helps, edits = by_value(node, self.text)
        else:
            helps = ["conditions on indices stand in braces: `if {i = j} then (…) else (…)`"]
            inner = Span(at.start + 1, end - 1) if bracket else Span(at.start, end)
            opener, closer = ("", "") if braced else ("{", "}")
            edits = [
                Edit(Span(at.start, inner.start), opener, SAFE),
                Edit(Span(inner.end, end), closer, SAFE),
            ]
        self.report(
            "TAD0102", f"unexpected {describe(at)}", at.span, "expected `{`", helps=helps, edits=edits
        )

    def bare_branches(self, bare: list[Bare]) -> None:
        """Report branches that are not in parentheses."""
        word, first, end = bare[0]
        around = [(at, sign) for b in bare for at, sign in ((b.first.start, "("), (b.end, ")"))]
        edits = [Edit(Span(at, at), sign, SAFE) for at, sign in around]
        helps = [f"what follows `{word}` stands in parentheses: `{word} (…)`"]
        message, span, label = f"unexpected {describe(first)}", first.span, "expected `(`"
        if first.kind == "(":
            message, span, label = (
                f"`{word}` ends too early",
                Span(first.start, end),
                "not all in parentheses",
            )
        secondary = [Label(b.first.span, "here too") for b in bare[1:]]
        self.report("TAD0102", message, span, label, secondary, helps, edits)

    def report_parts_of_bound(self, start: int) -> None:
        """Report a bound that goes on without parentheses, as in `_0^N-1`."""
        end = self.position
        while self.tokens[end].kind in ("+", "-", "*", "//", "%"):
            operand = self.tokens[end + 1]
            if operand.kind not in ("number", "name") or operand.text in RESERVED:
                return
            end += 2
        if end > self.position and self.tokens[end].kind in ("(", "^"):
            after = self._last_end(end)
            self.unexpected(
                "the end of the bound",
                [f"a bound of several parts stands in parentheses: `({self.source.text[start:after]})`"],
                [Edit(Span(start, start), "(", SAFE), Edit(Span(after, after), ")", SAFE)],
            )

    def missing_branch(self, word: str, opener: Token) -> NoReturn:
        """Give up at an `if` without one of its words."""
        self.check_closed()
        found = self.peek()
        span = found.span if found.kind not in ("newline", "end") else self.since(opener.end)
        if found.kind in ("newline", "end"):
            span = Span(span.end, span.end)
        helps = ["the whole form is `if {i = j} then (…) else (…)`"]
        edits: list[Edit] = []
        if word == "then" and found.kind in ("(", "{", "name", "number", "-", "sum", "select", "if"):
            edits = [Edit(Span(found.start, found.start), "then ", SAFE)]
        elif found.text in ("elif", "elseif", "elsif"):
            helps = ["one `if` in the other: `else (if {i = 1} then (…) else (…))`"]
        elif word == "else":
            helps.append("for nothing, write `else (0)`")
            if found.kind in ("newline", "end", ";", ")"):
                end = self._last_end(self.position)
                edits = [Edit(Span(end, end), " else (0)", GUESS)]
        secondary = [Label(opener.span, "of this `if`")]
        message = f"missing `{word}`"
        label = f"expected `{word}`, found {describe(found)}"
        self.report("TAD0105", message, span, label, secondary, helps, edits)
        raise SyntaxStop
