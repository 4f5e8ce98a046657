"""Functions of NumPy, SciPy, JAX, PyTorch, MATLAB, and what is written here in their place.

`FORMULAS` are those of numbers: what stands there has their values, to a few units in the last place wherever
they have one. `CALLS` has a help for each function, and a name in its place where the language has the same.
"""

from __future__ import annotations

from tadc.frontend.diagnostic_data import GUESS
from tadc.frontend.elsewhere import COMPLEX, Hint, write
from tadc.frontend.functions import FUNCTIONS, REDUCTIONS

_RENAMED = {
    **{f.name: f.elsewhere for f in FUNCTIONS.values()},
    "select": ("where", "ifelse", "if_else", "iif"),
}
#: `fmax` leaves a NaN out, a magnitude may be that of a vector, `choose` a binomial coefficient.
_LIKE = {"abs": "magnitude", "max": "fmax", "min": "fmin", "select": "choose cond"}

_SOFTPLUS = "max(x, 0) + log1p(exp(-abs(x)))"

FORMULAS: dict[str, str] = {
    "square": "x**2",
    "reciprocal": "1 / x",
    "rsqrt": "1 / sqrt(x)",
    "exp10": "10**x",
    "hypot": "sqrt(x**2 + y**2)",
    "trunc": "select(x < 0, ceil(x), floor(x))",
    "fmod": "sign(x) * (abs(x) % abs(y))",
    "mod": "x % y",
    "floor_divide": "floor((x - x % y) / y + 0.5)",
    "add": "x + y",
    "subtract": "x - y",
    "multiply": "x * y",
    "divide": "x / y",
    "negative": "-x",
    "copysign": "select(y < 0, -abs(x), abs(x))",
    "heaviside": "select(x = 0, y, select(x > 0, 1, 0))",
    "deg2rad": "pi / 180 * x",
    "rad2deg": "180 / pi * x",
    "sec": "1 / cos(x)",
    "csc": "1 / sin(x)",
    "cot": "1 / tan(x)",
    "sech": "1 / cosh(x)",
    "csch": "1 / sinh(x)",
    "coth": "1 / tanh(x)",
    "asec": "acos(1 / x)",
    "acsc": "asin(1 / x)",
    "acot": "atan(1 / x)",
    "asech": "acosh(1 / x)",
    "acsch": "asinh(1 / x)",
    "acoth": "atanh(1 / x)",
    "cosm1": "-2 * sin(x / 2)**2",
    "exprel": "select(x = 0, 1, expm1(x) / x)",
    "ndtr": "0.5 * erfc(-x / sqrt(2))",
    "log_ndtr": "select(x < 0, log(0.5 * erfc(-x / sqrt(2))), log1p(-0.5 * erfc(x / sqrt(2))))",
    "logit": "log(x) - log1p(-x)",
    "logaddexp2": "max(x, y) + log1p(exp2(-abs(x - y))) / log(2)",
    "log1mexp": "select(x < log(2), log(-expm1(-x)), log1p(-exp(-x)))",
    "xlogy": "safe(x, log(y))",
    "xlog1py": "safe(x, log1p(y))",
    "entr": "-safe(x, log(x))",
    "rel_entr": "safe(x, log(x / y))",
    "softplus": _SOFTPLUS,
    "log_sigmoid": "min(x, 0) - log1p(exp(-abs(x)))",
    "silu": "x * sigmoid(x)",
    "mish": f"x * tanh({_SOFTPLUS})",
    "gelu": "0.5 * x * erfc(-x / sqrt(2))",
    "elu": "select(x > 0, x, expm1(x))",
    "selu": "1.0507009873554805 * select(x > 0, x, 1.6732632423543772 * expm1(x))",
    "leaky_relu": "select(x > 0, x, 0.01 * x)",
    "relu6": "min(relu(x), 6)",
    "hard_tanh": "max(min(x, 1), -1)",
    "hard_sigmoid": "max(min(x / 6 + 0.5, 1), 0)",
    "hard_swish": "x * max(min(x / 6 + 0.5, 1), 0)",
    "soft_sign": "x / (1 + abs(x))",
    "squareplus": "(x + sqrt(x**2 + 4)) / 2",
}
#: Other names of these.
_ALSO = {
    "square": "sqr",
    "trunc": "fix",
    "mod": "remainder rem",
    "floor_divide": "div floordiv",
    "subtract": "sub",
    "divide": "true_divide",
    "heaviside": "step",
    "deg2rad": "radians",
    "rad2deg": "degrees",
    "ndtr": "norm_cdf",
    "log_sigmoid": "logsigmoid log_expit",
    "silu": "swish",
    "elu": "celu",
    "hard_tanh": "hardtanh",
    "hard_sigmoid": "hardsigmoid",
    "hard_swish": "hard_silu hardswish",
    "soft_sign": "softsign",
}
#: What is to be said of these besides.
_BESIDES = {
    "floor_divide": "nearly always `floor(x / y)`, and `i // 2` between indices",
    "mod": "a remainder is floored as in Python",
}

_OUTSIDE = "let NumPy, SciPy, JAX or PyTorch do it before or after"
_GATHERED = "with an index array, `src: index[E] in N`, write `y[n: N] = sum{e: src[e] = n} (w[e])`"

_SAID = {
    "lg": "`log10(x)` and `log2(x)` are both called so elsewhere",
    "lb ld": "write `log2(x)`",
    "round rint nearbyint nint around": "`floor(x + 0.5)` rounds to the nearest integer, halves up",
    "frac": "write `x - floor(x)`",
    "clip clamp": "write `max(min(x, high), low)`",
    "erfcx": "write `exp(x**2) * erfc(x)`, for x below 26",
    "erfinv erf_inv erfcinv ndtri": "there is no inverse of `erf`",
    "powm1": "for x above 0 write `expm1(y * log(x))`",
    "fma": "write `x * y + z`",
    "isnan": "`select(x != x, 1, 0)` tells a NaN",
    "isinf": "`select(abs(x) = 1/0, 1, 0)` tells an infinity",
    "isfinite": "`select(abs(x) < 1/0, 1, 0)` tells finite numbers",
    "nan_to_num": "write `select(x = x, x, 0)`",
    "equal not_equal less greater less_equal greater_equal eq ne lt le gt ge": (
        "a comparison is `select(x > y, 1, 0)`, an equality `select(x = y, 1, 0)`"
    ),
    "logical_and logical_or logical_not logical_xor": (
        "one choice in the other: `select(x > 0, select(y > 0, 1, 0), 0)`"
    ),
    "gamma polygamma beta betaln betainc zeta zetac factorial "
    "factorial2 binomial binom comb perm poch bessel jn jv jve y0 y1 yn yv i0e i1e iv ive k0 "
    "k1 k0e k1e kn kv hankel1 hankel2 airy ber bei ker kei spherical_jn ellipk ellipe ellipj elliprf expi "
    "expn exp1 erfi dawsn fresnel sici shichi spence struve wofz voigt_profile lambertw gammainc "
    "gammaincc igamma igammac hyp0f1 hyp1f1 hyp2f1 hyperu legendre lpmv eval_legendre hermite laguerre "
    "chebyt chebyu jacobi sph_harm kolmogi": (
        "this function is not in the language; a series is `sum{k: 20} (…)`, a recurrence"
        " `scan{k} p[k: 20] = …`; or compute it before, and pass the values as an argument"
    ),
    "real imag angle conj conjugate": COMPLEX,
    "mean average avg": "write `sum{i} (x[i]) / N`, N being the size",
    "var variance": "with a mean m write `sum{i} ((x[i] - m)**2) / N`, N being the size",
    "std stdev": "with a mean m write `sqrt(sum{i} ((x[i] - m)**2) / N)`, N being the size",
    "norm": "over an index it is `norm{i} (x[i])`",
    "dot inner vdot vecdot": "write `sum{i} (x[i] * y[i])`",
    "matmul mm bmm mv gemm einsum tensordot": "name the indices: `c[i, j] = sum{k} (a[i, k] * b[k, j])`",
    "outer": "name the indices: `c[i, j] = x[i] * y[j]`",
    "kron": "of matrices of 2 x 3 at the right: `c[i: 4, j: 6] = a[i // 2, j // 3] * b[i % 2, j % 3]`",
    "cross": "name the components: `c[0]`, `c[1]`, … are the branches of an `if`",
    "trace tr": "write `sum{i} (a[i, i])`",
    "diag diagonal": "write `d[i] = a[i, i]`",
    "tril": "write `l[i, j] = if {j <= i} then (a[i, j]) else (0)`",
    "triu": "write `u[i, j] = if {j >= i} then (a[i, j]) else (0)`",
    "transpose T permute swapaxes moveaxis t": "name the indices the other way round: `b[j, i] = a[i, j]`",
    "reshape view flatten ravel": "index expressions say it: `r[i: 4, j: 3] = x[3*i + j]`",
    "expand_dims squeeze unsqueeze broadcast_to expand tile repeat": (
        "index expressions say it: `y[i: 4, j: N] = x[j]` repeats x, `y[i: 8] = x[i // 2]` each element"
    ),
    "concatenate concat stack hstack vstack cat append": (
        "write `f[i: 8] = if {i < 4} then (x[i]) else (y[i - 4])`"
    ),
    "roll": "write `y[i: N] = if {i < N - 1} then (x[i + 1]) else (x[0])`",
    "shift": "an index may be shifted: `x[i + 1]`",
    "flip reverse flipud fliplr": "write `x[N - 1 - i]`, N being the size",
    "diff": "write `d[i: N - 1] = x[i + 1] - x[i]`",
    "trapz trapezoid": "write `sum{i: N - 1} (0.5 * (x[i] + x[i + 1]))`, times the step",
    "convolve": "write `y[i: N - 2] = sum{k: 3} (w[k] * x[i + 2 - k])`",
    "conv conv1d conv2d correlate": "write `y[i: N - 2] = sum{k} (w[k] * x[i + k])`",
    "pad": "write `f[i: N + 2] = if {i >= 1 and i <= N} then (x[i - 1]) else (0)`",
    "cumsum cumulative_sum": "write `y[i: N] = sum{j}_0^i (x[j])`, or as a recurrence, `scan{i} y[i] = …`",
    "cumprod cumulative_prod": "write `y[i: N] = prod{j}_0^i (x[j])`, or as a recurrence, `scan{i} y[i] = …`",
    "cummax": "write `y[i: N] = max{j}_0^i (x[j])`",
    "cummin": "write `y[i: N] = min{j}_0^i (x[j])`",
    "cumlogsumexp logcumsumexp": "write `y[i: N] = logsumexp{j}_0^i (x[j])`",
    "softmax": "with `let z = logsumexp{j} (x[j])` write `s[i] = exp(x[i] - z)`",
    "log_softmax": "write `s[i] = x[i] - logsumexp{j} (x[j])`",
    "argmax": "no index depends on a value; the largest value is `max{i} (x[i])`",
    "argmin": "no index depends on a value; the smallest value is `min{i} (x[i])`",
    "sort sorted argsort lexsort topk top_k approx_max_k approx_min_k partition argpartition unique "
    "searchsorted digitize nonzero argwhere median nanmedian percentile quantile": (
        f"it is not in the language, where no index depends on a value: {_OUTSIDE}, and pass an index array,"
        " `order: index[N] in N`, to read `x[order[i]]`"
    ),
    "gather take index_select take_along_axis embedding": (
        "read at elements of an index array, `src: index[E] in N`: `y[e] = x[src[e]]`"
    ),
    "scatter scatter_add scatter_sum index_add segment_sum bincount histogram": _GATHERED,
    "one_hot": "of an index array, `c: index[N] in K`: `h[n, k: K] = if {c[n] = k} then (1) else (0)`",
    "fft ifft rfft irfft fft2 ifft2 fftn ifftn fftshift ifftshift dct idct": (
        f"there are no fast transforms: {_OUTSIDE}; a short one is `sum{{n}} (cos(2*pi*k*n / N) * x[n])`"
    ),
    "solve lstsq inv inverse det slogdet logdet cholesky qr svd lu lu_factor eig eigh eigvals "
    "eigvalsh expm matrix_power matrix_exp solve_triangular triangular_solve": (
        f"there is no linear algebra but sums: {_OUTSIDE}; a triangular system is a recurrence,"
        " `scan{i} y[i] = …`"
    ),
    "stop_gradient detach lax_stop_gradient no_grad": (
        "derivatives are taken by the arguments that `tadc f.tad --wrt x` names: what is held constant is an"
        " argument of its own"
    ),
    "any all count count_nonzero": "count with `sum{i} (select(x[i] > 0, 1, 0))`",
    "zeros ones full zeros_like ones_like full_like": "a constant tensor is `z[i: 4, j: 4] = 0`",
    "eye identity": "write `d[i: 4, j: 4] = if {i = j} then (1) else (0)`",
    "arange range linspace enumerate iota": "an index is a number too: `t[i: 9] = 0.1 * i`",
    "len size shape numel ndim": "a size has a name: `x: f64[N]`, then `N`",
    "rand randn random normal uniform dropout bernoulli": (
        "there is no randomness: pass the numbers as an argument"
    ),
    "grad diff_ derivative jacobian hessian jacfwd jacrev value_and_grad vjp jvp": (
        "derivatives are taken of a program: `tadc f.tad --wrt x`"
    ),
    "vmap pmap map": "an index more does it: `y[b, i] = …`",
    "fori_loop while_loop associative_scan": "a recurrence states its order: `scan{t} h[t: 9] = …`",
    "float int float32 float64 f32 f64 astype cast double asarray array": (
        "there are no casts; a type is stated by `let h[i]: f32 = …`"
    ),
    "product": "a product over an index is `prod{i} (x[i])`",
    "summation total reduce_sum": "a sum over an index is `sum{i} (x[i])`",
    "amax reduce_max": "the largest element is `max{i} (x[i])`",
    "amin reduce_min": "the smallest element is `min{i} (x[i])`",
    "ptp": "write `max{i} (x[i]) - min{i} (x[i])`",
    "nansum": "write `sum{i} (select(x[i] = x[i], x[i], 0))`",
    "nanmax": "write `max{i} (select(x[i] = x[i], x[i], -1/0))`",
    "nanmin": "write `min{i} (select(x[i] = x[i], x[i], 1/0))`",
    "lse": "write `logsumexp{i} (x[i])`",
    "print": "a result is an output: `f = …`",
    **{kind: f"over an index it is `{kind}{{i}} (x[i])`" for kind in REDUCTIONS},
}


#: The formulas, by all names.
FORMULA_OF = {word: FORMULAS[name] for name in FORMULAS for word in (name, *_ALSO.get(name, "").split())}


def _formula(name: str) -> Hint:
    besides = f"; {_BESIDES[name]}" if name in _BESIDES else ""
    return Hint(f"write `{FORMULAS[name]}`{besides}")


CALLS: dict[str, Hint] = {
    **{word: Hint(help) for words, help in _SAID.items() for word in words.split()},
    **{word: _formula(name) for name in FORMULAS for word in (name, *_ALSO.get(name, "").split())},
    **{word: write(here) for here, words in _RENAMED.items() for word in words},
    **{word: write(here, GUESS) for here, words in _LIKE.items() for word in words.split()},
}

#: Modules whose functions are written with their name in front.
MODULES = frozenset(
    "np numpy math cmath jnp jax torch tf F nn sp scipy special cp cupy Math std linalg xp".split()
)
