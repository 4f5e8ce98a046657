"""Which dimensions of a program have lists of places: those that are read through index arrays."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import product

from tadc.apps.blocks.places_read import PLACE, PlacesRead, ReadContext, of_fibre, of_reach
from tadc.apps.blocks.reach import Reach, image
from tadc.toolkit.language import (
    Affine,
    Constraint,
    Definition,
    Domain,
    EliminationLimit,
    Fibre,
    Guard,
    Lookup,
    Program,
    Read,
    Reduce,
    Term,
    as_form,
    box,
    fibres_in,
    implied,
    index_forms,
    operands,
    outside,
)

#: A dimension of a tensor.
Dimension = tuple[str, int]

#: So many combinations of what tells the elements of one definition are looked at.
_MOST = 16


@dataclass(frozen=True)
class ListedFibre:
    """A fibre of an array that does not fall, of which `index` runs over those that a block reads.

    Its place is an index that runs over a list, or takes a run of places.
    """

    fibre: Fibre
    index: str
    run: Reach | None


class ListedPlaces:
    """Goes through the definitions of a program from the last one up: who reads a tensor says what of it.

    `read` has of each dimension that is listed the sets of places of which the list is the union; `ranges`
    the same of indices of sums and of definitions that run over such a list.
    """

    def __init__(self, program: Program, known: Domain, own: Collection[str]) -> None:
        """`own` are the sizes that one block does not share with the next."""
        self.program = program
        self.own = own
        self.terms = program.terms
        self.known = known
        self.shapes = program.shapes()
        self.read: dict[Dimension, dict[PlacesRead, None]] = {}
        self.ranges: dict[str, dict[PlacesRead, None]] = {}
        #: Where the run of places begins that a form takes which no index array tells.
        self.starts: dict[tuple[str, int, Affine], Reach] = {}
        #: Where the run of places begins, and ends, that is added to an element of an index array.
        self.windows: dict[tuple[str, int, Affine], tuple[Affine, Affine]] = {}
        #: The fibres of arrays that do not fall by their rows, and by the index that says which; with what
        #: their places are, where these are no index that runs over a list.
        self.fibres: dict[Constraint, ListedFibre] = {}
        self._fibre_of: dict[str, ListedFibre] = {}
        #: Indices that say it of several.
        self._several: set[str] = set()
        #: What an index takes that an element of an index array has to be, by the condition.
        self.runs: dict[Constraint, Reach | None] = {}
        self._through: set[Dimension] = set()
        self._whole = {(t.name, d) for t in program.definitions if t.is_output for d in range(len(t.shape))}
        self._whole |= {(d.name, n) for d in program.definitions if d.order for n in range(len(d.shape))}
        #: What the indices in scope take at the moment.
        self._taken: dict[str, PlacesRead] = {}
        #: What is read at an index that runs over a list.
        self.users: dict[str, list[Dimension]] = {}
        for definition in reversed(program.definitions):
            self._look_at(definition)
        self._keep_used()

    def opened(self, node: Reduce) -> tuple[tuple[str, ...], Domain, Term]:
        """A reduction with names of its own for its indices, the same at each call."""
        names = [f"?b{node.number}_{n}" for n in range(len(node.binders))]
        return self.terms.open(node, names)

    def is_listed(self, tensor: str, dimension: int) -> bool:
        """Whether a block has a list of places of a dimension."""
        return (tensor, dimension) in self._through and (tensor, dimension) not in self._whole

    def _look_at(self, definition: Definition) -> None:
        listed = {
            index: list(self.read.get((definition.name, d), ()))
            for d, index in enumerate(definition.indices)
            if self.is_listed(definition.name, d)
        }
        if len(list(product(*listed.values()))) > _MOST:
            self._whole |= {(definition.name, d) for d in range(len(definition.shape))}
            listed = {}
        names = {index: f"?{definition.name}_{index}" for index in listed}
        body = self.terms.substitute(definition.body, {i: Affine.var(n) for i, n in names.items()})
        shape = dict(zip(definition.indices, definition.shape, strict=True))
        for several in product(*listed.values()):
            taken = dict(zip(names.values(), several, strict=True))
            facts = (*self.known, *box([names.get(i, i) for i in shape], shape.values()))
            for name, places in taken.items():
                facts += places.of(name) or ()
                self.ranges.setdefault(name, {})[places] = None
            for index, name in names.items():
                self.users[name] = [(definition.name, definition.indices.index(index))]
            self._taken = dict(taken)
            self._visit(body, facts)

    def _visit(self, root: Term, facts: Domain) -> None:
        stack, seen = [(root, facts)], set[tuple[int, Domain]]()
        while stack:
            term, known = stack.pop()
            if (term.number, known) in seen:
                continue
            seen.add((term.number, known))
            rows: Domain = ()
            match term:
                case Reduce():
                    binders, rows, body = self.opened(term)
                    inner, others = self._rows_below(body, term.kind)
                    self._list_indices((*binders, *inner), known + rows + others)
                    self._list_fibres(binders, known + rows + others)
                    self._note_runs(rows, known)
                    stack.append((body, known + rows))
                case Guard(conditions=rows):
                    stack += [(term.otherwise, case) for case in reversed(outside(rows, known))]
                    stack.append((term.then, known + rows))
                case _:
                    stack += [(part, known) for part in operands(term)]
            for form in [row.form for row in rows] or index_forms(term):
                for lookup in form.lookups():
                    others = tuple(row for row in rows if lookup not in row.form.lookups())
                    self._note_all(lookup.array, lookup.at, known + others)
            if isinstance(term, Read):
                self._note_all(term.tensor, term.indices, known)

    def _rows_below(self, body: Term, kind: str) -> tuple[tuple[str, ...], Domain]:
        """What holds too where all that is reduced is a reduction of the same kind, and its indices."""
        if not isinstance(body, Reduce) or body.kind != kind:
            return (), ()
        binders, rows, inner = self.opened(body)
        others, more = self._rows_below(inner, kind)
        return binders + others, rows + more

    def _context(self, rows: Domain) -> ReadContext:
        among = {name: places for name, places in self._taken.items() if places.of(name) is None}
        return ReadContext(rows, among, self.program.sizes, self.known)

    def _list_indices(self, binders: Sequence[str], rows: Domain) -> None:
        for binder in binders:
            try:
                found = self._context(rows).of_variable(binder)
            except EliminationLimit:
                found = None
            if found is not None:
                self._take(binder, found)

    def _take(self, index: str, places: PlacesRead) -> None:
        """That an index runs over these places, if blocks have others."""
        if places.depends_on(self.own):
            self._taken[index] = places
            self.ranges.setdefault(index, {})[places] = None

    def _list_fibres(self, binders: Sequence[str], rows: Domain) -> None:
        """That an index says in which fibre places are that blocks have: only these fibres are read."""
        rising = [name for name, array in self.program.index_arrays().items() if array.increasing]
        for fibre in fibres_in(rows, rising):
            name = fibre.values[0].variable if len(fibre.values) == 1 else None
            if name is None or name not in binders or not fibre.exactly or name in self._taken:
                continue
            among, reach = self._taken.get(fibre.place.variable or ""), None
            try:
                if among is None and fibre.place.variables.isdisjoint(self._taken):
                    others = tuple(row for row in rows if row not in fibre.rows)
                    reach = image(fibre.place, others, self.program.sizes, self.known)
            except EliminationLimit:
                continue
            if reach is not None and len(reach.first) == len(reach.last) == 1:
                among = of_reach(reach)
            if among is None:
                continue
            found = ListedFibre(fibre, name, reach)
            if self._fibre_of.setdefault(name, found) != found:
                self._several.add(name)
                continue
            self._take(name, self._of_fibre(found, among))
            self.fibres |= dict.fromkeys(fibre.rows, found)

    def _of_fibre(self, listed: ListedFibre, among: PlacesRead) -> PlacesRead:
        start = listed.fibre.start
        return of_fibre(self.program.index_arrays()[start.array], start.below, among)

    def _note_runs(self, rows: Domain, known: Domain) -> None:
        """What the other side of `lookup = form` takes, where no index array tells it."""
        for row in rows:
            atoms = [atom for atom, _ in row.form.terms if isinstance(atom, Lookup)]
            other = row.form.solved(atoms[0]) if row.equality and len(atoms) == 1 else None
            if other is None or other.has_lookups or not other.variables.isdisjoint(self._taken):
                continue
            try:
                found = image(other, known, self.program.sizes, self.known)
            except EliminationLimit:
                found = None
            self.runs[row] = found if self.runs.get(row, found) == found else None

    def _note_all(self, tensor: str, at: Sequence[Affine], rows: Domain) -> None:
        for d, form in enumerate(at):
            if (tensor, d) not in self._whole:
                self._note(tensor, d, form, rows)

    def _note(self, tensor: str, dimension: int, form: Affine, rows: Domain) -> None:
        """That one dimension is read at a form where rows hold."""
        place = tensor, dimension
        name = form.variable
        try:
            if name is not None and name in self._taken:
                found = self._taken[name]
                if not self._is_inside(found, tensor, dimension):  # Conditions keep it in range.
                    self._whole.add(place)
                    return
                self.users.setdefault(name, []).append(place)
                self._through.add(place)
            elif any(taken in form.variables for taken in self._taken) and not form.has_lookups:
                found = None
            elif form.has_lookups:
                sides = self._window(tensor, dimension, form, rows)
                if sides is None:
                    self._whole.add(place)
                    return
                self._through.add(place)
                found = self._context(rows).through(*sides)
                if found is None:
                    return
            else:
                found = self._box(tensor, dimension, form, rows)
                if found is None:
                    return
        except EliminationLimit:
            found = None
        if found is None or not found.depends_on(self.own):
            self._whole.add(place)
        else:
            self.read.setdefault(place, {})[found] = None

    def _window(
        self, tensor: str, dimension: int, form: Affine, rows: Domain
    ) -> tuple[Affine, Affine] | None:
        """Between which forms a form lies that is an element of an index array and something beside it.

        None where that is told by other elements, or does not lie in the dimension. Raises EliminationLimit.
        """
        atoms = [(atom, k) for atom, k in form.terms if isinstance(atom, Lookup)]
        rest = form - Affine.atom(atoms[0][0]) * atoms[0][1] if len(atoms) == 1 else form
        if rest.has_lookups or not rest.variables.isdisjoint(self._taken):
            return None
        if rest.is_constant:
            self.windows[tensor, dimension, form] = rest, rest
            return form, form
        reach = image(rest, rows, self.program.sizes, self.known)
        if reach is None or not len(reach.first) == len(reach.last) == 1:
            return None
        found = reach.first[0], reach.last[0]
        first, last = (form - rest + side for side in found)
        sides = first, as_form(self.shapes[tensor][dimension]) - 1 - last
        is_inside = all(implied(side, (*self.known, *rows)) for side in sides)
        is_same = self.windows.setdefault((tensor, dimension, form), found) == found
        return (first, last) if is_inside and is_same else None

    def _is_inside(self, places: PlacesRead, tensor: str, dimension: int) -> bool:
        """Whether all places of a set are among those that a dimension has."""
        own, facts = Affine.var(PLACE), (*self.known, *places.rows)
        return all(implied(side, facts) for side in (own, as_form(self.shapes[tensor][dimension]) - 1 - own))

    def _box(self, tensor: str, dimension: int, form: Affine, rows: Domain) -> PlacesRead | None:
        """What a form takes that no index array tells; None where it is read nowhere."""
        reach = image(form, rows, self.program.sizes, self.known)
        if reach is None:
            return None
        last = as_form(self.shapes[tensor][dimension]) - 1
        is_all = all(implied(-side, self.known) for side in reach.first)
        key = tensor, dimension, form
        if (is_all and all(implied(side - last, self.known) for side in reach.last)) or (
            self.starts.setdefault(key, reach) != reach
        ):
            raise EliminationLimit("all of it")
        return of_reach(reach)

    def _keep_used(self) -> None:
        """Indices run over lists where these are lists of something that is read."""
        for name in list(self.ranges):
            used = [place for place in self.users.get(name, ()) if self.is_listed(*place)]
            if not used:
                del self.ranges[name]
            self.users[name] = used
            lists = {frozenset(self.read[place]) for place in used}
            # Conditions leave out what is in the list for others.
            if name.startswith("?b") and len(lists) == 1:
                self.ranges[name] = dict.fromkeys(next(iter(lists)))
        for name in self._fibre_of.keys() & self.ranges.keys():
            self._list_all_fibres(name)
        self.read = {place: found for place, found in self.read.items() if self.is_listed(*place)}

    def _list_all_fibres(self, name: str) -> None:
        """The fibres that have one of all places in the list which their places are in."""
        listed, old = self._fibre_of[name], self.ranges[name]
        places = self.ranges.get(listed.fibre.place.variable or "")
        if listed.run is not None and name not in self._several:
            return
        if places is None or name in self._several:
            self._whole |= {*self.users[name]}
            del self.ranges[name]
            return
        self.ranges[name] = {self._of_fibre(listed, among): None for among in places}
        for place in self.users[name]:
            self.read[place] = {p: None for p in self.read[place] if p not in old} | self.ranges[name]
