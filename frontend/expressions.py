"""Expressions: precedence climbing over the tokens."""

from __future__ import annotations

from tadc.frontend import syntax
from tadc.frontend.complaints import Bare, Complaints
from tadc.frontend.cursor import SyntaxStop, describe, reserved_helps
from tadc.frontend.diagnostics import GUESS, SAFE, Edit
from tadc.frontend.elsewhere import FOLLOWING, LIST, STATEMENTS, Hint, whole_number
from tadc.frontend.foreign_functions import CALLS
from tadc.frontend.functions import ALIASES, FUNCTIONS, NORM, RELATIONS, SPELLED_REDUCTIONS
from tadc.frontend.lexer import INCREASING, RESERVED, Token
from tadc.frontend.limits import MAX_DEPTH
from tadc.frontend.source import Span
from tadc.frontend.suggest import closest, correction, did_you_mean
from tadc.frontend.syntax import Expr

#: Binary operators by how tightly they bind; `**` binds tighter than a sign and is apart.
PRECEDENCE = {"+": 1, "-": 1, "*": 2, "/": 2, "//": 2, "%": 2}


_NOTHING = Hint("")
_ALL_FUNCTIONS = "`tadc --list functions` shows the functions"


class ExpressionParser(Complaints):
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
        caret = self.accept("^")
        if not caret and not self.accept("**"):
            return base
        self.deeper()
        exponent = self._signed()
        self.nesting -= 1
        if caret:
            # Powers of powers are taken from the left in MATLAB and spreadsheets.
            chain = isinstance(exponent, syntax.Binary) and exponent.operator == "**"
            edit = Edit(caret.span, "**", GUESS if chain else SAFE)
            self.stray(caret.span, "no operator", ["a power is written `**`"], [edit])
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
                return self._select(self.advance())
            case "sum":
                self.advance()
                return self._reduce(token)
            case "name":
                return self._named()
            case "+":
                self.advance()
                # A sign stands close to what it is of; apart from it something is missing in front.
                sure = SAFE if self.peek().start == token.end else GUESS
                helps = ["leave it out: a sign `+` in front is not needed"]
                self.stray(token.span, "nothing to add to", helps, [Edit(token.span, "", sure)])
                return self._primary()
            case "[" if self.position in self.partner:
                self.unexpected("an expression", [LIST])
            case "{" if self.position in self.partner:
                helps = ["terms are grouped by parentheses: `(…)`"]
                self.unexpected("an expression", helps, self.bracket_edits("()"))
            case _:
                hint = STATEMENTS["var"] if token.kind == "let" else CALLS.get(token.text)
                self.unexpected("an expression", [hint.help] if hint else None)

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
        if token.text in SPELLED_REDUCTIONS and following == "{":
            return self._reduce(token)
        if function in FUNCTIONS and (following == "(" or FUNCTIONS[function].is_reserved):
            return self._call(token, function)
        if following == "[":
            stored, indices = self._element()
            return syntax.Subscript(self.since(token.start), token.text, token.span, indices, stored)
        if following == "(":
            return self._unknown_call(token)
        if following == "{" or self.is_subscripted_sum(token, following):
            self.no_reduction(token)
        if token.text in RESERVED:
            label = "cannot stand in an expression"
            helps = reserved_helps(token.text)
            self.report("TAD0106", f"`{token.text}` is reserved", token.span, label, helps=helps)
        elif (
            following in ("name", "number", "pi")
            and self.peek().text != INCREASING
            and (closest(token.text, FUNCTIONS) or CALLS.get(token.text, _NOTHING).text)
        ):
            return self._unknown_call(token)
        return syntax.Name(token.span, token.text)

    def _element(self) -> tuple[bool, tuple[Expr, ...]]:
        """Read `[e, e; e]` or `[at e, e; e]`, and whether it is the second."""
        self.enter("[")
        stored = self.accept_at()
        return stored, self._indices()

    def index_list(self) -> tuple[Expr, ...]:
        """Read `[e, e; e]`."""
        self.enter("[")
        return self._indices()

    def _indices(self) -> tuple[Expr, ...]:
        self.deeper()
        found = [self.expression()]
        while self.another(",", ";"):
            found.append(self.expression())
        self.leave("an operator, `,`")
        self.nesting -= 1
        if self.peek().kind == "[":
            last, token = self._last_end(self.position), self.peek()
            edits = [Edit(Span(last - 1, token.end), ", ", SAFE)]
            self.stray(token.span, "a second list of indices", ["one list holds all: `[i, j]`"], edits)
            found += self.index_list()
        return tuple(found)

    def _arguments(self) -> tuple[Expr, ...]:
        """`(e, …)`, or the next primary alone."""
        self.deeper()
        found: list[Expr] = []
        if self.peek().kind == "(":
            self.enter("(")
            found.append(self.expression())
            while self.another(","):
                found.append(self.expression())
            self.leave("an operator, `,`")
        else:
            found.append(self._primary())
        self.nesting -= 1
        return tuple(found)

    def _call(self, token: Token, function: str) -> Expr:
        if self.peek().kind not in ("(", "number", "pi", "if", "select", "sum", "name"):
            helps = [f"a sign needs parentheses: `{token.text}(-…)`"] if self.peek().kind == "-" else None
            if self.peek().kind in ("{", "[") and self.position in self.partner:
                helps = [f"its argument stands in parentheses: `{token.text}(x)`"]
                self.unexpected(f"the argument of `{token.text}`", helps, self.bracket_edits("()"))
            if self.peek().kind in ("^", "**"):
                helps = [f"a power of the value is written behind it: `{token.text}(x)**2`"]
            self.unexpected(f"the argument of `{token.text}`", helps)
        arguments = self._arguments()
        span = self.since(token.start)
        if len(arguments) != FUNCTIONS[function].arity:
            self.wrong_arity(token, function, arguments, span)
        return syntax.CallExpr(span, function, token.span, arguments)

    def _unknown_call(self, token: Token) -> Expr:
        if token.start in self.lexical:
            raise SyntaxStop
        hint, names = CALLS.get(token.text), [*FUNCTIONS, *ALIASES]
        message, label = f"unknown function `{token.text}`", "no function of the language"
        what = self.what_is_called(token)
        if what:
            message, label = f"`{token.text}` is {what} and no function", "called here"
            helps, edits = self.called(token, what)
        elif hint:
            helps, edits = [hint.help], hint.edits(token.span)
        else:
            helps = did_you_mean(token.text, names) or [_ALL_FUNCTIONS]
            edits = correction(token.text, token.span, names)
        self.report("TAD0201", message, token.span, label, helps=helps, edits=edits)
        if hint and hint.text == "select":
            return self._select(token)
        if self._is_sum_of_all(token):
            raise SyntaxStop
        arguments = self._arguments()
        return syntax.CallExpr(self.since(token.start), token.text, token.span, arguments)

    def _is_sum_of_all(self, token: Token) -> bool:
        """Whether nothing more can be said of the argument: `mean(x)` is a tensor without indices."""
        return self.peek().kind == "(" and self.tokens[self.position + 1].kind == ")"

    # -- reductions ------------------------------------------------------------------------

    def _reduce(self, token: Token) -> Expr:
        """The rest of `sum{k}_lo^hi (e)`."""
        kind, before = token.text, self.tokens[self.position - 2].kind
        self.enter("{", helps=[f"name the index: `{kind}{{k}} (…)`, as in `{kind}{{k}} (x[k])`"])
        specs, conditions = self._indices_where()
        self.leave("`and`" if conditions else "`,`, `:`")
        self.bind(len(specs), self.since(token.start), "indices at one place")
        self.inward(token.span)
        lower: tuple[Expr, ...] = ()
        upper: tuple[Expr, ...] = ()
        if (under := self.peek()).kind == "_":
            self.advance()
            lower = self._bound("max")
            both = [f"write both bounds, the upper one behind `^`: `{kind}{{{specs[0].name}}}_0^4 (…)`"]
            self.expect("^", "`^` and the upper bound", both)
            upper = self._bound("min")
            self.check_bounded(specs, self.since(under.start), kind)
        elif under.kind == "^":
            self.unexpected("`_` and the lower bound", [f"write both bounds: `{kind}{{k}}_0^4 (…)`"])
        if self.peek().kind != "(":
            body = self._bare_body(kind, specs, before)
        else:
            body = self._group()
        self.bound -= len(specs)
        self.regions -= 1
        whole = self.since(token.start)
        if kind != NORM:
            return syntax.ReduceExpr(whole, kind, tuple(specs), lower, upper, body, conditions)
        square = syntax.Binary(body.span, "**", body, syntax.Number(body.span, 2))
        total = syntax.ReduceExpr(whole, "sum", tuple(specs), lower, upper, square, conditions)
        return syntax.CallExpr(whole, "sqrt", token.span, (total,))

    def _indices_where(self) -> tuple[list[syntax.IndexSpec], tuple[syntax.RelationExpr, ...]]:
        """Read `i, j: 5`, `e: dst[e] = n and e < 3` or `e: E: dst[e] = n`: indices and conditions."""
        specs: list[syntax.IndexSpec] = []
        while not specs or self.another(",", ";"):
            token = self.name("an index")
            size, named = None, self.since(token.start)
            if self.accept(":"):
                start = self.peek().start
                size = self.expression()
                if self.peek().kind in RELATIONS:
                    specs.append(syntax.IndexSpec(named, token.text, None))
                    return specs, self._conditions(self._related(start, size))
            specs.append(syntax.IndexSpec(self.since(token.start), token.text, size))
        return specs, self._conditions(self._relation()) if self.accept(":") else ()

    def _conditions(self, first: syntax.RelationExpr) -> tuple[syntax.RelationExpr, ...]:
        """Read the rest of `c and c`."""
        found = [first]
        while self.accept("and"):
            found.append(self._relation())
        return tuple(found)

    def _bare_body(self, kind: str, specs: list[syntax.IndexSpec], before: str) -> Expr:
        """The body of a reduction without parentheses; where it is one term, these are an edit.

        `before` is what stands in front of the reduction.
        """
        reduction = f"{kind}{{{', '.join(spec.name for spec in specs)}}}"
        helps = [f"its body stands in parentheses: `{reduction} (…)`"]
        first = self.peek()
        if first.kind not in ("name", "number", "pi", "if", "select", "sum", "-"):
            self.unexpected("`(`", helps)
        body = self.expression()
        end = self._last_end(self.position)
        operator = body.operator if isinstance(body, syntax.Binary) else ""
        # A factor may leave a sum, so where that ends does not matter; all else may stand behind a reduction.
        of_sum = kind == "sum" and operator in ("*", "/") and before in ("=", "+", "-", "*", "(", ",")
        sure = SAFE if not operator or of_sum else GUESS
        around = [(first.start, "("), (end, ")")] if operator in ("", "*", "/", "**") else []
        edits = [Edit(Span(at, at), bracket, sure) for at, bracket in around]
        message = f"unexpected {describe(first)}"
        self.report("TAD0102", message, first.span, "expected `(`", helps=helps, edits=edits)
        return body

    def index_spec(self) -> syntax.IndexSpec:
        """Read `k` or `k: size`."""
        token = self.name("an index")
        size = self.expression() if self.accept(":") else None
        return syntax.IndexSpec(self.since(token.start), token.text, size)

    def _bound(self, several: str) -> tuple[Expr, ...]:
        """An integer, a name, `(e)`, or `(max [e; e])`, after `_` or `^`."""
        start = self.peek().start
        if self.accept("-"):
            number = self._bound_integer()
            return (syntax.Unary(self.since(start), "-", number),)
        token = self.peek()
        if token.kind == "number":
            number = self._bound_integer()
            self.report_parts_of_bound(start)
            return (number,)
        if token.kind == "name" and token.text not in RESERVED:
            self.advance()
            self.report_parts_of_bound(start)
            return (syntax.Name(token.span, token.text),)
        self.deeper()
        helps = ["put the bound in parentheses: `_(i - 1)^(i + 1)`"]
        if token.kind == "{":
            self.unexpected("an integer, a name or `(`", helps, self.bracket_edits("()"))
        self.enter("(", "an integer, a name or `(`", helps)
        bounds = self._several(several)
        self.leave("an operator")
        self.nesting -= 1
        return bounds

    def _bound_integer(self) -> syntax.Number:
        token = self.expect("number", "an integer")
        if isinstance(token.value, float):
            whole = whole_number(token.value)
            helps, edits = ([f"write `{whole}`"], [Edit(token.span, whole, SAFE)]) if whole else ([], [])
            message = "a bound is an integer"
            self.report("TAD0111", message, token.span, "not an integer", helps=helps, edits=edits)
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
        braced = self.peek().kind == "{"
        if braced:
            self.enter("{")
        at, bracket = self.peek(), self.peek().kind == "(" and self.is_relation_inside()
        if bracket:
            self.enter("(")
        conditions = self._conditions(self._relation())
        if bracket:
            self.leave("`and`")
        end = self._last_end(self.position)
        if braced:
            self.leave("`and`")
        bare: list[Bare] = []
        then = self._branch("then", token, bare)
        otherwise = self._branch("else", token, bare)
        self.regions -= 1
        node = syntax.IfExpr(self.since(token.start), conditions, then, otherwise)
        if bare:
            self.bare_branches(bare)
        if not braced or bracket:
            self.unbraced(node, at, end, braced=braced, bracket=bracket)
        return node

    def _branch(self, word: str, opener: Token, bare: list[Bare]) -> Expr:
        """What follows `then` or `else`; one that is not in parentheses joins those that are bare."""
        # `else` is no keyword of its own anywhere else, so a missing one gets its own message.
        if not self.accept(word):
            self.missing_branch(word, opener)
        if self.peek().kind == "(" and self._ends_branch(word):
            return self._group()
        first = self.peek()
        expr = self.expression()
        bare.append(Bare(word, first, self._last_end(self.position)))
        return expr

    def _ends_branch(self, word: str) -> bool:
        """Whether the parentheses here hold all of a branch: what follows those of `else` is outside."""
        closer = self.partner.get(self.position)
        return closer is None or word == "else" or self.tokens[closer + 1].kind not in PRECEDENCE

    def _select(self, token: Token) -> Expr:
        """The rest of `select(c, e, e)`."""
        self.deeper()
        self.enter("(", helps=["the whole form is `select(x > y, e, e)`"])
        condition = self._relation()
        branches: list[Expr] = []
        for _ in range(2):
            if self.peek().kind == "and":
                self.unexpected("`,`", ["one in the other: `select(a > b, select(c > d, e, f), f)`"])
            if not self.accept(","):
                self.unexpected("an operator or `,`", ["the whole form is `select(x > y, e, e)`"])
            branches.append(self.expression())
        self.leave("an operator")
        self.nesting -= 1
        return syntax.SelectExpr(self.since(token.start), condition, *branches)

    def _relation(self) -> syntax.RelationExpr:
        start = self.peek().start
        self.deeper()
        if self.peek().text == "not" and "not" not in self.tensors:
            self.unexpected("a comparison", [FOLLOWING["not"].help])
        left = self.expression()
        self.nesting -= 1
        return self._related(start, left)

    def _related(self, start: int, left: Expr) -> syntax.RelationExpr:
        """The rest of a relation behind its left side."""
        token = self.peek()
        if token.kind not in RELATIONS:
            self.unexpected("an operator or one of `= != < <= > >=`")
        self.deeper()
        self.advance()
        right = self.expression()
        self.nesting -= 1
        if self.peek().kind in RELATIONS:
            self.unexpected("one comparison", ["join comparisons by `and`: `0 <= i and i < 3`"])
        return syntax.RelationExpr(self.since(start), token.kind, left, right)
