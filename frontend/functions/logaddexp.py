"""log(exp(x) + exp(y)), which neither overflows nor makes a NaN of equal infinities."""

from __future__ import annotations

from tadc.frontend.functions.scalar_function import ALL, TRANSCENDENTAL, Course, ScalarFunction

_SHARE = "select(f = -1 / 0, 0, sigmoid({} - {}))"

FUNCTIONS = (
    ScalarFunction(
        "logaddexp",
        2,
        2 * TRANSCENDENTAL,
        "log(exp(x) + exp(y)); the slopes are 0 where both are minus infinity, as those of logsumexp",
        (_SHARE.format("x", "y"), _SHARE.format("y", "x")),
        r"\operatorname{logaddexp}",
        Course(ALL, ALL),
        formula="let m = max(x, y)\nselect(x = y, m + log(2), m + log1p(exp(-abs(x - y))))",
        numpy="logaddexp",
        is_reserved=False,
    ),
)
