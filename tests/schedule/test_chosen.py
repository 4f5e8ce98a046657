"""The schedules that are chosen for named programs, as `chosen.sched` has them, on one machine."""

from __future__ import annotations

from pathlib import Path

from tadc.passes.nest.plain import plain_nest
from tadc.passes.nest.primitives.apply import apply_steps
from tadc.passes.schedule.cpu_machine import CpuMachine
from tadc.passes.schedule.text import schedule_text
from tests.nest.programs import chosen_schedule, maps_of_program

PROGRAMS = {
    "matmul": "a: f32[512, 512]\nb: f32[512, 512]\nc[i, j] = sum{k} (a[i, k] * b[k, j])",
    "gram": "a: f32[1024, 1024]\nb: f32[1024, 1024]\nc[i, j] = sum{k} (a[k, i] * b[k, j])",
    "sizes": "x: f64[M, N]\ny: f64[N]\nf[i] = sum{j} (x[i, j] * y[j])",
    "stencil": "x: f32[999, 999]\ny[i: 997, j: 998] = x[i, j + 1] + x[i + 2, j + 1] + x[i + 1, j]",
    "window": "x: f32[99999]\nd[i: 100007] = sum{k}_(max [0; i - 99998])^(min [8; i]) (x[i - k])",
    "filter": "x: f32[100000]\nw: f32[64]\ny[i: 99937] = sum{k} (x[i + k] * w[k])",
    "transpose": "x: f32[2000, 2000]\ny[i, j] = 2 * x[j, i]",
    "upsampling": "x: f32[512, 512]\ny[i: 1024, j: 1024] = x[i // 2, j // 2]",
    "pool": "x: f32[N, W]\n"
    "y[i: N, j: W] = if {j // 2 < W // 2} then (max{p: 2} (x[i, 2*(j // 2) + p])) else (0)",
    "mean": "x: f32[1000, 10000]\nm[i] = sum{j} (x[i, j])",
    "channels": "x: f32[16, 64, 28, 28]\nm[c] = sum{n, i, j} (x[n, c, i, j])",
    "softmax": "x: f32[256, 1024]\ne[i, j] = exp(x[i, j])\ns[i] = sum{j} (e[i, j])\ny[i, j] = e[i, j] / s[i]",
    "suffix": "x: f64[8, 9999]\nscan{-t} p[b, t] = if {t < 9998} then (p[b, t + 1] + x[b, t]) else (x[b, t])",
    "strided": "x: f32[8, 64, 55, 55]\ny: f32[8, 128, 27, 27]\n"
    "w[o: 128, c: 64, u: 3, v: 3] = sum{n, i, j} (x[n, c, 2*i + u, 2*j + v] * y[n, o, i, j])",
    "tiny": "x: f32[8]\ny[i] = 2 * x[i]",
}


def test_schedules_are_as_written_down() -> None:
    """What is chosen is this, and fits the nests."""
    made: list[str] = []
    for name, text in PROGRAMS.items():
        function = maps_of_program(text, "value")
        chosen = chosen_schedule(function, CpuMachine(64, 32, 1 << 18))
        for item, schedule in zip(function.maps, chosen, strict=True):
            apply_steps(plain_nest(function, item), schedule.steps)
        made.append(f"# {name}\n{schedule_text(chosen)}")
    path = Path(__file__).parent / "chosen.sched"
    assert "\n".join(made) == path.read_text(encoding="utf-8")
