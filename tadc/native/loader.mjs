// Loads modules that tadc writes (`--target wasm32 --emit wasm`): in node, Deno and browsers.
//
//   import { load } from "./f.mjs";
//   const { f, f_vjp } = await load("f.wasm");       // bytes, a Response, a path in node, or a URL
//   const { y } = f({ x, w }, { N: 1000, K: 5 });    // typed arrays by name, then sizes by name
//
// Results are new arrays, or are written to those that a third object has by their names. What `array("f64", 1000)`
// of the same object gives is memory of the module, and not copied. Such arrays are empty once memory has grown, also
// in a call, which returns new ones then: `load("f.wasm", 1 << 26)` begins with so many bytes of memory.

const TYPES = { f16: Uint16Array, bf16: Uint16Array, f32: Float32Array, f64: Float64Array, i32: Int32Array };
const NAMES = { BigInt64Array: "int64", BigUint64Array: "uint64", Uint8ClampedArray: "uint8" };
const HELD = { f64: /^(float32|u?int(8|16|32))$/, f32: /^u?int(8|16)$/, i32: /int/, f16: /^$/, bf16: /^$/ };
const MESSAGES = {}; // of all that calls say: code, text, notes, helps

// A form is [constant, [symbol or [form, divisor], factor], …], an extent a number or a form.
const value = (form, sizes) => typeof form === "number" ? form : form.slice(1).reduce((sum, [atom, factor]) => sum
    + factor * (typeof atom === "string" ? sizes[atom] : Math.floor(value(atom[0], sizes) / atom[1])), form[0]);

function said(what, words, notes = [], helps = [], Kind = TypeError) {
    const [code, text, ...more] = MESSAGES[what], filled = (t) => t.replace(/{(\w+)}/g, (_, name) => words[name]);
    const rest = [[...more[0].map(filled), ...notes], [...more[1].map(filled), ...helps]];
    const lines = ["note", "help"].flatMap((kind, n) => rest[n].map((t) => `\n  = ${kind}: ${t}`));
    return new Kind(`error[${code}]: ${filled(text)}${lines.join("")}`);
}

// What is wrong with an array, of one that lies elsewhere in memory too; `out` is whether results go there.
function problem([name, type, , more], own, count, declared, out) {
    const about = TYPES[type], dtype = { f32: "float32", f64: "float64", i32: "int32" }[type], notes = [declared];
    const made = `make one with \`new ${about.name}(${count})\``, kind = own?.constructor?.name ?? typeof own;
    if (!ArrayBuffer.isView(own) || own instanceof DataView)
        return said(out ? "out kind" : "nothing", { name, found: kind, made }, notes);
    const found = NAMES[kind] ?? kind.replace("Array", "").toLowerCase();
    if (!(own instanceof about)) {
        const fits = HELD[type].test(found), helps = [`${fits ? "convert it:" : "if the loss is intended, write"} \`new ${about.name}(${name})\``];
        const what = more?.below !== undefined && !/int/.test(found) ? "no index" : fits ? "type" : "lossy";
        return out ? said("type", { subject: "`out` for ", name, found, dtype }, notes, [made]) : said(what, { subject: "", name, type, dtype, found }, notes, helps);
    }
    return own.length === count ? null : said("elements", { name, found: own.length, expected: count }, notes);
}

async function bytesOf(source) {
    if (source instanceof ArrayBuffer || ArrayBuffer.isView(source)) return source;
    if (typeof Response !== "undefined" && source instanceof Response) return source.arrayBuffer();
    const isPath = typeof process !== "undefined" && process.versions?.node && !/^https?:/.test(source);
    return isPath ? (await import("node:fs/promises")).readFile(source) : (await fetch(source)).arrayBuffer();
}

// What is wrong with the elements of index arrays: the first that is out of range, or less than the one before it.
function index(it, inputs, sizes) {
    for (const [name, , shape, more] of it.inputs.filter((t) => t[3]?.below !== undefined)) {
        const { own } = inputs.find((t) => t.name === name), bound = value(more.below, sizes);
        const wrong = own.map((v) => v < 0 || v >= bound), at = wrong.indexOf(1), others = wrong.reduce((n, is) => n + is, -1);
        const notes = [`so ${others === 1 ? "is" : "are"} ${others} more of its ${own.length} elements`, `the program declares \`${it.declared[name]}\``];
        const place = (k) => shape.length ? `${name}[${shape.map((n) => value(n, sizes)).reduceRight(([rest, found], n) =>
            [Math.floor(rest / n), [rest % n, ...found]], [k, []])[1].join(", ")}]` : name;
        const must = own[at] < 0 ? "at least 0" : `below ${it.below[name]}${typeof more.below === "number" ? "" : ` = ${bound}`}`;
        const k = at < 0 && more.increasing ? own.findIndex((v, n) => v < own[n - 1]) : at;
        const words = { place: place(k), value: own[k], must, before: place(k - 1), other: own[k - 1] };
        if (k >= 0) return said(at < 0 ? "falling" : "index", words, notes.slice(others <= 0), [], RangeError);
    }
    return said("wrong index", { name: it.inputs.find((t) => t[3]?.below !== undefined)[0] }, [], [], RangeError);
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
        const signature = `the function takes \`${it.inputs.map(([name]) => it.declared[name]).join(", ")}\``;
        for (const name of it.sizes) {
            const value = sizes[name];
            if (value == null) throw said("size missing", { name });
            if (!Number.isInteger(value)) throw said("no size", { name, found: typeof value });
            if (value < 0 || value >= 2 ** 40) throw said("size range", { name, value }, [], [], RangeError);
        }
        for (const [name] of it.inputs) if (given[name] == null) throw said("missing", { name, written: `${name}: …`, signature });
        for (const name in given) if (!it.inputs.some((t) => t[0] === name)) throw said("unknown", { name, signature });
        const numbers = it.sizes.map((name) => BigInt(sizes[name])), before = top;
        const room = exports[it.name + "_scratch"](...numbers);
        if (room < 0n) throw said("wrong sizes", {}, [`the sizes are ${it.sizes.map((n) => `${n} = ${sizes[n]}`).join(", ")}`], [], RangeError);
        try {
            // Arrays of the module are looked at before memory may grow, which leaves them empty.
            const look = (tensor, own, out) => {
                const [name, type, shape] = tensor, count = shape.reduce((product, n) => product * value(n, sizes), 1);
                const wrong = own && problem(tensor, own, count, `the program declares \`${it.declared[name]}\``, out);
                if (wrong) throw wrong;
                const isInside = own?.buffer === memory.buffer;
                return { name, type, count, own, isInside, at: isInside ? own.byteOffset : 0 };
            };
            const inputs = it.inputs.map((tensor) => look(tensor, given[tensor[0]]));
            const outputs = it.outputs.map((t) => look(t, Object.hasOwn(out, t[0]) ? out[t[0]] : undefined, true));
            for (const t of [...inputs, ...outputs].filter((t) => !t.isInside)) t.at = reserve(t.type, t.count);
            const scratch = take(Number(room)), view = (t) => new TYPES[t.type](memory.buffer, t.at, t.count);
            for (const t of inputs.filter((t) => !t.isInside)) view(t).set(t.own);
            const status = exports[it.name](...[...inputs, ...outputs].map((t) => t.at), scratch, ...numbers);
            if (status) throw index(it, inputs, sizes);
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
