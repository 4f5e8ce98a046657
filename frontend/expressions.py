"""Expressions: precedence climbing over the tokens."""

from __future__ import annotations

from tadc.frontend import syntax
from tadc.frontend.cursor import Cursor, SyntaxStop, describe
from tadc.frontend.diagnostics import Label
from tadc.frontend.functions import ALIASES, FUNCTIONS, REDUCTIONS, RELATIONS
from tadc.frontend.lexer import RESERVED, Token
from tadc.frontend.limits import MAX_DEPTH
from tadc.frontend.source import Span
from tadc.frontend.suggest import closest, did_you_mean
from tadc.frontend.syntax import Expr

#: Binary operators by how tightly they bind; `**` binds tighter than a sign and is apart.
PRECEDENCE = {"+": 1, "-": 1, "*": 2, "/": 2, "//": 2, "%": 2}


class ExpressionParser(Cursor):
    """Reads expressions. Every node's span runs from its first token to its last."""

    def expression(self) -> Expr:
        """Read a whole expression."""
        return self._binary(1)

    def _binary(self, least: int) -> Expr:
        start = self.peek().start
        left = self._signed()
        length = 0
        while (level := PRECEDENCE.get(self.peek().kind, 0)) >= least:
            operator = self.advance().kind
            right = self._binary(level + 1)
            left = syntax.Binary(self.since(start), operator, left, right)
            length += 1
            if length > MAX_DEPTH:
                self.too_deep(self.peek().span, f"more than {MAX_DEPTH} operators in a row")
        return left

    def _signed(self) -> Expr:
        """`-e`, looser than `**`."""
        minus = self.accept("-")
        if minus is None:
            return self._power()
        self.deeper()
        operand = self._signed()
        self.nesting -= 1
        return syntax.Unary(self.since(minus.start), "-", operand)

    def _power(self) -> Expr:
        start = self.peek().start
        base = self._primary()
        if not self.accept("**"):
            return base
        self.deeper()
        exponent = self._signed()
        self.nesting -= 1
        return syntax.Binary(self.since(start), "**", base, exponent)

    def _primary(self) -> Expr:
        token = self.peek()
        match token.kind:
            case "number":
                self.advance()
                return syntax.Number(token.span, token.value)
            case "pi":
                self.advance()
                return syntax.Pi(token.span)
            case "(":
                return self._group()
            case "if":
                return self._if()
            case "select":
                return self._select()
            case "sum":
                self.advance()
                return self._reduce(token)
            case "name":
                return self._named()
            case _:
                helps = ["a sign `+` in front is not needed"] if token.kind == "+" else None
                self.unexpected("an expression", helps)

    def _group(self) -> Expr:
        """`(e)`; the parentheses belong to no node."""
        self.deeper()
        self.enter("(", helps=["put it in parentheses: `(…)`"])
        inner = self.expression()
        self.leave("an operator")
        self.nesting -= 1
        return inner

    # -- names, reads, calls ---------------------------------------------------------------

    def _named(self) -> Expr:
        token = self.advance()
        following = self.peek().kind
        function = ALIASES.get(token.text, token.text)
        if token.text in REDUCTIONS and following == "{":
            return self._reduce(token)
        if function in FUNCTIONS and (following == "(" or FUNCTIONS[function].reserved):
            return self._call(token, function)
        if following == "[":
            indices = self.index_list()
            return syntax.Subscript(self.since(token.start), token.text, token.span, indices)
        if following == "(":
            return self._unknown_call(token)
        if token.text in RESERVED:
            self.report("TAD0106", f"`{token.text}` is reserved", token.span, "cannot stand in an expression")
        elif following in ("name", "number", "pi") and closest(token.text, FUNCTIONS):
            return self._unknown_call(token)
        return syntax.Name(token.span, token.text)

    def index_list(self) -> tuple[Expr, ...]:
        """Read `[e, e; e]`."""
        self.deeper()
        self.enter("[")
        found = [self.expression()]
        while self.accept(",", ";"):
            found.append(self.expression())
        self.leave("an operator, `,`")
        self.nesting -= 1
        return tuple(found)

    def _arguments(self) -> tuple[Expr, ...]:
        """`(e, …)`, or the next primary alone."""
        self.deeper()
        found: list[Expr] = []
        if self.peek().kind == "(":
            self.enter("(")
            found.append(self.expression())
            while self.accept(","):
                found.append(self.expression())
            self.leave("an operator, `,`")
        else:
            found.append(self._primary())
        self.nesting -= 1
        return tuple(found)

    def _call(self, token: Token, function: str) -> Expr:
        if self.peek().kind not in ("(", "number", "pi", "if", "select", "sum", "name"):
            helps = [f"a sign needs parentheses: `{token.text}(-…)`"] if self.peek().kind == "-" else None
            self.unexpected(f"the argument of `{token.text}`", helps)
        arguments = self._arguments()
        span = self.since(token.start)
        wanted = FUNCTIONS[function].arity
        if len(arguments) != wanted:
            count = f"{wanted} argument{'s' if wanted > 1 else ''}"
            message = f"`{token.text}` takes {count}, not {len(arguments)}"
            form = f"{token.text}({', '.join('xy'[:wanted])})"
            self.report("TAD0110", message, span, f"{len(arguments)} given here", helps=[f"write `{form}`"])
        return syntax.Call(span, function, token.span, arguments)

    def _unknown_call(self, token: Token) -> Expr:
        helps = did_you_mean(token.text, [*FUNCTIONS, *ALIASES])
        if not helps:
            helps = [f"to read an element of a tensor, write `{token.text}[…]`"]
        message = f"unknown function `{token.text}`"
        self.report("TAD0201", message, token.span, "no function of the language", helps=helps)
        arguments = self._arguments()
        return syntax.Call(self.since(token.start), token.text, token.span, arguments)

    # -- reductions ------------------------------------------------------------------------

    def _reduce(self, token: Token) -> Expr:
        """The rest of `sum{k}_lo^hi (e)`."""
        kind = token.text
        self.enter("{", helps=[f"name the index: `{kind}{{k}} (…)`"])
        specs = [self.index_spec()]
        while self.accept(",", ";"):
            specs.append(self.index_spec())
        self.leave("`,`")
        self.bind(len(specs), self.since(token.start), "indices at one place")
        self.inward(token.span)
        lower: tuple[Expr, ...] = ()
        upper: tuple[Expr, ...] = ()
        if (under := self.peek()).kind == "_":
            self.advance()
            lower = self._bound("max")
            self.expect("^", "`^` and the upper bound")
            upper = self._bound("min")
            self._check_bounded(specs, self.since(under.start), kind)
        elif under.kind == "^":
            self.unexpected("`_` and the lower bound", [f"write both bounds: `{kind}{{k}}_0^4 (…)`"])
        if self.peek().kind != "(":
            self.unexpected("`(`", [f"its body stands in parentheses: `{kind}{{k}} (…)`"])
        body = self._group()
        self.bound -= len(specs)
        self.regions -= 1
        return syntax.Reduce(self.since(token.start), kind, tuple(specs), lower, upper, body)

    def index_spec(self) -> syntax.IndexSpec:
        """Read `k` or `k: size`."""
        token = self.name("an index")
        size = self.expression() if self.accept(":") else None
        return syntax.IndexSpec(self.since(token.start), token.text, size)

    def _check_bounded(self, specs: list[syntax.IndexSpec], bounds: Span, kind: str) -> None:
        if len(specs) > 1:
            helps = [f"nest them: `{kind}{{{specs[0].name}}}_0^2 ({kind}{{{specs[1].name}}}_0^4 (…))`"]
            self.report("TAD0111", "bounds belong to one index", specs[1].span, "a second index", helps=helps)
        elif specs[0].size is not None:
            secondary = [Label(specs[0].span, "its size is stated here")]
            self.report("TAD0111", "the range is stated twice", bounds, "and its bounds here", secondary)

    def _bound(self, several: str) -> tuple[Expr, ...]:
        """An integer, a name, `(e)`, or `(max [e; e])`, after `_` or `^`."""
        start = self.peek().start
        if self.accept("-"):
            number = self._bound_integer()
            return (syntax.Unary(self.since(start), "-", number),)
        token = self.peek()
        if token.kind == "number":
            return (self._bound_integer(),)
        if token.kind == "name" and token.text not in RESERVED:
            self.advance()
            return (syntax.Name(token.span, token.text),)
        self.deeper()
        self.enter("(", "an integer, a name or `(`", ["put the bound in parentheses: `_(i - 1)^(i + 1)`"])
        bounds = self._several(several)
        self.leave("an operator")
        self.nesting -= 1
        return bounds

    def _bound_integer(self) -> syntax.Number:
        token = self.expect("number", "an integer")
        if isinstance(token.value, float):
            self.report("TAD0111", "a bound is an integer", token.span, "not an integer")
            return syntax.Number(token.span, 0)
        return syntax.Number(token.span, token.value)

    def _several(self, wanted: str) -> tuple[Expr, ...]:
        before, word = self.position, self.peek()
        if word.text not in ("max", "min"):
            return (self.expression(),)
        self.advance()
        if self.peek().kind != "[":
            self.position = before
            return (self.expression(),)
        if word.text != wanted:
            side = "lower" if wanted == "max" else "upper"
            message = f"`{word.text}` in a{'n' if side == 'upper' else ''} {side} bound"
            helps = [f"several {side} bounds are joined by `{wanted} [e; e]`"]
            self.report("TAD0111", message, word.span, f"expected `{wanted}`", helps=helps)
        return self.index_list()

    # -- choices ---------------------------------------------------------------------------

    def _if(self) -> Expr:
        token = self.advance()
        self.inward(token.span)
        self.enter("{", helps=["conditions on indices stand in braces: `if {i = j} then (…) else (…)`"])
        conditions = [self._relation()]
        while self.accept("and"):
            conditions.append(self._relation())
        self.leave("`and`")
        self._branch_word("then", token)
        then = self._group()
        self._branch_word("else", token)
        otherwise = self._group()
        self.regions -= 1
        return syntax.If(self.since(token.start), tuple(conditions), then, otherwise)

    def _branch_word(self, word: str, opener: Token) -> None:
        # `else` is no keyword of its own anywhere else, so a missing one gets its own message.
        if not self.accept(word):
            self.check_closed()
            found = self.peek()
            span = found.span if found.kind not in ("newline", "end") else self.since(opener.end)
            if found.kind in ("newline", "end"):
                span = Span(span.end, span.end)
            helps = ["the whole form is `if {i = j} then (…) else (…)`"]
            if word == "else":
                helps.append("for nothing, write `else (0)`")
            secondary = [Label(opener.span, "of this `if`")]
            message = f"missing `{word}`"
            label = f"expected `{word}`, found {describe(found)}"
            self.report("TAD0105", message, span, label, secondary, helps)
            raise SyntaxStop
        if self.peek().kind != "(":
            self.unexpected("`(`", [f"what follows `{word}` stands in parentheses: `{word} (…)`"])

    def _select(self) -> Expr:
        token = self.advance()
        self.deeper()
        self.enter("(", helps=["the whole form is `select(x > y, e, e)`"])
        condition = self._relation()
        branches: list[Expr] = []
        for _ in range(2):
            if not self.accept(","):
                self.unexpected("an operator or `,`", ["the whole form is `select(x > y, e, e)`"])
            branches.append(self.expression())
        self.leave("an operator")
        self.nesting -= 1
        return syntax.Select(self.since(token.start), condition, *branches)

    def _relation(self) -> syntax.Relation:
        start = self.peek().start
        self.deeper()
        left = self.expression()
        token = self.peek()
        if token.kind not in RELATIONS:
            self.unexpected("an operator or one of `= != < <= > >=`")
        self.advance()
        right = self.expression()
        self.nesting -= 1
        if self.peek().kind in RELATIONS:
            self.unexpected("one comparison", ["join comparisons by `and`: `0 <= i and i < 3`"])
        return syntax.Relation(self.since(start), token.kind, left, right)
