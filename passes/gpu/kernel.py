"""A kernel on its way: its threads, its shared memory, and the values of a map's body on a thread."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from math import gcd
from typing import Any, Protocol

from tadc.dialect.locations import unnamed
from tadc.dialect.mlir import ir
from tadc.frontend.terms import Domain
from tadc.lattice.affine import ZERO, Affine, Constraint, Floor
from tadc.lattice.polyhedron import implied
from tadc.passes.cpu.packing import Panels
from tadc.passes.cpu.tile_body import Context, TileBody
from tadc.passes.cpu.tile_reductions import TileReduction
from tadc.passes.gpu.staging import StagedLoops, StagedReduction
from tadc.passes.maps.buffers import BufferViews
from tadc.passes.maps.lower_body import BodyLowering, box_rows
from tadc.passes.maps.machine import Gpu
from tadc.passes.maps.tile_values import LANE, Copy, Dependence, Tile, all_yielded, at
from tadc.passes.nest.lanes import Lanes

#: For each tensor that a map computes its value in each copy.
Made = Sequence[Sequence[tuple[Copy, Any]]]


class NearRows(Protocol):
    """The tensors of which shared memory has the rows that a block computes (`chain_kernels.py`)."""

    @property
    def buffers(self) -> Mapping[Any, Any]:
        """Their buffers."""
        ...

    def place(self, forms: Sequence[Affine], row: Affine | None) -> list[Affine]:
        """Where an element is in its buffer."""
        ...


class Kernel:
    """A `gpu.func` that computes a map, at its start; `multiples` has what divides each variable of `low`."""

    def __init__(self, gpu: Gpu, op: Any, shapes: BufferViews, low: BodyLowering, function: Any) -> None:
        self.gpu = gpu
        self.op, self.low, self.function = op, low, function
        self.extents, self.sizes = shapes.of, shapes.of(op.results[0])
        self.entry = function.regions[0].blocks[0]
        self.point = ir.InsertionPoint(self.entry)
        self.block = op.regions[0].blocks[0]
        self.multiples: dict[str, int] = {}
        self.near: NearRows | None = None
        """The tensors of a chain that are in shared memory, `near_row` is the row of the block there."""
        self.near_row: Affine | None = None

    def register(self, name: str, dimension: str = "x", multiple: int = 1) -> Affine:
        """`gpu.thread_id` or `gpu.block_id` in a dimension."""
        self.low.location = unnamed(self.op.location)
        attribute = {"dimension": ir.Attribute.parse(f"#gpu<dim {dimension}>")}
        made = self.low.create(name, [self.low.index_type], [], self.point, attribute)
        return self.named(made.results[0], multiple)

    def named(self, value: Any, multiple: int = 1) -> Affine:
        """The form of an index value, which a number divides."""
        form = self.low.variable(value)
        self.multiples[next(iter(form.variables))] = multiple
        return form

    def shared(self, shape: Sequence[int], element: Any) -> Any:
        """A buffer that the threads of a block share, aligned for vectors."""
        space = ir.Attribute.parse("#gpu.address_space<workgroup>")
        type = ir.MemRefType.get([*shape], element, memory_space=space)
        attributes = self.function.attributes
        key = "workgroup_attributions"
        count = ir.IntegerAttr(attributes[key]).value if key in attributes else 0
        attributes[key] = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), count + 1)
        aligned = ir.DictAttr.get({"llvm.align": ir.IntegerAttr.get(ir.IntegerType.get_signless(64), 16)})
        attributes["workgroup_attrib_attrs"] = ir.ArrayAttr.get([aligned] * (count + 1))
        return self.entry.add_argument(type, unnamed(self.op.location))

    def barrier(self, point: Any) -> None:
        """All threads of a block meet."""
        self.low.create("gpu.barrier", [], [], point)

    def divisor(self, form: Affine) -> int:
        """A number that divides all values of a form; 0 if that is 0."""
        total = form.constant
        for atom, k in form.terms:
            known = 1 if isinstance(atom, Floor) else self.multiples.get(atom, 1)
            total = gcd(total, k * known)
        return total

    def vector_load(self, type: Any, buffer: Any, place: Sequence[Any], point: Any) -> Any:
        """Consecutive elements of a buffer, whose address is a multiple of their bytes."""
        made = self.low.create("vector.load", [type], [buffer, *place], point, _aligned(type))
        return made.results[0]

    def element(self, vector: Any, number: int, point: Any) -> Any:
        """An element of a vector."""
        static = {"static_position": ir.DenseI64ArrayAttr.get([number])}
        type = vector.type.element_type
        return self.low.create("vector.extract", [type], [vector], point, static).results[0]

    def where(self, rows: Domain, then: Callable[[Any], None], point: Any) -> None:
        """What `then` makes, where all rows hold that numbers do not decide."""
        open_rows = tuple(row for row in rows if not row.form.is_constant or not row.holds({}))
        if not open_rows:
            then(point)
            return

        def fill(inside: Any) -> list[Any]:
            then(inside)
            return []

        self.low.choose(self.low.holds(open_rows, point), [], fill, None, point)

    def body(self, forms: Sequence[Affine], tile: Tile, panels: Panels | None = None) -> ThreadBody:
        """The body where the indices of the map have these forms, over the variables of a tile."""
        depends = Dependence(self.block, dict(zip(self.block.arguments, forms, strict=True)), tile)
        self.low.forms.update(zip(self.block.arguments, forms, strict=True))
        return ThreadBody(self, tile, depends, panels or Panels())

    def values(
        self, body: ThreadBody, forms: Sequence[Affine], known: Domain, point: Any, is_within: bool = True
    ) -> Made:
        """The map's values in each copy; `is_within` says that the forms are within its extents."""
        box = box_rows(forms, self.sizes) if is_within else ()
        facts = (*known, *box, *self.low.known)
        body.region(self.block, Context(point, facts))
        copies = list(body.tile.points(body.tile.copies))
        return [[(copy, body.value(v, copy)) for copy in copies] for v in all_yielded(self.block)]

    def store(
        self,
        made: Made,
        forms: Sequence[Affine],
        rows: Domain,
        width: int,
        point: Any,
        run: str | None = None,
    ) -> None:
        """Store values at points where rows hold; those along a run are one aligned vector, all or none."""
        self.low.location = unnamed(self.op.location)
        for tensor, values in zip(self.op.results, made, strict=True):
            self.store_tensor(tensor, values, forms, rows, width, point, run)

    def store_tensor(
        self,
        tensor: Any,
        made: Sequence[tuple[Copy, Any]],
        forms: Sequence[Affine],
        rows: Domain,
        width: int,
        point: Any,
        run: str | None,
    ) -> None:
        """The same for one of the tensors that the map computes."""
        lanes = ThreadLanes(self.low, width, self)
        groups: dict[tuple[int, ...], list[tuple[Copy, Any]]] = {}
        for number, (copy, value) in enumerate(made):
            key = (number,) if run is None else tuple(n for name, n in copy.items() if name != run)
            groups.setdefault(key, []).append((copy, value))
        for group in groups.values():
            copy = group[0][0]
            here = tuple(Constraint(at(row.form, copy), row.equality) for row in rows)
            at_copy = [at(form, copy) for form in forms]
            if self.near is not None and tensor in self.near.buffers:
                # Rows of the block that are beyond the map have a place there too.
                own = tuple(row for row in here if row.equality)
                keep = partial(
                    lanes.store,
                    group[0][1],
                    self.near.buffers[tensor],
                    self.near.place(at_copy, self.near_row),
                )
                self.where(own, keep, point)

            def then(
                inside: Any,
                values: Sequence[Any] = tuple(value for _, value in group),
                at_copy: Sequence[Affine] = at_copy,
            ) -> None:
                for buffer in self.buffers(tensor):
                    if _is_strided(buffer):
                        self.store_apart(values, buffer, at_copy, width, inside)
                    elif len(values) == 1:
                        lanes.store(values[0], buffer, at_copy, inside)
                    else:
                        self.store_vector(values, buffer, at_copy, inside)

            self.where(here, then, point)

    def buffers(self, tensor: Any) -> list[Any]:
        """The buffers of global memory that a tensor is stored to."""
        first = self.low.memrefs.get(tensor)
        return [] if first is None else [first, *self.low.copies.get(tensor, ())]

    def store_apart(
        self, values: Sequence[Any], buffer: Any, forms: Sequence[Affine], width: int, point: Any
    ) -> None:
        """Store consecutive values to a buffer whose neighbours are apart in memory, element by element."""
        for number, value in enumerate(values):
            for lane in range(width):
                here = [form.substitute({LANE: Affine.const(lane)}) for form in forms]
                place = [self.low.affine([form], point) for form in (*here[:-1], here[-1] + number)]
                is_vector = isinstance(value.type, ir.VectorType)
                one = self.element(value, lane, point) if is_vector else value
                self.low.create("memref.store", [], [one, buffer, *place], point)

    def store_vector(self, values: Sequence[Any], buffer: Any, forms: Sequence[Affine], point: Any) -> None:
        """Store values to consecutive elements, the first at an aligned address."""
        type = ir.VectorType.get([len(values)], values[0].type)
        vector = self.low.create("vector.from_elements", [type], [*values], point).results[0]
        place = [self.low.affine([form], point) for form in forms]
        self.low.create("vector.store", [], [vector, buffer, *place], point, _aligned(type))


def _is_strided(buffer: Any) -> bool:
    """Whether neighbours are apart in memory."""
    strides, _ = buffer.type.get_strides_and_offset()
    return bool(strides) and strides[-1] != 1


def _aligned(type: Any) -> dict[str, Any]:
    """What says that the address of a vector is a multiple of its size."""
    size = type.shape[0] * type.element_type.width // 8
    return {"alignment": ir.IntegerAttr.get(ir.IntegerType.get_signless(64), size)}


class ThreadLanes(Lanes):
    """Lanes of one thread: a load of consecutive elements that are aligned is one instruction."""

    def __init__(self, low: BodyLowering, width: int, kernel: Kernel) -> None:
        super().__init__(low, width)
        object.__setattr__(self, "kernel", kernel)

    def aligned(self, made: Any, buffer: Any, forms: Sequence[Affine]) -> Any:
        """Note on an access that its address is aligned, if that is proven."""
        kernel: Kernel = self.__dict__["kernel"]
        first = [form.substitute({LANE: Affine.const(0)}) for form in forms]
        strides, _ = buffer.type.get_strides_and_offset()
        dynamic = ir.ShapedType.get_dynamic_stride_or_offset()
        offset = 0
        for form, stride in zip(first, strides, strict=True):
            offset = gcd(offset, kernel.divisor(form) * (1 if stride == dynamic else stride))
        bytes_each = buffer.type.element_type.width // 8
        if offset % self.width == 0:
            number = ir.IntegerType.get_signless(64, self.low.context)
            made.attributes["alignment"] = ir.IntegerAttr.get(number, self.width * bytes_each)
        return made

    def loaded_run(self, vector: Any, operands: Sequence[Any], forms: Sequence[Affine], point: Any) -> Any:
        """A `vector.load`."""
        made = super().loaded_run(vector, operands, forms, point)
        return self.aligned(made.owner, operands[0], forms).results[0]

    def store_run(
        self, vector: Any, buffer: Any, forms: Sequence[Affine], point: Any, line: int | None = None
    ) -> None:
        """A `vector.store`; lines are the hardware's affair."""
        first = {LANE: Affine.const(0)}
        indices = [self.low.affine([form.substitute(first)], point) for form in forms]
        made = self.low.create("vector.store", [], [vector, buffer, *indices], point)
        self.aligned(made, buffer, forms)


class ThreadBody(TileBody):
    """A map's body at the points of a tile that one thread computes, alone or with a group of threads."""

    def __init__(self, kernel: Kernel, tile: Tile, depends: Dependence, panels: Panels) -> None:
        super().__init__(kernel.low, tile, depends, panels, _nothing_stored)
        self.lanes = ThreadLanes(kernel.low, tile.width, kernel)
        self.kernel = kernel
        self.staged: StagedLoops | None = None

    def reduction(self, op: Any, context: Context) -> TileReduction:
        """A reduction that a block or a group shares, or each thread runs alone."""
        if self.staged is not None and self.staged.plan.over == op:
            return StagedReduction(self, op, context, self.staged)
        return TileReduction(self, op, context)

    def maker(self, op: Any, context: Context) -> Callable[[Copy], Any]:
        """What makes the result of an operation; a point beyond the map reads what is next to its element."""
        if op.name == "tad.read" and op in self.panels.by_read:
            return self.staged_read(op, self.panels.by_read[op], context.point)
        near = self.kernel.near
        if op.name == "tad.read" and near is not None and op.operands[0] in near.buffers:
            place = near.place(self.low.subscripts(op, list(op.operands)[1:]), self.kernel.near_row)
            buffer, point = near.buffers[op.operands[0]], context.point
            return lambda copy: self.lanes.load(
                buffer, [at(f, copy) for f in place], context.mask(copy), point
            )
        facts = None if self.staged is None else self.staged.beyond
        if op.name != "tad.read" or facts is None:
            return super().maker(op, context)
        known = (*facts, *self.tile.facts)
        forms = self.low.subscripts(op, list(op.operands)[1:])
        tensor, point = op.operands[0], context.point
        sizes = self.kernel.extents(tensor)
        ends = [
            (None if implied(form, known) else ZERO, None if implied(size - 1 - form, known) else size - 1)
            for form, size in zip(forms, sizes, strict=True)
        ]

        def load(copy: Copy) -> Any:
            place = [self.clamped(at(form, copy), *end, point) for form, end in zip(forms, ends, strict=True)]
            return self.lanes.load(self.low.memrefs[tensor], place, context.mask(copy), point)

        return load

    def staged_read(self, op: Any, stage: Any, point: Any) -> Callable[[Copy], Any]:
        """Elements in shared memory, where every point has one; consecutive ones are loaded at once."""
        forms, buffer, type = stage.subscripts(self.low.forms), stage.buffer, op.results[0].type
        run = self.run_of(forms, type)
        loaded: dict[tuple[int, ...], Any] = {}

        def load(copy: Copy) -> Any:
            if run is None:
                return self.lanes.load(buffer, [at(form, copy) for form in forms], None, point)
            first = {**copy, run: 0}
            key = tuple(first.values())
            if key not in loaded:
                place = [self.low.affine([at(form, first)], point) for form in forms]
                vector = ir.VectorType.get([self.tile.copies[run]], type)
                loaded[key] = self.kernel.vector_load(vector, buffer, place, point)
            return self.kernel.element(loaded[key], copy[run], point)

        return load

    def run_of(self, forms: Sequence[Affine], type: Any) -> str | None:
        """The variable of copies along which subscripts are consecutive and start aligned."""
        for name, count in self.tile.copies.items():
            *others, last = forms or [ZERO]
            rest = last - Affine.var(name)
            if any(name in form.variables for form in (*others, rest)) or count * type.width > 128:
                continue
            moved = [rest.coefficient(n) for n in self.tile.copies]
            start = rest.substitute(dict.fromkeys(self.tile.copies, ZERO))
            if all(k % count == 0 for k in (*moved, self.kernel.divisor(start))):
                return name
        return None

    def clamped(self, form: Affine, low: Affine | None, high: Affine | None, point: Any) -> Affine:
        """A form, no less than a bound and no more than another."""
        for bound, operation in ((high, "affine.min"), (low, "affine.max")):
            if bound is not None and not form.is_constant:
                form = self.kernel.named(self.low.affine([form, bound], point, operation))
        return form


def _nothing_stored(copy: Copy, point: Any) -> Any:
    raise AssertionError("a thread keeps what it computes in registers")
