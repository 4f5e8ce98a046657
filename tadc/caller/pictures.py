"""Pictures by matplotlib, in one style."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

from tadc.frontend.packages import imported

#: Okabe and Ito's colours, which people with any colour vision tell apart.
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
GREY, INK = "#B0B0B0", "#303030"


def picture_of(kind: str, size: tuple[float, float], draw: Callable[[Any], None]) -> bytes:
    """What is drawn on a figure of a size in inches, as svg, png or pdf.

    Text stays text, and what is the same gives the same bytes. Raises CompileError (TAD0802) without
    matplotlib.
    """
    matplotlib = imported("matplotlib", "drawing needs matplotlib", "plot")
    figures = imported("matplotlib.figure", "drawing needs matplotlib", "plot")
    style = {"svg.fonttype": "none", "svg.hashsalt": "tadc", "font.size": 9, "axes.edgecolor": INK}
    with matplotlib.rc_context(style):
        figure = figures.Figure(figsize=size, layout="constrained")
        draw(figure)
        buffer = io.BytesIO()
        dates = {"svg": {"Date": None}, "pdf": {"CreationDate": None}, "png": {}}
        figure.savefig(buffer, format=kind, dpi=150, metadata=dates[kind])
    return buffer.getvalue()
