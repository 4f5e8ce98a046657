"""A conjunction of quasi-affine rows, made ready to answer many questions about what it implies."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from math import gcd
from threading import Lock  # noqa: TID251  a child of a fork makes other systems

from tadc.lattice.affine import Affine, Constraint, Floor, Lookup
from tadc.lattice.effort import Price, apart, pay
from tadc.lattice.simplex import Direction, Linear, Tableau

_Key = tuple[tuple[int, int], ...]

_WITNESSES = 24


def atom_facts(forms: Iterable[Affine]) -> list[Constraint]:
    """What holds of the atoms in the forms, those in floors too: `c*q <= e <= c*q + c - 1` of a floor,
    `0 <= t <= below - 1` of a lookup."""
    atoms = dict.fromkeys(atom for form in forms for atom in outer_atoms(form))
    return [Constraint(form) for atom in atoms for form in atom.facts]


def outer_atoms(form: Affine) -> Iterator[Floor | Lookup]:
    """The atoms of a form that are no variables, and those in floors; none that is in a lookup."""
    for atom, _ in form.terms:
        if isinstance(atom, str):
            continue
        yield atom
        if isinstance(atom, Floor):
            yield from outer_atoms(atom.numerator)


class System:
    """Rows over atoms as free integer variables, what holds of floors and lookups included.

    Equalities with a unit coefficient are solved and substituted, which lets the gcd of
    the rows that they meet sharpen them. The rest is one tableau, made when first needed.
    Points and rays at which earlier questions failed answer later ones.
    """

    def __init__(self, facts: Sequence[Constraint]) -> None:
        """Take the rows in."""
        self.atoms: dict[str | Floor | Lookup, int] = {}
        self._key = hash(tuple(facts))
        self.contradiction = False
        self._lock = Lock()
        self._solved: dict[int, Linear] = {}
        self._equalities: list[Linear] = []
        self._least: dict[_Key, int] = {}
        self._points: list[tuple[Mapping[int, int], int]] = []
        self._rays: list[Mapping[int, int]] = []
        rows = [*facts, *atom_facts(fact.form for fact in facts)]
        atoms = self.atoms
        pending: list[tuple[Linear, bool]] = [
            (
                ({atoms.setdefault(atom, len(atoms)): k for atom, k in row.form.terms}, row.form.constant),
                row.equality,
            )
            for row in rows
        ]
        while pending:
            pending = self._absorb(pending)

    def _absorb(self, pending: list[tuple[Linear, bool]]) -> list[tuple[Linear, bool]]:
        """Take rows in, equalities first; give back the rows to take again after a substitution."""
        pending.sort(key=lambda item: not item[1])
        for position, (row, equality) in enumerate(pending):
            coefficients, constant = self._reduced(row)
            common = gcd(*coefficients.values())
            if not common or (equality and constant % common):
                self.contradiction |= bool(common) or constant < 0 or (equality and constant > 0)
                continue
            if common > 1:
                coefficients = {v: k // common for v, k in coefficients.items()}
                constant //= common
            if not equality and not self._add_inequality(coefficients, constant):
                continue
            unit = next((v for v, k in sorted(coefficients.items()) if k in (1, -1)), None)
            if unit is None:
                self._equalities.append((coefficients, constant))
                continue
            self._solve_for(unit, coefficients, constant)
            again = [(row, True) for row in self._equalities]
            again += [((dict(key), least), False) for key, least in self._least.items()]
            self._least, self._equalities = {}, []
            return pending[position + 1 :] + again
        return []

    def _add_inequality(self, coefficients: Mapping[int, int], constant: int) -> bool:
        """Add a row; tell whether it and its mirror make an equality instead."""
        key = tuple(sorted(coefficients.items()))
        least = self._least.get(key)
        if least is not None and least <= constant:
            return False
        self._least[key] = constant
        mirror = tuple((v, -k) for v, k in key)
        opposite = self._least.get(mirror)
        if opposite is None or opposite + constant > 0:
            return False
        self.contradiction |= opposite + constant < 0
        del self._least[key], self._least[mirror]
        return True

    def _solve_for(self, unit: int, coefficients: Mapping[int, int], constant: int) -> None:
        sign = -coefficients[unit]
        self._solved[unit] = {v: k * sign for v, k in coefficients.items() if v != unit}, constant * sign
        for v, value in self._solved.items():
            if unit in value[0]:
                self._solved[v] = self._reduced(value)

    def _reduced(self, row: Linear) -> Linear:
        """Replace solved variables."""
        coefficients, constant = row
        solved = self._solved
        if not any(v in solved for v in coefficients):
            return row
        total: dict[int, int] = {}
        for v, k in coefficients.items():
            if v not in solved:
                total[v] = total.get(v, 0) + k
                continue
            inner, rest = solved[v]
            constant += k * rest
            for w, factor in inner.items():
                total[w] = total.get(w, 0) + k * factor
        return {v: k for v, k in total.items() if k}, constant

    def normal(self, form: Affine, more: dict[str | Floor | Lookup, int] | None = None) -> Linear | None:
        """The form over variables that are not solved, divided by its gcd.

        Atoms that the system does not have are numbered in `more`; without it they give None.
        """
        reduced = self._reduced_form(form, more)
        if reduced is None:
            return None
        coefficients, constant = reduced
        common = gcd(*coefficients.values())
        if common > 1:
            return {v: k // common for v, k in coefficients.items()}, constant // common
        return coefficients, constant

    def _reduced_form(self, form: Affine, more: dict[str | Floor | Lookup, int] | None) -> Linear | None:
        atoms = self.atoms
        coefficients: dict[int, int] = {}
        for atom, k in form.terms:
            index = atoms.get(atom)
            if index is None:
                if more is None:
                    return None
                index = more.setdefault(atom, len(atoms) + len(more))
            coefficients[index] = k
        return self._reduced((coefficients, form.constant))

    def tableau(self, rows: Sequence[Linear] = ()) -> tuple[Tableau, dict[int, int]]:
        """The linear program of normal rows, numbered from 0, and all that the system holds.

        With it comes the place of each variable in the program. Where there are rows, what the system holds
        of a variable alone that is in no other row is left out, for it says nothing of them.
        """
        own = [(dict(key), constant) for key, constant in self._least.items()]
        if rows:
            every = (*rows, *self._equalities, *own)
            times = Counter(v for coefficients, _ in every for v in coefficients)
            own = [row for row in own if len(row[0]) != 1 or times[next(iter(row[0]))] > 1]
        least = [*rows, *own]
        place: dict[int, int] = {}
        for coefficients, _ in (*self._equalities, *least):
            for v in coefficients:
                place.setdefault(v, len(place))
        equalities = [_placed(row, place) for row in self._equalities]
        return Tableau(len(place), equalities, [_placed(row, place) for row in least]), place

    @cached_property
    def _made(self) -> tuple[Tableau, dict[int, int], Direction, Price]:
        with apart() as meter:
            before = meter.left
            tableau, place = self.tableau()
            price = Price(self._key, before - meter.left, tableau.entries)
        return tableau, place, tableau.vertex, price

    @property
    def price(self) -> Price:
        """What is charged for a question that the tableau answers. Raises EliminationLimit."""
        return self._made[3]

    @property
    def empty(self) -> bool:
        """Whether it is proven that no integer point satisfies all rows."""
        found, price = self.no_point()
        if price is not None:
            pay(price)
        return found

    def no_point(self) -> tuple[bool, Price | None]:
        """Whether it is empty, and what to pay for the answer."""
        if self.contradiction:
            return True, None
        return not self._made[0].feasible, self.price

    def implies(self, form: Affine) -> tuple[bool, Price | None]:
        """Whether `form >= 0` is proven to follow, and what to pay for the answer; nothing for a plain one.

        What is known from earlier questions may answer this one sooner; the price is the same.
        """
        normal = None if self.contradiction else self.normal(form)
        if self.contradiction or (normal is not None and self.states(normal)):
            return True, None
        with apart():
            if not self._made[0].feasible:
                return True, self.price
            holds = normal is not None and not self._refuted(normal) and self._proven(normal)
        return holds, self.price

    def value(self, form: Affine) -> Fraction | None:
        """The form's value at some rational point where all rows hold; None if one is not at hand.

        The point is the same whatever was asked before.
        """
        normal = None if self.contradiction else self._reduced_form(form, None)
        if normal is None:
            return None
        pay(self.price)
        tableau, place, (point, den), _ = self._made
        if not tableau.feasible or any(v not in place for v in normal[0]):
            return None
        return Fraction(sum(k * point[place[v]] for v, k in normal[0].items()), den) + normal[1]

    def states(self, row: Linear) -> bool:
        """Whether one row of the system alone is the normal row or a sharper one."""
        coefficients, constant = row
        if not coefficients:
            return constant >= 0
        least = self._least.get(tuple(sorted(coefficients.items())))
        return least is not None and least <= constant

    def _refuted(self, row: Linear) -> bool:
        """Whether a point or a ray that is known shows that the row does not follow."""
        terms, constant = row[0].items(), row[1]
        if any(sum([k * ray.get(v, 0) for v, k in terms]) < 0 for ray in self._rays):
            return True
        limit = -1 - constant
        return any(sum([k * point.get(v, 0) for v, k in terms]) <= limit * den for point, den in self._points)

    def _proven(self, row: Linear) -> bool:
        if any(v not in self._made[1] for v in row[0]):
            return False
        # Systems are shared by a process-wide cache, and a question moves the tableau.
        with self._lock:
            return self._minimum_allows(row)

    def _minimum_allows(self, row: Linear) -> bool:
        tableau, place, _, _ = self._made
        if tableau.bounded(_placed(row, place)):
            return True
        if tableau.ray is not None:
            values, _ = tableau.ray
            self._rays.append(dict(zip(place, values, strict=True)))
            del self._rays[:-_WITNESSES]
        else:
            values, den = tableau.vertex
            self._points.append((dict(zip(place, values, strict=True)), den))
            del self._points[:-_WITNESSES]
        return False


def _placed(row: Linear, place: Mapping[int, int]) -> Linear:
    return {place[v]: k for v, k in row[0].items()}, row[1]
