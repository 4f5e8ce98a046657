"""Tokens to a syntax tree: statements, and how reading goes on after an error."""

from __future__ import annotations

from typing import NoReturn

from tadc.frontend import syntax
from tadc.frontend.cursor import MAX_ERRORS, SyntaxStop, describe
from tadc.frontend.deep import deep_recursion
from tadc.frontend.diagnostics import GUESS, SAFE, CompileError, Edit
from tadc.frontend.dtypes import COMPUTED, DEFAULT, FLOATS, INDEX_TYPE, TYPE_PARAMETER, types_listed
from tadc.frontend.elsewhere import GOES_ON, INTEGER_TYPES, STATEMENTS, TYPES, whole_number
from tadc.frontend.expressions import ExpressionParser
from tadc.frontend.lexer import AT, IN, INCREASING, INDEX, RESERVED, SCAN, Token
from tadc.frontend.limits import MAX_DEPTH
from tadc.frontend.scatters import gathered, is_element, split_items
from tadc.frontend.source import Source, Span
from tadc.frontend.suggest import correction, did_you_mean
from tadc.frontend.tree import depth

_STATEMENT_HELPS = [
    "a statement is a declaration `x: f64[3]`, a size `size N`, or a definition `f[i] = …` or `let h[i] = …`"
]
#: What ends a statement.
_ENDS = frozenset({"newline", ";", "end"})
#: What is meant for an index where more than a name stands.
_IN_INDICES = frozenset({"name", "number", "+", "-", "*", "//", "%", "/"})


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
    def __init__(self, source: Source) -> None:
        super().__init__(source)
        #: What the elements of index arrays are below.
        self._below: dict[str, str] = {}
        #: The type parameters, where they stand.
        self._types: list[tuple[str, Span]] = []

    def module(self) -> syntax.Module:
        statements: list[syntax.Statement] = []
        mended: list[syntax.Statement] = []
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
            if statement and self._lacks_semicolon(begin):
                known = len(self.errors)
            if statement and known == len(self.errors) and not self._is_garbled(begin):
                statements.append(statement)
            else:
                mended += [statement] if statement else []
                unread.update(t.text for t in self.tokens[begin : self.position] if t.kind == "name")
        errors = sorted(self.errors, key=lambda e: e.primary.span.start if e.primary else 0)[:MAX_ERRORS]
        whole = Span(0, len(self.source.text))
        return syntax.Module(
            whole,
            tuple(statements),
            tuple(errors),
            frozenset(unread),
            tuple(self._types),
            tuple(mended),
        )

    def _lacks_semicolon(self, begin: int) -> bool:
        """Whether a statement that was read whole has another behind it on its line; that is reported."""
        token = self.peek()
        if token.kind in ("newline", ";", "end") or (self.lexical and self._is_garbled(begin)):
            return False
        last = self._last_end(self.position)
        if comma := token.kind == ",":
            self.advance()
        edit = Edit(Span(last, token.end if comma else last), ";", SAFE)
        helps = ["a statement ends with its line, or with `;`"]
        message = f"unexpected {describe(token)}"
        label = "another statement begins here" if not comma else "expected `;` between statements"
        self.report("TAD0102", message, token.span, label, helps=helps, edits=[edit])
        return True

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
                    self._no_statement(token)
                statement = self._declare_or_define()
        if self.peek().kind not in ("newline", ";", "end") and not self._another_statement():
            if isinstance(statement, syntax.Define):
                self.unexpected("an operator or the end of the statement")
            comment = self.peek().kind in ("%", "//")
            helps = ["a comment starts with `#`"] if comment else []
            if isinstance(statement, syntax.Declare) and statement.below is not None:
                self._behind_index_array()
            if isinstance(statement, syntax.Declare) and self.peek().text == IN:
                edits = [Edit(statement.type_span, INDEX, SAFE)]
                self.unexpected(
                    "the end of the statement", [f"integers are `{statement.name}: index[…] in …`"], edits
                )
            if isinstance(statement, syntax.Declare) and self.peek().kind in ("number", "name"):
                helps = [f"sizes stand in brackets: `{statement.name}: f64[3]`"]
            self.unexpected(
                "the end of the statement", helps, [Edit(self.peek().span, "#", SAFE)] if comment else None
            )
        return statement

    def _behind_index_array(self) -> NoReturn:
        token = self.peek()
        helps = did_you_mean(token.text, [INCREASING])
        helps = helps or [f"where elements do not fall, `{INCREASING}` stands here, else nothing"]
        self.unexpected("the end of the statement", helps, correction(token.text, token.span, [INCREASING]))

    def _another_statement(self) -> bool:
        """Whether one begins at the next token, or behind a comma."""
        return self.starts_statement(self.position + (self.peek().kind == ","))

    def _no_statement(self, token: Token) -> NoReturn:
        """Give up at what begins a statement elsewhere."""
        following = self.tokens[self.position + 1]
        hint = STATEMENTS.get(token.text)
        helps, edits = [hint.help] if hint else _STATEMENT_HELPS, list[Edit]()
        if hint and hint.text:
            edits = hint.edits(token.span)
        elif token.kind in ("+", "*", "**", "-", "/") and following.kind not in ("-", "*"):
            helps = [GOES_ON]
        elif token.kind in ("//", "/", "-", "%", "*"):
            helps = ["a comment starts with `#`"]
            edits = [Edit(token.span, "#", SAFE)] if token.kind == "//" else []
        elif (token.text in TYPES or token.text in FLOATS) and following.kind == "name":
            helps = [
                f"a declaration begins with the name: `{following.text}: f64[3]`, or `{following.text}: f64`"
            ]
        elif following.kind == "," and token.kind == "name":
            second = self.tokens[self.position + 2].text
            helps = [f"one in each statement: `{token.text}: f64[3]; {second}: f64[3]`"]
        if self._begins_elsewhere(token, following) and token.start not in self.lexical:
            message = f"unexpected {describe(token)}"
            self.report("TAD0102", message, token.span, "expected a statement", helps=helps, edits=edits)
            raise SyntaxStop
        self.unexpected("a statement", helps, edits)

    def _begins_elsewhere(self, token: Token, following: Token) -> bool:
        """Whether a word begins no statement here."""
        if token.text in STATEMENTS:
            return following.kind not in (":", "=", "[")
        return (token.text in TYPES and following.kind == "name") or following.kind == ","

    def _size(self) -> syntax.SizeDecl:
        start = self.advance().start
        name = self.name("a size")
        value: int | None = None
        if self.accept("="):
            helps = ["a size that is made of others has no name: write it where it is used, as in `f64[2*M]`"]
            token = self.expect("number", "an integer", helps)
            if isinstance(token.value, float):
                whole = whole_number(token.value)
                helps, edits = (
                    [f"write `{whole}`"] if whole else [],
                    [Edit(token.span, whole, SAFE)] if whole else [],
                )
                message = "a size is an integer"
                self.report("TAD0103", message, token.span, "not an integer", helps=helps, edits=edits)
            else:
                value = token.value
        elif self.peek().kind == ",":
            edit = Edit(self.peek().span, "; size", SAFE)
            self.unexpected("the end of the statement", ["one size in a statement: `size N; size M`"], [edit])
        elif self.peek().kind == ":":
            self.unexpected(
                "`=`", ["a fixed value is written `size N = 4`"], [Edit(self.peek().span, " =", SAFE)]
            )
        return syntax.SizeDecl(self.since(start), name.text, name.span, value)

    def _declare_or_define(self) -> syntax.Statement:
        name = self.peek()
        following = self.tokens[self.position + 1].kind
        if name.text in RESERVED and following not in (":", "=", "["):
            self._no_statement(name)
        if following != ":":
            if self._begins_elsewhere(name, self.tokens[self.position + 1]):
                self._no_statement(name)
            if self.tokens[self.position + 1].text in FLOATS:
                self.advance()
                colon = [Edit(Span(name.end, name.end), ":", SAFE)]
                self.unexpected("`:`", [f"a declaration is `{name.text}: {self.peek().text}`"], colon)
            return self._define(name.start, is_let=False)
        self.name("a tensor")
        self.advance()
        if self.peek().text == INDEX:
            return self._index_array(name)
        if self.peek().text == AT:
            at, span = self._at(), self.peek().span
            return syntax.Declare(self.since(name.start), name.text, name.span, "", span, (), at=at)
        element_type, type_span = self._element_type(name)
        if self.peek().kind in ("(", "<"):
            helps = [f"sizes stand in brackets: `{name.text}: f64[3]`"]
            self.unexpected("`[` or the end of the statement", helps, self.bracket_edits("[]"))
        shape = self.index_list() if self.peek().kind == "[" else ()
        self.bind(len(shape), name.span, f"dimensions of `{name.text}`")
        self.bound = 0
        if self.peek().text == IN and self.text(type_span) not in FLOATS:
            return self._elements_below(name, type_span, shape)  # the type is what is wrong
        if self.peek().kind == "=":
            self._declared_with_value(name, shape)
        at = self._at() if self.peek().text == AT else ()
        span = self.since(name.start)
        return syntax.Declare(span, name.text, name.span, element_type, type_span, shape, at=at)

    def _index_array(self, name: Token) -> syntax.Declare:
        """The rest of `src: index[E] in N`, `ptr: index[N + 1] in E + 1 increasing`, `s: index in N`."""
        word = self.advance()
        shape = self.index_list() if self.peek().kind == "[" else ()
        self.bind(len(shape), name.span, f"dimensions of `{name.text}`")
        self.bound = 0
        if self.peek().text != IN:
            sizes = self.text(self.since(word.start))
            self.unexpected(
                f"`{IN}`", [f"it states what its elements are below: `{name.text}: {sizes} in N`"]
            )
        return self._elements_below(name, word.span, shape)

    def _elements_below(self, name: Token, word: Span, shape: tuple[syntax.Expr, ...]) -> syntax.Declare:
        """The rest behind `src: index[E]`."""
        self.advance()
        below = self.expression()
        self._below[name.text] = self.text(below.span)
        increasing = self.advance().span if self.peek().text == INCREASING else None
        span = self.since(name.start)
        return syntax.Declare(span, name.text, name.span, INDEX_TYPE, word, shape, below, increasing)

    def _at(self) -> tuple[syntax.Name, ...]:
        """Read `at (row, col)` or `at place`."""
        self.advance()
        if self.peek().kind != "(":
            token = self.name("an index array")
            return (syntax.Name(token.span, token.text),)
        self.enter("(")
        names: list[syntax.Name] = []
        while not names or self.another(","):
            token = self.name("an index array")
            names.append(syntax.Name(token.span, token.text))
        self.leave("`,`")
        return tuple(names)

    def _declared_with_value(self, name: Token, shape: tuple[syntax.Expr, ...]) -> NoReturn:
        """`x: f64 = 3`."""
        if shape:
            indices = ", ".join("ijklmn"[: len(shape)]) if len(shape) < 7 else "i, …"
            helps = [
                f"an output is declared, then defined: `{name.text}[{indices}] = …` on a line of its own"
            ]
            self.unexpected("the end of the statement", helps)
        # What it is of another type, or an argument with a default, is no such definition.
        gone = Edit(Span(name.end, self._last_end(self.position)), "", GUESS)
        self.unexpected(
            "the end of the statement", [f"a definition states no type: `{name.text} = …`"], [gone]
        )

    def _element_type(self, name: Token) -> tuple[str, Span]:
        """Read the type of the tensor of this name."""
        token = self.peek()
        if token.text in FLOATS or TYPE_PARAMETER.fullmatch(token.text):
            self.advance()
            if token.text not in FLOATS:
                self._types.append((token.text, token.span))
            return token.text, token.span
        if token.kind != "name":
            edits = [Edit(Span(token.start, token.start), DEFAULT, GUESS)] if token.kind == "[" else None
            helps = [f"for example `{name.text}: f64[3]`"]
            self.unexpected(f"an element type, {types_listed('or')}", helps, edits)
        hint = TYPES.get(token.text)
        helps = [hint.help] if hint else did_you_mean(token.text, FLOATS)
        helps = helps or [f"the element types are {types_listed('and')}"]
        edits = correction(token.text, token.span, FLOATS) if not hint else []
        if hint and hint.text:
            edits = hint.edits(token.span)
        elif token.text in INTEGER_TYPES and self.tokens[self.position + 1].kind in ("newline", ";", "end"):
            edits = [Edit(Span(name.start, token.end), f"size {name.text}", GUESS)]
        message = f"unknown element type `{token.text}`"
        self.report("TAD0109", message, token.span, "no element type", helps=helps, edits=edits)
        self.advance()
        return DEFAULT, token.span

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
        stored = False
        if self.peek().kind == "[":
            self._check_head(name)
            self.enter("[")
            stored = self.accept_at()
            indices.append(self.index_spec())
            while self.another(",", ";"):
                indices.append(self.index_spec())
            self.leave("`,`, `:`")
            self.bind(len(indices), name.span, f"indices of `{name.text}`")
        elif self.peek().kind == "(":
            inside = self.tokens[self.position + 1 : self.position + 3]
            if inside[0].text in self.tensors or inside[-1].kind == ":":
                self.unexpected("`[`, `:` or `=`", [STATEMENTS["def"].help])
            helps = [f"indices stand in brackets: `{name.text}[i] = …`"]
            self.unexpected("`[`, `:` or `=`", helps, self.bracket_edits("[]"))
        element_type = None
        if is_let and self.accept(":"):
            if self.peek().text == AT:
                helps = [f"make it an output, which others may read: `{name.text}: at (…)` without `let`"]
                self.unexpected("an element type: what is in between is not sparse", helps)
            element_type = self._element_type(name)[0]
        if element_type and self.peek().kind == "[":
            gone = Edit(Span(start, name.start), "", GUESS)
            self.unexpected("`=`", [f"an argument is declared without `let`: `{name.text}: f64[3]`"], [gone])
        if indices and self.peek().kind == ":":
            self.unexpected("`=`", [f"the type of an output stands in a declaration: `{name.text}: f32[…]`"])
        self.expect("=", "`=`" if indices or is_let else "`[`, `:` or `=`", self._define_helps(name.text))
        if self.peek().text in COMPUTED and self.tokens[self.position + 1].kind != "(":
            equals = self.tokens[self.position - 1].span
            helps = [f"a declaration has a colon: `{name.text}: {self.peek().text}`"]
            edits = [] if indices else [Edit(Span(name.end, equals.end), ":", SAFE)]
            self.unexpected("an expression", helps, edits)
        body = self.expression()
        self.bound = 0
        if depth(body) > MAX_DEPTH:
            self.too_deep(name.span, f"its definition is deeper than {MAX_DEPTH} levels")
        span = self.since(start)
        return syntax.Define(
            span, name.text, name.span, tuple(indices), body, is_let, element_type, order, stored
        )

    def _check_head(self, name: Token) -> None:
        """Stop at `y[0] = …` and `y[i + 1] = …`: what is defined is named by indices alone."""
        closer = self.partner.get(self.position, self.position)
        colon, type_ = self.tokens[closer + 1 : closer + 3] if closer + 2 < len(self.tokens) else (name, name)
        if colon.kind == ":" and type_.text in FLOATS and self.tokens[closer + 3].kind != "=":
            sizes = self.text(Span(self.peek().start, self.tokens[closer].end))
            edits = [
                Edit(Span(name.end, colon.start), "", SAFE),
                Edit(Span(type_.end, type_.end), sizes, SAFE),
            ]
            self.unexpected(
                "`:`", [f"sizes stand behind the type: `{name.text}: {type_.text}{sizes}`"], edits
            )
        inside = split_items(self.text(Span(self.peek().end, self.tokens[closer].start)))
        if closer > self.position and any(map(is_element, inside)):
            self._defined_at_elements(name, closer, inside)
        position = self.position + 1
        while position < closer:
            item = position
            while position < closer and self.tokens[position].kind not in (",", ";", ":"):
                position += 1
            words = [t for t in self.tokens[item:position] if t.kind != "newline"]
            if len(words) == 2 and words[0].text == AT and words[1].kind == "name":
                del words[0]
            is_index = len(words) == 1 and words[0].kind == "name"
            if words and not is_index and all(t.kind in _IN_INDICES for t in words):
                self._defined_elsewhere(name, words)
            if self.tokens[position].kind == ":":
                return
            position += 1

    def _defined_at_elements(self, name: Token, closer: int, items: list[str]) -> NoReturn:
        """Stop at `y[src[e]] = w[e]`: what is written there elsewhere is gathered here."""
        head = Span(self.peek().end, self.tokens[closer].start)
        end = next(p for p in range(closer, len(self.tokens)) if self.tokens[p].kind in _ENDS)
        values = [p for p in range(closer + 1, end) if self.tokens[p].kind not in ("+", "-", "*", "=")]
        body = self.text(Span(self.tokens[values[0]].start, self.tokens[end - 1].end)) if values else "…"
        # What is said of `+=` says less.
        said = range(head.start, self.tokens[end].start)
        self.errors = [e for e in self.errors if e.primary is None or e.primary.span.start not in said]
        message = f"`{name.text}` is defined at elements of an index array"
        written = gathered(name.text, items, self._below, body)
        helps = [f"each element sums up what belongs to it: `{written}`"]
        self.report("TAD0102", message, head, "expected names of indices", helps=helps)
        raise SyntaxStop

    def _defined_elsewhere(self, name: Token, words: list[Token]) -> NoReturn:
        earlier = "for elements made of earlier ones, a recurrence:"
        form = "if {t = 0} then (…) else (…)"
        if any(word.kind == "name" for word in words):
            message = f"`{name.text}` is defined at an index expression"
            first = f"shift what is read instead: `{name.text}[i] = … x[i - 1] …`"
        else:
            message = f"one element of `{name.text}` is defined alone"
            first = f"one definition holds for all: `{name.text}[t: 9] = {form}`"
        helps = [first, f"{earlier} `scan{{t}} {name.text}[t: 9] = {form}`"]
        span = words[0].span.to(words[-1].span)
        self.report("TAD0102", message, span, "expected a name for an index", helps=helps)
        raise SyntaxStop

    def _define_helps(self, name: str) -> list[str] | None:
        if self.peek().kind in ("newline", "end", ";"):
            return [f"a definition is `{name}[i] = …`, a declaration `{name}: f64[3]`"]
        if self.peek().kind in ("<", "-"):
            return [f"a definition is written with `=`: `{name}[i] = …`"]
        return None
