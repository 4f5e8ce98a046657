"""Random programs that are large in one way: deep, wide, or nested. What compiling them takes is counted."""

from __future__ import annotations

import random
from collections.abc import Callable

FUNCTIONS = ("sin", "exp", "tanh", "sqrt", "log1p", "sigmoid", "abs", "relu", "erf")
REDUCTIONS = ("sum", "sum", "sum", "max", "logsumexp", "prod")
BOUNDED = ("sin", "tanh", "sigmoid", "erf")


class Large:
    """One program by its seed; `depth` scales whatever is deep, wide or nested in it."""

    def __init__(self, seed: int, depth: int | None = None) -> None:
        self.random = random.Random(seed)
        self.family = list(FAMILIES)[seed % len(FAMILIES)]
        self.depth = depth or self.random.choice([5, 10, 20, 40])
        self.text = FAMILIES[self.family](self)

    def size(self) -> str:
        """A size: a symbol, or a small number."""
        return self.random.choice(["N", "N", "N", "3", "1", "7"])

    def bounded(self, inner: str) -> str:
        """A function of a value that keeps it near 1."""
        return f"{self.random.choice(BOUNDED)}({inner})"

    def any_of(self, *options: str) -> str:
        return self.random.choice(options)

    # -- deep --------------------------------------------------------------------------------------------

    def chain(self) -> str:
        """Definitions that each read the one before, twice or thrice."""
        lines = ["x: f64[N]; w: f64[N]", "let a0[i] = x[i]"]
        for n in range(self.depth):
            a = f"a{n}[i]"
            step = self.any_of(
                f"sin({a})*{a}", f"{a} + tanh({a})*w[i]", f"{a}/(1 + {a}**2)", f"max({a}, 0.1*{a})",
                f"if {{i >= {n}}} then ({a}) else (2*{a})", f"select({a} > 0, {a}, exp({a}) - 1)",
            )  # fmt: skip
            lines.append(f"let a{n + 1}[i] = {step}")
        return "\n".join([*lines, f"f = sum{{i}} (a{self.depth}[i])"])

    def layers(self) -> str:
        """Definitions that are sums over the one before: matrices, windows, attention."""
        count = max(self.depth // 2, 2)
        lines = ["x: f64[N]; w: f64[N, N]; c: f64[5]", "let a0[i: N] = x[i]"]
        for n in range(count):
            a = f"a{n}"
            step = self.any_of(
                f"tanh(sum{{j}} (w[i, j]*{a}[j]))", f"{a}[i]/sum{{j}} (exp({a}[j]))",
                f"sum{{k: 5: i + k >= 2 and i + k - 2 <= N - 1}} (c[k]*{a}[i + k - 2])",
                f"max{{j}}_0^i ({a}[j]*w[i, j])", f"{a}[N - 1 - i] + {a}[i]*w[i, i]",
                f"logsumexp{{j}} ({a}[j] + w[i, j])",
            )  # fmt: skip
            lines.append(f"let a{n + 1}[i: N] = {step}")
        return "\n".join([*lines, f"f = sum{{i}} (a{count}[i]**2)"])

    def functions(self) -> str:
        """Functions of functions, in one expression."""
        body = "x[i]"
        for _ in range(self.depth):
            body = self.any_of(
                self.bounded(body), f"({body} + w[i])", f"(w[i]*{body})", f"(1/(2 + {body}))", f"({body})**2"
            )
        return f"x: f64[N]; w: f64[N]; f = sum{{i}} ({body})"

    def sums(self) -> str:
        """Reductions in reductions, directly or as factors."""
        names, opened = [f"i{n}" for n in range(self.depth)], ""
        kind = self.random.choice(REDUCTIONS)
        for n, name in enumerate(names):
            if not self.random.randrange(4):
                kind = self.random.choice(REDUCTIONS)
            factor = self.any_of("", "", "w*", f"x[{names[n - 1]}]*" if n else "")
            if n and not self.random.randrange(4):
                opened += f"{factor}{kind}{{{name}}}_0^{names[n - 1]} ("
            else:
                opened += f"{factor}{kind}{{{name}: {self.size()}}} ("
        read = self.any_of(names[-1], "k", f"{names[0]} + {names[-1]}", f"{names[-1]} + k")
        return f"x: f64[2*N + 9]; w: f64; f[k: N] = {opened}sin(x[{read}])" + ")" * self.depth

    def guards(self) -> str:
        """Choices in choices."""
        body = "x[i]"
        for n in range(self.depth):
            row = self.any_of(
                f"i >= {n}", f"i % {n + 2} = 0", f"i + j <= {2 * n}", f"j < i - {n}", f"i = {n}"
            )
            other = self.any_of("y[j]", f"{n + 1}*x[j]", "0", "x[i]*y[j]")
            branches = self.random.sample([body, other], 2)
            body = f"if {{{row}}} then ({branches[0]}) else ({branches[1]})"
            if not self.random.randrange(3):
                body = self.bounded(body)
        return f"x: f64[N]; y: f64[N]; f[i] = sum{{j: N}} ({body})"

    # -- wide --------------------------------------------------------------------------------------------

    def terms(self) -> str:
        """A sum of many terms of several inputs."""
        parts: list[str] = []
        for n in range(5 * self.depth):
            a, b = (f"x{self.random.randrange(12)}" for _ in range(2))
            k = self.random.randrange(-3, 4)
            part = self.any_of(
                f"{n + 1}*{a}[i]*{b}[j]", f"sin({a}[i] + {b}[j])", f"{a}[i]**{2 + n % 3}/(1 + {b}[i]**2)",
                f"if {{i + {k} >= 0 and i + {k} <= N - 1}} then ({a}[i + {k}]*{b}[i]) else (0)",
                f"sum{{k}} ({a}[k]*{b}[i])", f"exp(-({a}[i] - {b}[j])**2)",
            )  # fmt: skip
            parts.append(part)
        arguments = "; ".join(f"x{n}: f64[N]" for n in range(12))
        return f"{arguments}\nf = sum{{i, j: N}} ({' + '.join(parts)})"

    def definitions(self) -> str:
        """Definitions that each read several of those before."""
        lines = ["; ".join(f"x{n}: f64[N]" for n in range(6))]
        names = [f"x{n}" for n in range(6)]
        for n in range(self.depth):
            a, b, c = (self.random.choice(names[-9:]) for _ in range(3))
            body = self.any_of(
                f"{a}[i]*{b}[i] + sin({c}[i])", f"sum{{j}} ({a}[j]*{b}[i])/(1 + abs({c}[i]))",
                f"{a}[N - 1 - i]*{b}[i]", f"tanh({a}[i])*{b}[i]*{c}[i]", f"max({a}[i], {b}[i]) - {c}[i]",
                f"if {{i >= 1}} then ({a}[i - 1]*{b}[i]) else ({c}[0])",
            )  # fmt: skip
            lines.append(f"let d{n}[i: N] = {body}")
            names.append(f"d{n}")
        return "\n".join([*lines, f"f = sum{{i}} ({' + '.join(f'{name}[i]' for name in names[-6:])})"])

    def products(self) -> str:
        """A sum over several indices of a product of many factors."""
        indices = "ijklmn"[: 2 + min(self.depth // 5, 4)]
        factors = [f"x{n}[{self.random.choice(indices)}]" for n in range(min(self.depth, 16))]
        factors += [f"y[{a} - {b} + N]" for a, b in [self.random.sample(indices, 2) for _ in range(2)]]
        arguments = "; ".join(f"x{n}: f64[N]" for n in range(min(self.depth, 16)))
        binders = ", ".join(f"{name}: N" for name in indices)
        return f"{arguments}; y: f64[2*N]\nf = sum{{{binders}}} ({'*'.join(factors)})"

    # -- nested ------------------------------------------------------------------------------------------

    def mixed(self) -> str:
        """Reductions in choices in reductions."""
        count = min(max(self.depth // 5, 2), 5)
        body, names = "x[i0]*y[i0]", [f"i{n}" for n in range(count + 1)]
        for n in reversed(range(count)):
            outer, inner = names[n : n + 2]
            body = body.replace("[i0]", f"[{inner}]", 1)
            row = self.any_of(f"{outer} <= {inner}", f"{inner} % 2 = 0", f"{outer} + {inner} <= N - 1")
            kind = self.random.choice(REDUCTIONS)
            body = f"{kind}{{{inner}: N}} (if {{{row}}} then ({self.bounded(body)}) else (y[{outer}]))"
            body = self.any_of(body, f"(1 + {body})*x[{outer}]", f"{body}*{body}")
        return f"x: f64[N]; y: f64[N]; f = sum{{i0: N}} ({body})"

    def lookups(self) -> str:
        """Reads at elements of index arrays at elements of index arrays, and at parts of these."""
        count = min(max(self.depth // 5, 1), 4)
        at = "e"
        for _ in range(count):
            at = self.any_of(f"a[{at}]", f"b[{at}]", f"a[{at}]", f"a[{at} // 2]")
        row = self.any_of(
            "a[e] % 2 = 0", f"{at} = n", "b[e] <= n", "a[b[e]] = n", "a[e] // 2 = n", "a[e] % 3 = n % 2"
        )
        place = self.any_of(at, f"{at} // 2 + 1", f"{at} % 3", f"({at} + n) // 2")
        inner = self.any_of(
            f"x[{place}]", f"sum{{g: N}} (x[{place}])", f"sum{{g: N}} (x[a[g]]*x[{place}])",
            f"max{{g: N: a[g] = {at}}} (x[g])", f"sum{{g: N: g <= {at}}} (x[g]*x[{place}])",
        )  # fmt: skip
        kind = self.random.choice(REDUCTIONS)
        body = f"{kind}{{e: N: {row}}} (1 + {self.bounded(inner)})"
        arguments = "a: index[N] in N; b: index[N] in N; x: f64[N + 4]"
        return f"{arguments}\nf[n: N] = {self.any_of(body, f'x[n]*{body}')}"

    def recurrence(self) -> str:
        """A recurrence with many neighbours, and what is known at edges."""
        count = 1 + min(self.depth // 5, 6)
        if self.random.randrange(2):
            near = [f"if {{t >= {k}}} then (w[{k}]*h[t - {k}]) else (0)" for k in range(1, count + 1)]
            return f"x: f64[N]; w: f64[9]\nlet scan{{t}} h[t] = x[t] + tanh({' + '.join(near)})\nf = h[N - 1]"
        moves = self.random.sample([(1, 1), (1, 0), (0, 1), (2, 1), (1, 2), (2, 0), (0, 2)], min(count, 5))
        near = [f"if {{i >= {a} and j >= {b}}} then (exp(-h[i - {a}, j - {b}])) else (0)" for a, b in moves]
        body = f"(x[i] - y[j])**2 - log(1 + {' + '.join(near)})"
        if self.random.randrange(2):
            body = f"if {{i - j <= W and j - i <= W}} then ({body}) else (9)"
        return f"x: f64[N]; y: f64[M]; size W\nlet scan{{i + j}} h[i: N, j: M] = {body}\nf = h[N - 1, M - 1]"


FAMILIES: dict[str, Callable[[Large], str]] = {
    "chain": Large.chain,
    "layers": Large.layers,
    "functions": Large.functions,
    "sums": Large.sums,
    "guards": Large.guards,
    "terms": Large.terms,
    "definitions": Large.definitions,
    "products": Large.products,
    "mixed": Large.mixed,
    "lookups": Large.lookups,
    "recurrence": Large.recurrence,
}
