"""The command line, parsed."""

from __future__ import annotations

from tadc.backend.environment import parse_size
from tadc.commands.option_parser import BadUsage
from tadc.commands.several import sizes_of
from tadc.frontend.source import Source
from tadc.lattice.late_dataclasses import dataclass, field


@dataclass
class Arguments:
    """The command line, parsed; of what is not given, the default."""

    command: str = ""
    file: str | None = None
    expression: str | None = None
    #: What was read from the file, from stdin or from the command line.
    source: Source | None = None
    wrt: str | None = None
    size: list[str] = field(default_factory=list[str])
    dtype: list[str] = field(default_factory=list[str])
    values: bool = False
    mode: str | None = None
    target: str = "cpu"
    emit: str | None = None
    prefix: str | None = None
    threads: str | None = None
    output: str | None = None
    run: list[str] | None = None
    bundle: str | None = None
    check_gradient: bool = False
    certificate: bool = False
    stats: bool = False
    plot: str | None = None
    passes: str | None = None
    load: list[str] = field(default_factory=list[str])
    print_ir_before: list[str] = field(default_factory=list[str])
    print_ir_after: list[str] = field(default_factory=list[str])
    print_ir_after_all: bool = False
    print_ir_after_change: bool = False
    mlir_timing: bool = False
    generic: bool = False
    allow_unregistered_dialect: bool = False
    split_input_file: bool = False
    verify_diagnostics: bool = False
    dump_dir: str | None = None
    time: bool = False
    counts: bool = False
    opt_level: int = 3
    materialize: str = "auto"
    fast_math: bool = False
    memory_limit: str | None = None
    reverse: str = "store"
    schedule: str | None = None
    limit: float = 30.0
    reorder: bool = False
    num_threads: int | None = None
    at: list[str] = field(default_factory=list[str])
    u: list[str] = field(default_factory=list[str])
    corr: list[str] = field(default_factory=list[str])
    cov: list[str] = field(default_factory=list[str])
    dof: list[str] = field(default_factory=list[str])
    method: str = "gum"
    k: float = 2.0
    budget: bool = False
    samples: int = 200_000
    seed: int = 0
    pieces: int = 1
    block: str | None = None
    workers: int | None = None
    plan: bool = False
    product: str | None = None
    fix: bool = False
    unsafe: bool = False
    check_style: bool = False
    watch: bool = False
    files: list[str] = field(default_factory=list[str])
    explain: str | None = None
    shell: str | None = None
    action: str = ""
    topic: str = ""
    allow: list[str] = field(default_factory=list[str])
    error_format: str = "human"
    json: bool = False
    names: list[str] = field(default_factory=list[str])
    list: str | None = None

    @property
    def wrt_names(self) -> tuple[str, ...] | None:
        """The arguments that `--wrt` names; None is all of them."""
        return None if self.wrt in (None, "*") else tuple(self.wrt.split(","))

    @property
    def sizes(self) -> tuple[tuple[str, int], ...]:
        """The values that `--size` gives. Raises BadUsage."""
        return tuple(sizes_of(self.size).items())

    @property
    def memory_limit_bytes(self) -> int | None:
        """The bytes that `--memory-limit` gives. Raises BadUsage."""
        if self.memory_limit is None:
            return None
        found = parse_size(self.memory_limit)
        if found is None:
            raise BadUsage(
                f"`--memory-limit {self.memory_limit}` is no number of bytes", "write `--memory-limit 64M`"
            )
        return found

    @property
    def prints_ir(self) -> bool:
        """Whether IR is printed between passes."""
        return bool(
            self.print_ir_before
            or self.print_ir_after
            or self.print_ir_after_all
            or self.print_ir_after_change
        )

    @property
    def is_mlir(self) -> bool:
        """Whether the input is IR."""
        return bool(self.file and self.file.endswith(".mlir"))

    @property
    def is_nest(self) -> bool:
        """Whether the input is loop nests."""
        return bool(self.file and self.file.endswith(".nest"))
