"""A random program over rows of edges, from a seed, in two forms: rows by `ptr`, as in CSR, or by `dst`, as
in COO.

In CSR the edges of a node v are those from `ptr[v]` to `ptr[v + 1] - 1`, in COO those e with `dst[e] = v`.
What stands in a row is any composition of functions and reductions of what edges and nodes have.
"""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np

from tests.fuzz.forms import Form, Lookup, Relation
from tests.fuzz.generate import MAGNITUDE
from tests.fuzz.indexed import ATTEMPTS, ZERO, Dimension, Indexed, IndexedReads, shape_of, size
from tests.fuzz.lanes import Lanes
from tests.fuzz.sized import lanes_at
from tests.fuzz.sized_tree import SizedDefinition, SizedProgram, Sizes
from tests.fuzz.tree import Apply, IndexArray, Literal, Node, Sum, children, nodes, with_child

#: Functions of any value; of `1.5 + x**2`; of `0.9*sin(x)`.
OF_ANY = "sin cos tanh atan erf sigmoid asinh abs relu sign floor ceil neg pow2 pow3".split()
OF_POSITIVE = "log sqrt log1p cbrt log2 log10 acosh pow-1 pow-2".split()
OF_SMALL = "exp exp2 expm1 sinh cosh tan asin acos atanh".split()

#: What arguments have an element for: edges, nodes, features, none.
ARGUMENTS = {"s": "E", "w": "E", "r": "N", "x": "N", "h": "NK", "u": "EK", "c": "K", "a": ""}
#: What definitions have an element for, and how often.
DEFINED = {"N": 5, "NK": 3, "E": 2, "": 1}


class _Reads(IndexedReads):
    """Reads at the edge of a row, the node whose row it is, and the node that it comes from.

    What reads edges or nodes around the row would be of pairs of these, and as large.
    """

    def __init__(self, rng: random.Random, arrays: dict[str, IndexArray]) -> None:
        super().__init__(rng, arrays)
        #: The node of each row, by the name of its edge.
        self.rows: dict[str, Form] = {}

    def place(self, kind: str, lanes: Lanes, depth: int, avoid: str | None = None) -> Form | None:
        """An index of a kind, or a node of an edge."""
        names = {of: [n for n in lanes.env if self.kinds.get(n) == of and n != avoid] for of in "NEK"}
        if kind == "K" or not names["E"]:
            return size(self.rng.choice(names[kind])) if names[kind] else None
        edge = names["E"][-1]
        row = self.rows.get(edge)
        if kind == "E":
            return size(edge)
        if row is not None and row.names <= lanes.env.keys() and self.rng.random() < 0.6:
            return row
        return self.lookup("j", (size(edge),))


class Rows(Indexed):
    """A program over rows by `ptr`."""

    def __init__(self, rng: random.Random, small: bool, sizes: Sizes) -> None:
        super().__init__(rng, small, sizes)
        self.depths = (2, 2, 3) if small else (2, 3, 3, 4)
        nodes = range(sizes["N"])
        owners = np.sort([rng.choice(nodes) for _ in range(sizes["E"])])
        sources = np.array([rng.choice(nodes) for _ in range(sizes["E"])], np.int64)
        ptr = np.searchsorted(owners, np.arange(sizes["N"] + 1))
        self.arrays.clear()
        self.arrays["ptr"] = IndexArray((size("N").shifted(1),), size("E").shifted(1), ptr, True)
        self.arrays["j"] = IndexArray((size("E"),), size("N"), sources)
        self.reads = self.indexed = _Reads(rng, self.arrays)

    def rows_program(self) -> SizedProgram:
        """The program."""
        rng = self.rng
        for name in rng.sample(sorted(ARGUMENTS), rng.choice((2, 3, 3, 4))):
            self.indexed.tensor(name, tuple(Dimension(((kind, 1),)) for kind in ARGUMENTS[name]))
        arguments = {name: shape_of(found) for name, found in self.indexed.dimensions.items()}
        names = ("f", "g", "k")[: rng.choices((1, 2, 3), (6, 4, 2))[0]]
        definitions = [self._rows_definition(name, last=name == names[-1]) for name in names]
        return SizedProgram(tuple(self.sizes), arguments, tuple(definitions), self._used(definitions))

    def _rows_definition(self, name: str, last: bool) -> SizedDefinition:
        (kinds,) = self.rng.choices(tuple(DEFINED), tuple(DEFINED.values()))
        indices = tuple(f"{kind.lower()}{len(self.indexed.kinds) + n}" for n, kind in enumerate(kinds))
        self.indexed.kinds |= dict(zip(indices, kinds, strict=True))
        shape = tuple(map(size, kinds))
        body = self.body(lanes_at(indices, shape, [self.sizes]))
        self.indexed.tensor(name, tuple(Dimension(((kind, 1),)) for kind in kinds))
        return SizedDefinition(name, indices, shape, body, last or self.rng.random() < 0.4)

    def expression(self, lanes: Lanes, depth: int) -> tuple[Node, float]:
        """Mostly compositions of functions and rows."""
        if depth == 0:
            return self._leaf(lanes)
        made = (
            self._binary,
            self._smooth,
            self._extremum,
            self._sum,
            self._guard,
            self._select,
            self._remainder,
        )
        (kind,) = self.rng.choices(made, (6, 5, 2, 8, 1, 1.5, 0.5))
        node, x = kind(lanes, depth - 1)
        return (node, x) if x <= MAGNITUDE else (Apply("tanh", (node,)), 1.0)

    def _extremum(self, lanes: Lanes, depth: int) -> tuple[Node, float]:
        (left, x), (right, y) = self.expression(lanes, depth), self.expression(lanes, depth)
        if self.rng.random() < 0.4:
            # As in a leaky ReLU.
            return Apply("max", (left, Apply("mul", (Literal(0.1), left)))), x
        return Apply(self.rng.choice(("max", "min")), (left, right)), max(x, y)

    def _smooth(self, lanes: Lanes, depth: int) -> tuple[Node, float]:
        node, x = self.expression(lanes, depth)
        op = self.rng.choice((*OF_ANY, *OF_POSITIVE, *OF_SMALL))
        if op in OF_POSITIVE:
            return Apply(op, (Apply("add", (Apply("pow2", (node,)), Literal(1.5))),)), 1.5 + x
        if op in OF_SMALL:
            return Apply(op, (Apply("mul", (Literal(0.9), Apply("sin", (node,)))),)), 3.0
        return Apply(op, (node,)), {"pow2": x**2, "pow3": x**3}.get(op, max(x, 1.0))

    def _whole(self, lanes: Lanes) -> Sum:
        """A sum over features; of all nodes or edges where there is none of either."""
        alone = not any(self.indexed.kinds.get(name) in ("N", "E") for name in lanes.env)
        return self._bound(self.rng.choice("NEK") if alone else "K")

    def _row(self, lanes: Lanes) -> Sum:
        node = super()._row(lanes)
        if node.style == "bounds":
            self.indexed.rows[node.name] = _rows(node)[0]
        return node

    def _fibre(self, lanes: Lanes) -> Sum:
        """A row; now and then of an edge what it is in the row of."""
        edge = self.indexed.place("E", lanes, 0)
        if edge is None or self.rng.random() < 0.7:
            return self._row(lanes)
        node = self._bound("N")
        (name,) = edge.names
        self.indexed.rows[name] = size(node.name)
        first, behind = (self.indexed.lookup("ptr", (size(node.name).shifted(n),)) for n in (0, 1))
        return replace(node, where=(Relation(">=", edge, first), Relation("<", edge, behind)))


def by_dst(program: SizedProgram, sizes: Sizes) -> SizedProgram:
    """The program with rows by `dst`."""
    ptr = program.arrays["ptr"]
    owners = np.searchsorted(ptr.values, np.arange(sizes["E"]), side="right") - 1
    dst = IndexArray((size("E"),), size("N"), owners)
    arrays = {"dst": dst} | {name: array for name, array in program.arrays.items() if name != "ptr"}
    definitions = tuple(replace(d, body=_by_dst(d.body, dst)) for d in program.definitions)
    return replace(program, definitions=definitions, arrays=arrays)


def _by_dst(node: Node, dst: IndexArray) -> Node:
    for place, child in children(node):
        node = with_child(node, place, _by_dst(child, dst))
    if not isinstance(node, Sum) or not (rows := list(_rows(node))):
        return node
    edge, owner = (size(node.name), rows[0]) if not node.where else (node.where[0].left, size(node.name))
    is_owner = Relation("=", Form(((Lookup("dst", (edge,), dst.values), 1),)), owner)
    if node.where:
        return replace(node, where=(is_owner,))
    return replace(node, lower=(ZERO,), upper=(size("E").shifted(-1),), style="size", where=(is_owner,))


def _rows(node: Sum) -> list[Form]:
    """The nodes of whose rows a sum speaks."""
    forms = (*node.lower, *(relation.right for relation in node.where))
    atoms = (atom for form in forms for atom, _ in form.terms)
    return [atom.parts[0] for atom in atoms if isinstance(atom, Lookup) and atom.array == "ptr"]


def generate(seed: int, *, small: bool = False) -> tuple[SizedProgram, Sizes]:
    """The program of a seed by `ptr`, and the values of its sizes for which its index arrays are."""
    for attempt in range(ATTEMPTS):
        rng = random.Random(seed + attempt / ATTEMPTS)
        n, e = rng.choice((1, 2, 3, 3, 4)), rng.choice((1, 2, 4, 6, 7))
        sizes = {"N": n, "E": e, "K": rng.choice((1, 2, 3))}
        program = Rows(rng, small, sizes).rows_program()
        if any(isinstance(node, Sum) and _rows(node) for d in program.definitions for node in nodes(d.body)):
            return program, sizes
    raise AssertionError(f"no program of seed {seed} has a row")
