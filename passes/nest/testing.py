import random

from tadc.passes.nest.primitives.apply import apply_steps
from tadc.passes.nest.primitives.rewriting import DoesNotFit
from tadc.passes.nest.steps import *


def schedule(nest, map, mode, function=None, machine=None, plan=None):
    if mode == "steps":
        from tadc.passes.schedule import plans as new
        from tadc.passes.schedule.cpu_machine import cpu_machine
        from tadc.passes.schedule.steps_of_plan import steps_of_plan

        m = cpu_machine(machine)
        p = new.plan_of(map, function, m)
        if plan is not None and plan.schedule is None and p.tiling is not None and not plan.parts:
            pass
        steps = steps_of_plan(map, function, p, m)
        import os

        if os.environ.get("SHOW"):
            print(map.tensors[0].name, *steps, sep="\n   ")
        made = apply_steps(nest, steps)
        if os.environ.get("SHOW"):
            from tadc.passes.nest.text import nest_text

            print(nest_text(made))
        return made
    if mode == "plain":
        return nest
    seed = int(mode)
    r = random.Random(repr((seed, map.tensors[0].name)))
    if not map.indices or map.order is not None:
        return nest
    steps = []
    sizes = dict(zip(map.indices, [e.constant if e.is_constant else 10**9 for e in map.extents]))
    unknown = {i for i, e in zip(map.indices, map.extents) if not e.is_constant}
    width = r.choice([2, 4, 8])
    order = list(map.indices)
    if r.random() < 0.5:
        r.shuffle(order)
        steps.append(Reorder(tuple(order)))
    cands = [i for i in map.indices if sizes[i] >= width]
    least = []
    if cands:
        lane = r.choice(cands)
        vec = r.choice([v for v in (1, 2, 3) if v * width <= sizes[lane]])
        if vec > 1:
            steps += [
                Split(lane, vec * width, "overlap", "l0", "l1x"),
                Split("l1x", width, "exact", "l1", "l2"),
                Bind("jam", ("l1",)),
                Bind("lane", ("l2",)),
            ]
        else:
            steps += [Split(lane, width, "overlap", "l0", "l2"), Bind("lane", ("l2",))]
        if lane in unknown:
            least.append((map.extents[map.indices.index(lane)], vec * width))
        others = [i for i in map.indices if i != lane and sizes[i] >= 2]
        if others:
            row = r.choice(others)
            n = r.choice([k for k in (2, 3, 4, 5) if k <= sizes[row]])
            steps += [Split(row, n, "overlap", "r0", "r1"), Bind("jam", ("r1",))]
            if row in unknown:
                least.append((map.extents[map.indices.index(row)], n))
        if r.random() < 0.5:
            steps.append(Interleave(lane))
    if least:
        if any(len(f.terms) != 1 or f.constant or f.terms[0][1] != 1 for f, _ in least):
            return nest
        steps.append(Fits(tuple((f.terms[0][0], n) for f, n in least)))
    try:
        return apply_steps(nest, steps)
    except DoesNotFit as e:
        print("does not fit", e)
        return nest
