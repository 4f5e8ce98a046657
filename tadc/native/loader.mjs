// Loads modules that tadc writes (`--target wasm32 --emit wasm`): in node, Deno and browsers.
//
//   import { load } from "./f.mjs";
//   const { f, f_vjp } = await load("f.wasm");       // bytes, a Response, a path in node, or a URL
//   const { y } = f({ x, w }, { N: 1000, K: 5 });    // typed arrays by name, then sizes by name
//
// Results are copies. What `array("f64", 1000)` of the same object gives is memory of the module: as an argument,
// or in a third object, by the names of results, it is not copied. Such arrays are empty once memory has grown:
// `load("f.wasm", 1 << 26)` begins with so many bytes of it.

const TYPES = { f32: Float32Array, f64: Float64Array };
const STATUS = ["", "a size that is refused", "no tensor", "no scratch"];

// A form is [constant, [symbol or [form, divisor], factor], …], an extent a number or a form.
const value = (form, sizes) => typeof form === "number" ? form : form.slice(1).reduce((sum, [atom, factor]) => sum
    + factor * (typeof atom === "string" ? sizes[atom] : Math.floor(value(atom[0], sizes) / atom[1])), form[0]);

async function bytesOf(source) {
    if (source instanceof ArrayBuffer || ArrayBuffer.isView(source)) return source;
    if (typeof Response !== "undefined" && source instanceof Response) return source.arrayBuffer();
    const isPath = typeof process !== "undefined" && process.versions?.node && !/^https?:/.test(source);
    return isPath ? (await import("node:fs/promises")).readFile(source) : (await fetch(source)).arrayBuffer();
}

export async function load(source, bytes = 0) {
    const module = await WebAssembly.compile(await bytesOf(source));
    const about = new TextDecoder().decode(WebAssembly.Module.customSections(module, "tadc")[0]);
    const { exports } = await WebAssembly.instantiate(module);
    const { memory } = exports;
    let top = exports.__heap_base.value;

    // Memory from `top` on, aligned to a line; `keep` is whether it stays after a call.
    function take(bytes) {
        const begin = top, missing = begin + bytes - memory.buffer.byteLength;
        if (missing > 0) memory.grow(Math.ceil(missing / 65536)); // throws RangeError
        top = Math.ceil((begin + bytes) / 64) * 64;
        return begin;
    }

    top = take(bytes);

    const array = (type, count) =>
        new TYPES[type](memory.buffer, take(count * TYPES[type].BYTES_PER_ELEMENT), count);

    function call(it, given, sizes = {}, out = {}) {
        const numbers = it.sizes.map((name) => BigInt(sizes[name] ?? NaN)), before = top;
        const room = exports[it.name + "_scratch"](...numbers);
        if (room < 0n) throw new RangeError(`${it.name}: ${STATUS[1]}`);
        try {
            const place = ([name, type, shape], own) => {
                const count = shape.reduce((product, extent) => product * value(extent, sizes), 1);
                if (own && !(own instanceof TYPES[type] && own.length === count))
                    throw new TypeError(`${it.name}: ${name} is a ${TYPES[type].name} of ${count} elements`);
                if (own?.buffer === memory.buffer) return [name, type, count, own.byteOffset, own];
                const at = take(count * TYPES[type].BYTES_PER_ELEMENT);
                if (own) new TYPES[type](memory.buffer, at, count).set(own);
                return [name, type, count, at];
            };
            const missing = it.inputs.find(([name]) => !given[name]);
            if (missing) throw new TypeError(`${it.name}: no ${missing[0]}`);
            const inputs = it.inputs.map((tensor) => place(tensor, given[tensor[0]]));
            const outputs = it.outputs.map((tensor) => place(tensor, out[tensor[0]]));
            const scratch = take(Number(room));
            const status = exports[it.name](...[...inputs, ...outputs].map((t) => t[3]), scratch, ...numbers);
            if (status) throw new RangeError(`${it.name}: ${STATUS[status]}`);
            return Object.fromEntries(outputs.map(([name, type, count, at, own]) =>
                [name, own ?? new TYPES[type](memory.buffer, at, count).slice()]));
        } finally { top = before; }
    }

    const functions = JSON.parse(about).map((it) => [it.name, (...words) => call(it, ...words)]);
    return { ...Object.fromEntries(functions), array, memory };
}
