// Runs kernels of WebAssembly, in browsers and in node: those that tadc/playground/wasm_kernels.py makes, which import
// functions of floats as `math` and have `run` and `memory`, and those of the compiler, whose functions docs/c.md describes.
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

  // What runs a kernel: { code, inputs, outputs }, where each tensor has a name, a type and a shape, and with `sizes`
  // where the compiler made it. It takes arrays of numbers by name, and returns outputs, and milliseconds of a call.
  async function start(kernel) {
    const { memory, call, addresses } = await (kernel.sizes ? startStored : startMade)(kernel);
    const view = ({ name, type, shape }) => new ARRAYS[type](memory.buffer, addresses[name], count(shape));
    return (given) => {
      for (const tensor of kernel.inputs) view(tensor).set(given[tensor.name]);
      const ms = timed(call);
      return { ms, outputs: Object.fromEntries(kernel.outputs.map((tensor) => [tensor.name, Array.from(view(tensor))])) };
    };
  }
  async function startMade({ code, inputs, outputs }) {
    const { exports } = (await WebAssembly.instantiate(code, { math })).instance;
    const addresses = Object.fromEntries([...inputs, ...outputs].map(({ name, address }) => [name, address]));
    return { memory: exports.memory, call: exports.run, addresses };
  }
  // Sizes are in the order of the program.
  async function startStored({ code, inputs, outputs, sizes }) {
    const { exports } = (await WebAssembly.instantiate(code)).instance;
    const { memory } = exports;
    const name = Object.keys(exports).find((each) => `${each}_scratch` in exports);
    const numbers = Object.values(sizes).map(BigInt);
    const room = Number(exports[`${name}_scratch`](...numbers));
    if (room < 0) throw new RangeError("the program has no meaning at these sizes");
    let end = exports.__heap_base.value;
    const take = (bytes) => {
      const begin = end;
      end = Math.ceil((begin + bytes) / 64) * 64;
      return begin;
    };
    const tensors = [...inputs, ...outputs].map(({ name, type, shape }) => [name, take(count(shape) * ARRAYS[type].BYTES_PER_ELEMENT)]);
    const words = [...tensors.map(([, address]) => address), take(room), ...numbers];
    memory.grow(Math.max(0, Math.ceil((end - memory.buffer.byteLength) / 65536)));
    const call = () => { if (exports[name](...words)) throw new RangeError("an index array is out of range"); };
    return { memory, call, addresses: Object.fromEntries(tensors) };
  }

  // Milliseconds of a call: the least of batches, each of so many calls that clocks of browsers, which are coarse, can
  // tell. Browsers compile a module quickly first, and well while it runs: so batches go on until none is faster any more.
  // A call that is long is not repeated.
  function timed(call) {
    let calls = 1, least = Infinity;
    for (let same = 0, spent = 0; spent < 200 && (same < 8 || spent < 60);) {
      const begun = performance.now();
      for (let n = 0; n < calls; n++) call();
      const ms = performance.now() - begun;
      spent += ms;
      if (ms < 2) calls *= 2;
      else {
        same = ms / calls < 0.98 * least ? 0 : same + 1;
        least = Math.min(least, ms / calls);
      }
    }
    return least;
  }
  return { start, math, count };
})();
