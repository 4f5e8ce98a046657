"""What people write in NumPy, PyTorch, Julia, C or LaTeX, and what it is here.

The lexer, the parser and the checker look words up in these tables where they are about to report one.
`Hint.text` is what can stand in the place of the word; where there is none, the help says what to write.
Such an edit is safe where the word means the same wherever people write it; where some mean another thing by
it, it is a guess.
"""

from __future__ import annotations

from typing import NamedTuple

from tadc.frontend.diagnostic_data import GUESS, SAFE, Applicability, Edit
from tadc.frontend.functions import REDUCTIONS
from tadc.frontend.source import Span


class Hint(NamedTuple):
    """What is written here: a help, and a text that replaces the word or sign as it stands."""

    help: str
    text: str | None = None
    applicability: Applicability = SAFE

    def edits(self, span: Span) -> list[Edit]:
        """Put the text in the place of the word; nothing where there is none."""
        return [] if self.text is None else [Edit(span, self.text, self.applicability)]


def _write(text: str, sure: Applicability = SAFE) -> Hint:
    return Hint(f"it is written `{text}` here", text, sure)


# -- types ---------------------------------------------------------------------------------

_INTEGERS = "int integer uint size_t long short char i8 i16 i32 i64 u8 u16 u32 u64 int8 int16 int32 int64 nat"
_COMPLEX = "complex complex64 complex128 c32 c64 c128 cfloat cdouble ComplexF64"
_SMALL = "f16 float16 half bf16 bfloat16 f8 fp16 fp8"
_OTHERS = "bool boolean str string object"
_FLOATS = {
    "f32": "float32 single Float32 fp32 F32 real32",
    "f64": "float64 double Float64 fp64 F64 real64 float_",
}

#: Element types of other languages.
TYPES: dict[str, Hint] = {
    **{
        name: Hint(
            "elements are floating numbers; indices that read other tensors are `src: index[E] in N`,"
            " and an integer that a call gives, as a length, is `size N`"
        )
        for name in _INTEGERS.split()
    },
    **{
        name: Hint(
            "there are no complex numbers: an index `c: 2` can tell the real part from the imaginary one"
        )
        for name in _COMPLEX.split()
    },
    **{name: Hint("the smallest element type is `f32`") for name in _SMALL.split()},
    **{
        name: Hint("the element types are `f32` and `f64`; 0 and 1 stand for false and true")
        for name in _OTHERS.split()
    },
    **{name: _write(here) for here, names in _FLOATS.items() for name in names.split()},
    **{name: _write("f64", GUESS) for name in ("real", "Real", "number")},
    "float": Hint("NumPy's `float` is `f64`, that of C and PyTorch `f32`"),
    **{
        name: Hint("a declaration states the type of the elements and the sizes: `x: f64[3, N]`")
        for name in ("tensor", "Tensor", "array", "Array", "ndarray", "vector", "matrix", "list")
    },
}
INTEGER_TYPES = frozenset(_INTEGERS.split())

# -- functions -----------------------------------------------------------------------------

_RENAMED = {
    "log": "ln loge",
    "asin": "arcsin",
    "acos": "arccos",
    "atan": "arctan",
    "atan2": "arctan2",
    "asinh": "arcsinh arsinh",
    "acosh": "arccosh arcosh",
    "atanh": "arctanh artanh",
    "pow": "power",
    "abs": "absolute fabs",
    "sign": "signum sgnf",
    "max": "maximum",
    "min": "minimum",
    "sigmoid": "logistic expit",
    "ceil": "ceiling",
    "select": "where ifelse if_else iif",
}
#: `fmax` leaves a NaN out, a magnitude may be that of a vector, `choose` a binomial coefficient.
_LIKE = {"abs": "magnitude", "max": "fmax", "min": "fmin", "select": "choose cond"}

_SAID = {
    "round rint nearbyint nint": "`floor(x + 0.5)` rounds to the nearest integer",
    "trunc fix": "`select(x < 0, ceil(x), floor(x))` cuts the fraction off",
    "frac": "write `x - floor(x)`",
    "clip clamp": "write `max(min(x, high), low)`",
    "mod fmod remainder rem": "a remainder is `x % y`, floored as in Python",
    "div floordiv floor_divide": "write `floor(x / y)`, and `i // 2` between indices",
    "square sqr": "a square is `x**2`",
    "rsqrt": "write `1 / sqrt(x)`",
    "exp10": "write `10**x`",
    "hypot": "write `sqrt(x**2 + y**2)`",
    "sec csc cot sech csch coth": "write `1 / cos(x)`, `1 / sin(x)`, `1 / tan(x)`",
    "softplus": "write `max(x, 0) + log1p(exp(-abs(x)))`",
    "silu swish": "write `x * sigmoid(x)`",
    "gelu": "write `0.5 * x * erfc(-x / sqrt(2))`",
    "elu selu leaky_relu": "write `select(x > 0, x, …)`",
    "relu6": "write `min(relu(x), 6)`",
    "heaviside step": "write `select(x > 0, 1, 0)`",
    "isnan isinf isfinite": "`select(x != x, …, …)` tells a NaN",
    "lgamma gammaln loggamma gamma digamma beta zeta factorial binomial bessel": (
        "there is none here; `tadc --list functions` shows those that there are"
    ),
    "mean average avg": "write `sum{i} (x[i]) / N`, N being the size",
    "var std variance stdev": "with a mean m the variance is `sum{i} ((x[i] - m)**2) / N`, N being the size",
    "norm": "write `sqrt(sum{i} (x[i]**2))`",
    "dot inner vdot": "write `sum{i} (x[i] * y[i])`",
    "matmul mm bmm mv gemm einsum tensordot": "name the indices: `c[i, j] = sum{k} (a[i, k] * b[k, j])`",
    "outer kron": "name the indices: `c[i, j] = x[i] * y[j]`",
    "cross": "name the components: `c[0]`, `c[1]`, … are the branches of an `if`",
    "trace tr": "write `sum{i} (a[i, i])`",
    "diag diagonal": "write `d[i] = a[i, i]`",
    "transpose T permute swapaxes t": "name the indices the other way round: `b[j, i] = a[i, j]`",
    "reshape view flatten ravel": "index expressions say it: `r[i: 4, j: 3] = x[3*i + j]`",
    "concatenate concat stack hstack vstack cat": (
        "write `f[i: 8] = if {i < 4} then (x[i]) else (y[i - 4])`"
    ),
    "roll shift": "an index may be shifted: `x[i + 1]`",
    "flip reverse flipud fliplr": "write `x[N - 1 - i]`, N being the size",
    "diff": "write `d[i: N - 1] = x[i + 1] - x[i]`",
    "convolve conv conv1d conv2d correlate": "write `y[i: N - 2] = sum{k} (w[k] * x[i + k])`",
    "pad": "write `f[i: N + 2] = if {i >= 1 and i <= N} then (x[i - 1]) else (0)`",
    "cumsum": "write `y[i: N] = sum{j}_0^i (x[j])`, or as a recurrence, `scan{i} y[i] = …`",
    "cumprod": "write `y[i: N] = prod{j}_0^i (x[j])`, or as a recurrence, `scan{i} y[i] = …`",
    "softmax": "with `let z = logsumexp{j} (x[j])` write `s[i] = exp(x[i] - z)`",
    "log_softmax": "write `s[i] = x[i] - logsumexp{j} (x[j])`",
    "argmax argmin": "there are no indices that depend on values; the value itself is `max{i} (x[i])`",
    "sort argsort unique median percentile": "there is none: indices do not depend on values",
    "any all count count_nonzero": "count with `sum{i} (select(x[i] > 0, 1, 0))`",
    "zeros ones full eye identity zeros_like ones_like": "a constant tensor is `z[i: 4, j: 4] = 0`",
    "arange range linspace enumerate": "an index is a number too: `t[i: 9] = 0.1 * i`",
    "len size shape numel ndim": "a size has a name: `x: f64[N]`, then `N`",
    "rand randn random normal uniform": "there is no randomness: pass the numbers as an argument",
    "grad diff_ derivative jacobian": "derivatives are taken of a program: `tadc f.tad --wrt x`",
    "float int float32 float64 f32 f64": "there are no casts; a type is stated by `let h[i]: f32 = …`",
    "product": "a product over an index is `prod{i} (x[i])`",
    "summation total reduce_sum": "a sum over an index is `sum{i} (x[i])`",
    "amax nanmax reduce_max": "the largest element is `max{i} (x[i])`",
    "amin nanmin reduce_min": "the smallest element is `min{i} (x[i])`",
    "lse": "write `logsumexp{i} (x[i])`",
    "print": "a result is an output: `f = …`",
    **{kind: f"over an index it is `{kind}{{i}} (x[i])`" for kind in REDUCTIONS},
}

#: Functions of other languages; a text is the name of the same function here.
CALLS: dict[str, Hint] = {
    **{word: Hint(help) for words, help in _SAID.items() for word in words.split()},
    **{word: _write(here) for here, words in _RENAMED.items() for word in words.split()},
    **{word: _write(here, GUESS) for here, words in _LIKE.items() for word in words.split()},
}

#: Modules whose functions are written with their name in front.
MODULES = frozenset(
    "np numpy math cmath jnp jax torch tf F nn sp scipy special cp cupy Math std linalg xp".split()
)

# -- names that stand for values -----------------------------------------------------------

VALUES: dict[str, Hint] = {
    **{name: _write("pi") for name in ("Pi", "PI", "M_PI")},
    "e": Hint("the base of the natural logarithm is `exp(1)`, a power of it `exp(x)`", "exp(1)", GUESS),
    "M_E": _write("exp(1)"),
    "tau": _write("(2*pi)", GUESS),
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
    "==": _write("="),
    "===": _write("="),
    ":=": _write("="),
    "!==": _write("!="),
    "~=": _write("!=", GUESS),
    "<>": _write("!="),
    "=>": _write(">=", GUESS),
    "=<": _write("<="),
    "&&": _write("and"),
    "&": _write("and", GUESS),
    ".*": Hint("operators go element by element: write `*`", "*"),
    "./": Hint("operators go element by element: write `/`", "/"),
    ".^": Hint("a power is written `**`", "**"),
    ".**": _write("**"),
    ".+": _write("+"),
    ".-": _write("-"),
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
