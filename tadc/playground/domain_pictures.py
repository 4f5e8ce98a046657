"""Pictures of certificates as SVG: the iteration domain of a read, what elements of its gradient gather."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape

from tadc.caller.pictures import COLORS
from tadc.certificates.certificate_points import NotDrawn, Picture, Preimage, hull, picture
from tadc.certificates.certify import Certificates

#: The most reads that are drawn, and the most points of a domain.
MOST, MOST_POINTS = 8, 3000
_SIDE, _MARGIN = 260.0, 34.0

Place = tuple[float, float]


def domain_pictures(found: Certificates) -> tuple[list[str], list[str]]:
    """An SVG for each read, and why others have none."""
    made: list[str] = []
    missing: list[str] = []
    for read in found:
        try:
            drawn = picture(read)
            if not 1 <= len(read.indices) <= 3:
                raise NotDrawn(
                    f"its domain has {len(read.indices) or 'no'} indices: one to three can be drawn"
                )
            if len(drawn.domain) > MOST_POINTS:
                raise NotDrawn(f"its domain has more than {MOST_POINTS} points: choose smaller sizes")
            if len(made) == MOST:
                raise NotDrawn(f"{MOST} others are drawn")
        except NotDrawn as reason:
            missing.append(f"{read.text} (line {read.line}): {reason}")
        else:
            made.append(_svg(drawn))
    if not made and not missing:
        missing.append("the program reads no arrays")
    return made, missing


def _svg(made: Picture) -> str:
    """The domain, the points that some elements gather in colours, and a legend."""
    read = made.read
    flat = [_flat(point) for point in made.domain]
    at = _scaled(flat)
    chosen = made.highlighted(len(COLORS))
    radius = 4.0 if len(flat) < 400 else 2.0
    into = f"{read.gradient}[{', '.join(read.element)}]" if read.element else read.gradient
    title = f"{read.text} into {into}"
    parts = [_dot(at(place), radius - 1, "currentColor", 0.35) for place in flat]
    for preimage, color in zip(chosen, COLORS, strict=False):
        places = [at(_flat(point)) for point in preimage.points]
        parts += [_area(hull(places), color), *(_dot(place, radius, color, 1) for place in places)]
    for n, (preimage, color) in enumerate(zip(chosen, COLORS, strict=False)):
        y = 24 + 20 * n
        parts.append(_dot((_SIDE + 12, y - 4), 5, color, 1))
        parts.append(f'<text x="{_SIDE + 24}" y="{y}">{escape(_label(made, preimage))}</text>')
    parts += _axes(read.indices)
    return (
        f'<svg viewBox="0 0 {_SIDE + 150} {_SIDE + 10}" role="img" aria-label="{escape(title)}: the '
        f'iteration domain, and the points that elements of the gradient gather">{"".join(parts)}</svg>'
    )


def _flat(point: Sequence[int]) -> Place:
    """A point in the plane: one of a line, of a plane, or of space as it is seen from a side."""
    match point:
        case (x,):
            return float(x), 0.0
        case (x, y):
            return float(x), float(y)
        case _:
            x, y, z = point
            return x + 0.45 * z, y + 0.35 * z


def _scaled(places: Sequence[Place]) -> Callable[[Place], Place]:
    """Where a place is in the picture; the second axis goes up."""
    xs, ys = [x for x, _ in places] or [0.0], [y for _, y in places] or [0.0]
    left, low = min(xs), min(ys)
    span = max(max(xs) - left, max(ys) - low, 1.0)
    room = _SIDE - 2 * _MARGIN

    def at(place: Place) -> Place:
        return _MARGIN + (place[0] - left) / span * room, _SIDE - _MARGIN - (place[1] - low) / span * room

    return at


def _dot(place: Place, radius: float, color: str, opacity: float) -> str:
    x, y = place
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius}" fill="{color}" fill-opacity="{opacity}"/>'


def _area(corners: Sequence[Place], color: str) -> str:
    """A line or an area."""
    if len(corners) < 2:
        return ""
    points = " ".join(f"{x:.1f},{y:.1f}" for x, y in corners)
    return f'<polygon points="{points}" fill="{color}" fill-opacity="0.15" stroke="{color}"/>'


def _label(made: Picture, preimage: Preimage) -> str:
    """An element of the gradient, and how many points it gathers."""
    at = f"[{', '.join(map(str, preimage.element))}]" if preimage.element else ""
    return f"{made.read.gradient}{at}: {len(preimage.points)}"


def _axes(indices: Sequence[str]) -> list[str]:
    """What the axes are called."""
    made = [f'<text x="{_SIDE / 2}" y="{_SIDE - 6}">{escape(indices[0])} →</text>']
    if len(indices) > 1:
        made.append(f'<text x="4" y="{_SIDE / 2}">{escape(indices[1])} ↑</text>')
    if len(indices) > 2:
        made.append(f'<text x="{_SIDE - 30}" y="20">{escape(indices[2])} ↗</text>')
    return made
