"""Pictures of certificates: iteration domains, preimages of elements, ranges of sums.

After figures 3 and 4 of Urban and van der Smagt 2017 (arXiv 1711.01348).
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import TYPE_CHECKING, Any

from tadc.caller.pictures import COLORS, GREY, INK, picture_of
from tadc.certificates.certificate_points import NotDrawn, Picture, Preimage, hull, picture
from tadc.commands.files import file_error
from tadc.frontend.diagnostics import CompileError, Diagnostic

if TYPE_CHECKING:
    from tadc.certificates.certify import Certificates

FORMATS = ("svg", "png", "pdf")

#: One for each colour.
MARKERS = ("o", "s", "^", "D", "v", "P")

MOST = 8
"""The most reads in one picture."""


def picture_format(name: str) -> str:
    """The format that a file's name asks for; raises CompileError (TAD0801) for another."""
    suffix = name.rpartition(".")[2].lower() if "." in name else ""
    if suffix not in FORMATS:
        raise file_error(f"cannot tell the format of `{name}`", "let its name end in .svg, .png or .pdf")
    return suffix


def draw(found: Certificates, kind: str) -> bytes:
    """The picture of all reads, a row each, in a format of `FORMATS`.

    Raises CompileError: TAD0802 without matplotlib, TAD0803 where no read can be drawn.
    """
    pictures, missing = _pictures(found)

    def fill(figure: Any) -> None:
        import_module("mpl_toolkits.mplot3d")  # registers the projection
        parts = figure.subfigures(len(pictures), 1, squeeze=False)
        for part, made in zip(parts[:, 0], pictures, strict=True):
            _row(part, made)
        if missing:
            figure.supxlabel("not drawn: " + "; ".join(missing), fontsize=8, color=INK, wrap=True)

    return picture_of(kind, (9.6, 3.9 * len(pictures)), fill)


def _pictures(found: Certificates) -> tuple[list[Picture], list[str]]:
    """The reads that are drawn, and why the others are not."""
    made: list[Picture] = []
    reasons: list[str] = []
    sizes: dict[str, int] = {}
    for read in found:
        try:
            made.append(picture(read))
        except NotDrawn as reason:
            reasons.append(f"{read.text} (line {read.line}): {reason}")
            sizes |= dict.fromkeys(reason.sizes, 8)
    if not made:
        notes = reasons or ["no read carries a cotangent"]
        helps = ["draw a smaller program, or choose the reads with --wrt"]
        if sizes:
            values = ",".join(f"{name}={value}" for name, value in sizes.items())
            helps.insert(0, f"give the sizes values, for example `--size {values}`")
        message = "there is nothing to draw"
        raise CompileError([Diagnostic("TAD0803", message, notes=notes, helps=helps, source=found.source)])
    if len(made) > MOST:
        count = len(made) - MOST
        reasons.append(f"{count} more read{'s' if count > 1 else ''}: choose by --wrt")
    return made[:MOST], reasons


def _row(part: Any, made: Picture) -> None:
    """Both pictures of a read."""
    read = made.read
    dimensions, kernel = len(read.indices), len(made.proof.solution.kernel)
    drawn = 1 <= dimensions <= 3
    into = f"{read.gradient}[{', '.join(read.element)}]" if read.element else read.gradient
    part.suptitle(f"{read.text}  (line {read.line})  into  {into}", fontweight="bold", color=INK)
    chosen = made.highlighted(4 if dimensions == 3 else len(COLORS))
    # One half of the picture, the whole where there is no domain to see.
    left = part.add_subplot(1, 2, 1, projection="3d" if dimensions == 3 else None) if drawn else None
    right = part.add_subplot(1, 2, 2) if drawn else part.add_subplot(1, 1, 1)
    if left is not None:
        (_line, _plane, _space)[dimensions - 1](left, made, chosen)
    (_no_loop, _one_loop, _two_loops, _counts)[min(kernel, 3)](right, made, chosen)
    for axes in (left, right):
        if axes is not None and axes.name != "3d":
            axes.spines[["top", "right"]].set_visible(False)
    _legend(part, right)


def _label(made: Picture, preimage: Preimage) -> str:
    names, values = made.read.element, preimage.element
    if not names:
        return made.read.gradient
    if len(names) == 1:
        return f"{names[0]} = {values[0]}"
    return f"{made.read.tensor}[{', '.join(map(str, values))}]"


def _marked(made: Picture, chosen: tuple[Preimage, ...]) -> Iterator[tuple[Preimage, dict[str, Any]]]:
    """Preimages, each with how its points are drawn."""
    for preimage, color, marker in zip(chosen, COLORS, MARKERS, strict=False):
        yield preimage, {"color": color, "marker": marker, "label": _label(made, preimage)}


def _name(axes: Any, title: str, xlabel: str, ylabel: str) -> None:
    """What a picture and its axes are called, along which there are whole numbers."""
    axes.set(xlabel=xlabel, ylabel=ylabel, title=title)
    _whole_numbers(axes.xaxis)
    _whole_numbers(axes.yaxis)


def _whole_numbers(axis: Any) -> None:
    ticker: Any = import_module("matplotlib.ticker")
    axis.set_major_locator(ticker.MaxNLocator(integer=True, nbins=9, min_n_ticks=1))


# -- iteration domains -----------------------------------------------------------------------------


def _line(axes: Any, made: Picture, chosen: tuple[Preimage, ...]) -> None:
    """One index: the element that each point reads."""
    place = {p.element: n for n, p in enumerate(made.preimages)}
    graph = [(point[0], place[p.element]) for p in made.preimages for point in p.points]
    if graph:
        axes.scatter(*zip(*graph, strict=True), color=GREY, s=14)
    for preimage, style in _marked(made, chosen):
        xs = [point[0] for point in preimage.points]
        ys = [place[preimage.element]] * len(xs)
        axes.plot(xs, ys, **style)
    _name(axes, "iteration domain and map", made.read.indices[0], _element_axis(made))


def _plane(axes: Any, made: Picture, chosen: tuple[Preimage, ...]) -> None:
    """Two indices: the lattice, and a line or an area for each preimage (figure 3)."""
    if made.domain:
        axes.scatter(*zip(*made.domain, strict=True), color=GREY, s=16, zorder=2)
    for preimage, style in _marked(made, chosen):
        corners = hull([(float(x), float(y)) for x, y in preimage.points])
        if len(corners) > 2:
            axes.fill(*zip(*corners, strict=True), color=style["color"], alpha=0.15, zorder=1)
        line = "-" if len(corners) <= 2 else "none"
        xs, ys = zip(*preimage.points, strict=True)
        axes.plot(xs, ys, linestyle=line, markersize=5, zorder=3, **style)
    _name(axes, "iteration domain and preimages", *made.read.indices)


def _space(axes: Any, made: Picture, chosen: tuple[Preimage, ...]) -> None:
    """Three indices: the lattice, and a line or a plane for each preimage (figure 4)."""
    art: Any = import_module("mpl_toolkits.mplot3d.art3d")
    if made.domain:
        axes.scatter(*zip(*made.domain, strict=True), color=GREY, s=4, alpha=0.5, depthshade=False)
    for preimage, style in _marked(made, chosen):
        columns = list(zip(*preimage.points, strict=True))
        axes.scatter(*columns, s=16, depthshade=False, **style)
        corners, color = _corners(preimage), style["color"]
        if len(corners) == 2:
            axes.plot(*zip(*corners, strict=True), color=color)
        elif corners:
            axes.add_collection3d(
                art.Poly3DCollection([corners], facecolor=color, edgecolor=color, alpha=0.2)
            )
    i, j, k = made.read.indices
    axes.set(xlabel=i, ylabel=j, zlabel=k, title="iteration domain and preimages")
    for axis in (axes.xaxis, axes.yaxis, axes.zaxis):
        _whole_numbers(axis)
    axes.view_init(elev=22, azim=-58)
    axes.set_box_aspect(None, zoom=0.9)


def _corners(preimage: Preimage) -> list[tuple[int, ...]]:
    """The corners of a preimage that is flat, in order: those of its loops, which lie in a plane."""
    if not preimage.loops or not 1 <= len(preimage.loops[0]) <= 2:
        return []
    place = {tuple(map(float, z)): p for z, p in zip(preimage.loops, preimage.points, strict=True)}
    if len(preimage.loops[0]) == 1:
        return [preimage.points[0], preimage.points[-1]]
    return [place[corner] for corner in hull([(float(x), float(y)) for x, y in preimage.loops])]


# -- ranges of sums --------------------------------------------------------------------------------


def _element_axis(made: Picture) -> str:
    names = made.read.element
    if len(names) == 1:
        return names[0]
    return f"element of {made.read.gradient}, in row-major order" if names else made.read.gradient


def _no_loop(axes: Any, made: Picture, chosen: tuple[Preimage, ...]) -> None:
    """No loop: an element gets one contribution or none."""
    _counts(axes, made, chosen)
    axes.set(title="no sum: one contribution or none")


def _counts(axes: Any, made: Picture, chosen: tuple[Preimage, ...]) -> None:
    """How many contributions each element gets."""
    counts = [len(p.points) for p in made.preimages]
    axes.vlines(range(len(counts)), 0, counts, color=GREY, linewidth=_thickness(counts))
    for preimage, style in _marked(made, chosen):
        place = made.preimages.index(preimage)
        axes.plot([place], [len(preimage.points)], **style)
    axes.set_ylim(0, max([1, *counts]) * 1.12)
    _name(axes, "terms of each sum", _element_axis(made), "contributions")


def _one_loop(axes: Any, made: Picture, chosen: tuple[Preimage, ...]) -> None:
    """One loop: from where to where it runs for each element."""
    ranges = [
        (n, p.loops[0][0], p.loops[-1][0], len(p.loops)) for n, p in enumerate(made.preimages) if p.loops
    ]
    if ranges:
        places, lower, upper, _ = zip(*ranges, strict=True)
        axes.vlines(places, lower, upper, color=GREY, linewidth=_thickness(made.preimages), zorder=1)
    dots = [(n, z[0]) for n, p in enumerate(made.preimages) for z in p.loops]
    if dots and len(made.preimages) <= 80:
        axes.scatter(*zip(*dots, strict=True), color=GREY, s=10, zorder=2)
    for preimage, style in _marked(made, chosen):
        place, values = made.preimages.index(preimage), [z[0] for z in preimage.loops]
        axes.plot([place] * len(values), values, markersize=5, zorder=3, **style)
    axes.set_xlim(-0.5, len(made.preimages) - 0.5)
    _name(axes, "range of each sum", _element_axis(made), made.proof.solution.kernel[0])


def _two_loops(axes: Any, made: Picture, chosen: tuple[Preimage, ...]) -> None:
    """Two loops: the area over which each sum runs."""
    for n, (preimage, style) in enumerate(_marked(made, chosen)):
        corners = hull([(float(x), float(y)) for x, y in preimage.loops])
        xs, ys = zip(*corners, corners[0], strict=True)
        axes.fill(xs, ys, color=style["color"], alpha=0.12)
        axes.plot(xs, ys, color=style["color"], linewidth=1.2)
        xs, ys = zip(*preimage.loops, strict=True)
        # Sums share points: what is drawn later is smaller.
        axes.plot(xs, ys, markersize=9 - 1.5 * n, linestyle="none", **style)
    _name(axes, "area of each sum", *made.proof.solution.kernel)


def _thickness(items: Any) -> float:
    return max(0.5, min(2.5, 160 / max(1, len(items))))


def _legend(part: Any, axes: Any) -> None:
    """One for both pictures, below them, so that it hides no point."""
    handles, labels = axes.get_legend_handles_labels()
    if labels:
        part.legend(handles, labels, loc="outside lower center", ncols=len(labels), frameon=False)
