"""Each instruction against Python's exact integers, fractions, and NumPy."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from tadc.backend.emulator.errors import UnknownPtx
from tadc.passes.numpy_types import numpy_type
from tests.emulator.ptx_text import Array, kernel_text, launch

COUNT = 256
EDGES = {
    "u32": [0, 1, 2, 31, 32, 33, 2**31 - 1, 2**31, 2**32 - 1],
    "u64": [0, 1, 2, 63, 64, 65, 2**32, 2**63 - 1, 2**63, 2**64 - 1],
    "s32": [0, 1, -1, 31, 2**31 - 1, -(2**31)],
    "s64": [0, 1, -1, 2**32, 2**63 - 1, -(2**63)],
    "f32": [0.0, -0.0, 1.0, -1.5, math.inf, -math.inf, math.nan, 1e-45, -1e-40, 3.4e38, 0.5, 2.5],
    "f64": [0.0, -0.0, 1.0, -1.5, math.inf, -math.inf, math.nan, 5e-324, -1e-310, 1.7e308, 0.5, 2.5],
}
NUMPY = {"u32": "u4", "u64": "u8", "s32": "i4", "s64": "i8", "f32": "f4", "f64": "f8"}


def operand(type: str, seed: int) -> Array:
    """Edge cases, then random bits or numbers of many sizes."""
    rng = np.random.default_rng(seed)
    if type[0] == "f":
        values = rng.uniform(-2, 2, COUNT) * 2.0 ** rng.integers(-30, 30, COUNT)
        found = values.astype(NUMPY[type])
    else:
        found = rng.integers(0, 2 ** int(type[1:]), COUNT, np.uint64, endpoint=False).astype(NUMPY[type])
    edges = np.array(EDGES[type], NUMPY[type])
    found[rng.permutation(COUNT)[: 3 * len(edges)]] = np.tile(edges, 3)
    return found


def evaluate(instruction: str, types: list[str], result: str) -> tuple[list[Array], Array]:
    """The operands, and `instruction` of them, lane by lane."""
    operands = [operand(type, 7 * n) for n, type in enumerate(types)]
    bits = {"32": "%r", "64": "%rd"}
    lines: list[str] = []
    names: list[str] = []
    for n, type in enumerate(types):
        size = int(type[1:]) // 8
        names.append(f"{bits[type[1:]]}{20 + n}")
        lines.append(f"mad.wide.u32 %rd{40 + n}, %r1, {size}, %rd{n + 1};")
        lines.append(f"ld.global.b{type[1:]} {names[-1]}, [%rd{40 + n}];")
    target = f"{bits[result[1:]]}30"
    lines.append(f"{instruction} {target}, {', '.join(names)};")
    lines.append(f"mad.wide.u32 %rd50, %r1, {int(result[1:]) // 8}, %rd{len(types) + 1};")
    lines.append(f"st.global.b{result[1:]} [%rd50], {target};")
    text = kernel_text("\n".join(lines), len(types) + 1)
    output = np.zeros(COUNT, NUMPY[result])
    return operands, launch(text, [*operands, output], COUNT)[-1]


def wrapped(value: int, type: str) -> int:
    """An exact integer in the type, modulo its range."""
    bits = int(type[1:])
    value &= 2**bits - 1
    return value - 2**bits if type[0] == "s" and value >> bits - 1 else value


INTEGERS: dict[str, tuple[list[str], str, Callable[..., Any]]] = {
    "add.s64": (["s64", "s64"], "s64", lambda a, b: a + b),
    "sub.s32": (["s32", "s32"], "s32", lambda a, b: a - b),
    "mul.lo.s64": (["s64", "s64"], "s64", lambda a, b: a * b),
    "mul.hi.u64": (["u64", "u64"], "u64", lambda a, b: a * b >> 64),
    "mul.hi.s64": (["s64", "s64"], "s64", lambda a, b: a * b >> 64),
    "mul.hi.u32": (["u32", "u32"], "u32", lambda a, b: a * b >> 32),
    "mul.wide.u32": (["u32", "u32"], "u64", lambda a, b: a * b),
    "mul.wide.s32": (["s32", "s32"], "s64", lambda a, b: a * b),
    "mad.lo.s64": (["s64", "s64", "s64"], "s64", lambda a, b, c: a * b + c),
    "mad.wide.u32": (["u32", "u32", "u64"], "u64", lambda a, b, c: a * b + c),
    "div.u64": (["u64", "u64"], "u64", lambda a, b: a // b if b else -1),
    "div.s32": (
        ["s32", "s32"],
        "s32",
        lambda a, b: (abs(a) // abs(b)) * (1 if (a < 0) == (b < 0) else -1) if b else -1,
    ),
    "rem.s64": (["s64", "s64"], "s64", lambda a, b: (math.copysign(1, a) < 0 and -(-a % abs(b))) or a % abs(b)
                if b else a),
    "rem.u32": (["u32", "u32"], "u32", lambda a, b: a % b if b else a),
    "min.s64": (["s64", "s64"], "s64", min),
    "max.u32": (["u32", "u32"], "u32", max),
    "and.b64": (["u64", "u64"], "u64", lambda a, b: a & b),
    "or.b32": (["u32", "u32"], "u32", lambda a, b: a | b),
    "xor.b64": (["u64", "u64"], "u64", lambda a, b: a ^ b),
    "not.b32": (["u32"], "u32", lambda a: ~a),
    "neg.s64": (["s64"], "s64", lambda a: -a),
    "abs.s32": (["s32"], "s32", abs),
    "shl.b64": (["u64", "u32"], "u64", lambda a, n: a << min(n, 64)),
    "shr.u32": (["u32", "u32"], "u32", lambda a, n: a >> min(n, 32)),
    "shr.s64": (["s64", "u32"], "s64", lambda a, n: a >> min(n, 64)),
    "clz.b64": (["u64"], "u32", lambda a: 64 - a.bit_length()),
    "popc.b32": (["u32"], "u32", lambda a: a.bit_count()),
    "brev.b32": (["u32"], "u32", lambda a: int(f"{a:032b}"[::-1], 2)),
    "bfe.u32": (["u32", "u32", "u32"], "u32", lambda a, s, n: (a >> (s & 255)) & (1 << (n & 255)) - 1),
    "bfe.u64": (["u64", "u32", "u32"], "u64", lambda a, s, n: (a >> (s & 255)) & (1 << (n & 255)) - 1),
    "shf.l.wrap.b32": (
        ["u32", "u32", "u32"], "u32", lambda low, high, n: ((high << 32 | low) << (n & 31)) >> 32,
    ),
    "shf.r.clamp.b32": (["u32", "u32", "u32"], "u32", lambda low, high, n: (high << 32 | low) >> min(n, 32)),
    "cvt.u64.u32": (["u32"], "u64", lambda a: a),
    "cvt.s64.s32": (["s32"], "s64", lambda a: a),
    "cvt.u32.u64": (["u64"], "u32", lambda a: a),
}  # fmt: skip


@pytest.mark.parametrize("name", INTEGERS)
def test_integers(name: str) -> None:
    types, result, exact = INTEGERS[name]
    operands, found = evaluate(name, types, result)
    rows = zip(*(o.tolist() for o in operands), strict=True)
    assert found.tolist() == [wrapped(exact(*row), result) for row in rows]


def test_long_addition_and_multiplication() -> None:
    """Sums of 128 bits from carries, as LLVM divides by constants and libdevice reduces arguments."""
    body = """
    mad.wide.u32 %rd10, %r1, 8, %rd1;
    mad.wide.u32 %rd11, %r1, 8, %rd2;
    ld.global.b64 %rd20, [%rd10];
    ld.global.b64 %rd21, [%rd11];
    add.cc.s64 %rd22, %rd20, %rd21;
    addc.s64 %rd23, 0, 0;
    sub.cc.s64 %rd24, %rd20, %rd21;
    subc.s64 %rd25, 0, 0;
    mov.b64 {%r2, %r3}, %rd20;
    mul.lo.u32 %r4, %r2, 977;
    mul.hi.u32 %r5, %r2, 977;
    mad.lo.cc.u32 %r5, %r3, 977, %r5;
    madc.hi.u32 %r6, %r3, 977, 0;
    mov.b64 %rd26, {%r4, %r5};
    mad.wide.u32 %rd12, %r1, 48, %rd3;
    st.global.v2.b64 [%rd12], {%rd22, %rd23};
    st.global.v2.b64 [%rd12+16], {%rd24, %rd25};
    cvt.u64.u32 %rd27, %r6;
    st.global.v2.b64 [%rd12+32], {%rd26, %rd27};
    """
    a, b = operand("u64", 1), operand("u64", 2)
    found = launch(kernel_text(body, 3), [a, b, np.zeros(6 * COUNT, np.uint64)], COUNT)[-1]
    for x, y, row in zip(a.tolist(), b.tolist(), found.reshape(-1, 6).tolist(), strict=True):
        assert row[0] + (row[1] << 64) == x + y
        assert row[2] - (2**64 if row[3] else 0) == x - y
        assert row[4] + (row[5] << 64) == x * 977


def rounded(value: Fraction, type: str) -> float:
    """To nearest, ties to even, by Python's exact division; f32 through f64 with a sticky bit."""
    if type == "f64":
        try:
            return float(value)
        except OverflowError:
            return math.inf if value > 0 else -math.inf
    if not value:
        return 0.0
    exponent = max(math.floor(math.log2(abs(value))) - 23, -149)
    while abs(value) / Fraction(2) ** exponent >= 2**24:
        exponent += 1
    return float(round(value / Fraction(2) ** exponent) * Fraction(2) ** exponent)


@pytest.mark.parametrize("type", ["f32", "f64"])
def test_a_fused_product_is_rounded_once(type: str) -> None:
    """Also where the sum cancels, and where a product alone is a tie."""
    rng = np.random.default_rng(0)
    dtype = np.dtype(NUMPY[type])
    a, b = (rng.uniform(-2, 2, COUNT).astype(dtype) for _ in range(2))
    c = rng.uniform(-2, 2, COUNT).astype(dtype) * dtype.type(2) ** rng.integers(-60, 3, COUNT).astype(dtype)
    c[::2] = -(a * b)[::2]
    a[:4], b[:4], c[:4] = 1 + np.finfo(dtype).eps, 1 + np.finfo(dtype).eps, [1e-30, -1e-30, 0, -1]
    text = kernel_text(_three(f"fma.rn.{type}", type), 4)
    found = launch(text, [a, b, c, np.zeros(COUNT, dtype)], COUNT)[-1]
    for x, y, z, got in zip(a.tolist(), b.tolist(), c.tolist(), found.tolist(), strict=True):
        assert got == rounded(Fraction(x) * Fraction(y) + Fraction(z), type)


def _three(instruction: str, type: str) -> str:
    size = int(type[1:]) // 8
    register = "%r" if size == 4 else "%rd"
    lines = [f"mad.wide.u32 %rd{10 + n}, %r1, {size}, %rd{n + 1};" for n in range(4)]
    lines += [f"ld.global.b{8 * size} {register}{20 + n}, [%rd{10 + n}];" for n in range(3)]
    lines.append(f"{instruction} {register}24, {', '.join(f'{register}{20 + n}' for n in range(3))};")
    lines.append(f"st.global.b{8 * size} [%rd13], {register}24;")
    return "\n".join(lines)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("scale", [1e-300, 1e-160, 1e200])
def test_a_fused_product_of_extreme_numbers(scale: float) -> None:
    """Where a product alone would overflow or lose its last bits."""
    rng = np.random.default_rng(1)
    a, b = rng.uniform(1, 2, COUNT) * scale, rng.uniform(1, 2, COUNT) / scale ** rng.integers(-1, 2, COUNT)
    c = -a * b * rng.uniform(0.5, 2, COUNT)
    c[~np.isfinite(c)] = 1
    found = launch(kernel_text(_three("fma.rn.f64", "f64"), 4), [a, b, c, np.zeros(COUNT)], COUNT)[-1]
    for x, y, z, got in zip(a.tolist(), b.tolist(), c.tolist(), found.tolist(), strict=True):
        assert got == rounded(Fraction(x) * Fraction(y) + Fraction(z), "f64")


@pytest.mark.parametrize("mode", ["rz", "rm", "rp"])
def test_a_fused_product_rounded_in_a_direction(mode: str) -> None:
    rng = np.random.default_rng(2)
    a, b, c = (rng.uniform(-2, 2, COUNT).astype(np.float32) for _ in range(3))
    text = kernel_text(_three(f"fma.{mode}.f32", "f32"), 4)
    found = launch(text, [a, b, c, np.zeros(COUNT, np.float32)], COUNT)[-1]
    for x, y, z, got in zip(a.tolist(), b.tolist(), c.tolist(), found, strict=True):
        exact = Fraction(x) * Fraction(y) + Fraction(z)
        up, down = np.nextafter(got, np.float32(np.inf)), np.nextafter(got, np.float32(-np.inf))
        value = Fraction(float(got))
        if mode == "rm" or (mode == "rz" and exact > 0):
            assert value <= exact < Fraction(float(up))
        else:
            assert Fraction(float(down)) < exact <= value


FLOATS: dict[str, tuple[list[str], str, Callable[..., Any]]] = {
    "add.rn.f32": (["f32", "f32"], "f32", np.add),
    "sub.rn.f64": (["f64", "f64"], "f64", np.subtract),
    "mul.rn.f32": (["f32", "f32"], "f32", np.multiply),
    "div.rn.f64": (["f64", "f64"], "f64", np.divide),
    "sqrt.rn.f32": (["f32"], "f32", np.sqrt),
    "abs.f64": (["f64"], "f64", np.abs),
    "neg.f32": (["f32"], "f32", np.negative),
    "min.f32": (["f32", "f32"], "f32", np.fmin),
    "max.f64": (["f64", "f64"], "f64", np.fmax),
    "max.NaN.f32": (["f32", "f32"], "f32", np.maximum),
    "copysign.f32": (["f32", "f32"], "f32", lambda a, b: np.copysign(b, a)),
    "ex2.approx.f32": (["f32"], "f32", lambda a: np.exp2(a.astype(np.float64)).astype(np.float32)),
    "lg2.approx.f32": (["f32"], "f32", lambda a: np.log2(a.astype(np.float64)).astype(np.float32)),
    "cvt.rn.f32.f64": (["f64"], "f32", lambda a: a.astype(np.float32)),
    "cvt.f64.f32": (["f32"], "f64", lambda a: a.astype(np.float64)),
    "cvt.rmi.f64.f64": (["f64"], "f64", np.floor),
    "cvt.rpi.f32.f32": (["f32"], "f32", np.ceil),
    "cvt.rni.f64.f64": (["f64"], "f64", np.rint),
    "cvt.rzi.f32.f32": (["f32"], "f32", np.trunc),
    "cvt.rn.f64.s64": (["s64"], "f64", lambda a: a.astype(np.float64)),
    "cvt.rn.f32.u64": (["u64"], "f32", lambda a: a.astype(np.float32)),
    "cvt.sat.f32.f32": (["f32"], "f32", lambda a: np.where(np.isnan(a), 0, np.clip(a, 0, 1))),
    "add.ftz.f32": (
        ["f32", "f32"], "f32",
        lambda a, b: np.where(np.abs(a) < 1.18e-38, 0, a) + np.where(np.abs(b) < 1.18e-38, 0, b),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FLOATS)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_floats(name: str) -> None:
    types, result, expected = FLOATS[name]
    operands, found = evaluate(name, types, result)
    np.testing.assert_array_equal(found, expected(*operands).astype(found.dtype))


@pytest.mark.parametrize(
    ("source", "target"), [("f32", "s32"), ("f64", "s32"), ("f64", "s64"), ("f32", "u32")]
)
@pytest.mark.parametrize("mode", ["rni", "rzi", "rmi"])
def test_floats_to_integers_saturate(source: str, target: str, mode: str) -> None:
    """The manual, section 9.7.9.21: limits out of range; NaN is 0, or the highest bit alone."""
    (values,), found = evaluate(f"cvt.{mode}.{target}.{source}", [source], target)
    bits = int(target[1:])
    low, high = (0, 2**bits - 1) if target[0] == "u" else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    whole = {"rni": round, "rzi": math.trunc, "rmi": math.floor}[mode]
    for value, got in zip(values.tolist(), found.tolist(), strict=True):
        if math.isnan(value):
            assert got == (low if source == "f64" or bits == 64 else 0)
        else:
            assert got == (min(max(whole(value), low), high) if math.isfinite(value) else
                           high if value > 0 else low)  # fmt: skip


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("eq", lambda a, b: a == b), ("ne", lambda a, b: (a < b) | (a > b)), ("lt", lambda a, b: a < b),
        ("ltu", lambda a, b: ~(a >= b)), ("neu", lambda a, b: a != b),
        ("nan", lambda a, b: (a != a) | (b != b)),
        ("num", lambda a, b: (a == a) & (b == b)), ("geu", lambda a, b: ~(a < b)),
    ],
)  # fmt: skip
def test_comparisons(name: str, expected: Callable[[Array, Array], Array]) -> None:
    instruction = f"setp.{name}.f32 %p1, %r20, %r21; selp.b32"
    a, b = operand("f32", 0), operand("f32", 7)
    lines = _three(instruction, "f32").replace("%r24, %r20, %r21, %r22", "%r24, 1, 0, %p1")
    text = kernel_text(lines, 4)
    found = launch(text, [a, b, a, np.zeros(COUNT, np.uint32)], COUNT)[-1]
    assert found.tolist() == expected(a, b).astype(int).tolist()


@pytest.mark.parametrize(
    "text",
    ["frobnicate.f32 %r2, %r1;", "add.rn.bf16x2 %r2, %r1, %r1;", "fma.rm.f64 %rd9, %rd1, %rd1, %rd1;",
     "mov.u32 %r2, %clock;", "bar.sync 0, 64;", "ld.global.v8.b32 {%r2}, [%rd1];", "bra nowhere;"],
)  # fmt: skip
def test_an_unknown_instruction_is_named(text: str) -> None:
    with pytest.raises(UnknownPtx, match="does not know") as error:
        launch(kernel_text(text), [np.zeros(4), np.zeros(4)])
    assert error.value.diagnostics[0].code == "TAD0709"


@pytest.mark.parametrize("name", ["f16", "bf16"])
def test_pairs_of_floats_of_16_bits(name: str) -> None:
    """Two numbers rounded into one register, the first above."""
    kind = numpy_type(name)
    (high, low), found = evaluate(f"cvt.rn.{name}x2.f32", ["f32", "f32"], "u32")
    for values, bits in ((high, found >> 16), (low, found & 0xFFFF)):
        made = bits.astype(np.uint16).view(kind).astype(np.float32)
        with np.errstate(over="ignore"):
            np.testing.assert_array_equal(made, values.astype(kind).astype(np.float32))
