"""`jinv`, `jinvT` and `logabsdet`: called with arrays, and programs of the language where they can be."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tadc.toolkit.language import Program
from tadc.toolkit.reporting import CompileError, leaving, public
from tadc.toolkit.running import Function

#: What calls a product: its arguments in order, and whether to check the result.
Caller = Callable[..., Any]


class ProgramProduct(Function):
    """A product with the inverse of a Jacobian, as a program of the language.

    It is called with all arguments at once, `jinv(at, v)`, `jinv(at, v, check=True)`, `logabsdet(at)`, or as
    other functions are, with a tensor for each of its inputs, in order or by name. Called the first way it
    raises ArgumentError (TAD0912) where a step has no inverse; the other way a division by 0 is infinity.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._caller: Caller | None = None
        self._groups = 0

    def called_by(self, caller: Caller, groups: int) -> ProgramProduct:
        """The product, whose calls with so many arguments by position are calls of `caller`."""
        self._caller, self._groups = caller, groups
        return self

    def __call__(self, /, *args: Any, out: Any = None, **kwargs: Any) -> Any:
        """The product; see the class."""
        __tracebackhide__ = True
        given = set(kwargs) - {"check"}
        is_grouped = len(args) + len(given) == self._groups and not given & set(self.inputs)
        if self._caller is not None and out is None and (is_grouped or "check" in kwargs):
            return self._caller(*args, **kwargs)
        return super().__call__(*args, out=out, **kwargs)


class SolvedProduct:
    """A product that is no program of the language; it is called as `ProgramProduct`, with all at once."""

    def __init__(self, name: str, caller: Caller, reason: Callable[[], CompileError]) -> None:
        self._name, self._caller, self._reason = name, caller, reason

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The product."""
        return self._caller(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<tadc.SolvedProduct {self._name}>"

    def __str__(self) -> str:
        """Raises CompileError with the reason why there is no text."""
        error = self._reason()
        leaving(error)
        raise error

    @property
    @public
    def program(self) -> Program:
        """Raises CompileError with the reason why there is none (TAD0915, TAD0212)."""
        raise self._reason()

    def refused(self) -> CompileError:
        """Why this is no function of the language."""
        return self._reason()
