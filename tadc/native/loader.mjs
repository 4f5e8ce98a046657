// Loads modules that tadc writes (`--target wasm32 --emit wasm`): in node, Deno and browsers.
//
//   import { load } from "./f.mjs";
//   const { f, f_vjp } = await load("f.wasm");       // bytes, a Response, a path in node, or a URL
//   const { y } = f({ x, w }, { N: 1000, K: 5 });    // typed arrays by name, then sizes by name
//
// Results are new arrays, or are written to those that a third object has by their names. What `array("f64", 1000)`
// of the same object gives is memory of the module, and not copied. Such arrays are empty once memory has grown, also
// in a call, which returns new ones then: `load("f.wasm", 1 << 26)` begins with so many bytes of memory.

const TYPES = { f32: Float32Array, f64: Float64Array, i32: Int32Array };
const STATUS = ["", "a size that is refused", "no tensor", "no scratch", "an index out of range or out of order"];

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
    const { exports } = await WebAssembly.instantiate(module), { memory } = exports;
    let top = exports.__heap_base.value;

    // Memory from `top` on, aligned to a line; `keep` is whether it stays after a call.
    function take(bytes) {
        const begin = top, missing = begin + bytes - memory.buffer.byteLength;
        if (missing > 0) memory.grow(Math.ceil(missing / 65536)); // throws RangeError
        top = Math.ceil((begin + bytes) / 64) * 64;
        return begin;
    }

    top = take(bytes);

    const reserve = (type, count) => take(count * TYPES[type].BYTES_PER_ELEMENT);

    function array(type, count) {
        const at = reserve(type, count); // memory that grows has another `buffer`
        return new TYPES[type](memory.buffer, at, count);
    }

    function call(it, given, sizes = {}, out = {}) {
        const wrong = it.sizes.find((name) => !Number.isSafeInteger(sizes[name]));
        if (wrong) throw new TypeError(`${it.name}: size ${wrong} is ${sizes[wrong]}, not a whole number`);
        const numbers = it.sizes.map((name) => BigInt(sizes[name])), before = top;
        const room = exports[it.name + "_scratch"](...numbers);
        if (room < 0n) throw new RangeError(`${it.name}: ${STATUS[1]}`);
        try {
            // Arrays of the module are looked at before memory may grow, which leaves them empty.
            const look = ([name, type, shape], own) => {
                const count = shape.reduce((product, extent) => product * value(extent, sizes), 1);
                if (own && !(own instanceof TYPES[type] && own.length === count))
                    throw new TypeError(`${it.name}: ${name} is a ${TYPES[type].name} of ${count} elements`);
                const isInside = own?.buffer === memory.buffer;
                return { name, type, count, own, isInside, at: isInside ? own.byteOffset : 0 };
            };
            const missing = it.inputs.find(([name]) => !given[name]);
            if (missing) throw new TypeError(`${it.name}: no ${missing[0]}`);
            const inputs = it.inputs.map((tensor) => look(tensor, given[tensor[0]]));
            const outputs = it.outputs.map((t) => look(t, Object.hasOwn(out, t[0]) ? out[t[0]] : undefined));
            for (const t of [...inputs, ...outputs].filter((t) => !t.isInside)) t.at = reserve(t.type, t.count);
            const scratch = take(Number(room)), view = (t) => new TYPES[t.type](memory.buffer, t.at, t.count);
            for (const t of inputs.filter((t) => !t.isInside)) view(t).set(t.own);
            const status = exports[it.name](...[...inputs, ...outputs].map((t) => t.at), scratch, ...numbers);
            if (status) throw new RangeError(`${it.name}: ${STATUS[status]}`);
            return Object.fromEntries(outputs.map((t) => {
                if (t.own && !t.isInside) t.own.set(view(t));
                if (!t.own) return [t.name, view(t).slice()];
                return [t.name, t.own.length === t.count ? t.own : view(t)];
            }));
        } finally { top = before; }
    }

    const functions = JSON.parse(about).map((it) => [it.name, (...words) => call(it, ...words)]);
    return { ...Object.fromEntries(functions), array, memory };
}
