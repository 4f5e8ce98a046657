// Runs kernels of WebAssembly that tadc/playground/wasm_kernels.py makes: a module imports functions of floats as
// `math`, and has `run` and `memory`. In browsers and in node.
globalThis.tadcKernels = (() => {
  const { exp, log, abs } = Math;

  // The error function by its series, whose terms are all positive, and by a continued fraction where that is long.
  function erfSeries(x) {
    let term = x, sum = x;
    for (let n = 1; abs(term) > 1e-18 * abs(sum); n++) sum += term *= (2 * x * x) / (2 * n + 1);
    return (2 / Math.sqrt(Math.PI)) * exp(-x * x) * sum;
  }
  function erfcFraction(x) {
    let f = x;
    for (let n = 200; n > 0; n--) f = x + n / 2 / f;
    return exp(-x * x) / (Math.sqrt(Math.PI) * f);
  }
  const erf = (x) => abs(x) < 2.5 || x !== x ? (x === 0 || x !== x ? x : erfSeries(x)) : x > 0 ? 1 - erfcFraction(x) : erfcFraction(-x) - 1;
  const erfc = (x) => (x === Infinity ? 0 : x > 1.5 ? erfcFraction(x) : 1 - erf(x));

  // Powers as C has them: 1 to the anything is 1, and so is -1 to an infinity.
  const pow = (x, y) => (x === 1 || (x === -1 && abs(y) === Infinity) ? 1 : Math.pow(x, y));
  // The remainder with the sign of the divisor.
  const mod = (x, y) => { const r = x % y; return r !== 0 && r < 0 !== y < 0 ? r + y : r; };
  const math = Object.assign(Object.create(null), { pow, mod, erf, erfc, exp2: (x) => pow(2, x) });
  for (const name of ["exp", "expm1", "log", "log2", "log10", "log1p", "cbrt", "sin", "cos", "tan", "asin", "acos", "atan",
    "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "atan2"]) math[name] = Math[name];

  const ARRAYS = { f32: Float32Array, f64: Float64Array, i32: Int32Array };
  const count = (shape) => shape.reduce((n, extent) => n * extent, 1);

  // What a kernel { code, inputs, outputs } makes of arrays of numbers by name: the same of its outputs.
  async function run(kernel, given) {
    const { instance } = await WebAssembly.instantiate(kernel.code, { math });
    const { memory, run } = instance.exports;
    const at = ({ type, shape, address }) => new ARRAYS[type](memory.buffer, address, count(shape));
    for (const tensor of kernel.inputs) at(tensor).set(given[tensor.name]);
    const begun = performance.now();
    run();
    const ms = performance.now() - begun;
    return { ms, outputs: Object.fromEntries(kernel.outputs.map((tensor) => [tensor.name, Array.from(at(tensor))])) };
  }
  return { run, math, count };
})();
