"""Mathematics as lines of text: matrices with aligned columns, beside each other; conditions; steps."""

from __future__ import annotations

from collections.abc import Sequence

from tadc.frontend.print_index import FormWriter, condition_text, form_text, lower_text, upper_text
from tadc.lattice.affine import Affine, Constraint
from tadc.lattice.bounds import Level
from tadc.lattice.trace import Determined, Division, Elimination, Reversed, SmithStep, Step, Tight

WIDTH = 98

Block = list[str]
"""Lines of one width."""


def matrix_block(rows: Sequence[Sequence[object]], *, left: bool = False) -> Block:
    """A matrix in brackets, its columns aligned; one without columns is narrow."""
    texts = [[str(x) for x in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*texts, strict=True)]
    justify = str.ljust if left else str.rjust
    cells = [
        "  ".join(justify(text, width) for text, width in zip(row, widths, strict=True)) for row in texts
    ]
    return [f"[ {cell} ]" if cell else "[ ]" for cell in cells]


def vector_block(entries: Sequence[object]) -> Block:
    """A column vector."""
    return matrix_block([[entry] for entry in entries], left=True)


def beside(parts: Sequence[Block | str]) -> Block:
    """Blocks and words in one line of mathematics, their middles level."""
    blocks = [[part] if isinstance(part, str) else part for part in parts]
    height = max(map(len, blocks), default=0)
    lines = [""] * height
    for block in blocks:
        width = max(map(len, block), default=0)
        above = (height - len(block)) // 2
        padded = [""] * above + block + [""] * (height - above - len(block))
        lines = [line + text.ljust(width) for line, text in zip(lines, padded, strict=True)]
    return [line.rstrip() for line in lines]


def in_rows(parts: Sequence[Block], gap: str = "    ") -> Block:
    """Blocks beside each other as long as the line holds them, then below."""
    lines: Block = []
    current: list[Block | str] = []
    for part in parts:
        wider: list[Block | str] = [*current, gap, part] if current else [part]
        if current and max(map(len, beside(wider))) > WIDTH - 6:
            lines += [*beside(current), ""]
            wider = [part]
        current = wider
    return lines + beside(current)


def wrapped(pieces: Sequence[str], indent: str, separator: str = ", ") -> Block:
    """Pieces joined, broken between them where a line would be too long."""
    lines: Block = []
    line = ""
    for last, piece in enumerate(pieces, 1 - len(pieces)):
        text = piece + (separator.rstrip() if last else "")
        if line and len(indent) + len(line) + 1 + len(text) > WIDTH:
            lines.append(indent + line)
            line = text
        else:
            line = f"{line} {text}" if line else text
    return [*lines, indent + line] if line else lines


def paragraph(text: str, indent: str) -> Block:
    """Words of a text, broken into lines."""
    return wrapped(text.split(), indent, separator=" ")


def conditions(rows: Sequence[Constraint], forms: FormWriter = FormWriter()) -> list[str]:
    """Conditions as a person writes them: `0 <= i <= 3` where two rows say that."""
    lower: dict[str, Affine] = {}
    texts: list[str] = []
    uppers = {name: rest for row in rows for name, k, rest in [_bound(row)] if k == -1}
    for row in rows:
        name, k, rest = _bound(row)
        if k == 1 and name in uppers and name not in lower:
            lower[name] = -rest
            texts.append(forms.between(-rest, Affine.var(name), uppers[name]))
        elif not (k == -1 and uppers[name] == rest and _has_lower(name, rows)):
            texts.append(forms.condition(row))
    return texts


def _has_lower(name: str, rows: Sequence[Constraint]) -> bool:
    return any(found == name and k == 1 for found, k, _ in map(_bound, rows))


def _bound(row: Constraint) -> tuple[str, int, Affine]:
    """The variable that a row bounds by a constant, the sign, and what is left of the row."""
    names = [atom for atom, k in row.form.terms if isinstance(atom, str) and abs(k) == 1]
    if row.equality or len(row.form.terms) != 1 or not names:
        return "", 0, row.form
    k = row.form.coefficient(names[0])
    return names[0], k, row.form - Affine.var(names[0]) * k


def loop_text(level: Level) -> str:
    """A loop and its bounds, both included, as the printer writes them."""
    lower, upper = lower_text(level.lower), upper_text(level.upper)
    return f"{level.name} = {_bare(lower)} .. {_bare(upper)}"


def loop_lines(level: Level, indent: int) -> Block:
    """A loop with its bounds, on two lines where one is too long."""
    text = loop_text(level)
    if indent + len(text) <= WIDTH:
        return [text]
    lower, upper = text.split(" .. ")
    return [lower, f"{' ' * len(level.name)} .. {upper}"]


def _bare(text: str) -> str:
    return text[1:-1] if text.startswith("(") and text.endswith(")") else text


def step_text(step: Step) -> str:
    """What a step of the solver did."""
    match step:
        case Division(divisor=0):
            return f"{_equation(step.row)} has no unknown: it is a guard"
        case Division():
            where = "" if step.guard is None else f", where {condition_text(step.guard)}"
            return f"divide {_equation(step.row)} by {step.divisor}{where}: {_equation(step.result)}"
        case Elimination():
            return f"solve {_equation(step.row)} for {step.name}: {step.name} = {form_text(step.value)}"
        case SmithStep():
            solved = ", ".join(map(_equation, step.rows))
            return f"solve {solved} by Smith normal form: {', '.join(_smith_values(step))}"
        case Tight():
            row = Constraint(step.form)
            return f"{condition_text(row)} leaves no choice but {_equation(step.form)}"
        case Reversed():
            return f"run {step.name} the other way: {step.name} = -{step.loop}"
        case Determined():
            return f"the rows leave {step.name} at most one value: {step.name} = {form_text(step.value)}"


def _equation(form: Affine) -> str:
    return condition_text(Constraint(form, equality=True))


def _smith_values(step: SmithStep) -> list[str]:
    factors = [*step.quotients, *map(Affine.var, step.loops)]
    texts: list[str] = []
    for name, row in zip(step.unknowns, step.right, strict=True):
        form = sum((factor * k for factor, k in zip(factors, row, strict=True)), Affine.const(0))
        texts.append(f"{name} = {form_text(form)}")
    return texts


def rule(title: str) -> str:
    """A line that begins a part."""
    return f"-- {title} ".ljust(WIDTH, "-")
