"""Pages of the Python API, made of signatures and docstrings at run time.

Public names are imported lazily, from layers that stand beside the package. So Python itself is asked about
them, and no reader of source files.
"""

from __future__ import annotations

import dataclasses
import inspect
import re
import tomllib
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, ForwardRef

import tadc

HERE = Path(__file__).parent

#: Public names without a section: modules, which have a page each.
MODULES = {"dask", "dual"}
#: Parameters that no caller gives.
OWN = ("self", "cls")


@dataclasses.dataclass(frozen=True)
class ApiPage:
    """A page: names of one module that belong together; `about` says what one can do after reading."""

    file: str
    title: str
    about: str
    names: tuple[str, ...]
    module: str = "tadc"


@cache
def inner_members() -> frozenset[str]:
    """Members of public classes that other parts of the house call; SystemExit where one is not there."""
    with (HERE / "api.toml").open("rb") as file:
        listed = frozenset(tomllib.load(file)["inner"].split())
    public = {base: vars(base) for name in places_of_names() for base in public_class(name).__mro__}
    there = {f"{base.__name__}.{member}" for base, own in public.items() for member in own}
    if listed - there:
        raise SystemExit(f"docs/site/api.toml: there is no {', '.join(sorted(listed - there))}")
    return listed


def public_class(name: str) -> type:
    """The class of a public name; `object` where that is no class."""
    module, _, short = name.rpartition(".")
    found = getattr(import_module(module), short)
    return found if inspect.isclass(found) else object


@cache
def api_table() -> tuple[ApiPage, ...]:
    """The pages of `api.toml`; SystemExit where a public name of `tadc` stands on none."""
    with (HERE / "api.toml").open("rb") as file:
        rows = tomllib.load(file)["page"]
    listed = {name for row in rows for name in row.get("names", "").split()}
    if listed != own_names("tadc"):
        raise SystemExit(f"docs/site/api.toml: see {', '.join(sorted(listed ^ own_names('tadc')))}")
    return tuple(
        ApiPage(
            **{
                **row,
                "names": tuple(row["names"].split() if "names" in row else sorted(own_names(row["module"]))),
            }
        )
        for row in rows
    )


def own_names(module: str) -> set[str]:
    """The public names of a module, but for constants, modules, and what `tadc` itself has as well."""
    found = import_module(module)
    names = {name for name in found.__all__ if not name.isupper()} - MODULES
    if module == "tadc":
        return names
    return {name for name in names if getattr(found, name) is not getattr(tadc, name, None)}


@cache
def places_of_names() -> dict[str, str]:
    """The page and the place of each public name."""
    return {
        f"{page.module}.{name}": f"api/{page.file}.md#{page.module}.{name}"
        for page in api_table()
        for name in page.names
    }


def api_pages() -> dict[str, str]:
    """All pages, and one that lists them."""
    rows = [f"| [{page.title}]({page.file}.md) | {page.about} |" for page in api_table()]
    index = [
        "# Python API",
        "Find a public name by what it is for; pages are made of docstrings, whose examples are tests.",
        "\n".join(["| page | what you can do |", "|---|---|", *rows]),
    ]
    pages = {f"api/{page.file}.md": page_of(page) for page in api_table()}
    return {"api/index.md": "\n\n".join(index) + "\n", **pages}


def page_of(page: ApiPage) -> str:
    """A page: its sentence, its module's docstring, its names."""
    module = import_module(page.module)
    parts = [f"# {page.title}", page.about]
    if page.module != "tadc":
        parts.append(prose(inspect.getdoc(module) or ""))
    parts += (section(f"{page.module}.{name}", getattr(module, name)) for name in page.names)
    return "\n\n".join(parts) + "\n"


def section(name: str, item: Any) -> str:
    """A public name: how it is called, its docstring, its parameters, its members."""
    parts = [f"## {name} {{ #{name} data-toc-label='{name.rpartition('.')[2]}' }}"]
    kind = inspect.isclass(item)
    bases = public_bases(item) if kind else {}
    parts.append(prose(inspect.getdoc(item) or "") if kind else described(name, item))
    if kind and (table := field_table(item)):
        parts.append(table)
    if bases:
        parts.append(f"It is a `{next(iter(bases.values()))}`, with all members of that.")
    if kind:
        parts += (member(name, *found) for found in members(item))
    return "\n\n".join(parts)


def described(name: str, item: Any) -> str:
    """How something is called, what it does, its parameters, and the rest of its docstring."""
    first, _, rest = prose(inspect.getdoc(item) or "").partition("\n\n")
    try:
        signature = inspect.signature(item)
    except (TypeError, ValueError):
        return f"{first}\n\n{rest}"
    call = f"```python\n{written_call(name, signature)}\n```"
    return "\n\n".join(part for part in (call, first, parameter_table(signature), rest) if part)


def parameter_table(signature: inspect.Signature) -> str:
    """A row for each parameter, and one for what is returned."""
    rows = [
        f"| `{p.name}` | {code(shown_type(p.annotation))} | {default_of(p)} |"
        for p in signature.parameters.values()
        if p.name not in OWN
    ]
    returned = shown_type(signature.return_annotation)
    if returned not in ("", "None", "Any"):
        rows.append(f"| returns | {code(returned)} | |")
    return "\n".join(["| parameter | type | default |", "|---|---|---|", *rows]) if rows else ""


def field_table(item: type) -> str:
    """A row for each field of a record that a user reads: their names and types."""
    if dataclasses.is_dataclass(item):
        types = {field.name: field.type for field in dataclasses.fields(item)}
    else:
        hints = inspect.get_annotations(item)
        types = {name: hints.get(name, inspect.Parameter.empty) for name in getattr(item, "_fields", ())}
    rows = [
        f"| `{name}` | {code(shown_type(kind))} |" for name, kind in types.items() if not name.startswith("_")
    ]
    return "\n".join(["| field | type |", "|---|---|", *rows]) if rows else ""


def written_call(name: str, signature: inspect.Signature) -> str:
    """A call with names and defaults, a line for each where one would be too long."""
    parameters = [p.replace(annotation=p.empty) for p in signature.parameters.values() if p.name not in OWN]
    whole = f"{name}{signature.replace(parameters=parameters, return_annotation=signature.empty)}"
    if len(whole) < 60:
        return whole
    inner = str(inspect.Signature(parameters))[1:-1]
    return f"{name}(\n    " + re.sub(r", (?=[\w*/])", ",\n    ", inner) + ",\n)"


def shown_type(annotation: Any) -> str:
    """A type as it is written."""
    if annotation is inspect.Signature.empty:
        return ""
    if isinstance(annotation, ForwardRef):
        return annotation.__forward_arg__
    return annotation if isinstance(annotation, str) else getattr(annotation, "__name__", str(annotation))


def default_of(parameter: inspect.Parameter) -> str:
    """The default of a parameter, or that it has none."""
    if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
        return "any number"
    return "required" if parameter.default is parameter.empty else code(repr(parameter.default))


def code(text: str) -> str:
    """Text as code in a table."""
    return f"`{text}`" if text else ""


def public_bases(item: type) -> dict[type, str]:
    """The public names of the classes that a class is derived from, the nearest first."""
    names = {public_class(name): name for name in places_of_names()}
    return {base: names[base] for base in item.__mro__[1:] if base in names and base is not object}


def members(item: type) -> Iterator[tuple[str, Any]]:
    """The public methods and properties of a class that have docstrings, without those of public bases."""
    seen = set[str]()
    bases = public_bases(item)
    inherited = {base for public in bases for base in public.__mro__}
    for base in item.__mro__:
        if not base.__module__.startswith("tadc") or base in inherited:
            continue
        for name, value in vars(base).items():
            if name.startswith("_") or name in seen or f"{base.__name__}.{name}" in inner_members():
                continue
            seen.add(name)
            found = getattr(value, "__func__", value)
            if (inspect.isroutine(found) or isinstance(found, property)) and inspect.getdoc(found):
                yield name, found


def member(owner: str, name: str, value: Any) -> str:
    """A method or a property of a class."""
    short = f"{owner.rpartition('.')[2]}.{name}"
    head = f"### {short} {{ #{owner}.{name} data-toc-label='{name}' }}"
    about = prose(inspect.getdoc(value) or "") if isinstance(value, property) else described(short, value)
    return f"{head}\n\n{about}"


def prose(doc: str) -> str:
    """A docstring as Markdown: its examples in blocks of Python's console."""
    doc = re.sub(r" +# doctest:.*", "", doc)
    lines, made, inside = [*doc.split("\n"), ""], list[str](), False
    for line in lines:
        if line.startswith(">>>") and not inside:
            made += ["", "```pycon"]
            inside = True
        elif inside and not line.strip():
            made.append("```")
            inside = False
        made.append("" if line == "<BLANKLINE>" else line)
    return "\n".join(made).strip()
