"""What can be wrong with uncertainties that a user gives."""

from __future__ import annotations

from collections.abc import Iterable

from tadc.toolkit.reporting import ArgumentError, Diagnostic, did_you_mean


def unknown(what: str, name: str, known: Iterable[str]) -> Diagnostic:
    """A name that is no input."""
    names = list(known)
    notes = [f"the inputs are {', '.join(f'`{n}`' for n in names)}"]
    return Diagnostic(
        "TAD0901", f"{what} of `{name}`, which is no input", notes=notes, helps=did_you_mean(name, names)
    )


def missing(name: str) -> Diagnostic:
    """An input without a value."""
    message = f"the value of `{name}` is missing"
    return Diagnostic(
        "TAD0501", message, helps=[f"give it: `{{'{name}': …}}`, on the command line `--at {name}=…`"]
    )


def no_number(what: str, name: str, value: object) -> Diagnostic:
    """What is given in the place of a number or an array."""
    return Diagnostic(
        "TAD0902", f"{what} of `{name}` is {value!r}, which is no number and no array of numbers"
    )


def undefined(name: str) -> Diagnostic:
    """A value that is not a number."""
    return Diagnostic(
        "TAD0902",
        f"the value of `{name}` is nan",
        notes=["what follows from it is undefined, and so is its uncertainty"],
        helps=["leave such measurements out"],
    )


def misfit(what: str, name: str, shape: tuple[int, ...], wanted: tuple[int, ...]) -> Diagnostic:
    """A shape that does not go with that of the value."""
    message = f"{what} of `{name}` has shape {shape}, but the value has shape {wanted}"
    return Diagnostic("TAD0903", message, helps=["give one number for all elements, or one for each"])


def raise_all(found: list[Diagnostic]) -> None:
    """Raise ArgumentError if something is wrong."""
    if found:
        raise ArgumentError(found)
