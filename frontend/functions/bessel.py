"""Bessel functions of whole order: `j0`, `j1`, `j2`, … of the first kind, `i0`, `i1`, `i2`, … modified ones.

The derivative of each is made of its neighbours (DLMF 10.6.1, 10.29.1). j0 and j1 err by at most 5 units in
the last place up to 5, zeros included, and beyond by so many of sqrt(2 / (pi x)), the size of their waves; i0
and i1 by 4. Those of higher order err by some more.
"""

from __future__ import annotations

import math

from tadc.frontend.functions.scalar_function import (
    ALL,
    TRANSCENDENTAL,
    Course,
    Family,
    ScalarFunction,
    Trait,
    by_type,
)
from tadc.frontend.functions.texts import Quotient, polynomial, quotient

#: j0(x) over its first two zeros, in x**2, for x <= 5.
_J0: dict[str, Quotient] = {
    # 2**-29.3
    "f32": ((0.005674693267792463, -0.00019889431132469326, 2.6345646801928524e-06, -1.64123328261212e-08,
     4.283954788131261e-11), (0.009217770770192146, 2.9207638363004662e-05)),
    # 2**-59.5
    "f64": ((0.005674693325155617, -0.0001668644814424944, 1.6929360105121482e-06, -7.1921742292889965e-09,
     1.1055548337396473e-11), (0.014862102297770751, 0.00011312945345816565, 5.814382506752451e-07,
     2.225596852727635e-09, 6.523305029860728e-12, 1.4105625096022838e-14, 1.8572323283398986e-17)),
}  # fmt: skip
#: The factor of cos(x - pi / 4) beyond, in 25 / x**2.
_P0: dict[str, Quotient] = {
    # 2**-29.4
    "f32": ((1.0, 0.35095977783203125, 0.009544502943754196), (0.35377219319343567, 0.010360685177147388)),
    # 2**-58.1
    "f64": ((1.0, 6.802658923936298, 15.437218187749872, 14.633156952643544, 5.945326581862892,
     0.9523374445036354, 0.047390782557024835, 0.00035841106841339175), (6.805471423936297,
     15.45617913277044, 14.675442899886598, 5.984061559946111, 0.9670059651931806, 0.04939829717982504,
     0.00042368345833283355)),
}  # fmt: skip
#: That of -sin(x - pi / 4), times x / 5.
_Q0: dict[str, Quotient] = {
    # 2**-28.1
    "f32": ((-0.02500000037252903, -0.01868259347975254, -0.001725772162899375, 1.4941089830244891e-05),
     (0.7707409858703613, 0.08419167995452881)),
    # 2**-56.8
    "f64": ((-0.025, -0.24931525299318869, -0.8784065484799919, -1.3956664403970434, -1.059178819147198,
     -0.3745422208935026, -0.05551725124799543, -0.002660628917564552, -1.759710935444353e-05),
     (9.996047619727543, 35.36763732286568, 56.62741287737479, 43.599887811157274, 15.865692883433,
     2.502147651381626, 0.1403248923591335, 0.0017047035934372168)),
}  # fmt: skip
#: j1(x) / x over its first zero, in x**2, for x <= 5.
_J1: dict[str, Quotient] = {
    # 2**-36.7
    "f32": ((-0.034055374562740326, 0.0012716930359601974, -1.4231735804060008e-05, 4.982457113555938e-08),
     (0.01954733394086361, 0.00019636917568277568, 1.3175599633541424e-06, 6.269310848239229e-09,
     1.9309704876735445e-11)),
    # 2**-66.3
    "f64": ((-0.03405537391318949, 0.001569216797809455, -2.6431031618891128e-05, 2.1588043981735366e-07,
     -9.303582487454251e-10, 2.0641025477894514e-12, -1.8935133823835547e-15), (0.010810862260488847,
     5.7577305385898665e-05, 1.963695473056524e-07, 4.6108429239757185e-10, 7.246001819686589e-13,
     6.166919020382551e-16)),
}  # fmt: skip
#: The factor of cos(x - 3 pi / 4) beyond, in 25 / x**2.
_P1: dict[str, Quotient] = {
    # 2**-29.1
    "f32": ((1.0, 0.3301692306995392, 0.008664209395647049), (0.3254818022251129, 0.007368451450020075)),
    # 2**-60.3
    "f64": ((1.0, 7.797163863348512, 20.7695869828588, 23.878270000543008, 12.350054904976593,
     2.7288897885717818, 0.22023149915666831, 0.004436525282941703, 4.985565370831504e-06),
     (7.792476363348513, 20.73329046279619, 23.78283722432137, 12.243036486416619, 2.6762146450855497,
     0.20976339664973623, 0.003786054544924234)),
}  # fmt: skip
#: That of -sin(x - 3 pi / 4), times x / 5.
_Q1: dict[str, Quotient] = {
    # 2**-26.0
    "f32": ((0.07499999552965164, 0.03385280817747116, 0.0013054577866569161), (0.46230754256248474,
     0.02128506638109684)),
    # 2**-56.0
    "f64": ((0.075, 0.6442753502549016, 1.9066885647877931, 2.4604388610699917, 1.4458736755492234,
     0.367662171610056, 0.034264041486046254, 0.0007307598112686861, -1.2013868875448908e-06),
     (8.60127550339868, 25.51540632181781, 33.07507975127546, 19.612596184232626, 5.084749349112592,
     0.49695041147762664, 0.01241944308211008)),
}  # fmt: skip
#: (i0(x) - 1) / z in z = x**2 / 4, for x <= 8.
_I0 = {
    # 2**-28.7
    "f32": (1.0, 0.2500000298023224, 0.027777718380093575, 0.0017361579230055213, 6.942558684386313e-05,
     1.9333622276462847e-06, 3.876050413964549e-08, 6.670349828041822e-10, 4.9640651832161264e-12,
     1.460443907735226e-13),
    # 2**-56.9
    "f64": (1.0, 0.24999999999999978, 0.02777777777777875, 0.0017361111111093212, 6.944444444616768e-05,
     1.9290123446808463e-06, 3.936759926835679e-08, 6.151186352073215e-10, 7.594076203674035e-12,
     7.593826261486644e-14, 6.2782596125899935e-16, 4.3438583592285594e-18, 2.6459481729049967e-20,
     1.1142728859197163e-22, 9.319037302519698e-25),
}  # fmt: skip
#: i0(x) sqrt(x) / e**x in 1 / x, for 8 <= x <= 30 and beyond.
_FAR0: dict[str, tuple[Quotient, ...]] = {
    # 2**-30.2
    "f32": (((0.3989422917366028, 0.04986601322889328, 0.028169551864266396, 0.025407303124666214,
     0.10813990980386734, -0.4466906189918518, 2.1648290157318115), ()),) * 2,
    # 2**-57.6, 2**-58.4
    "f64": (
        ((0.39894228120276254, -1.4314278383388972, -4.705292898640888, 255.48326142615107,
         31.738847482054606, 13.60368525608619, 130.25950042228013, -2357.8718501292815, 38775.63861058019,
         -477957.1159508794, 4437188.974543599, -30239607.387377214, 145693227.25558072, -465387707.3677879,
         878347886.2833964, -739547715.2707124), (-3.713056951083733, -11.400667968940636,
         642.0196073674399)),
        ((0.3989422804014327, -1.5622237710749922), (-4.040914275877198, 0.4348017844638916,
         0.15653437918037677, 0.13367391295050582, 0.1665708822249932, 0.2529019686936236,
         0.46184167028120476)),
    ),
}  # fmt: skip
#: (2 i1(x) / x - 1) / z in z = x**2 / 4, for x <= 8.
_I1 = {
    # 2**-26.3
    "f32": (0.5, 0.08333326876163483, 0.006944549269974232, 0.0003471554664429277, 1.1595299838518258e-05,
     2.7180504957868834e-07, 5.309921391472017e-09, 4.5408288240622596e-11, 1.4527061194605229e-12),
    # 2**-60.0
    "f64": (0.5, 0.08333333333333331, 0.0069444444444445004, 0.0003472222222221193, 1.1574074074173187e-05,
     2.7557319218244207e-07, 4.9209498831124465e-09, 6.834652024432265e-11, 7.594068659611249e-13,
     6.903555797446423e-15, 5.231322675888681e-17, 3.3442300506385306e-19, 1.8807713549515425e-21,
     7.606752944827284e-24, 5.669579277854459e-26),
}  # fmt: skip
#: i1(x) sqrt(x) / e**x in 1 / x, for 8 <= x <= 30 and beyond.
_FAR1: dict[str, tuple[Quotient, ...]] = {
    # 2**-30.0
    "f32": (((0.3989422619342804, -0.14960137009620667, -0.046884141862392426, -0.036642011255025864,
     -0.12844078242778778, 0.49032020568847656, -2.4394941329956055), ()),) * 2,
    # 2**-57.5, 2**-57.7
    "f64": (
        ((0.3989422796341015, -2.193325895118914, 2.816342746335559, 210.34131648035776, -79.29311442587037,
         -20.921430669583742, -129.0054971439257, 2253.90629783655, -37134.46894154388, 457579.2229114534,
         -4247135.632190162, 28934269.787595067, -139337111.692738, 444791000.74420476, -838801921.2995384,
         705647639.7391732), (-5.122853222818234, 5.2557064147512085, 528.7156777934196)),
        ((0.39894228040143265, -1.4205924744252771), (-3.1858972631224938, -1.077523973634602,
         -0.674879771411169, -0.5618345759923462, -0.5821562540387828, -0.7131070354009079,
         -1.0349328231898836)),
    ),
}  # fmt: skip
#: Zeros of j0 and of j1 in two parts.
_ZEROS = {
    "f32": (
        (("2.404825448989868", "1.0870590460455913e-07"), ("5.520078182220459", "-7.19341483347784e-08")),
        (("3.8317060470581055", "-7.685059315313556e-08"),),
    ),
    "f64": (
        (("2.404825557695773", "-1.176691651530894e-16"), ("5.520078110286311", "8.088597146146722e-17")),
        (("3.8317059702075125", "-1.5269184090088067e-16"),),
    ),
}


def _wave(n: int, type: str, factors: tuple[dict[str, Quotient], ...]) -> str:
    """Up to 5 a quotient and zeros, then sqrt(2 / (pi x)) (p cos(c) - q sin(c)), c = x - (2 n + 1) pi / 4."""
    near, p, q = (table[type] for table in factors)
    zeros = " * ".join(f"((a - {high} - {low}) * (a + {high}))" for high, low in _ZEROS[type][n])
    waves = "p * (c + s) - q * (s - c)" if n == 0 else "p * (s - c) + q * (s + c)"
    sign = "" if n == 0 else "select(x < 0, -1, 1) * "
    return f"""
        let a = abs(x)
        let z = a * a
        let near = {"x * " * n}{zeros} * ({quotient("z", near)})
        let w = 5 / a
        let v = w * w
        let c = cos(a)
        let s = sin(a)
        let p = {quotient("v", p)}
        let q = w * ({quotient("v", q)})
        let far = {sign}({1 / math.sqrt(math.pi)!r} / sqrt(a) * ({waves}))
        select(a <= 5, {"near" if n else "select(z = 0, 1, near)"}, select(a = 1 / 0, 0, far))
    """


def _series(n: int, reach: float, sign: int) -> str:
    """The power series of order n up to an argument (DLMF 10.2.2, 10.25.2), in z over a power of two."""
    terms = [sign**k / (math.factorial(k) * math.prod(range(n + 1, n + k + 1))) for k in range(120)]
    scale = 2.0 ** math.ceil(math.log2(reach * reach / 4))
    scaled = [t * scale**k for k, t in enumerate(terms)]
    least = max(abs(t) for t in scaled) * 2.0**-60
    count = next(k for k, t in enumerate(scaled) if abs(t) < least)
    series = polynomial(f"(x * x * {0.25 / scale!r})", scaled[:count])
    return f"(x / 2)**{n} * ({1 / math.factorial(n)!r} * ({series}))"


def _further(n: int, letter: str, reach: float, sign: int) -> str:
    """A series where the order is large for the argument, else from orders 0 and 1 (DLMF 10.6.1, 10.29.1)."""
    steps = "\n".join(
        f"let o{k + 1} = {'' if sign < 0 else '-'}({2 * k} / x * o{k}) {'-' if sign < 0 else '+'} o{k - 1}"
        for k in range(1, n)
    )
    # Beyond what is finite, modified ones are infinite, with the sign of the power.
    all = f"select(o0 = 1 / 0, o{n % 2}, o{n})" if sign > 0 else f"o{n}"
    return f"""
        let o0 = {letter}0(x)
        let o1 = {letter}1(x)
        {steps}
        select(abs(x) < {reach!r}, {_series(n, reach, sign)}, {all})
    """


def _modified(n: int, type: str) -> str:
    """A series up to 8, else e**x / sqrt(x) times a quotient; the exponential overflows later than that."""
    series, (below, beyond) = (_I0, _I1)[n][type], (_FAR0, _FAR1)[n][type]
    sign = "" if n == 0 else "select(x < 0, -1, 1) * "
    return f"""
        let a = abs(x)
        let z = a * a / 4
        let near = {"x / 2 * " * n}(1 + z * ({polynomial("z", series)}))
        let v = 1 / a
        let scaled = select(a < 30, {quotient("v", below)}, {quotient("v", beyond)})
        let far = exp(a - 8) * ({math.exp(8)!r} * scaled / sqrt(a))
        select(a <= 8, near, {sign}select(a > 720, 1 / 0, far))
    """


def _neighbours(letter: str, n: int, between: str) -> tuple[str]:
    return (f"({letter}{n - 1}(x) {between} {letter}{n + 1}(x)) / 2",)


def _traits(n: int) -> frozenset[Trait]:
    """The traits of either function of an order."""
    return frozenset(("even",) if n == 0 else ("odd", "zero at 0") if n == 1 else ())


def bessel(n: int) -> ScalarFunction:
    """The Bessel function of the first kind of order n."""
    waves = ((_J0, _P0, _Q0), (_J1, _P1, _Q1))
    values = (-0.4027593957025531, 1.0) if n == 0 else (-0.5818652242815965, 0.5818652242815965)
    return ScalarFunction(
        f"j{n}",
        1,
        (6 + 2 * n) * TRANSCENDENTAL,
        f"the Bessel function of the first kind of order {n}",
        ("-(j1(x))",) if n == 0 else _neighbours("j", n, "-"),
        f"J_{{{n}}}",
        Course(ALL, values, rises=None, steepest=0.6, error=2.0**-48),
        formula=by_type(lambda type: _wave(n, type, waves[n]))
        if n < 2
        else _further(n, "j", 2 * math.sqrt(n + 1), -1),
        numpy=f"j{n}",
        traits=_traits(n),
        is_reserved=False,
    )


def modified(n: int) -> ScalarFunction:
    """The modified Bessel function of the first kind of order n."""
    at_0 = ((0.0, 0.0), (float(n == 0), float(n == 0)))
    even = Course(
        ALL, (float(n == 0), math.inf), rises=False, turns=(at_0,), zeros=() if n == 0 else (0.0,), ulps=32
    )
    return ScalarFunction(
        f"i{n}",
        1,
        3 * TRANSCENDENTAL,
        f"the modified Bessel function of the first kind of order {n}",
        ("i1(x)",) if n == 0 else _neighbours("i", n, "+"),
        f"I_{{{n}}}",
        Course(zeros=(0.0,), ulps=32) if n % 2 else even,
        formula=by_type(lambda type: _modified(n, type)) if n < 2 else _further(n, "i", 4.0 * n, 1),
        numpy=f"i{n}",
        traits=_traits(n),
        is_reserved=False,
    )


FUNCTIONS = (bessel(0), bessel(1), modified(0), modified(1))
FAMILIES = (Family("j", 2, bessel), Family("i", 2, modified))
