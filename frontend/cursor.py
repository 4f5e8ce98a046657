"""A place in the tokens: what comes next, which brackets are open, what went wrong."""

from __future__ import annotations

from typing import NoReturn

from tadc.frontend.diagnostics import GUESS, SAFE, Diagnostic, Edit, Label
from tadc.frontend.elsewhere import GOES_ON, LIST, following
from tadc.frontend.lexer import AT, CLOSERS, RESERVED, Token, tokenize
from tadc.frontend.limits import MAX_INDICES, MAX_NESTING, MAX_REGIONS
from tadc.frontend.source import Source, Span

#: How many errors one run reports.
MAX_ERRORS = 20


class SyntaxStop(Exception):
    """The statement at hand cannot be read on; its error is recorded."""


def reserved_helps(word: str) -> list[str]:
    """Which names are taken, and one that is not."""
    words = " ".join(sorted(RESERVED))
    return [f"`{word}_` is free", f"reserved are {words}"]


def describe(token: Token) -> str:
    """A token as a message names it."""
    match token.kind:
        case "end":
            return "end of the program"
        case "newline":
            return "end of the line"
        case "number":
            return f"number `{token.text}`"
        case _:
            return f"`{token.text}`"


class Cursor:
    """Walks over tokens. Newlines are passed over while a bracket is open."""

    def __init__(self, source: Source) -> None:
        """Start at the first token."""
        tokens = tokenize(source)
        self.source = source
        self.tokens = tokens.items
        self.partner = tokens.partner
        self.errors = tokens.errors
        self.lexical = tokens.garbled
        self.position = 0
        #: Names that statements declare or define, and whether they have indices.
        self.tensors = {t.text: self._has_brackets(n) for n, t in enumerate(self.tokens) if self._begins(n)}
        self.open: list[int] = []
        self.nesting = 0
        self.regions = 0
        self.bound = 0

    def _begins(self, position: int) -> bool:
        before = self.tokens[position - 1].kind if position else "newline"
        return before in ("newline", ";", "let", "}") and self.starts_statement(position)

    def _has_brackets(self, position: int) -> bool:
        kinds = [token.kind for token in self.tokens[position + 1 : position + 4]]
        return kinds[:1] == ["["] or (kinds[:1] == [":"] and kinds[-1] in ("[", "(", "<"))

    # -- walking ---------------------------------------------------------------------------

    def peek(self) -> Token:
        """The next token, which stays."""
        if self.open:
            while self.tokens[self.position].kind == "newline":
                self.position += 1
        return self.tokens[self.position]

    def advance(self) -> Token:
        """Take the next token."""
        token = self.peek()
        if token.kind != "end":
            self.position += 1
        return token

    def accept(self, *kinds: str) -> Token | None:
        """Take the next token if it is of one of these kinds."""
        return self.advance() if self.peek().kind in kinds else None

    def expect(self, kind: str, expected: str = "", helps: list[str] | None = None) -> Token:
        """Take the next token, which must be of this kind."""
        if self.peek().kind != kind:
            self.unexpected(expected or f"`{kind}`", helps)
        return self.advance()

    def name(self, role: str) -> Token:
        """Take a name that is not reserved; `role` says what it is to name."""
        token = self.peek()
        word = token.text
        if word in RESERVED:
            # The words that follow are read as if the name were allowed.
            message = f"`{word}` is reserved and cannot name {role}"
            self.report("TAD0106", message, token.span, "choose another name", helps=reserved_helps(word))
        elif token.kind != "name":
            self.unexpected(f"a name for {role}")
        return self.advance()

    def enter(self, kind: str, expected: str = "", helps: list[str] | None = None) -> Token:
        """Take an opening bracket; newlines end nothing until it is left."""
        token = self.expect(kind, expected, helps)
        self.open.append(self.position - 1)
        return token

    def leave(self, expected: str = "") -> Token:
        """Take the bracket that closes the innermost open one."""
        closer = CLOSERS[self.tokens[self.open[-1]].kind]
        if self.peek().kind != closer:
            self.unexpected(f"{expected} or `{closer}`" if expected else f"`{closer}`")
        token = self.advance()
        self.open.pop()
        return token

    def since(self, start: int) -> Span:
        """From an offset to the end of the last token taken."""
        return Span(start, max(start, self._last_end(self.position)))

    def _last_end(self, position: int) -> int:
        """The end of the last token in front of a position."""
        position -= 1
        while position > 0 and self.tokens[position].kind == "newline":
            position -= 1
        return self.tokens[position].end if position >= 0 else 0

    # -- errors ----------------------------------------------------------------------------

    def report(
        self,
        code: str,
        message: str,
        span: Span,
        label: str = "",
        secondary: list[Label] | None = None,
        helps: list[str] | None = None,
        edits: list[Edit] | None = None,
    ) -> None:
        """Record an error and go on."""
        self.errors.append(
            Diagnostic(
                code,
                message,
                Label(span, label),
                secondary or [],
                helps=helps or [],
                source=self.source,
                edits=edits or [],
            )
        )

    def stray(self, span: Span, label: str, helps: list[str], edits: list[Edit]) -> None:
        """Record text that has to go or to be another, and go on as if it were."""
        word = self.source.text[span.start : span.end].strip()
        self.report("TAD0102", f"unexpected `{word}`", span, label, helps=helps, edits=edits)

    def unexpected(
        self, expected: str, helps: list[str] | None = None, edits: list[Edit] | None = None
    ) -> NoReturn:
        """Give the statement up at the next token, which is not what may follow."""
        self.check_closed()
        token = self.peek()
        if token.start in self.lexical:
            raise SyntaxStop
        # At a line's end the place to point at is where the missing text belongs.
        last = self._last_end(self.position)
        span = token.span if token.kind not in ("newline", "end") else Span(last, last)
        if not helps and (beside := self._beside(token)):
            helps, edits = beside
        if not helps:
            opener = self.tokens[self.open[-1]].kind if self.open else ""
            hint = following(token.kind, token.text, expected, opener, after_division=self._divided())
            helps = [hint.help] if hint else []
            if hint and hint.text == "*":
                edits = [Edit(Span(last, last), "*" if last == token.start else " *", hint.applicability)]
            elif hint:
                edits = hint.edits(token.span)
        secondary: list[Label] = []
        if self.open:
            opener = self.tokens[self.open[-1]]
            secondary = [Label(opener.span, f"this `{opener.kind}` is open")]
        if token.kind in CLOSERS.values() and self.position not in self.partner:
            gone = [Edit(span, "", GUESS)]
            self.report(
                "TAD0108", f"unmatched `{token.text}`", span, "closes nothing", secondary, helps, gone
            )
        else:
            message = f"unexpected {describe(token)}"
            self.report("TAD0102", message, span, f"expected {expected}", secondary, helps, edits)
        raise SyntaxStop

    def _beside(self, token: Token) -> tuple[list[str], list[Edit]] | None:
        """What the tokens beside one that cannot stand where it stands tell of what is meant."""
        before, behind = (
            self.tokens[self.position - 1],
            self.tokens[min(self.position + 1, len(self.tokens) - 1)],
        )
        if token.kind == "]" and before.kind == "[":
            return ["a scalar has no brackets"], [Edit(Span(before.start, token.end), "", SAFE)]
        if token.kind == "newline" and before.kind in ("+", "-", "*", "/", "**", "="):
            return [GOES_ON], []
        if token.kind != ",":
            return None
        if before.kind == "number" and behind.kind == "number" and before.end + 1 == behind.start:
            return [f"a decimal has a point: `{before.text}.{behind.text}`"], [Edit(token.span, ".", GUESS)]
        if behind.kind in ("newline", "end", ";"):
            return ["leave it out: nothing follows"], [Edit(token.span, "", SAFE)]
        return ([LIST], []) if self.open and self.tokens[self.open[-1]].kind == "(" else None

    def bracket_edits(self, brackets: str) -> list[Edit]:
        """Other brackets in the place of the pair that begins here."""
        closer = self.partner.get(self.position)
        if closer is None:
            return []
        at = (self.peek().span, self.tokens[closer].span)
        return [Edit(span, bracket, SAFE) for span, bracket in zip(at, brackets, strict=True)]

    def _divided(self) -> bool:
        """Whether `//` or `%` stands before the next token on its line."""
        position = self.position - 1
        while position >= 0 and self.tokens[position].kind not in ("newline", ";"):
            if self.tokens[position].kind in ("//", "%"):
                return True
            position -= 1
        return False

    def another(self, *separators: str) -> bool:
        """Take a separator, where another item follows it; one in front of a closing bracket is reported."""
        found = self.accept(*separators)
        if found is None:
            return False
        if self.peek().kind not in CLOSERS.values():
            return True
        helps = ["leave it out: nothing follows"]
        self.stray(found.span, "expected another item behind it", helps, [Edit(found.span, "", SAFE)])
        return False

    def check_closed(self) -> None:
        """Stop at a bracket without partner: what follows it says little."""
        for depth in reversed(range(len(self.open))):
            position = self.open[depth]
            if position in self.partner:
                continue
            opener = self.tokens[position]
            missing = CLOSERS[opener.kind]
            end = self._end_of_open(position, depth)
            last = self._last_end(end)
            place = Span(last, last)
            if self.tokens[end].kind in CLOSERS.values():
                place = self.tokens[end].span
            secondary = [Label(place, f"expected `{missing}`")]
            edits = [Edit(Span(last, last), missing, GUESS)]
            message = f"unclosed `{opener.kind}`"
            self.report("TAD0101", message, opener.span, "opened here", secondary, edits=edits)
            self.open.clear()
            self.position = end
            raise SyntaxStop

    def _end_of_open(self, position: int, depth: int) -> int:
        """Where an unclosed bracket should have ended: a closer of an outer one, or a statement."""
        outer = self.partner.get(self.open[depth - 1]) if depth else None
        for p in range(position + 1, len(self.tokens)):
            if p == outer or self.tokens[p].kind == "end":
                return p
            if self.tokens[p].kind == "newline" and self.starts_statement(p + 1):
                return p
        return len(self.tokens) - 1

    def starts_statement(self, position: int) -> bool:
        """Whether the tokens here read like the start of a statement."""
        tokens = self.tokens
        kind = tokens[position].kind
        if kind in ("let", "size"):
            return True
        if kind != "name":
            return False
        following = position + 1
        if tokens[following].kind == "[" and following in self.partner:
            following = self.partner[following] + 1
            return tokens[following].kind == "="
        return tokens[following].kind in ("=", ":")

    def accept_at(self) -> bool:
        """Take the `at` of `[at e`, behind the bracket; an index may have this name."""
        found = self.peek().text == AT and self.tokens[self.position + 1].kind in ("name", "number", "(")
        if found:
            self.advance()
        return found

    def resynchronise(self) -> None:
        """Go on behind the end of the statement; brackets that close are passed over whole."""
        if self.open and self.open[0] in self.partner:
            self.position = max(self.position, self.partner[self.open[0]])
        self.open.clear()
        self.nesting = self.regions = self.bound = 0
        while (kind := self.tokens[self.position].kind) not in ("newline", ";", "end"):
            partner = self.partner.get(self.position, 0)
            if kind in CLOSERS and partner > self.position:
                self.position = partner
            self.position += 1

    def deeper(self) -> None:
        """Count one more level of nesting; whoever calls this counts it down again."""
        self.nesting += 1
        if self.nesting > MAX_NESTING:
            token = self.peek()
            self.too_deep(token.span, f"more than {MAX_NESTING} levels")

    def inward(self, span: Span) -> None:
        """Count one more sum or `if` around what follows; whoever calls this counts it down again."""
        self.regions += 1
        if self.regions > MAX_REGIONS:
            self.too_deep(span, f"more than {MAX_REGIONS} sums and `if`s in each other")

    def bind(self, count: int, span: Span, what: str) -> None:
        """Count indices that are bound here; whoever calls this counts them down again."""
        self.bound += count
        if self.bound > MAX_INDICES:
            label = f"the limit is {MAX_INDICES}"
            helps = ["split the program with `let`, so that each part has fewer"]
            self.report("TAD0112", f"too many {what}", span, label, helps=helps)
            raise SyntaxStop

    def too_deep(self, span: Span, label: str) -> NoReturn:
        """Refuse an expression that later stages could not walk."""
        helps = ["name parts of it with `let`"]
        self.report("TAD0107", "expression is nested too deeply", span, label, helps=helps)
        raise SyntaxStop
