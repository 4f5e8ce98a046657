"""Types, names, words and signs of NumPy, Julia, C, and what they are here.

The lexer, the parser and the checker look words up in these tables where they are about to report one.
`Hint.text` is what can stand in the place of the word; where there is none, the help says what to write.
Such an edit is safe where the word means the same wherever people write it; where some mean another thing by
it, it is a guess.
"""

from __future__ import annotations

from typing import NamedTuple

from tadc.frontend.diagnostic_data import GUESS, SAFE, Applicability, Edit
from tadc.frontend.dtypes import DEFAULT, DTYPES, FLOATS, types_listed
from tadc.frontend.source import Span


class Hint(NamedTuple):
    """What is written here: a help, and a text that replaces the word or sign as it stands."""

    help: str
    text: str | None = None
    applicability: Applicability = SAFE

    def edits(self, span: Span) -> list[Edit]:
        """Put the text in the place of the word; nothing where there is none."""
        return [] if self.text is None else [Edit(span, self.text, self.applicability)]


def write(text: str, sure: Applicability = SAFE) -> Hint:
    """What is the same here."""
    return Hint(f"it is written `{text}` here", text, sure)


COMPLEX = "there are no complex numbers: an index `c: 2` can tell the real part from the imaginary one"

# -- types ---------------------------------------------------------------------------------

_INTEGERS = "int integer uint size_t long short char i8 i16 i32 i64 u8 u16 u32 u64 int8 int16 int32 int64 nat"
_COMPLEX = "complex complex64 complex128 c32 c64 c128 cfloat cdouble ComplexF64"
_SMALL = "f8 fp8 float8"
_OTHERS = "bool boolean str string object"

#: Element types of other languages.
TYPES: dict[str, Hint] = {
    **{
        name: Hint(
            "elements are floating numbers; indices that read other tensors are `src: index[E] in N`,"
            " and an integer that a call gives, as a length, is `size N`"
        )
        for name in _INTEGERS.split()
    },
    **{name: Hint(COMPLEX) for name in _COMPLEX.split()},
    **{name: Hint("the smallest element types are `f16` and `bf16`") for name in _SMALL.split()},
    **{
        name: Hint(f"the element types are {types_listed('and')}; 0 and 1 stand for false and true")
        for name in _OTHERS.split()
    },
    **{name: write(here) for here in FLOATS for name in DTYPES[here].elsewhere.split()},
    **{name: write(DEFAULT, GUESS) for name in ("real", "Real", "number")},
    "float": Hint("NumPy's `float` is `f64`, that of C and PyTorch `f32`"),
    **{
        name: Hint("a declaration states the type of the elements and the sizes: `x: f64[3, N]`")
        for name in ("tensor", "Tensor", "array", "Array", "ndarray", "vector", "matrix", "list")
    },
}
INTEGER_TYPES = frozenset(_INTEGERS.split())

# -- names that stand for values -----------------------------------------------------------

VALUES: dict[str, Hint] = {
    **{name: write("pi") for name in ("Pi", "PI", "M_PI")},
    "e": Hint("the base of the natural logarithm is `exp(1)`, a power of it `exp(x)`", "exp(1)", GUESS),
    "M_E": write("exp(1)"),
    "tau": write("(2*pi)", GUESS),
    "oo": Hint("infinity is `1/0`", "(1/0)", GUESS),
    **{name: Hint("infinity is `1/0`", "(1/0)") for name in ("inf", "Inf", "INF", "infinity", "Infinity")},
    **{name: Hint("a NaN is `0/0`", "(0/0)") for name in ("nan", "NaN", "NAN")},
    **{name: Hint("true is the number 1", "1") for name in ("True", "true")},
    **{name: Hint("false is the number 0", "0") for name in ("False", "false")},
    **{
        name: Hint("there is no missing value; 0 adds nothing", None)
        for name in ("None", "null", "nil", "nothing")
    },
}

# -- words and signs -----------------------------------------------------------------------

_OUTPUT = "a result is an output: `f[i] = …`"

#: Words that begin a statement elsewhere.
STATEMENTS: dict[str, Hint] = {
    **{
        word: Hint(
            "a program is one function: arguments are declared, `x: f64[N]`, results defined, `f[i] = …`"
        )
        for word in ("def", "function", "fn", "fun", "func", "void", "class", "struct", "module", "begin")
    },
    **{word: Hint(_OUTPUT) for word in ("return", "yield", "output", "print", "end")},
    **{
        word: Hint(
            "there are no loops: `f[i] = …` holds for every `i`, a sum is `sum{k} (…)`, a recurrence"
            " `scan{t} h[t] = …`"
        )
        for word in ("for", "while", "do", "repeat", "foreach", "forall")
    },
    **{
        word: Hint("nothing is imported: functions such as `exp` are part of the language", None)
        for word in ("import", "from", "using", "include", "use", "require")
    },
    **{
        word: Hint("an intermediate is `let h[i] = …`", "let", GUESS)
        for word in ("var", "const", "val", "auto", "local", "mut")
    },
    **{
        word: Hint("an argument is declared by its name and type: `x: f64[N]`")
        for word in ("input", "param", "parameter", "arg", "argument", "real", "tensor")
    },
    "where": Hint("what a definition reads stands above it, as `let h[i] = …`"),
    "scan": Hint("a recurrence states its order in braces: `scan{t} h[t] = …`"),
    "assert": Hint("conditions on sizes are derived from the reads, and tested at each call"),
    "dim": Hint("a size is `size N`", "size", GUESS),
}

#: Words and signs that follow an expression elsewhere.
FOLLOWING: dict[str, Hint] = {
    "for": Hint("over an index: `sum{i} (x[i])`, and likewise `prod`, `max`, `min`"),
    "if": Hint(
        "the choice stands in front: `if {i > 0} then (…) else (…)`, by values `select(x[i] > 0, …, …)`"
    ),
    "or": Hint("write one for each: `if {i = 0} then (…) else (if {i = 2} then (…) else (…))`"),
    "mod": Hint("a remainder is written `%`", "%"),
    "rem": Hint("a remainder is `%`, which has the sign of the divisor", "%", GUESS),
    "div": Hint("between indices it is written `//`, which rounds down", "//", GUESS),
    "where": Hint("what a definition reads stands above it, as `let h[i] = …`"),
    "in": Hint(
        "a range starts at 0 and is given by its size, `i: 3`, or in a sum by bounds, `sum{i}_0^2 (…)`"
    ),
    "is": Hint("equality is written `=`", "="),
    "not": Hint("conditions are negated by the other sign: `!=` for `=`, `>=` for `<`"),
    "and": Hint("comparisons are joined in `if {i > 0 and i < 3} then (…) else (…)` alone"),
    "as": Hint("there are no casts; a type is stated by `let h[i]: f32 = …`"),
    "xor": Hint("write an `if` for each alternative"),
    "^": Hint("a power is written `**`", "**"),
}


def whole_number(value: float) -> str:
    """An integer that is written with a point or an exponent, such as `1e5`; empty for other numbers."""
    return str(int(value)) if value.is_integer() and abs(value) < 2**63 else ""


_TO_MULTIPLY = Hint("to multiply, write `*`", "*", GUESS)
_CONDITIONS = Hint("conditions stand in `if {i = j} then (…) else (…)` and `select(x > y, …, …)`")
_NO_OPTIONS = Hint("functions have no options such as `axis`; a reduction names its index: `max{i} (x[i])`")
_COMPARISON = Hint("a comparison is no number; `select(x > y, 1, 0)` and `if {i > 0} then (1) else (0)` are")
_COMMENT = Hint("a comment starts with `#`; `//` and `%` divide")
LIST = "there are no lists: `f[i: 2] = if {i = 0} then (…) else (…)` has two elements"
GOES_ON = "an expression goes on in the next line only inside brackets: put it in parentheses"
_SLICE = Hint(
    "a read names an index for each dimension, `x[i, j]`, shifted for a part of a tensor, `x[i + 1]`; a size"
    " is one number or name"
)
_NO_RANGE = Hint(
    "the range of an index is its size, `sum{i: 3} (…)`, or bounds behind the brace, `sum{i}_0^2 (…)`"
)


def following(kind: str, text: str, expected: str, opener: str, *, after_division: bool) -> Hint | None:
    """What may be meant by a token in the place of what is `expected`, in a bracket `opener`."""
    behind = expected.startswith("an operator")
    if kind == ":" and opener == "[" and (behind or expected == "an expression"):
        return _SLICE
    if opener == "{" and kind in ("=", "<", "<=", "_", "^") and not behind:
        return _NO_RANGE
    if kind == "=" and opener == "(" and expected.startswith("an operator, `,`"):
        return _NO_OPTIONS
    if after_division and behind and kind in ("name", "number"):
        return _COMMENT
    if text in FOLLOWING and (behind or text in ("in", "or", "for")):
        return FOLLOWING[text]
    if not behind:
        return None
    if kind in ("name", "number", "(", "pi", "sum"):
        return _TO_MULTIPLY
    if kind in ("<", ">", "<=", ">=", "!="):
        return _COMPARISON
    return _CONDITIONS if kind == "=" else None


_AUGMENTED = (
    "a definition states the whole value: `f[i] = …`; a sum over an index is `sum{k} (…)`, what reads its own"
    " elements a recurrence, `scan{t} f[t] = …`"
)
_ALTERNATIVES = "write an `if` for each alternative"

#: Signs that are none here. Reading goes on with the text, or with what `MEANT_SIGNS` says.
SIGNS: dict[str, Hint] = {
    "==": write("="),
    "===": write("="),
    ":=": write("="),
    "!==": write("!="),
    "~=": write("!=", GUESS),
    "<>": write("!="),
    "=>": write(">=", GUESS),
    "=<": write("<="),
    "&&": write("and"),
    "&": write("and", GUESS),
    ".*": Hint("operators go element by element: write `*`", "*"),
    "./": Hint("operators go element by element: write `/`", "/"),
    ".^": Hint("a power is written `**`", "**"),
    ".**": write("**"),
    ".+": write("+"),
    ".-": write("-"),
    "||": Hint(_ALTERNATIVES),
    "|": Hint(f'an absolute value is `abs(x)`; for "or" {_ALTERNATIVES}'),
    "@": Hint("a product of matrices names its indices: `c[i, j] = sum{k} (a[i, k] * b[k, j])`"),
    "+=": Hint(_AUGMENTED),
    "-=": Hint(_AUGMENTED),
    "*=": Hint(_AUGMENTED),
    "/=": Hint(_AUGMENTED),
    "->": Hint("a result is defined by name: `f[i] = …`"),
    "?": Hint("choose by `select(x[i] > 0, …, …)`, by an index with `if {i > 0} then (…) else (…)`"),
    "!": Hint('"not equal" is written `!=`'),
    "~": Hint("a proportion has to be stated as an equation: `f[i] = …`"),
    "'": Hint("a transpose names the indices the other way round: `b[j, i] = a[i, j]`"),
    "...": Hint("each index is named: `x[i, j]`"),
    "\\": Hint("a line goes on inside brackets without a sign"),
    "$": Hint("leave it out: what is written is a formula anyway", "", GUESS),
}
#: What stands in the place of a sign without a text while the rest is read.
MEANT_SIGNS = {"+=": "=", "-=": "=", "*=": "=", "/=": "=", "->": "=", "@": "*"}
