"""Random steps for a map, as text: tilings as a person would write them, with lines left out or exchanged.

Some make no sense.
"""

from __future__ import annotations

import random

from tadc.passes.maps.map import Fold, Load, Map

TAILS = ("", " overlap", " overlap", " rest", " clip", " again", " guard")


def random_schedule(rng: random.Random, item: Map) -> str:
    """The text of a schedule for one map."""
    lines = _Maker(rng, item).tiling()
    if rng.random() < 0.4:
        number, other = rng.randrange(len(lines)), rng.randrange(len(lines))
        lines[number], lines[other] = lines[other], lines[number]
    if rng.random() < 0.2:
        lines.pop(rng.randrange(len(lines)))
    return "\n    ".join([f"map {item.tensors[0].name}", *lines])


class _Maker:
    def __init__(self, rng: random.Random, item: Map) -> None:
        self.rng, self.item = rng, item
        lets = item.body.all_lets()
        self.folds = [(let.names[0], let.value) for let in lets if isinstance(let.value, Fold)]
        inside = [let for _, fold in self.folds for let in fold.body.lets]
        self.reads = [let.names[0] for let in inside if isinstance(let.value, Load)] or ["%0"]
        self.binders = [name for _, fold in self.folds for name in fold.indices]
        self.outer: list[str] = []
        self.inner: list[str] = []
        self.tiles: dict[str, int] = {}

    def chance(self, share: float) -> bool:
        return self.rng.random() < share

    def some(self, names: list[str], most: int = 3) -> str:
        """A few names, at least one."""
        names = list(dict.fromkeys(names)) or ["nothing"]
        return ", ".join(self.rng.sample(names, self.rng.randint(1, min(len(names), most))))

    def tiling(self) -> list[str]:
        """Parts, tiles, blocks of a sum, their order, kinds, and what is done with memory."""
        rng, joins, indices = self.rng, list[str](), list(self.item.indices)
        if self.item.order is None and len(indices) > 1 and self.chance(0.25):
            first, second = indices[-2:]
            joins, indices[-2:] = [f"join {first}, {second} -> {first}{second}"], [f"{first}{second}"]
        lines = self.parts()
        rng.shuffle(indices)
        for index in indices:
            self.outer.append(index)
            if self.chance(0.7):
                self.tiles[index] = rng.randint(1, 6)
                self.outer[-1], inner = f"{index}0", f"{index}1"
                self.inner.append(inner)
                lines.append(f"split {index} {self.tiles[index]}{rng.choice(TAILS)} -> {index}0, {inner}")
        order = list(self.outer)
        if self.folds and self.chance(0.4):
            name, fold = self.folds[0]
            for number, binder in enumerate(fold.indices):
                steps = 1 if number < len(fold.indices) - 1 else rng.randint(1, 4)
                lines.append(f"cut {name} {binder} {steps} -> {binder}c")
                order.insert(rng.randint(0, len(order)), f"{binder}c")
        lines.append(f"reorder {', '.join([*order, *self.inner])}")
        if self.inner:
            *jammed, lane = self.inner
            lines += [f"jam {', '.join(jammed)}"] * bool(jammed)
            lines.append(f"{rng.choice(['lane', 'lane', 'jam', 'unroll'])} {lane}")
        return [*joins, *lines, *self.memory(order), *self.ranges()]

    def parts(self) -> list[str]:
        """Full parts."""
        if self.chance(0.7):
            return []
        index, rng = self.rng.choice(self.item.indices), self.rng
        flags = rng.choice(["", " by 2", " by 2 room 2", " groups by 2", " all"]).split(" groups")
        flag = f"{flags[-1]} groups" if len(flags) > 1 else flags[0]
        lines = [f"peel {index} where {rng.randint(0, 3)} <= {index} <= {rng.randint(3, 8)}{flag}"]
        if "by 2" in flag and self.chance(0.5):
            self.inner.append(f"{index}r")
            lines.append(f"residues {index} 2 -> {index}g, {index}r")
        return lines

    def memory(self, order: list[str]) -> list[str]:
        """Buffers, prefetches, registers."""
        rng, read = self.rng, self.rng.choice(self.reads)
        inside = f" inside {rng.choice(order)}" if order and self.chance(0.8) else ""
        over = (
            ", ".join([*self.binders, *self.inner])
            if self.chance(0.6)
            else self.some([*self.binders, *order])
        )
        fill = rng.choice(["", " by transpose", " by gather"])
        wanted = [
            (0.5, f"stage {read}{inside} over {over or 'k'}{fill}"),
            (0.15, f"prefetch {read} {rng.choice(['rows', 'vectors'])}"),
            (0.15, f"transpose {read} {self.some(self.inner, 1)}"),
            (0.2, f"interleave {self.some(self.inner, 1)}"),
            (0.2, f"stream {self.item.tensors[0].name}"),
        ]
        lines = [line for share, line in wanted if self.chance(share)]
        if self.folds and self.chance(0.3):
            lines += rng.choice([self.lockstep, self.strided])()
        if self.folds and self.chance(0.3):
            index, where = rng.choice([*self.binders, "ka"]), rng.choice(["", "", " where k = i"])
            lines += rng.sample([f"peel {index}{where}", f"shift {index}"], rng.randint(1, 2))
        return lines

    def lockstep(self) -> list[str]:
        """Copies or lanes of an index of a reduction."""
        split = f"split {self.rng.choice(self.binders)} {self.rng.choice([4, 6])} clip -> ka, kb"
        return [split, f"{self.rng.choice(['lane', 'jam'])} kb"]

    def strided(self) -> list[str]:
        """Steps of an index of a reduction that are far apart, one after the other."""
        rng, index = self.rng, self.rng.choice(self.binders)
        width, inner = rng.choice([(4, 2), (6, 3)])
        lines = [f"split {index} {width} clip -> ka, kb", f"split kb {inner} -> kc, kd"]
        lines += rng.choice([[], [], ["split kd 2 -> ke, kf", "jam kf"]]) if inner == 2 else []
        last = "ke" if len(lines) > 2 else "kd"
        around = rng.sample([name for name in self.binders if name != index], len(self.binders) - 1)
        return [*lines, f"reorder {', '.join([*around, 'ka', last, 'kc'])}", "unroll kc"]

    def ranges(self) -> list[str]:
        """What threads divide, and steps that few maps have."""
        rng, lines = self.rng, list[str]()
        if self.chance(0.3):
            names = rng.sample(self.item.indices, min(len(self.item.indices), rng.choice([1, 1, 2])))
            lines.append("threads " + ", ".join(f"{n} {self.tiles.get(n, 1)}" for n in names))
        odd = [f"rows {self.outer[0]} 4", f"points where {self.outer[0]} = 1", f"reverse {self.outer[0]}"]
        if self.chance(0.15):
            lines.append(rng.choice([*odd, "grid nowhere", "in_blocks 64"]))
        if self.tiles and self.chance(0.4):
            lines.append("fits " + ", ".join(f"{name} {count}" for name, count in self.tiles.items()))
        return lines
