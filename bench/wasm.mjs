// Times programs of WebAssembly against the loops that one writes in JavaScript, each over Float64Arrays.
// Prints a line of JSON each: milliseconds, the least of several runs taken by turns, and the largest difference.
import { load } from "./loader.mjs";

export const LOOPS = {
    gaussians({ x, y, b }, { N }, { f }) {
        for (let i = 0; i < N; i++) {
            let s = 0;
            for (let j = 0; j < N; j++) {
                let d = 0;
                for (let c = 0; c < 3; c++) { const t = x[3 * i + c] - y[3 * j + c]; d += t * t; }
                s += Math.exp(-d) * b[j];
            }
            f[i] = s;
        }
    },
    product({ a, b }, { N }, { c }) {
        c.fill(0);
        for (let i = 0; i < N; i++) for (let k = 0; k < N; k++) {
            const s = a[N * i + k];
            for (let j = 0; j < N; j++) c[N * i + j] += s * b[N * k + j];
        }
    },
    stencil({ u, w }, { N }, { v }) {
        for (let i = 0; i < N - 4; i++) for (let j = 0; j < N - 4; j++) {
            let s = 0;
            for (let p = 0; p < 5; p++) for (let q = 0; q < 5; q++)
                s += u[N * (i + p) + j + q] * w[5 * p + q];
            v[(N - 4) * i + j] = s;
        }
    },
    fir({ x, h }, { N }, { y }) {
        for (let i = 0; i < N - 63; i++) {
            let s = 0;
            for (let k = 0; k < 64; k++) s += h[k] * x[i + k];
            y[i] = s;
        }
    },
    layer({ w, x, b }, { N }, { h }) {
        for (let i = 0; i < N; i++) for (let n = 0; n < 64; n++) {
            let s = b[i];
            for (let k = 0; k < N; k++) s += w[N * i + k] * x[N * n + k];
            h[64 * i + n] = Math.tanh(s);
        }
    },
    softmax({ a }, { N }, { p }) {
        for (let i = 0; i < N; i++) {
            let m = -Infinity, s = 0;
            for (let j = 0; j < N; j++) m = Math.max(m, a[N * i + j]);
            for (let j = 0; j < N; j++) s += p[N * i + j] = Math.exp(a[N * i + j] - m);
            for (let j = 0; j < N; j++) p[N * i + j] /= s;
        }
    },
};

const tasks = JSON.parse(process.argv[2]);
for (const { name, inputs, outputs, sizes } of tasks) {
    const k = await load(`${name}.wasm`, 1 << 26);
    const fill = (array) => { for (let i = 0; i < array.length; i++) array[i] = 2 * Math.sin(i * 1.37); return array; };
    const given = Object.fromEntries(inputs.map(([n, count]) => [n, fill(k.array("f64", count))]));
    const out = Object.fromEntries(outputs.map(([n, count]) => [n, k.array("f64", count)]));
    const own = Object.fromEntries(Object.entries(given).map(([n, a]) => [n, a.slice()]));
    const made = Object.fromEntries(Object.entries(out).map(([n, a]) => [n, new Float64Array(a.length)]));
    const best = { wasm: Infinity, js: Infinity };
    const time = (which, run) => {
        const begin = performance.now();
        run();
        best[which] = Math.min(best[which], performance.now() - begin);
    };
    for (let r = 0; r < 9; r++) {
        time("wasm", () => k[name](given, sizes, out));
        time("js", () => LOOPS[name](own, sizes, made));
    }
    let error = 0;
    for (const n in out) out[n].forEach((v, i) =>
        error = Math.max(error, Math.abs(v - made[n][i]) / (1 + Math.abs(made[n][i]))));
    console.log(JSON.stringify({ name, ...best, error }));
}
