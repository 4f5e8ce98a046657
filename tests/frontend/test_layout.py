"""Long definitions over several lines: narrow, and the same program."""

import tadc
from tadc.frontend.layout import WIDTH, wrapped


def test_short_lines_stay():
    assert wrapped("f[i] = x[i]") == "f[i] = x[i]"


def test_breaks_in_brackets_before_operators():
    line = f"f[i] = sum{{k}}_0^9 ({' + '.join(f'x[i, k]**{n} * y[k]' for n in range(1, 9))})"
    lines = wrapped(line).splitlines()
    assert lines[0] == "f[i] = sum{k}_0^9 ("
    assert all(len(part) <= WIDTH for part in lines)
    assert all(part.startswith(("    x", "    + x")) for part in lines[1:])


def test_brackets_around_a_long_sum():
    line = "f[i] = " + " - ".join(f"sin({n} * x[i])" for n in range(20))
    lines = wrapped(line).splitlines()
    assert lines[0] == "f[i] = ("
    assert lines[-1].endswith(")")
    assert max(map(len, lines)) <= WIDTH + 1


def test_nested_sums_share_a_line():
    sums = "sum{m}_(max [0; 1 - k])^(min [2; 8 - k]) (sum{n}_(max [0; 1 - l])^(min [2; 8 - l]) (%s))"
    product = "x[i, 0, k + m - 1, l + n - 1] * conv1_weight[j, 0, m, n]"
    assert wrapped(f"h[i, j, k, l] = {sums % product}").splitlines() == [
        f"h[i, j, k, l] = {sums[:-4]}",
        f"    {product}))",
    ]
    assert wrapped(f"h[i, j, k, l] = relu(bias[j] + {sums % product})").splitlines() == [
        f"h[i, j, k, l] = relu(bias[j] + {sums[: sums.index('(sum') + 1]}",
        f"    {sums[sums.index('(sum') + 1 : -4]}",
        f"        {product})))",
    ]


def test_what_fits_a_line_of_its_own_stands_on_it():
    inner = "first_of_all[i] * weight_of_rows[i] * scale + sum{k}_0^9 (x[i, k] * y[k] * weight_of_columns[k])"
    assert wrapped(f"f[i] = exp({inner})").splitlines() == ["f[i] = exp(", f"    {inner})"]


def test_reads_back_as_the_same_program():
    """What is broken into lines is one definition, with the same text when printed again."""
    f = tadc.function(
        "x: f64[40, 40]; y: f64[40]; f[i: 20, j: 20] = exp(-sum{k}_0^19 ((x[i + k, j] - y[k])**2 * x[j, i]"
        " + y[i + k] * y[j + k])) * sin(x[i, j] + x[j, i] + y[i]) - cos(x[i, i] * x[j, j] * y[i] * y[j])"
    )
    for _ in range(2):
        text = str(f)
        assert any(line.startswith("    ") for line in text.splitlines())
        assert str(tadc.function(text)) == text
        f = tadc.vjp(f, "x")


def test_hopeless_text_ends():
    """Nothing to break in, or far too long: the text as it is."""
    word = "f = " + "x" * 300
    assert wrapped(word) == word
    long = "f = (" + " + ".join(["x[1]"] * 10_000) + ")"
    assert wrapped(long) == long
    deep = "f = " + "(" * 400 + "x" + ")" * 400
    assert "".join(part.strip() for part in wrapped(deep).splitlines()) == deep
