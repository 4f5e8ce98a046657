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

#: Types and macros that the header includes, defines or uses, and macros that headers of C define as words.
_WORDS = frozenset(
    """
    int64_t size_t scratch complex imaginary I NULL EOF errno stdin stdout stderr assert unix linux near far
    """.split()
)

#: Macros of the header, and those of <stdint.h>, which it includes.
_MACRO = re.compile(r"TADC_\w+|U?INT\w*_\w+|(SIZE|PTRDIFF|WINT|WCHAR|SIG_ATOMIC)_\w+")

#: What C and POSIX reserve at file scope, besides keywords: functions of their libraries that programs are
#: named like.
_LIBRARY = frozenset(
    """
    main exp exp2 expm1 log log2 log10 log1p sin cos tan asin acos atan atan2 sinh cosh tanh asinh acosh
    atanh sqrt cbrt pow hypot erf erfc tgamma lgamma floor ceil trunc round rint fabs abs fma fmin fmax
    fmod remainder ldexp frexp modf scalbn logb ilogb copysign nan div j0 j1 jn y0 y1 yn gamma malloc
    free calloc realloc memcpy memmove memset exit abort read write open close time clock signal printf
    puts index select send recv strlen strcmp strcpy strcat memcmp bcmp system environ
    """.split()
)

#: What a unit has beside its functions: in modules of WebAssembly, and in what loads them.
_UNIT = frozenset("memory array".split())

_IDENTIFIER = re.compile(r"[A-Za-z][A-Za-z0-9_]*", re.ASCII)


def is_symbol(name: str) -> bool:
    """Whether functions of a library may be called so: an identifier of C and C++ that neither reserves, nor
    units use for something else.
    """
    # Functions of `float` and `long double` are named as that of `double`, with a letter behind.
    plain = name[:-1] if name[-1:] in ("f", "l") else name
    return (
        _IDENTIFIER.fullmatch(name) is not None
        and "__" not in name
        and not name.startswith("tadc_")
        and _MACRO.fullmatch(name) is None
        and not {name, plain} & _LIBRARY
        and name not in _KEYWORDS | _WORDS | _UNIT
    )


def parameter_names(names: Sequence[str]) -> dict[str, str]:
    """Names of parameters for those of a program: the same, but where C has other uses for these."""
    taken = set(names)
    found: dict[str, str] = {}
    for name in names:
        is_used = name in _KEYWORDS | _WORDS or _MACRO.fullmatch(name) is not None
        found[name] = first_free(f"{name}_", taken) if is_used else name
        taken.add(found[name])
    return found
