"""Calls of kernels' loops by several threads: `tad_f.0.split` and others, made of their declarations.

`tad_f.0.split(…, elements, multiple, operations)` calls `tad_f.0(…, begin, end)` on ranges that make up
[0, elements), by `tadc_parallel` (`pool.ll`), which the process that loads a kernel provides. It is a
weak symbol: a kernel linked without it works on one thread.

`tad_f.0.spread(…, elements, multiple, starts, operations)` does so too, on ranges that are about equally much
work: an element takes as many steps as there are from one of `starts` to the next (`rows.ll`).

`tad_f.0.turns(…, phases, most, operations)` calls `tad_f.0(…, first, last, part, parts)` for each part of
each phase, of which there are `most` at most, when the phase before is done, by `tadc_turns` (`turns.ll`),
which becomes a part of the kernel.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from tadc.backend.runtime.thread_count import PARALLEL
from tadc.lattice.late_dataclasses import dataclass
from tadc.passes.cpu.passing_on import AS_IT_IS_IN_TEXT, MANY

#: So many operations are worth a part of a phase; `passes/schedule/work_counts.py` says what an operation is.
LEAST_PART = 8192


@dataclass(frozen=True)
class _SplitKind:
    """A way to call a function by several threads: what it is called with on each of these, what is said of
    the whole, what is called instead where there is no pool, and the function that calls threads."""

    name: str
    each: tuple[str, ...]
    whole: tuple[str, ...]
    alone: tuple[str, ...]
    by: str
    pointers: tuple[str, ...] = ()
    """Those of `whole` that are no numbers."""

    def typed(self, words: Iterable[str]) -> str:
        return ", ".join(f"{'ptr' if word in self.pointers else 'i64'} %{word}" for word in words)


_KINDS = {
    kind.name: kind
    for kind in (
        _SplitKind(
            "split", ("begin", "end"),
            ("elements", "multiple", "operations"), ("0", "%elements"), PARALLEL,
        ),
        _SplitKind(
            "spread", ("begin", "end"),
            ("elements", "multiple", "starts", "operations"), ("0", "%elements"), PARALLEL, ("starts",),
        ),
        _SplitKind(
            "turns", ("first", "last", "part", "parts"),
            ("phases", "most", "operations"), ("0", "%phases", "0", "1"), "tadc_turns",
        ),
    )
}  # fmt: skip

_FOLDER = Path(__file__).parent / "cpu"

#: Functions that have calls of others alone: splits, chains, the entry.
_CALLERS = re.compile(
    r"^define (?:internal void @(?:tadc_\w+|[\w.]+\.(?:split|spread|turns|range|places|rows|steps))"
    r"|void @\w+)\(.*?^}\n",
    re.M | re.S,
)
_DECLARED = re.compile(rf"^declare void @([\w.]+)\.({'|'.join(_KINDS)})\(([^\n]*)\)[^\n]*\n", re.M)


def define_splits(text: str, pause: str = "") -> str:
    """LLVM IR text with definitions in the place of declarations of splits and turns; a thread that waits
    calls `pause`, an intrinsic."""
    bodies: list[str] = []
    found: set[str] = set()

    def define(match: re.Match[str]) -> str:
        kind = _KINDS[match[2]]
        found.add(kind.name)
        types = [parameter.split()[0] for parameter in match[3].split(",")]
        bodies.append(_definitions(match[1], types[: -len(kind.whole)], kind))
        return ""

    text = _DECLARED.sub(define, text)
    if not bodies:
        return text
    if "spread" in found:
        bodies.append((_FOLDER / "rows.ll").read_text())
    if "turns" in found:
        bodies.append(turns_text(pause))
    declaration = f"declare extern_weak void @{PARALLEL}(ptr, ptr, i64, i64, i64)\n"
    return "\n".join([text.rstrip("\n"), "", *bodies, declaration])


def on_one_thread(text: str) -> str:
    """LLVM IR text whose splits and turns call nothing that shares work."""
    text = text.replace(f"icmp eq ptr @{PARALLEL}, null", "icmp eq ptr null, null")
    # Turns name it yet, and are called by nobody.
    declared = rf"^declare extern_weak (void @{PARALLEL}\([^\n]*\))$"
    return re.sub(declared, r"define internal \1 {\n  ret void\n}", text, flags=re.M)


def turns_text(pause: str) -> str:
    """The text of `turns.ll`, with what it leaves open: what a thread that waits calls, which parts are worth
    it."""
    text = (_FOLDER / "turns.ll").read_text().replace("LEAST", str(LEAST_PART))
    call = f"call void @{pause}()" if pause else ""
    return text.replace("PAUSE", call) + (f"declare void @{pause}()\n" if pause else "")


def size_of_loops(text: str) -> int:
    """The characters of LLVM IR text, but for callers, which hold no code worth counting."""
    return len(text) - sum(len(found[0]) for found in _CALLERS.finditer(text))


def _definitions(name: str, types: list[str], kind: _SplitKind) -> str:
    """The split of a function, or its turns; arguments but for those of a range have these types, of 8 bytes
    each.

    It puts them in an array, out of which `NAME.range` or `NAME.places` takes them again on each thread.
    """
    spreads = kind.name == "spread"
    part = f"{name}.{'places' if spreads else 'range'}"
    kept = [f"{type} %a{n}" for n, type in enumerate(types)]
    kept += ["i64 %elements", "i64 %multiple", "ptr %starts"] if spreads else []
    left = AS_IT_IS_IN_TEXT if len(types) > MANY else ""
    given = "".join(f"{type} %a{n}, " for n, type in enumerate(types))
    at = [f"  %p{n} = getelementptr i64, ptr %arguments, i64 {n}" for n in range(len(kept))]
    store = [f"  store {each}, ptr %p{n}" for n, each in enumerate(kept)]
    load = [f"  %{each.split('%')[1]} = load {each.split()[0]}, ptr %p{n}" for n, each in enumerate(kept)]
    each, whole = kind.typed(kind.each), kind.typed(kind.whole)
    call = f"call void @{kind.by}(ptr @{part}, ptr %arguments, {whole})"
    return "\n".join(
        [
            f"define internal void @{part}(ptr %arguments, {each}){left} {{",
            *at,
            *load,
            *(
                _ROWS.format(call=f"call void @{name}({given}i64 %row, i64 %row.end)")
                if spreads
                else f"  call void @{name}({given}{each})\n  ret void"
            ).split("\n"),
            "}",
            "",
            f"define internal void @{name}.{kind.name}({given}{whole}){left} {{",
            f"  %arguments = alloca [{len(kept)} x i64]",
            *at,
            *store,
            f"  %alone = icmp eq ptr @{PARALLEL}, null",
            "  br i1 %alone, label %one, label %several",
            "one:",
            f"  call void @{name}({given}{', '.join(f'i64 {word}' for word in kind.alone)})",
            "  ret void",
            "several:",
            *(_PLACES.format(part=part) if spreads else f"  {call}").split("\n"),
            "  ret void",
            "}",
            "",
        ]
    )


#: What a thread does with a range of places: all rows that begin there.
_ROWS = """\
  %row = call i64 @tadc_row_at(ptr %starts, i64 %elements, i64 %multiple, i64 %begin)
  %row.end = call i64 @tadc_row_at(ptr %starts, i64 %elements, i64 %multiple, i64 %end)
  %any = icmp slt i64 %row, %row.end
  br i1 %any, label %rows, label %none
rows:
  {call}
  br label %none
none:
  ret void"""

#: Threads divide the places of rows.
_PLACES = f"""\
  %first = load i32, ptr %starts
  %end.at = getelementptr i32, ptr %starts, i64 %elements
  %last = load i32, ptr %end.at
  %steps = sub i32 %last, %first
  %steps.wide = zext i32 %steps to i64
  %places = add i64 %steps.wide, %elements
  call void @{PARALLEL}(ptr @{{part}}, ptr %arguments, i64 %places, i64 1, i64 %operations)"""
