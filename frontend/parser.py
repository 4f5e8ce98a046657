"""Tokens to a syntax tree: statements, and how reading goes on after an error."""

from __future__ import annotations

from tadc.frontend import syntax
from tadc.frontend.cursor import MAX_ERRORS, SyntaxStop
from tadc.frontend.deep import deep_recursion
from tadc.frontend.diagnostics import CompileError
from tadc.frontend.expressions import ExpressionParser
from tadc.frontend.lexer import ELEMENT_TYPES, RESERVED, SCAN
from tadc.frontend.limits import MAX_DEPTH
from tadc.frontend.source import Source, Span
from tadc.frontend.suggest import did_you_mean
from tadc.frontend.tree import depth

_STATEMENT_HELPS = [
    "a statement is a declaration `x: f64[3]`, a size `size N`, or a definition `f[i] = …` or `let h[i] = …`"
]


def parse(source: Source) -> syntax.Module:
    """Read a program. Names, types and ranges are the checker's.

    Raises CompileError with every syntax error that was found, in the order of the text,
    at most `MAX_ERRORS`. Takes time linear in the text.
    """
    module = read_statements(source)
    if module.errors:
        raise CompileError(list(module.errors))
    return module


def read_statements(source: Source) -> syntax.Module:
    """Read what can be read of a program; what cannot is in `errors` of the module, as `parse` raises it."""
    with deep_recursion():
        return _Parser(source).module()


class _Parser(ExpressionParser):
    def module(self) -> syntax.Module:
        statements: list[syntax.Statement] = []
        unread: set[str] = set()
        while len(self.errors) < MAX_ERRORS:
            while self.accept("newline", ";"):
                pass
            if self.peek().kind == "end":
                break
            begin, known = self.position, len(self.errors)
            try:
                statement = self._statement()
            except SyntaxStop:
                self.resynchronise()
                statement = None
            if statement and known == len(self.errors) and not self._is_garbled(begin):
                statements.append(statement)
            else:
                unread.update(t.text for t in self.tokens[begin : self.position] if t.kind == "name")
        errors = sorted(self.errors, key=lambda e: e.primary.span.start if e.primary else 0)[:MAX_ERRORS]
        whole = Span(0, len(self.source.text))
        return syntax.Module(whole, tuple(statements), tuple(errors), frozenset(unread))

    def _is_garbled(self, begin: int) -> bool:
        """Whether a character from a token on cannot be read."""
        return any(self.tokens[begin].start <= at < self.tokens[self.position].start for at in self.lexical)

    def _statement(self) -> syntax.Statement:
        token = self.peek()
        match token.kind:
            case "size":
                statement = self._size()
            case "let":
                self.advance()
                statement = self._define(token.start, is_let=True, order=self._order())
            case _ if self._is_scan():
                order = self._order()
                if self.peek().kind == "let":
                    self.unexpected("the name of a tensor", ["an intermediate is `let scan{t} h[t] = …`"])
                statement = self._define(token.start, is_let=False, order=order)
            case _:
                if token.kind != "name" and token.text not in RESERVED:
                    self.unexpected("a statement", _STATEMENT_HELPS)
                statement = self._declare_or_define()
        if self.peek().kind not in ("newline", ";", "end"):
            self.unexpected("an operator or the end of the statement")
        return statement

    def _size(self) -> syntax.SizeDecl:
        start = self.advance().start
        name = self.name("a size")
        value: int | None = None
        if self.accept("="):
            token = self.expect("number", "an integer")
            if isinstance(token.value, float):
                self.report("TAD0103", "a size is an integer", token.span, "not an integer")
            else:
                value = token.value
        return syntax.SizeDecl(self.since(start), name.text, name.span, value)

    def _declare_or_define(self) -> syntax.Statement:
        name = self.peek()
        following = self.tokens[self.position + 1].kind
        if name.text in RESERVED and following not in (":", "=", "["):
            self.unexpected("a statement", _STATEMENT_HELPS)
        if following != ":":
            return self._define(name.start, is_let=False)
        self.name("a tensor")
        self.advance()
        element_type, type_span = self._element_type()
        if self.peek().kind == "(":
            self.unexpected(
                "`[` or the end of the statement", [f"sizes stand in brackets: `{name.text}: f64[3]`"]
            )
        shape = self.index_list() if self.peek().kind == "[" else ()
        self.bind(len(shape), name.span, f"dimensions of `{name.text}`")
        self.bound = 0
        return syntax.Declare(self.since(name.start), name.text, name.span, element_type, type_span, shape)

    def _element_type(self) -> tuple[str, Span]:
        token = self.peek()
        if token.text in ELEMENT_TYPES:
            self.advance()
            return token.text, token.span
        if token.kind != "name":
            self.unexpected("an element type, `f32` or `f64`")
        helps = did_you_mean(token.text, ELEMENT_TYPES) or ["the element types are `f32` and `f64`"]
        message = f"unknown element type `{token.text}`"
        self.report("TAD0109", message, token.span, "no element type", helps=helps)
        self.advance()
        return ELEMENT_TYPES[1], token.span

    def _is_scan(self) -> bool:
        """Whether a recurrence begins: `scan` is a name like others where no brace follows."""
        token = self.peek()
        return token.kind == "name" and token.text == SCAN and self.tokens[self.position + 1].kind == "{"

    def _order(self) -> syntax.Expr | None:
        """Read `scan{e}`, if it stands here."""
        if not self._is_scan():
            return None
        self.advance()
        self.enter("{")
        order = self.expression()
        self.leave("an operator")
        return order

    def _define(self, start: int, *, is_let: bool, order: syntax.Expr | None = None) -> syntax.Define:
        name = self.name("a tensor")
        indices: list[syntax.IndexSpec] = []
        if self.peek().kind == "[":
            self.enter("[")
            indices.append(self.index_spec())
            while self.accept(",", ";"):
                indices.append(self.index_spec())
            self.leave("`,`, `:`")
            self.bind(len(indices), name.span, f"indices of `{name.text}`")
        elif self.peek().kind == "(":
            self.unexpected("`[`, `:` or `=`", [f"indices stand in brackets: `{name.text}[i] = …`"])
        element_type = self._element_type()[0] if is_let and self.accept(":") else None
        if indices and self.peek().kind == ":":
            self.unexpected("`=`", [f"the type of an output stands in a declaration: `{name.text}: f32[…]`"])
        self.expect("=", "`=`" if indices or is_let else "`[`, `:` or `=`", self._define_helps(name.text))
        body = self.expression()
        self.bound = 0
        if depth(body) > MAX_DEPTH:
            self.too_deep(name.span, f"its definition is deeper than {MAX_DEPTH} levels")
        span = self.since(start)
        return syntax.Define(span, name.text, name.span, tuple(indices), body, is_let, element_type, order)

    def _define_helps(self, name: str) -> list[str] | None:
        if self.peek().kind in ("newline", "end", ";"):
            return [f"a definition is `{name}[i] = …`, a declaration `{name}: f64[3]`"]
        return None
