"""Where errors leave tadc for the caller's code: every public function goes through here.

Of an error of the user the caller sees the own line and the diagnostic, not the frames of tadc in between; a
bug of tadc keeps all of them.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ParamSpec, TypeVar

from tadc.backend.environment import parse_size, whole_number
from tadc.frontend.diagnostics import CompileError, Diagnostic, UsageError

P = ParamSpec("P")
R = TypeVar("R")


def usage(message: str, help: str = "", *notes: str) -> UsageError:
    """The error (TAD0510) for a call of a function of tadc."""
    return UsageError([Diagnostic("TAD0510", message, notes=list(notes), helps=[help] if help else [])])


def public(function: Callable[P, R]) -> Callable[P, R]:
    """The function, its errors as the caller is to see them."""

    @functools.wraps(function)
    def called(*args: P.args, **kwargs: P.kwargs) -> R:
        __tracebackhide__ = True
        try:
            return function(*args, **kwargs)
        except Exception as error:
            if isinstance(error, TypeError) and error.__traceback__ and error.__traceback__.tb_next is None:
                raise _unbound(function, error, args, kwargs) from None
            leaving(error)
            raise

    return called


def _unbound(
    function: Callable[..., Any], error: TypeError, unnamed: Sequence[Any], given: Iterable[str]
) -> UsageError:
    """The error for arguments that a function does not have, of which Python says so."""
    from tadc.frontend.suggest import did_you_mean

    parameters = inspect.signature(function).parameters
    names = [name for name in parameters if name != "self"]
    is_method = len(names) < len(parameters)
    unknown = [name for name in given if name not in names]
    near = [help for name in unknown for help in did_you_mean(name, names) or _takers(function, name)]
    by_name = [p.name for p in parameters.values() if p.kind is p.KEYWORD_ONLY]
    if not unknown and "positional" in str(error) and "given" in str(error):
        if len(unnamed) == 1 and inspect.isfunction(unnamed[0]) and not is_method:
            near = [f"a decorator has parentheses: `@tadc.{function.__name__}()`"]
        elif by_name:
            near = [f"what follows is given by name: `{by_name[0]}=…`"]
        elif any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
            near = [f"{names[-1]} are given by name: `name={shown_value(unnamed[-1])}`"]
    takes = f"it takes {', '.join(names) or 'nothing'}"
    return usage(str(error), near[0] if near else "", takes)


def _takers(asked: Callable[..., Any], name: str) -> list[str]:
    """What functions of tadc have an argument, for one that was given to another."""
    tadc = sys.modules[asked.__module__.partition(".")[0]]
    functions = {n: vars(tadc).get(n) or getattr(tadc, n) for n in tadc.__all__ if n.islower()}
    takers = [
        n for n, f in functions.items() if inspect.isfunction(f) and name in inspect.signature(f).parameters
    ]
    return [f"`tadc.{takers[0]}` takes it: `tadc.{takers[0]}(…, {name}=…)`"] if takers else []


def leaving(error: Exception) -> None:
    """An exception is on its way out of tadc: what the user did wrong goes without the frames in between."""
    if isinstance(error, CompileError):
        error.__traceback__ = None


def checked_function(f: Any, kind: type, what: str) -> None:
    """Raise UsageError for what is no `tadc.Function`, or the reason that it knows why it is none."""
    if isinstance(f, kind):
        return
    if hasattr(f, "refused"):
        raise f.refused()
    if isinstance(f, str):
        raise usage(
            f"`{what}` takes a function, not the text of a program",
            f"make one of the text: `tadc.{what}(tadc.function(text))`",
        )
    name = type(f).__name__
    help = f"pass the function itself, `tadc.{what}(f)`, and the arrays to what it returns"
    if callable(f):
        help = "make a function of a program: `tadc.function(text)`; `tadc.dual` differentiates Python code"
    raise usage(f"`{what}` takes a tadc.Function, not {_a(name)}", help)


def checked_mapping(value: Any, what: str, example: str) -> None:
    """Raise UsageError for what is no mapping by name."""
    if value is not None and not isinstance(value, Mapping):
        raise usage(f"`{what}` is a mapping by name, not {_a(type(value).__name__)}", f"write `{example}`")


def checked_sizes_given(sizes: Any) -> None:
    """Raise UsageError for what is no mapping of sizes; what the values are is looked at later."""
    checked_mapping(sizes, "sizes", 'sizes={"N": 3}')


def checked_target(target: Any) -> None:
    """Raise UsageError for a target that is no word."""
    if not isinstance(target, str):
        raise usage(f"a target is a string, not {_a(type(target).__name__)}", 'write `target="cpu"`')


def checked_schedule(schedule: Any) -> None:
    """Raise UsageError for a schedule that is no text."""
    if not isinstance(schedule, str):
        raise usage("a schedule is text", "write `tadc.compile(f, schedule=f.lower().schedule)`")


def checked_choice(value: Any, what: str, choices: Iterable[str]) -> None:
    """Raise UsageError for what is not among some words."""
    names = list(choices)
    # A text first: an array is compared element by element.
    if not isinstance(value, str) or value not in names:
        from tadc.frontend.suggest import did_you_mean

        near = did_you_mean(value, names) if isinstance(value, str) else []
        known = ", ".join(f'"{name}"' for name in names)
        raise usage(f"{what} is one of {known}, not {shown_value(value)}", *near)


def checked_number(value: Any, what: str, least: int, wanted: str, is_whole: bool = True) -> None:
    """Raise UsageError for what is no whole number from `least` on, or no number above it."""
    is_number = whole_number(value) is not None or (not is_whole and hasattr(value, "__float__"))
    if not is_number or isinstance(value, bool) or getattr(value, "shape", ()):
        raise usage(f"{what} is {wanted}, not {shown_value(value)}")
    if not (value >= least if is_whole else value > least):
        raise usage(f"{what} is {wanted}, not {shown_value(value)}")


def checked_bytes(value: Any, what: str = "memory_limit") -> int | None:
    """A number of bytes, also as text (`"64M"`). Raises UsageError for what is none."""
    if value is None:
        return None
    found = parse_size(value) if isinstance(value, str) else whole_number(value)
    if found is None or found < 0:
        help = f'write `{what}="64M"`, or `{what}=1 << 26`'
        raise usage(f"{what} is a number of bytes, not {shown_value(value)}", help)
    return found


def checked_switch(value: Any, what: str) -> bool:
    """True or False. Raises UsageError for what is neither."""
    if not isinstance(value, bool):
        raise usage(f"{what} is True or False, not {shown_value(value)}")
    return value


def shown_value(value: Any) -> str:
    """A value in a message: of an array not the elements."""
    return f"an array ({type(value).__name__})" if getattr(value, "shape", ()) else repr(value)


def _a(name: str) -> str:
    return f"{'an' if name[:1].lower() in 'aeiou' or name.startswith('nd') else 'a'} {name}"
