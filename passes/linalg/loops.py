"""Loops with a counter, as recurrences, and choices between branches."""

from __future__ import annotations

from collections.abc import Sequence

from tadc.dialect.mlir import ir
from tadc.passes.linalg.elements import (
    Compared,
    Condition,
    ImportedTensor,
    Integer,
    Scalar,
    TensorElement,
    Value,
    as_condition,
    as_value,
    both,
    chosen,
    compared,
    with_atoms,
)
from tadc.passes.linalg.imported_arrays import ImportedArray, counters_of, forms_at
from tadc.passes.linalg.index_forms import (
    Atom,
    Counter,
    IndexForm,
    atoms_of,
    divided,
    is_never_negative,
    number,
    of_atom,
    product,
)
from tadc.passes.linalg.linalg_reader import Key, LinalgReader, translation
from tadc.passes.linalg.refusals import refuse

_INSERTIONS = ("tensor.insert_slice", "tensor.insert")


@translation("stablehlo.while", "scf.while")
def read_while(reader: LinalgReader, op: ir.Operation) -> None:
    """A loop: as many steps as a counter says."""
    _While(reader, op, list(op.operands)).read()


@translation("scf.for")
def read_for(reader: LinalgReader, op: ir.Operation) -> None:
    """A loop over numbers."""
    _For(reader, op, list(op.operands)[3:]).read()


class _Loop:
    """A loop: what it carries from step to step, and which of that is a counter.

    A scalar that is carried is an array without dimensions.
    """

    def __init__(self, reader: LinalgReader, op: ir.Operation, initial: Sequence[ir.Value]) -> None:
        self.reader, self.op, self.place = reader, op, reader.place(op)
        self.body = op.regions[-1].blocks[0]
        self.carried = list(self.body.arguments)[-len(initial) :] if initial else []
        self.yields = list(_terminator(self.body).operands)
        self.initial = list(map(self._settled, initial))
        #: Which carried integers count, from where and by how much.
        self.counters: dict[int, tuple[IndexForm, int]] = {}

    def _settled(self, value: ir.Value) -> ImportedArray:
        if self.reader.is_array(value):
            return self.reader.settled(value, wider=True, reducing=True)
        return self._array(value)

    def _array(self, value: ir.Value) -> ImportedArray:
        if self.reader.is_array(value):
            return self.reader.array(value)
        return ImportedArray((), str(value.type), lambda _: self.reader.scalar(value))

    def _give(self, value: ir.Value, array: ImportedArray) -> None:
        if self.reader.is_array(value):
            self.reader.give(value, array)
        else:
            self.reader.give_scalar(value, array.at(()))

    def _begin(self, now: IndexForm) -> None:
        """Say what numbers the body knows, besides those that it carries, at a step."""

    def _steps(self) -> IndexForm:
        """How many steps there are."""
        raise NotImplementedError

    def read(self) -> None:
        """Read the loop, and say what its results are."""
        reader = self.reader
        self._find_counters()
        steps = self._steps()
        time = Counter(steps)
        now = of_atom(time)
        self.time = time
        self._begin(now)
        for index, (argument, yielded) in enumerate(zip(self.carried, self.yields, strict=True)):
            if index in self.counters:
                start, step = self.counters[index]
                self._give_number(argument, index, start + now.scaled(step))
            elif yielded == argument:
                self._give(argument, self.initial[index])
        stacked = [i for i in range(len(self.carried)) if self._is_stacked(i)]
        fixed = {*self.counters, *stacked}
        states = [i for i in range(len(self.carried)) if i not in fixed and self.yields[i] != self.carried[i]]
        tensor = self._states(states, steps) if states else None
        for index in stacked:  # of which the sizes are read
            reader.give(self.carried[index], self.initial[index])
        reader.loops.append(time)
        for operation in self.body.operations:
            if not self._writes_stack(operation.operation, stacked):
                reader.read(operation.operation)
        if tensor is not None:
            self._define(tensor, states, time, steps)
        reader.loops.pop()
        self._results(stacked, states, tensor, steps)

    def _give_number(self, value: ir.Value, index: int, form: IndexForm) -> None:
        """Say that a carried integer is an index expression."""
        scalar: Scalar = Integer(form)
        self._give(value, ImportedArray((), self.initial[index].type, lambda _: scalar))

    def _find_counters(self) -> None:
        for position, initial in enumerate(self.initial):
            step = self._step(position)
            start = as_value(initial.at(())) if not initial.shape else None
            if step is not None and isinstance(start, Integer):
                self.counters[position] = start.form, step

    def _step(self, position: int) -> int | None:
        """By how much a carried integer grows in each step, if it does."""
        if self.carried[position].type != self.yields[position].type or self.initial[position].shape:
            return None
        if self.initial[position].is_float:
            return None
        probe = Counter(number(2**40))
        old = Integer(of_atom(probe))
        made = _evaluated(self.reader, self.yields[position], self.carried[position], old)
        if not isinstance(made, Integer):
            return None
        step = (made.form - of_atom(probe)).number
        return step if step else None

    def _is_stacked(self, position: int) -> bool:
        """Whether a carried array is written to, slice by slice, and never read."""
        yielded, argument = self.yields[position], self.carried[position]
        op = _operation(yielded)
        return (
            op is not None
            and op.name in _INSERTIONS
            and op.operands[1] == argument
            and sum(1 for use in argument.uses if use.owner.name != "tensor.dim") == 1
        )

    def _writes_stack(self, op: ir.Operation, stacked: Sequence[int]) -> bool:
        return op.name in _INSERTIONS and any(op.results[0] == self.yields[i] for i in stacked)

    def _states(self, states: Sequence[int], steps: IndexForm) -> ImportedTensor:
        """The recurrence that has all states; with an index that says which, where there are several."""
        reader = self.reader
        shapes = [self.initial[i].shape for i in states]
        rank = max(map(len, shapes))
        self.frames = [(number(1),) * (rank - len(shape)) + shape for shape in shapes]
        frame: list[IndexForm] = []
        for sizes in zip(*self.frames, strict=True):
            best = sizes[0]
            for size in sizes[1:]:
                best = size if is_never_negative(size - best) else best
            frame.append(best)
        kinds = [self.initial[i].type for i in states if self.initial[i].is_float]
        type = max(kinds, key=lambda t: (t == "f64", t == "f32"), default="f64")
        self.frame = tuple(frame)
        self.several = len(states) > 1
        shape = (steps.plus(1), *([number(len(states))] if self.several else []), *self.frame)
        kept = tuple(size for size in shape if size.number != 1)
        tensor = ImportedTensor("", type, kept, self.place, wish="state", states_type=True)
        reader.open.add(tensor)
        now = of_atom(self.time)
        for which, position in enumerate(states):
            array = self._state_array(tensor, which, position, now)
            self._give(self.carried[position], array)
        return tensor

    def _state_array(
        self, tensor: ImportedTensor, which: int, position: int, when: IndexForm
    ) -> ImportedArray:
        """A state at a step."""
        initial = self.initial[position]

        def at(where: tuple[IndexForm, ...]) -> Scalar:
            places = (number(0),) * (len(self.frame) - len(where)) + where
            at_frame = [form for form, size in zip(places, self.frame, strict=True) if size.number != 1]
            return TensorElement(tensor, (when, *([number(which)] if self.several else []), *at_frame))

        return ImportedArray(initial.shape, initial.type, at, self.place, is_stored=True)

    def _define(self, tensor: ImportedTensor, states: Sequence[int], time: Counter, steps: IndexForm) -> None:
        """The recurrence: at the start what was there before the loop, then what a step makes."""
        reader = self.reader
        clock = Counter(steps.plus(1))
        selector = Counter(number(len(states)))
        counters = counters_of(self.frame)
        where = forms_at(counters)
        bodies = [self._state_body(i, position, clock, where) for i, position in enumerate(states)]
        body = bodies[-1]
        for which in range(len(states) - 2, -1, -1):
            is_this = compared("=", Integer(of_atom(selector)), Integer(number(which)))
            body = chosen(is_this, bodies[which], body)
        kept = tuple(c for c in counters if c.size.number != 1)
        tensor.counters = (clock, *([selector] if self.several else []), *kept)
        tensor.body, tensor.order = body, of_atom(clock)
        reader.open.discard(tensor)
        reader.tensors.append(tensor)
        for which, position in enumerate(states):
            following = self._state_array(tensor, which, position, of_atom(time).plus(1))
            if _operation(self.yields[position]) is None or self.yields[position].owner.parent != self.op:
                continue  # It is there before the loop, or carried.
            if not reader.is_array(self.yields[position]):
                reader.give_scalar(self.yields[position], following.at(()))
                continue
            made = reader.array(self.yields[position])
            made.at, made.is_stored, made.weight, made.reduces = following.at, True, 0, False

    def _state_body(self, which: int, position: int, clock: Counter, where: tuple[IndexForm, ...]) -> Value:
        """What a state is at a place of the frame: at the start, and after a step; 0 where it is smaller."""

        def earlier(atom: Atom) -> IndexForm | None:
            return of_atom(clock).plus(-1) if atom is self.time else None

        inside: list[Condition] = []
        for form, size, full in zip(where, self.frames[which], self.frame, strict=True):
            if size != full:
                inside.append(compared("<", Integer(form), Integer(size)))
        rank = len(self.initial[position].shape)
        inner = where[len(where) - rank :] if rank else ()
        first = self.initial[position].read(inner)
        then = as_value(with_atoms(self._array(self.yields[position]).read(inner), earlier))
        whole = chosen(compared("=", Integer(of_atom(clock)), Integer(number(0))), first, then)
        return chosen(both(*inside), whole, Integer(number(0)))

    def _results(
        self,
        stacked: Sequence[int],
        states: Sequence[int],
        tensor: ImportedTensor | None,
        steps: IndexForm,
    ) -> None:
        for index, result in enumerate(self.op.results):
            initial = self.initial[index]
            if index in self.counters:
                start, step = self.counters[index]
                self._give_number(result, index, start + steps.scaled(step))
            elif index in stacked:
                self._give_stack(index, result, steps)
            elif index in states:
                assert tensor is not None
                self._give(result, self._state_array(tensor, states.index(index), index, steps))
            else:
                self._give(result, initial)

    def _give_stack(self, index: int, result: ir.Value, steps: IndexForm) -> None:
        """An array of which each step writes a slice."""
        reader, op = self.reader, _operation(self.yields[index])
        assert op is not None
        from tadc.passes.linalg.tensor_views import slice_places

        source = self._array(op.operands[0])
        time, initial = self.time, self.initial[index]
        offsets, kept, sizes = slice_places(reader, op, source.shape)
        along = [d for d, offset in enumerate(offsets) if time in atoms_of([offset])]
        dimension = along[0] if len(along) == 1 and sizes[along[0]].number == 1 else None
        times = 0 if dimension is None else dict(offsets[dimension].terms).get(time, 0)
        if dimension is None or not times:
            refuse("a loop that writes to an array in an unusual way", self.place)
        base = offsets[dimension] - of_atom(time).scaled(times)
        if time in atoms_of([base]):
            refuse("a loop that writes to an array in an unusual way", self.place)

        def at(where: tuple[IndexForm, ...]) -> Scalar:
            gap = (where[dimension] - base).scaled(1 if times > 0 else -1)
            step = divided(gap, number(abs(times)))
            assert step is not None
            inner = [where[d] - offsets[d] if d != dimension else number(0) for d in kept]

            def at_step(atom: Atom) -> IndexForm | None:
                return step if atom is time else None

            written = as_value(with_atoms(source.read(inner), at_step))
            inside = [
                compared("<=", Integer(number(0)), Integer(step)),
                compared("<", Integer(step), Integer(steps)),
                compared("=", Integer(step.scaled(abs(times))), Integer(gap)),
            ]
            for d, (offset, size) in enumerate(zip(offsets, sizes, strict=True)):
                if d != dimension:
                    inside.append(compared("<=", Integer(offset), Integer(where[d])))
                    inside.append(compared("<", Integer(where[d]), Integer(offset + size)))
            return chosen(both(*inside), written, initial.read(where))

        reader.computed(result, initial.shape, at, "", self.place)


class _While(_Loop):
    """A loop with a condition of its own."""

    def _steps(self) -> IndexForm:
        """How many steps there are, as the condition says of a counter."""
        condition = self.op.regions[0].blocks[0]
        now = Counter(number(2**40))
        for index, argument in enumerate(condition.arguments):
            if index in self.counters:
                start, step = self.counters[index]
                self._give_number(argument, index, start + of_atom(now).scaled(step))
            else:
                self.reader.give(argument, self.initial[index])
        terminator = self.reader.read_block(condition)
        tested = terminator.operands[0]
        reader = self.reader
        test = reader.array(tested).at(()) if reader.is_array(tested) else reader.scalar(tested)
        steps = _steps(as_condition(test), now)
        if steps is not None:
            return steps
        refuse(
            "a loop whose number of steps depends on values cannot be imported",
            self.place,
            "give it a fixed number of steps: `lax.fori_loop(0, 20, …)`, `lax.scan`",
        )


class _For(_Loop):
    """A loop from a number to another."""

    def _begin(self, now: IndexForm) -> None:
        type = self.body.arguments[0].type
        if isinstance(type, ir.IntegerType) and type.width < 32:
            refuse(f"a loop that counts in {type}, which may not fit, cannot be imported", self.place)
        at = product(now, self.reader.form(self.op.operands[2]))
        assert at is not None
        self.reader.give_scalar(self.body.arguments[0], Integer(self.reader.form(self.op.operands[0]) + at))

    def _steps(self) -> IndexForm:
        """How many steps there are, as the bounds say."""
        first, end, step = map(self.reader.form, list(self.op.operands)[:3])
        steps = divided(end - first + step.plus(-1), step) if is_never_negative(step.plus(-1)) else None
        if steps is None:
            refuse("a loop of steps that no number tells cannot be imported", self.place)
        return steps


def _steps(holds: Condition, counter: Counter) -> IndexForm | None:
    """How many steps a loop makes whose condition compares its counter with something fixed."""
    if not isinstance(holds, Compared) or not holds.is_of_indices:
        return None
    assert isinstance(holds.left, Integer)
    assert isinstance(holds.right, Integer)
    gap = holds.right.form - holds.left.form
    if holds.relation == "<":
        gap = gap.plus(-1)
    elif holds.relation != "<=":
        return None
    times = dict(gap.terms).get(counter)
    if times is None or times >= 0:
        return None
    rest = gap - of_atom(counter).scaled(times)
    most = divided(rest, number(-times))
    return None if most is None else most.plus(1)


def _evaluated(reader: LinalgReader, value: ir.Value, argument: ir.Value, given: Value) -> Value | None:
    """What a scalar array of a body is where an argument has a value; None where it needs others."""
    op = _operation(value)
    if op is None:
        return given if value == argument else None
    if not reader.is_array(value) and op.name.startswith("arith."):
        operands = [_evaluated(reader, operand, argument, given) for operand in op.operands]
        if op.name == "arith.constant":
            return as_value(reader.scalar(value))
        return (
            None
            if None in operands
            else as_value(reader.operation(op, [o for o in operands if o is not None]))
        )
    if op.name == "linalg.generic" and not list(op.operands[0].type.shape if op.operands else []):
        block = op.regions[0].blocks[0]
        known: dict[Key, Scalar] = {}
        for inner, operand in zip(block.arguments, op.operands, strict=True):
            made = _operation(operand)
            if made is not None and made.name == "tensor.empty":
                continue
            found = _evaluated(reader, operand, argument, given)
            if found is None:
                return None
            known[inner] = found
        yielded = _terminator(block).operands[0]
        return as_value(reader.scalar(yielded, known))
    if op.name == "arith.constant":
        reader.read(op)
        return as_value(reader.array(value).at(()))
    return None


def _operation(value: ir.Value) -> ir.Operation | None:
    owner = value.owner
    if hasattr(owner, "operation") and hasattr(owner, "operands"):
        return owner.operation
    return owner if hasattr(owner, "operands") else None


def _terminator(block: ir.Block) -> ir.Operation:
    return list(block.operations)[-1].operation


@translation("stablehlo.case", "stablehlo.if", "scf.if")
def read_case(reader: LinalgReader, op: ir.Operation) -> None:
    """A choice between branches: both are computed, element by element where the branch is taken."""
    test = op.operands[0]
    yields: list[list[ir.Value]] = []
    for region in op.regions:
        terminator = reader.read_block(region.blocks[0])
        yields.append(list(terminator.operands))
    scalar = reader.array(test).at(()) if reader.is_array(test) else reader.scalar(test)
    for position, result in enumerate(op.results):
        if not reader.is_array(result):
            continue
        branches = [reader.settled(values[position], wider=False) for values in yields]

        def at(where: tuple[IndexForm, ...], branches: list[ImportedArray] = branches) -> Scalar:
            if op.name != "stablehlo.case":
                return chosen(as_condition(scalar), branches[0].read(where), branches[1].read(where))
            found = branches[-1].read(where)
            for number_ in range(len(branches) - 2, -1, -1):
                relation = "<=" if number_ == 0 else "="
                is_this = compared(relation, as_value(scalar), Integer(number(number_)))
                found = chosen(is_this, branches[number_].read(where), found)
            return found

        reader.computed(result, branches[0].shape, at)
