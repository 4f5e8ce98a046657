"""Names that C and C++ give a meaning, and names for these in a header."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tadc.frontend.naming import first_free

#: Keywords of C23 and C++23.
_KEYWORDS = frozenset(
    """
    alignas alignof and and_eq asm auto bitand bitor bool break case catch char char8_t char16_t
    char32_t class compl concept const consteval constexpr constinit const_cast continue co_await
    co_return co_yield decltype default delete do double dynamic_cast else enum explicit export extern
    false float for friend goto if inline int long mutable namespace new noexcept not not_eq nullptr
    operator or or_eq private protected public register reinterpret_cast requires restrict return short
    signed sizeof static static_assert static_cast struct switch template this thread_local throw true
    try typedef typeid typename typeof typeof_unqual union unsigned using virtual void volatile wchar_t
    while xor xor_eq
    """.split()
)

#: Types of the header, and macros that headers of C define as words.
_WORDS = frozenset(
    "int64_t size_t complex imaginary I NULL EOF errno stdin stdout stderr assert unix linux near far".split()
)

#: What C and POSIX reserve at file scope, besides keywords: functions of their libraries that programs are
#: named like.
_LIBRARY = frozenset(
    """
    main exp exp2 expm1 log log2 log10 log1p sin cos tan asin acos atan atan2 sinh cosh tanh asinh acosh
    atanh sqrt cbrt pow hypot erf erfc tgamma lgamma floor ceil trunc round rint fabs abs fma fmin fmax
    fmod remainder ldexp frexp modf scalbn logb ilogb copysign nan div j0 j1 jn y0 y1 yn gamma malloc
    free calloc realloc memcpy memmove memset exit abort read write open close time clock signal printf
    puts index select send recv
    """.split()
)

_IDENTIFIER = re.compile(r"[A-Za-z][A-Za-z0-9_]*", re.ASCII)


def is_symbol(name: str) -> bool:
    """Whether functions of a library may be called so: an identifier of C and C++ that neither reserves."""
    return (
        _IDENTIFIER.fullmatch(name) is not None
        and "__" not in name
        and name not in _KEYWORDS | _WORDS | _LIBRARY
    )


def parameter_names(names: Sequence[str]) -> dict[str, str]:
    """Names of parameters for those of a program: the same, but where C has other uses for these."""
    taken = set(names)
    found: dict[str, str] = {}
    for name in names:
        found[name] = name if name not in _KEYWORDS | _WORDS else first_free(f"{name}_", taken)
        taken.add(found[name])
    return found
