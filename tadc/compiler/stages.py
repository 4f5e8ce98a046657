"""The state of one compilation, and what each stage does to it."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from tadc.compiler.compile_options import Options
from tadc.frontend.source import Source
from tadc.lattice.late_dataclasses import dataclass, field, replace
from tadc.passes.where import Decisions

if TYPE_CHECKING:
    from tadc.compiler.c_signature import CSignature
    from tadc.dialect.mlir import ir
    from tadc.frontend.extents import Shape
    from tadc.frontend.per_value import PerValue
    from tadc.frontend.program import Program
    from tadc.frontend.syntax import Module
    from tadc.lattice.amounts import Counted
    from tadc.passes.catalogue import CutSums
    from tadc.passes.cpu.loop_functions import Scheduled
    from tadc.passes.derivatives.gathers import Gather
    from tadc.passes.gpu.kernels import Kernels
    from tadc.passes.gpu.launch import Launch
    from tadc.passes.map_pass import MapPass
    from tadc.passes.maps.map import MapFunction
    from tadc.passes.term_pass import TermPass

#: Values are folded after those that they are made of: else each is looked at again for every change below
#: it, and a second may go by over choices between choices.
CLEAN_UP = "canonicalize{top-down=0},cse"


@dataclass(frozen=True)
class Between:
    """A tensor in between, of a shape over `s0, s1, …`, the sizes in order.

    `span` are the maps that use it, `place` the line and column of the program that it is made for, 0 where
    nothing says. One that `has_steps` holds those of a recurrence.
    """

    name: str
    type: str
    shape: Shape
    span: tuple[int, int]
    place: tuple[int, int] = (0, 0)
    cotangent_of: str = ""
    has_steps: bool = False


@dataclass
class Compilation:
    """A program on its way down; each stage fills in what it makes.

    `program` is the one to compile, `form` what the stages on terms have made of it so far. `written` is a
    module of MLIR: one that was given in the place of a program, or `form` from the time that it is looked at
    or lowered.
    """

    options: Options
    source: Source | None = None
    tree: Module | None = None
    program: Program | None = None
    per_value: PerValue | None = None
    form: Program | None = None
    written: Any = None
    symbol: str = ""
    temporaries: list[Between] = field(default_factory=list["Between"])
    #: Which tensors are kept for few steps of a recurrence, and why that is enough.
    windows: list[str] = field(default_factory=list[str])
    #: About how many operations loops of maps take, of a program whose sizes are not all known.
    work: list[Counted] = field(default_factory=list["Counted"])
    signatures: list[CSignature] = field(default_factory=list["CSignature"])
    gathers: list[Gather] = field(default_factory=list["Gather"])
    launches: list[Launch] = field(default_factory=list["Launch"])
    #: The place of the program that each kernel computes, by its name.
    places: dict[str, str] = field(default_factory=dict[str, str])
    #: The text of the plain nests.
    nests: str = ""
    #: That of the schedule for them, and of the nests that it makes.
    schedule: str = ""
    scheduled_nests: str = ""
    llvm_ir: str = ""
    #: The code that the backend made, by the name of its form.
    code: dict[str, str | bytes] = field(default_factory=dict[str, "str | bytes"])

    @cached_property
    def decisions(self) -> Decisions:
        """Where the tensors of each function are computed: as the schedule says, or as passes find."""
        schedule = self.options.schedule
        if schedule is None:
            return Decisions()
        from tadc.passes.schedule.reader import read_where

        return Decisions(read_where(schedule), names=self._function_names())

    def _function_names(self) -> frozenset[str]:
        """The names that a schedule may have for the only function of a program: a derivative has that of its
        first result where it is compiled by itself, and else that of the function of which it was taken."""
        form = self.form or self.program
        if form is None:
            return frozenset()
        tensors = (*form.arguments, *form.outputs)
        told = {name for tensor in tensors for name in (tensor.cotangent_of, tensor.tangent_of) if name}
        return frozenset(told.union(d.name for d in form.outputs))

    @property
    def module(self) -> Any:
        """The module; raises CompileError (TAD0603) for a program that no module holds."""
        if self.written is None:
            from tadc.compiler.run_term_passes import module_of

            assert self.form is not None
            self.written = module_of(self.form, self.source)
        return self.written

    def names(self) -> set[str]:
        """The names of all tensors that are computed."""
        if self.form is None:
            from tadc.dialect.program_reader import read_program, tad_functions

            programs = [read_program(function) for function in tad_functions(self.written.operation)]
        else:
            programs = [self.form]
        return {definition.name for program in programs for definition in program.definitions}

    def rewrite(self, *passes: TermPass) -> None:
        """Run passes on the program, or on each of a module that was given."""
        if self.form is None:
            from tadc.compiler.run_passes import run_pass_objects

            run_pass_objects(self.written, passes, self.source)
        else:
            from tadc.compiler.run_term_passes import rewrite_program

            form, self.form = self.form, rewrite_program(self.form, passes, self.source)
            self.written = self.written if form is self.form else None


def parse_text(state: Compilation) -> None:
    """Text to syntax tree."""
    from tadc.frontend.per_value import parse_program

    assert state.source is not None
    state.tree = parse_program(state.source, dict(state.options.sizes))


def check_tree(state: Compilation) -> None:
    """Syntax tree to typed program, or to one for each value of some sizes."""
    from tadc.frontend import per_value

    assert state.tree is not None
    assert state.source is not None
    found = per_value.check_tree(state.tree, state.source, dict(state.options.sizes))
    if isinstance(found, per_value.PerValue):
        state.per_value = found
    else:
        state.program = found


def run_pipeline(state: Compilation, pipeline: str) -> None:
    """Run a pipeline on the module; what stops it becomes diagnostics."""
    from tadc.compiler.run_passes import run_passes

    run_passes(state.module, pipeline, state.source)


def lower_to_loops(state: Compilation) -> None:
    """The `tad` dialect to loops for the target; notes the function's symbol and its temporaries."""
    scheduled_loops(state, is_shown=False)
    run_pipeline(state, CLEAN_UP)


def scheduled_loops(state: Compilation, *, is_shown: bool = True) -> list[list[Scheduled]]:
    """The `tad` dialect to loops, by the steps of a schedule for maps that it has; what code of each function
    was made of."""
    from tadc.compiler.run_passes import run_pass_objects
    from tadc.dialect.program_reader import tad_functions
    from tadc.passes.catalogue import ToLoops
    from tadc.passes.maps.read_maps import read_maps
    from tadc.passes.schedule.given import given_schedule

    fuse(state)
    to_loops = ToLoops(**machine_facts(state))
    to_loops.is_shown = is_shown
    if state.options.schedule is not None:
        functions = [read_maps(function) for function in tad_functions(state.module.operation)]
        to_loops.given = given_schedule(state.options.schedule, functions)
    run_pass_objects(state.module, [to_loops], state.source)
    return to_loops.scheduled


def machine_facts(state: Compilation) -> dict[str, Any]:
    """Facts of the machine, by the fields of passes that look at it."""
    facts = dict(state.options.backend.machine(state.options.target))
    if state.options.often:
        facts.pop("least_work", None)
    return facts


def fuse(state: Compilation) -> None:
    """The maps that become loops; notes the function's symbol and its temporaries."""
    from tadc.passes.catalogue import ChainMaps, CutSums, Fill, Fuse, Keep, LayOut, Windows

    most = _steps_limit(state)
    _split(state, CutSums(limit=most))
    facts = machine_facts(state)
    last = _laid_out(state, LayOut(copies=most < 0, **facts))
    windows = Windows(limit=most)
    _rewrite_maps(state, Keep(), Fuse(**facts), Keep(fused=True), Fill(), windows, ChainMaps(), *last)


def _steps_limit(state: Compilation) -> int:
    """The bytes that steps of recurrences may take, -1 for any number: without a limit all that need not be
    kept is not kept where states are made backwards for that."""
    options = state.options
    limit = options.memory_limit if options.steps_limit is None else options.steps_limit
    return limit if limit is not None else -1 if options.reverse == "store" else 1 << 62


def _laid_out(state: Compilation, lay_out: MapPass) -> list[MapPass]:
    """The pass that copies tensors, where there may be tensors in between."""
    no_memory = state.options.materialize == "never" or state.options.memory_limit == 0
    return [] if no_memory else [lay_out]


def _split(state: Compilation, cut: CutSums) -> None:
    """Wavefronts, groups, short rows, parts of long sums and contractions to tensors of their own, where
    there may be tensors in between; sums of sums to one."""
    from tadc.passes import term_catalogue as terms

    limit = state.options.memory_limit
    most = -1 if limit is None else limit
    steps = [] if cut.gpu else [terms.SumSteps(_steps_limit(state))]
    stores = state.options.materialize != "never" and limit != 0
    scatter = [] if cut.gpu else [terms.ScatterSums(most if stores else 0)]
    if stores:
        fibres = [terms.CutFibres(limit=most)] if state.options.long_fibres else []
        parts = [terms.Split(most), terms.Rows(), *fibres, cut, terms.JoinSums(), terms.Separate(most)]
        skew, cut.decisions = terms.Skew(most), state.decisions
        skew.decisions = parts[-1].decisions = state.decisions
        state.rewrite(skew, *steps, *parts, *scatter)
        cut.mark(state.module.operation)
    else:
        state.rewrite(*steps, terms.JoinSums(), *scatter)


def _rewrite_maps(state: Compilation, *passes: MapPass) -> None:
    """Run passes on maps, and note the function's buffers."""
    from tadc.compiler.run_passes import rewrite_maps

    for item in passes:
        item.decisions = state.decisions
    for function, maps in rewrite_maps(state.module, passes, state.source):
        _note_buffers(state, function, maps)
    state.decisions.check_asked()


def _note_buffers(state: Compilation, function: ir.Operation, maps: MapFunction) -> None:
    """The symbol of a function with these maps, its signature, and the tensors in between."""
    from tadc.compiler.c_signature import signature_of
    from tadc.frontend.extents import extent
    from tadc.lattice.affine import Affine
    from tadc.passes.maps.memory_of_tensors import memory_of
    from tadc.passes.maps.window_report import windows_text
    from tadc.passes.schedule.work_counts import operations_of

    memory, state.symbol = memory_of(maps), maps.name
    if not state.options.backend.launches_kernels:
        state.signatures.append(signature_of(function, maps))
    state.work = [operations_of(item) for item in maps.maps] if maps.sizes else []
    state.windows = windows_text(maps)
    sizes = {name: Affine.var(f"s{n}") for n, name in enumerate(maps.sizes)}
    definitions = state.form.definitions if state.form else ()
    cotangents = {d.name: d.cotangent_of for d in definitions}
    file = state.source.name if state.source else ""
    steps = {tensor.name for item in maps.maps if item.order is not None for tensor in item.tensors}
    state.temporaries = [
        Between(
            tensor.label or tensor.name,
            tensor.type,
            tuple(extent(form.substitute(sizes)) for form in tensor.shape),
            span,
            (tensor.place.line, tensor.place.column)
            if tensor.place and tensor.place.file == file
            else (0, 0),
            cotangents.get(tensor.label, ""),
            tensor.name in steps,
        )
        for tensor, span in zip(memory.temporaries, memory.spans, strict=True)
    ]


def lower_to_gpu(state: Compilation) -> None:
    """The `tad` dialect to the gpu dialect; notes the function's symbol, its temporaries, how to launch."""
    from tadc.compiler.run_passes import run_pass_objects
    from tadc.passes.catalogue import ToGpu

    gpu = fuse_for_gpu(state)
    to_gpu = ToGpu(gpu)
    for each in kernels_of(state, gpu):
        to_gpu.given = each.given
    run_pass_objects(state.module, [to_gpu], state.source)
    state.launches = to_gpu.launches
    state.places = _places(state)
    run_pipeline(state, CLEAN_UP)


def fuse_for_gpu(state: Compilation) -> str:
    """The maps that become kernels of a GPU; its architecture."""
    from tadc.passes.catalogue import ChainMaps, CutSums, Fuse, Windows

    facts = machine_facts(state)
    _split(state, CutSums(**facts))
    _rewrite_maps(state, Fuse(**facts), Windows(**facts), ChainMaps(**facts))
    return facts["gpu"]


def kernels_of(state: Compilation, gpu: str) -> list[Kernels]:
    """What becomes kernels of each function, by the steps of a schedule where it has them."""
    from tadc.dialect.program_reader import tad_functions
    from tadc.passes.gpu.kernels import Kernels
    from tadc.passes.maps.machine import gpu_of

    functions = [Kernels(each, gpu_of(gpu)) for each in tad_functions(state.module.operation)]
    schedule = state.options.schedule
    if schedule is None:
        return functions
    from tadc.passes.gpu.given_kernels import given_kernels
    from tadc.passes.gpu.kernel_functions import shared_bytes

    given = given_kernels(schedule, functions, shared_bytes)
    return [replace(each, given=given) for each in functions]


def _places(state: Compilation) -> dict[str, str]:
    """What each kernel computes: tensors, and the line of the program, which gradients do not have."""
    from tadc.dialect.locations import names_in, place_of
    from tadc.dialect.mlir import ir

    found: dict[str, str] = {}

    def visit(op: Any) -> Any:
        if op.name == "gpu.func":
            place = place_of(op.location)
            tensors = ", ".join(f"`{tensor}`" for tensor in names_in(op.location))
            where = [f"{place.file}:{place.line}:{place.column}"] if place else []
            found[ir.StringAttr(op.attributes["sym_name"]).value] = " at ".join(
                [tensors] * bool(tensors) + where
            )
        return ir.WalkResult.ADVANCE

    state.module.operation.walk(visit, ir.WalkOrder.PRE_ORDER)
    return found


def show_tree(state: Compilation) -> str:
    """The syntax tree, indented."""
    from tadc.frontend.dump import dump

    assert state.tree is not None
    return dump(state.tree)


def show_program(state: Compilation) -> str:
    """The typed program, as a program."""
    from tadc.frontend.printer import print_program

    if state.per_value is not None:
        return state.per_value.text()
    assert state.program is not None
    return print_program(state.program)


def show_module(state: Compilation) -> str:
    """The module in readable form, or in the generic form where that is asked for."""
    from tadc.passes.ir_printing import show

    return show(state.module)
