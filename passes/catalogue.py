"""The passes on maps and on modules. Imported, it registers all of ours: `term_catalogue.py` too."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any, ClassVar

from tadc.dialect.program_reader import UnsupportedIR, tad_functions
from tadc.frontend.program import Program
from tadc.lattice.late_dataclasses import dataclass
from tadc.passes.cpu.loop_functions import Scheduled, lower_to_loops
from tadc.passes.derived_functions import DerivedFunctions
from tadc.passes.map_pass import map_pass_of
from tadc.passes.maps.at_sums import with_maps_at_sums
from tadc.passes.maps.block_chains import RowsInBlocks, with_gathered_rows
from tadc.passes.maps.chains import InCaches
from tadc.passes.maps.filled_tensors import filled
from tadc.passes.maps.fuse import MapCost, fused
from tadc.passes.maps.kept import keep
from tadc.passes.maps.machine import gpu_of
from tadc.passes.maps.map import MapFunction
from tadc.passes.maps.marks import mark_maps
from tadc.passes.maps.run_together import with_rows_together
from tadc.passes.maps.sweeps import with_windows
from tadc.passes.maps.tapes import with_tapes
from tadc.passes.pass_manager import left_out
from tadc.passes.registry import (
    REGISTRY,
    Pass,
    flag_option,
    names_option,
    number_option,
    register,
    word_option,
)
from tadc.passes.rewrites.parts import THREADS, Mark, blocks, cut_reductions
from tadc.passes.schedule.cpu_machine import CpuMachine
from tadc.passes.schedule.given import Given
from tadc.passes.schedule.rows_last import with_rows_last
from tadc.passes.schedule.step_copies import with_copies_for_steps
from tadc.passes.schedule.thread_division import RANGES
from tadc.passes.schedule.vector_fusion import VectorCost
from tadc.passes.schedule.work_counts import operations_of
from tadc.passes.term_catalogue import ROOM, ForwardDiff, ForwardOptions, ReverseDiff, ReverseOptions
from tadc.passes.term_pass import TermPass, most
from tadc.passes.where import InParts, Where
from tadc.passes.wrappers import called_names, symbol_name

if TYPE_CHECKING:
    from tadc.passes.gpu.kernels import KernelSteps
    from tadc.passes.gpu.launch import Launch


@dataclass
class AddDerivatives(Pass):
    """Functions that the pass `rule` makes of others: an `operation` asks for them, or they are named."""

    operation: ClassVar[str]
    rule: ClassVar[type[TermPass]]
    function: list[str] = names_option("functions to differentiate even if nothing asks for it")

    def run(self, module: Any) -> None:
        """Add functions; raises UnsupportedIR for one that is not there, or has no such derivative."""
        options = {spec.name: getattr(self, spec.name) for spec in fields(self.rule)}
        derived = DerivedFunctions(module, self.operation, self.rule)
        for name in self.function:
            derived.add(name, options, module.location)
        derived.expand()


@register("tad-vjp", "vector-Jacobian products that a module asks for are functions in it")
@dataclass
class AddVjp(AddDerivatives, ReverseOptions):
    """Each `tad.vjp` becomes a call of a function that `tad-reverse-diff` makes; other functions stay.

    Functions named in `function` are differentiated with the options of the pass, for any caller.
    """

    operation, rule = "tad.vjp", ReverseDiff


@register("tad-jvp", "Jacobian-vector products that a module asks for are functions in it")
@dataclass
class AddJvp(AddDerivatives, ForwardOptions):
    """Each `tad.jvp` becomes a call of a function that `tad-forward-diff` makes; other functions stay.

    Functions named in `function` are differentiated with the options of the pass, for any caller.
    """

    operation, rule = "tad.jvp", ForwardDiff


@register("tad-cut", "long reductions with few results are split for several threads")
@dataclass
class CutSums(TermPass):
    """A long reduction becomes a tensor of its parts and their reduction, so that threads can share it.

    The maps are marked `tad.parts` and `tad.joined`.
    """

    gpu: str = word_option(
        "", "architecture of a GPU, for which contractions with few elements are split too", gpu_of
    )
    limit: int = number_option(-1, ROOM)

    def __post_init__(self) -> None:
        self.marks: dict[str, Mark] = {}
        self.cutting = blocks(gpu_of(self.gpu)) if self.gpu else THREADS

    def rewrite(self, program: Program) -> Program:
        """Cut in a program, and note the marks of its maps."""
        return self.deciding(
            program,
            InParts,
            "has many elements, or no long reduction",
            lambda takes: cut_reductions(program, self.marks, self.cutting, most(self.limit), takes),
        )

    def mark(self, module: Any) -> None:
        """Mark the maps of a module that was written after `rewrite`."""
        for function in tad_functions(module) if self.marks else ():
            mark_maps(function, self.marks)


Keep = map_pass_of(
    "tad-keep",
    "maps whose tensors are the same in every call are marked",
    lambda function, where, fused: keep(function, fused, where),
    fused=flag_option("maps are fused already"),
)

Fill = map_pass_of(
    "tad-fill",
    "tensors that are 0 except on thin sets are filled with zeros, and stored on these sets",
    lambda function, where: filled(function, where),
)


@dataclass
class MachineOptions:
    """Facts of a CPU, as `CpuMachine` has them."""

    vector_bytes: int = number_option(64, "bytes of a vector, 0 for code without vectors")
    registers: int = number_option(32, "vector registers")
    least_work: int = number_option(0, "fewest operations of a map that is worth vectors")
    latency: int = number_option(8, "vector additions in flight at once")
    folds: int = number_option(1, "1 if instructions can have a memory operand, else 0")
    sets: int = number_option(64, "sets of the L1 cache")
    ways: int = number_option(8, "lines in each set of the L1 cache")
    l2: int = number_option(2 << 20, "bytes of the L2 cache")


#: The same, for passes that are functions.
_MACHINE: dict[str, Any] = {spec.name: spec for spec in fields(MachineOptions)}


def _fused(function: MapFunction, where: Where, gpu: str, **machine: Any) -> MapFunction:
    cost: MapCost = VectorCost(CpuMachine(**machine))
    if gpu:
        from tadc.passes.gpu.thread_fusion import FusedCost

        cost = FusedCost(gpu_of(gpu))
    return fused(function, cost, where)


Fuse = map_pass_of(
    "tad-fuse",
    "maps over the same elements are fused if that costs no more",
    _fused,
    gpu=word_option("", "architecture of the GPU (none: a CPU)", gpu_of),
    **_MACHINE,
)


def _chained(function: MapFunction, where: Where, gpu: str) -> MapFunction:
    if gpu:
        return with_rows_together(with_gathered_rows(function), RowsInBlocks(gpu=gpu_of(gpu)), where)
    if where.given is not None:
        function = with_maps_at_sums(function, where)
        return with_rows_together(function, InCaches(ranges=RANGES, given=True), where)
    return with_maps_at_sums(with_rows_together(function, InCaches(ranges=RANGES), where), where)


ChainMaps = map_pass_of(
    "tad-chain",
    "maps that run one after the other, a few rows at a time, are marked",
    _chained,
    gpu=word_option("", "architecture of the GPU (none: a CPU)", gpu_of),
)


def _laid_out(function: MapFunction, where: Where, copies: bool, **facts: Any) -> MapFunction:
    machine = CpuMachine(**facts)
    function = with_copies_for_steps(function, machine, where) if copies else function
    return with_rows_last(function, machine, where)


LayOut = map_pass_of(
    "tad-lay-out",
    "tensors with short rows have another order of indices; operands of steps have copies",
    _laid_out,
    copies=flag_option("steps of recurrences may read copies of operands"),
    **_MACHINE,
)


def _windowed(function: MapFunction, where: Where, gpu: str, limit: int) -> MapFunction:
    # Without a limit, windows are where they save much; with one, however little they save.
    if not gpu:
        function = with_tapes(function, most(limit), lambda m: operations_of(m).count, where)
    return with_windows(function, where, along=not gpu, any_size=limit >= 0)


Windows = map_pass_of(
    "tad-window",
    "recurrences that keep only their last steps, or checkpoints, are marked",
    _windowed,
    gpu=word_option("", "architecture of the GPU (none: a CPU)", gpu_of),
    limit=number_option(-1, "maximum bytes of intermediates (-1: any)"),
)


@register("tad-to-loops", "functions are scf loops over buffers; no tad operation is left")
@dataclass
class ToLoops(MachineOptions, Pass):
    """Tensors become buffers, maps scf loops: functions over memrefs, with a function for each nest.

    Loops are ordered, tiled and vectorised for the machine.
    """

    dialects = ("bufferization", "cf", "memref", "scf", "tensor", "vector")
    tensors: bool = flag_option("all functions stay functions of tensors, and call their loops")

    def __post_init__(self) -> None:
        self.given: Given = {}
        self.is_shown = False
        self.scheduled: list[list[Scheduled]] = []

    def run(self, module: Any) -> None:
        """Lower every function."""
        machine = CpuMachine(**{name: getattr(self, name) for name in _MACHINE})
        called = called_names(module)
        for function in tad_functions(module):
            made = lower_to_loops(
                module, function, machine, self.given,
                is_shown=self.is_shown, is_called=self.tensors or symbol_name(function) in called,
            )  # fmt: skip
            self.scheduled.append(made)


@register("tad-to-linalg", "functions are linalg operations on tensors; no tad operation is left")
@dataclass
class ToLinalg(Pass):
    """Maps become `linalg.generic`, for the passes of a host.

    Recurrences, `logsumexp` and reads through index arrays are errors: `linalg` has no form for them.
    """

    dialects = ("linalg", "tensor", "math", "cf")

    def run(self, module: Any) -> None:
        """Rewrite every function; raises UnsupportedIR for one that has no such form."""
        from tadc.passes.linalg.linalg_generics import write_linalg

        for function in tad_functions(module):
            write_linalg(function)


@register("linalg-to-tad", "linalg functions on tensors are programs")
@dataclass
class FromLinalg(Pass):
    """Functions of `linalg` on tensors become programs, with the same signature for callers.

    Named operations are generalised; loops (`scf.for`) that carry tensors or numbers become recurrences. A
    function with dynamic sizes, numbers, integers or constant arrays calls a program beside it, `@f_program`;
    invalid sizes and index arrays stop the host by `cf.assert`. A function that cannot be a program stays as
    it is, with a warning.
    """

    dialects = ("affine", "cf", "linalg", "math", "tensor")

    def run(self, module: Any) -> None:
        """Read every function that holds no program yet."""
        # The reader imports a quarter of what a kernel for the CPU does without.
        from tadc.passes.linalg.linalg_functions import is_of_linalg, read_linalg

        programs = set(map(symbol_name, tad_functions(module)))
        for op in list(module.regions[0].blocks[0].operations):
            function = op.operation
            if not is_of_linalg(function) or symbol_name(function) in programs:
                continue
            try:
                read_linalg(module, function)
            except UnsupportedIR as problem:
                message = f"@{symbol_name(function)} stays as it is: {problem.message}"
                left_out.append(UnsupportedIR(f"{self.argument}: {message}", problem.location))


@register("tad-to-gpu", "tensors are computed by GPU kernels; no tad operation is left")
@dataclass
class ToGpu(Pass):
    """Tensors become buffers, maps kernels: a `gpu.module` for each function, a `gpu.func` for each launch.

    One thread computes each element, or a block shares tiles of its operands; there are no atomics. A
    function that others of the module call stays and launches its kernels: it copies arrays to the GPU, and
    results back.
    """

    dialects = ("bufferization", "cf", "memref", "scf", "tensor")

    gpu: str = word_option("", "architecture of the GPU, as targets name it", gpu_of)

    def __post_init__(self) -> None:
        self.launches: list[Launch] = []
        self.given: KernelSteps = {}

    def run(self, module: Any) -> None:
        """Lower every function."""
        # A quarter of our own modules, which a kernel for the CPU does without.
        from tadc.passes.gpu.kernel_functions import lower_to_gpu

        called = called_names(module)
        for function in tad_functions(module):
            self.launches += lower_to_gpu(
                module, function, gpu_of(self.gpu), self.given, is_called=symbol_name(function) in called
            )


__all__ = ["REGISTRY"]
