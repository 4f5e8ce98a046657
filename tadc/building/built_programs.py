"""Programs of definitions: their text with the sites of its parts, and the functions that are made of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any
from weakref import WeakKeyDictionary

from tadc.api.function import Function, checked_storage, function_of_text
from tadc.building.python_expressions import Expression, Index, Size, Tensor, walk
from tadc.building.python_forms import head_parts
from tadc.building.python_lines import BuiltSource, Site, in_python, wrong
from tadc.building.tensors import ArgumentTensor, DefinedTensor, Head, IndexArray, at_parts, let
from tadc.building.whole_arrays import FreshIndex, FreshTensor
from tadc.caller.boundary import checked_sizes_given, public
from tadc.caller.warn_caller import warn_of
from tadc.frontend.diagnostics import CompileError
from tadc.frontend.lexer import RESERVED
from tadc.frontend.limits import MAX_PIECES
from tadc.frontend.naming import first_free
from tadc.frontend.source import Span

#: What the functions that `define` made compute, for `program`.
_DEFINED: WeakKeyDictionary[Function, DefinedTensor] = WeakKeyDictionary()


@public
def define(
    name: str, indices: Head, body: Any, *, order: Any = None, dtype: Any = None, at: Any = ()
) -> Function:
    """The function of one result, which is defined as by `let`.

    >>> import tadc
    >>> i, j, k = tadc.indices("i j k")
    >>> a, b = tadc.argument("a", "f64", ("N", "K")), tadc.argument("b", "f64", ("M", "K"))
    >>> f = tadc.define("f", [i, j], tadc.exp(-tadc.sum(k, (a[i, k] + b[j, k])**2)))
    >>> f
    <tadc.Function (a: f64[N, K], b: f64[M, K]) -> (f: f64[N, M])>

    Raises CompileError as `tadc.function` does, at lines of Python.
    """
    return program(let(name, indices, body, order=order, dtype=dtype, at=at))


@public
def program(
    *results: Tensor | Function,
    arguments: Sequence[Tensor] | None = None,
    sizes: Mapping[str, int] | None = None,
    materialize: str | None = None,
    memory_limit: int | str | None = None,
) -> Function:
    """The function of several results: what `let` made, or functions that `define` made.

    A result that another one reads stands before it. `arguments` says their order, and adds some that nothing
    reads; by default they stand as they were made. All others as of `tadc.function`.

    >>> import tadc
    >>> i, x = tadc.index("i"), tadc.argument("x", "f64", "N")
    >>> y = tadc.let("y", [i], tadc.tanh(x[i]))
    >>> tadc.program(y, tadc.let("energy", [], tadc.sum(i, y[i]**2)))
    <tadc.Function (x: f64[N]) -> (y: f64[N], energy: f64)>
    """
    checked_sizes_given(sizes)
    how = checked_storage(materialize, memory_limit)
    found = [_definition(result) for result in results]
    if not found:
        raise wrong("a program has a result", "give what `tadc.let` made: `tadc.program(y)`")
    try:
        made = function_of_text(_SourceWriter(found, arguments).source(), sizes).storing(*how)
    except CompileError as error:
        raise in_python(error) from None
    if not made.is_known:
        warn_of(made.program.doubts)
    if len(found) == 1:
        _DEFINED[made] = found[0]
    return made


def _definition(given: Any) -> DefinedTensor:
    if isinstance(given, Function) and given in _DEFINED:
        return _DEFINED[given]
    if isinstance(given, DefinedTensor):
        return given
    help = 'name it: `tadc.let("y", [i], …)`, or `tadc.define` for one result alone'
    raise wrong(f"a result is what `tadc.let` or `tadc.define` made, not {given!r}", help)


#: What indices are called that have no name of their own.
_LETTERS = "ijklmnpqrstuv"


class _SourceWriter:
    """The text of a program, statement by statement, and the site of each part of it."""

    def __init__(self, results: list[DefinedTensor], arguments: Sequence[Tensor] | None) -> None:
        self.results = results
        self.arguments = arguments
        self.names: dict[int, str] = {}
        self.text: list[str] = []
        self.length = 0
        self.sites: list[tuple[Span, Site]] = []

    def source(self) -> BuiltSource:
        """The whole program."""
        reached = _reached([*self.results, *(self.arguments or [])])
        leaves = sorted(reached, key=lambda leaf: leaf.order)
        given = [a for a in self.arguments or [] if isinstance(a, ArgumentTensor)]
        if len(given) < len(self.arguments or []):
            raise wrong("`arguments` are what `tadc.argument` made")
        first = _Same(given)
        self.name_tensors(leaves)
        arguments = given + [a for a in leaves if isinstance(a, ArgumentTensor) and a not in first]
        self.sizes([s for s in leaves if isinstance(s, Size)], arguments)
        for argument in arguments:
            self.statement([f"{argument.name}: ", *argument.declared_type()], argument.declared)
        for definition in self.in_order([leaf for leaf in leaves if isinstance(leaf, DefinedTensor)]):
            self.definition(definition)
        return BuiltSource("".join(self.text), f"<{self.results[0].name}>", tuple(self.sites))

    def name_tensors(self, leaves: Iterable[Tensor | Size]) -> None:
        """Give names to definitions that have none of their own."""
        listed = list(leaves)
        self.taken = {leaf.name for leaf in listed if not isinstance(leaf, FreshTensor)} | {*RESERVED}
        for leaf in listed:
            if isinstance(leaf, FreshTensor):
                self.names[id(leaf)] = first_free(leaf.name, self.taken)
                self.taken.add(self.names[id(leaf)])

    def name_indices(self, tensor: DefinedTensor) -> None:
        """Give names to indices that have none of their own: letters that nothing else is called."""
        parts = [
            *(index for index, _ in tensor.indices),
            *(part for part, _ in walk(tensor.body) if part is not None),
        ]
        used = self.taken | {
            part.name for part in parts if isinstance(part, Index) and not isinstance(part, FreshIndex)
        }
        for part in parts:
            if isinstance(part, FreshIndex) and id(part) not in self.names:
                wanted = part.wanted if part.wanted.isidentifier() and part.wanted not in used else ""
                name = wanted or next((c for c in _LETTERS if c not in used), None) or first_free("i", used)
                self.names[id(part)] = name
                used.add(name)

    def in_order(self, definitions: list[DefinedTensor]) -> Iterator[DefinedTensor]:
        """Results as they were given, but for those that others read; the rest as it was made."""
        results, written = _Same(self.results), _Same([])
        for result in self.results:
            needed = _Same(_reached([result]))
            for definition in definitions:
                is_due = definition in needed or definition not in results
                if is_due and definition.order <= result.order and definition not in written:
                    written.add(definition)
                    yield definition

    def sizes(self, sizes: list[Size], arguments: list[ArgumentTensor]) -> None:
        """Declare those that have a value, and those that no shape of an argument tells."""
        told = {str(size) for argument in arguments for size in argument.sizes}
        for name in dict.fromkeys(size.name for size in sizes):
            named = [size for size in sizes if size.name == name]
            # One name with two values is an error of the checker.
            valued = {size.value: size for size in named if size.value is not None}
            for size in valued.values() or named[:1]:
                if size.value is not None:
                    self.statement([f"size {name} = {size.value}"], size.declared)
                elif name not in told:
                    self.statement([f"size {name}"], size.declared)

    def definition(self, tensor: DefinedTensor) -> None:
        """`let h[i: 3] = …`; of a result with an element type its declaration too."""
        if tensor.body.pieces > MAX_PIECES:
            raise wrong(
                f"the text of `{tensor.name}` has {tensor.body.pieces} pieces",
                'what is used twice stands there twice: name it, `h = tadc.let("h", [i], …)`',
                site=tensor.declared,
            )
        self.name_indices(tensor)
        parts: list[str | Expression] = []
        is_result = tensor in _Same(self.results)
        if tensor.places and not is_result:
            help = "leave out `at`, or give it to `tadc.program`"
            raise wrong(f"`{tensor.name}` is sparse and no result", help, site=tensor.declared)
        if is_result and (tensor.type or tensor.places):
            stated = [size for _, size in tensor.indices if size is not None]
            if tensor.type and len(stated) < len(tensor.indices):
                raise wrong(
                    f"the sizes of `{tensor.name}`, whose element type is stated, are not",
                    "state them: `{i: N, j: 3}` in the place of `[i, j]`",
                    site=tensor.declared,
                )
            made = ArgumentTensor(tensor.name, tensor.type, tuple(stated), tensor.declared, tensor.places)
            declared = made.declared_type() if tensor.type else at_parts(tensor.places)
            self.statement([f"{tensor.name}: ", *declared], tensor.declared)
        elif not is_result:
            parts += ["let "]
        if tensor.scan is not None:
            parts += ["scan{", tensor.scan, "} "]
        parts += [Expression((self.names.get(id(tensor), tensor.name),))]
        if tensor.indices:
            parts += ["[", *head_parts(tensor.indices), "]"]
        if not is_result and tensor.type:
            parts += [f": {tensor.type}"]
        self.statement([*parts, " = ", tensor.body], tensor.declared)

    def statement(self, parts: Iterable[str | Expression], site: Site) -> None:
        """Write a line."""
        begin = self.length
        open_: list[tuple[int, Expression]] = []
        for part, text in walk(Expression(tuple(parts))):
            if part is not None:
                open_.append((self.length, part))
            elif text:
                shown = self.names.get(id(open_[-1][1]), text)
                self.text.append(shown)
                self.length += len(shown)
            else:
                start, closed = open_.pop()
                if closed.site is not None:
                    self.sites.append((Span(start, self.length), closed.site))
        self.sites.append((Span(begin, self.length), site))
        self.text.append("\n")
        self.length += 1


class _Same:
    """Expressions by identity: `==` between them makes a condition."""

    def __init__(self, items: Iterable[Expression]) -> None:
        self.ids = {id(item) for item in items}

    def __contains__(self, item: Expression) -> bool:
        return id(item) in self.ids

    def add(self, item: Expression) -> None:
        self.ids.add(id(item))


def _reached(from_: Iterable[Tensor]) -> Iterator[Tensor | Size]:
    """The tensors and sizes that some tensors are made of, these among them, each once."""
    seen = _Same([])
    stack: list[Expression] = list(from_)
    while stack:
        item = stack.pop()
        if item in seen:
            continue
        seen.add(item)
        stack += [part for part in item.parts if isinstance(part, Expression)]
        if isinstance(item, IndexArray):
            stack.append(item.below)
        if isinstance(item, ArgumentTensor):
            stack += (*item.sizes, *item.places)
        elif isinstance(item, DefinedTensor):
            stack += [item.body, *([item.scan] if item.scan is not None else [])]
            stack += [size for _, size in item.indices if size is not None]
            stack += item.places
        if isinstance(item, Tensor | Size):
            yield item
