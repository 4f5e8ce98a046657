"""The error function and its complement as LLVM IR text, for f32 and f64, free of branches."""

from __future__ import annotations

from tadc.backend.functions.exponential import constants, exponential_of, reduce
from tadc.backend.functions.float_formats import scale
from tadc.backend.ir_text import IrFunction, IrValue

#: erf(x) / x - 1 in x**2 for |x| <= 1: 2**-29.4 and 2**-56.1 of erf
NEAR = {
    32: (
        0.12837916612625122,
        -0.3761262595653534,
        0.11283578723669052,
        -0.026853347197175026,
        0.005187162198126316,
        -0.0007997853099368513,
        7.806903158780187e-05,
    ),
    64: (
        0.12837916709551256,
        -0.37612638903183354,
        0.1128379167093744,
        -0.02686617064203217,
        0.005223977597255896,
        -0.0008548325505167711,
        0.00012055280939874076,
        -1.4924470872457075e-05,
        1.644417303837604e-06,
        -1.618383435977904e-07,
        1.3614588829562801e-08,
        -7.60120859544972e-10,
    ),
}

#: log(1 - erf(x)) for 1 <= x <= LIMIT: 2**-29.8 and 2**-53.1 of erf
FAR = {
    32: (
        -0.0003415806277189404,
        -1.1270889043807983,
        -0.638145387172699,
        -0.10310620814561844,
        0.02183777280151844,
        -0.0029475782066583633,
        0.00018637020548339933,
    ),
    64: (
        -1.0633232523084211e-06,
        -1.1283687146076111,
        -0.6366675688207669,
        -0.10263767497244335,
        0.018865427642311368,
        0.0005840110209318748,
        -0.0020987284159049184,
        0.0009199139742121723,
        -0.00023063520538533193,
        2.799442389039598e-05,
        3.611597262826216e-06,
        -2.6730436963895536e-06,
        6.877460832934923e-07,
        -1.0821755602031009e-07,
        1.0902734190161444e-08,
        -6.517601464552746e-10,
        1.770229367226992e-11,
    ),
}

#: Beyond it erf is 1 rounded.
LIMIT = {32: 4.0, 64: 6.0}


#: (1 + 2 x) e**(x**2) erfc(x) in t = (x - c) / (x + c) for x >= 1/2 (M. M. Shepherd and J. G. Laframboise,
#: Mathematics of Computation 36, 1981): 2**-30.3 and 2**-59.3. c is where the constant is nearly a float.
SCALED = {
    32: (
        1.248016357421875,
        -0.13840632140636444,
        -0.029198648408055305,
        0.11502645909786224,
        -0.11917778104543686,
        0.0792122408747673,
        -0.03579023852944374,
        0.009366478770971298,
        0.0001987154537346214,
        -0.0010618112282827497,
        9.595562005415559e-05,
    ),
    64: (
        1.2427703594827297,
        -0.1399417407655701,
        -0.011862821671155818,
        0.09883926057471903,
        -0.11552311967539677,
        0.08746851050245841,
        -0.04789772506599423,
        0.018322930108864263,
        -0.0038112457789984604,
        -0.00041572643179203084,
        0.0005583563417450897,
        -0.00010298441604539848,
        -4.741186686786335e-05,
        2.2509824358804073e-05,
        3.4121318316897007e-06,
        -3.686694207356565e-06,
        -2.422773722455786e-07,
        5.932897481055731e-07,
        2.5312819150284706e-08,
        -9.287864173365411e-08,
        -3.401903258612447e-09,
        1.0457938549954905e-08,
    ),
}
CENTRE = {32: 3.2265625, 64: 3.47900390625}

#: Beyond it erfc is 0 rounded.
LIMIT_OF_COMPLEMENT = {32: 10.1875, 64: 27.25}


def erf(f: IrFunction) -> IrValue:
    """A series near 0, else `1 - e**p(x)`."""
    bits = f.type.bits
    a = f.fabs(f.x)
    a = f.select(a.compare("ogt", LIMIT[bits]), LIMIT[bits], a)
    near = f.muladd(a, f.horner(a * a, NEAR[bits]), a)
    far = f.constant(f.type, 1.0) - exponential_of(f, f.horner(a, FAR[bits]))
    return f.copysign(f.select(a.compare("olt", 1.0), near, far), f.x)


def erfc(f: IrFunction) -> IrValue:
    """`1 - erf(x)` below 1/2, else `e**(-x**2)` times a polynomial, from 2 where x is negative."""
    bits = f.type.bits
    near = f.constant(f.type, 1.0) - f.muladd(f.x, f.horner(f.x * f.x, NEAR[bits]), f.x)
    a = f.fabs(f.x)
    a = f.select(a.compare("ogt", LIMIT_OF_COMPLEMENT[bits]), LIMIT_OF_COMPLEMENT[bits], a)
    far = _far(f, a)
    far = f.select(f.x.compare("olt", 0.0), f.constant(f.type, 2.0) - far, far)
    return f.select(a.compare("olt", 0.5), near, far)


def _far(f: IrFunction, a: IrValue) -> IrValue:
    """`2**k (1 + s) p(t) / (1 + 2 a)`, with what rounding the square and the quotient loses."""
    bits = f.type.bits
    square = a * a
    k, r, _ = reduce(f, -square)
    r = r - f.fma(a, a, -square)
    s = f.muladd(r * r, f.horner(r, constants(f).exp), r)
    first, *others = SCALED[bits]
    t = (a - CENTRE[bits]) / (a + CENTRE[bits])
    slope = f.horner(t, tuple(others))
    polynomial = f.fma(t, slope, first)
    rounded = f.fma(t, slope, f.constant(f.type, first) - polynomial)
    denominator = f.muladd(a, 2.0, 1.0)
    lost = f.muladd(a, 2.0, f.constant(f.type, 1.0) - denominator)
    inverse = f.constant(f.type, 1.0) / denominator
    quotient = polynomial * inverse
    rest = f.fma(-quotient, denominator, polynomial) - quotient * lost + rounded
    return scale(f, f.muladd(s, quotient, rest * inverse) + quotient, k)
