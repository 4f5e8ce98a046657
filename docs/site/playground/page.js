// The page of the playground: an editor, answers of the compiler beside it, and programs that run below.
// It works from `file://` and asks no network for anything: files come as scripts, work is done by two workers.
(() => {
  const root = document.getElementById("tadc-playground");
  if (!root) return;
  const here = document.currentScript.src.replace(/[^/]*$/, "");
  const Worker = globalThis.NativeWorker ?? globalThis.Worker; // iframe-worker.js puts another in its place
  const MOST_ELEMENTS = 4096;
  const PATIENCE = 10000; // milliseconds for an answer, and for a run
  const EXAMPLES = {
    "a moving average": "x: f64[N]\nw: f64[K]\n\ny[i: N - K + 1] = sum{k} (w[k] * x[i + k])\n",
    "least squares": "x: f64[N]\ny: f64[N]\na: f64\nb: f64\n\nlet r[i] = a*x[i] + b - y[i]\nloss = sum{i} (r[i]**2) / 2\n",
    "softmax": "a: f64[N, M]\n\nlet m[i] = max{j} (a[i, j])\nlet e[i, j] = exp(a[i, j] - m[i])\np[i, j] = e[i, j] / sum{k} (e[i, k])\n",
    "a picture blurred": "u: f64[N, N]\nw: f64[3, 3]\n\nv[i: N - 2, j: N - 2] = sum{p, q} (w[p, q] * u[i + p, j + q])\n",
    "a recurrence": "x: f64[N]\ndecay: f64\n\nscan{t} s[t] = x[t] + if {t > 0} then (decay * s[t - 1]) else (0)\n",
    "a graph": "size N\nsource: index[E] in N\ntarget: index[E] in N\nx: f64[N]\n\ny[n: N] = sum{e: target[e] = n} (tanh(x[source[e]]))\n",
    "an error": "x: f64[8]\n\nd[i: 8] = x[i + 1] - x[i]\n",
  };
  const VIEWS = {
    check: "Program", gradient: "Gradient", picture: "Domain", latex: "Formulas", counts: "Operations",
    certificate: "Certificate", header: "C header",
  };

  // -- elements -------------------------------------------------------------------------------

  function element(tag, attributes = {}, ...children) {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
      else if (value !== null && value !== undefined && value !== false) made.setAttribute(name, value === true ? "" : value);
    }
    made.append(...children);
    return made;
  }

  const status = element("span", { class: "pg-status", role: "status" }, "Python starts …");
  const editor = element("textarea", {
    id: "pg-text", spellcheck: "false", autocapitalize: "off", autocomplete: "off", "aria-label": "Program",
    "aria-describedby": "pg-errors", rows: "10", oninput: () => edited(), onscroll: () => follow(),
  });
  const colours = element("pre", { class: "pg-colours", "aria-hidden": "true" });
  const errors = element("ol", { id: "pg-errors", class: "pg-errors", "aria-label": "Errors and warnings" });
  const tabs = element("div", { role: "tablist", "aria-label": "What the compiler says", class: "pg-tabs" });
  const panel = element("div", { id: "pg-panel", role: "tabpanel", tabindex: "0", class: "pg-panel" });
  const controls = element("div", { class: "pg-controls" });
  const results = element("div", { class: "pg-results" });
  const runStatus = element("span", { class: "pg-status", role: "status", id: "pg-run-status" });
  const link = element("input", { class: "pg-link", readonly: true, "aria-label": "Link to this program", hidden: true });
  const examples = element("select", {
    id: "pg-examples", "aria-label": "Example", onchange: () => { choose(EXAMPLES[examples.value]); },
  }, ...Object.keys(EXAMPLES).map((name) => element("option", { value: name }, name)));

  root.replaceChildren(
    element("div", { class: "pg-bar" }, element("label", { for: "pg-examples" }, "Example "), examples,
      element("button", { type: "button", id: "pg-share", onclick: share }, "Share"), link, status),
    element("div", { class: "pg-halves" },
      element("div", {}, element("div", { class: "pg-editor" }, colours, editor), errors),
      element("div", {}, tabs, panel)),
    element("div", { class: "pg-halves" },
      element("div", {}, element("div", { class: "pg-bar" }, element("strong", {}, "Inputs")), controls),
      element("div", {}, element("div", { class: "pg-bar" }, element("strong", {}, "Results"), runStatus), results)),
  );

  // -- tabs -----------------------------------------------------------------------------------

  let view = "check";
  for (const [name, title] of Object.entries(VIEWS)) {
    tabs.append(element("button", {
      type: "button", role: "tab", id: `pg-tab-${name}`, "aria-controls": "pg-panel", "data-view": name,
      onclick: () => show(name), onkeydown: (event) => moved(event, name),
    }, title));
  }
  function moved(event, name) {
    const names = Object.keys(VIEWS);
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    const next = step ? names[(names.indexOf(name) + step + names.length) % names.length]
      : { Home: names[0], End: names.at(-1) }[event.key];
    if (!next) return;
    event.preventDefault();
    show(next);
    document.getElementById(`pg-tab-${next}`).focus();
  }
  function show(name) {
    view = name;
    for (const tab of tabs.children) {
      const chosen = tab.dataset.view === name;
      tab.setAttribute("aria-selected", String(chosen));
      tab.tabIndex = chosen ? 0 : -1;
    }
    panel.setAttribute("aria-labelledby", `pg-tab-${name}`);
    if (answered[name]) showAnswer(name, answered[name]);
    else {
      panel.classList.add("pg-old");
      ask();
    }
  }

  // -- the compiler ---------------------------------------------------------------------------

  const files = {};
  let compiler = null;
  let ready = false;
  let id = 0;
  let answered = {};
  let sizes = {};
  let waiting = null;
  const opened = performance.now();
  const measured = (globalThis.tadcPlayground = { edits: [], ready: null });

  async function unpack(name, content, isText) {
    if (isText) return content;
    const bytes = Uint8Array.fromBase64 ? Uint8Array.fromBase64(content) : Uint8Array.from(atob(content), (c) => c.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Response(stream).arrayBuffer();
  }
  const loaded = [];
  globalThis.tadcFile = (name, content, isText = false) => {
    loaded.push(unpack(name, content, isText).then((found) => { files[name] = found; }));
  };
  const script = (name) => new Promise((resolve, reject) => {
    document.head.append(element("script", { src: here + name, onload: resolve, onerror: () => reject(new Error(`${name} is missing`)) }));
  });

  async function begin() {
    try {
      await Promise.all(["scripts.js", "pyodide.asm.wasm.js", "python_stdlib.zip.js", "tadc.zip.js"].map(script));
      await Promise.all(loaded);
      startCompiler();
    } catch (error) {
      say(status, `The playground could not start: ${error.message}`);
    }
  }
  const blobURL = (...texts) => URL.createObjectURL(new Blob(texts, { type: "text/javascript" }));
  function startCompiler() {
    ready = false;
    say(status, "Python starts …");
    compiler = new Worker(blobURL(...["worker.js", "pyodide.js", "pyodide.asm.js"].map((name) => `${files[name]}\n`)));
    compiler.onmessage = ({ data }) => heard(data);
    compiler.onerror = (event) => say(status, `The compiler stopped: ${event.message}`);
    compiler.postMessage({ files });
  }
  function heard(data) {
    if (data.failed) return say(status, `The compiler could not start: ${data.failed}`);
    if (data.ready) {
      ready = true;
      measured.ready ??= performance.now() - opened;
      say(status, `ready after ${(measured.ready / 1000).toFixed(1)} s`);
      return ask();
    }
    if (data.lost) return again("This program is too deep for the browser's stack: the compiler starts again.");
    if (data.id !== id) return;
    clearTimeout(waiting);
    waiting = setTimeout(stuck, PATIENCE);
    const found = JSON.parse(data.found);
    answered[data.question] = found;
    if (data.question === "check") checked(found);
    if (data.question === view) {
      showAnswer(view, found);
      measured.edits.push(performance.now() - asked);
      say(status, `answered in ${Math.round(performance.now() - asked)} ms`);
    }
    if (data.question === "kernel") { made(found); clearTimeout(waiting); }
  }
  const stuck = () => again("This takes longer than 10 s: the compiler starts again.");
  let refused = null; // what the compiler has not come through: it is not asked again
  function again(reason) {
    clearTimeout(waiting);
    compiler.terminate();
    refused = asking;
    answered = {};
    panel.replaceChildren();
    errors.replaceChildren(element("li", { class: "pg-error" }, reason));
    startCompiler();
  }

  let asked = 0;
  let asking = "";
  function ask() {
    const now = JSON.stringify([editor.value, sizes, view]);
    if (!ready || now === refused) return;
    asking = now;
    id += 1;
    asked = performance.now();
    const questions = ["check", view, "kernel"].filter((q, n, all) => all.indexOf(q) === n && !answered[q]);
    clearTimeout(waiting);
    if (!questions.length) return;
    waiting = setTimeout(stuck, PATIENCE);
    compiler.postMessage({ id, questions, text: editor.value, sizes });
  }

  // -- the editor -----------------------------------------------------------------------------

  let words = [];
  let marks = [];
  function edited() {
    answered = {};
    words = [];
    marks = [];
    colour();
    history.replaceState(null, "", "#" + new URLSearchParams({ text: editor.value }));
    ask();
  }
  function choose(text) {
    editor.value = text;
    sizes = {};
    given.clear();
    edited();
  }
  function follow() {
    colours.scrollTop = editor.scrollTop;
    colours.scrollLeft = editor.scrollLeft;
  }
  // Offsets count characters of Unicode, strings of JavaScript units of 16 bits.
  function offsets(text) {
    const at = [0];
    for (const character of text) at.push(at.at(-1) + character.length);
    return (n) => at[Math.min(n, at.length - 1)];
  }
  function colour() {
    const text = editor.value;
    editor.rows = Math.max(10, text.split("\n").length + 1);
    const cuts = new Set([0, text.length]);
    for (const [start, end] of [...words, ...marks]) cuts.add(start).add(end);
    const sorted = [...cuts].filter((n) => n <= text.length).sort((a, b) => a - b);
    const parts = [];
    for (let n = 0; n + 1 < sorted.length; n++) {
      const [start, end] = [sorted[n], sorted[n + 1]];
      const within = ([from, to]) => from <= start && end <= to;
      const classes = [words.find(within)?.[2] && `pg-${words.find(within)[2]}`, ...marks.filter(within).map((mark) => `pg-mark-${mark[2]}`)];
      parts.push(element("span", { class: classes.filter(Boolean).join(" ") || null }, text.slice(start, end)));
    }
    colours.replaceChildren(...parts, "\n");
    follow();
  }

  function checked(found) {
    const at = offsets(editor.value);
    words = (found.words ?? []).map(([start, end, kind]) => [at(start), at(end), kind]);
    marks = [];
    for (const error of found.errors ?? []) {
      for (const label of error.secondary) marks.push([at(label.start), at(label.end), "note"]);
      if (error.primary) {
        const start = at(error.primary.start);
        marks.push([start, Math.max(at(error.primary.end), start + 1), error.severity]);
      }
    }
    colour();
    errors.replaceChildren(...(found.errors ?? []).map(shownError));
    if (found.sizes) sizes = found.sizes;
    showSizes();
  }
  function shownError(error) {
    const item = element("li", { class: `pg-${error.severity}` }, element("pre", { tabindex: "0" }, error.rendered));
    if (error.code && error.code.startsWith("TAD")) item.append(element("a", { href: `errors/${error.code}.html` }, `What ${error.code} means`));
    if (error.edits?.length) {
      item.append(" ", element("button", { type: "button", onclick: () => mend(error.edits) }, "Mend it"));
    }
    if (error.primary) {
      item.append(" ", element("button", { type: "button", onclick: () => goTo(error.primary) }, `Go to line ${error.primary.line}`));
    }
    return item;
  }
  function mend(edits) {
    const at = offsets(editor.value);
    for (const edit of [...edits].sort((a, b) => b.start - a.start)) {
      editor.setRangeText(edit.replacement, at(edit.start), at(edit.end));
    }
    edited();
    editor.focus();
  }
  function goTo(place) {
    const at = offsets(editor.value);
    editor.focus();
    editor.setSelectionRange(at(place.start), at(place.end));
  }

  function showAnswer(name, found) {
    panel.classList.remove("pg-old");
    if (name !== "check" && answered.check?.errors?.some((error) => error.severity === "error")) {
      return panel.replaceChildren(element("p", {}, "The program has errors: they stand below it."));
    }
    const failed = (found.errors ?? []).filter((error) => error.severity === "error");
    if (failed.length && name !== "check") {
      panel.replaceChildren(element("pre", {}, failed.map((error) => error.rendered).join("\n\n")));
    } else if (name === "picture") {
      const drawn = element("div", { class: "pg-pictures" });
      drawn.innerHTML = found.pictures.map((svg) => `<figure>${svg}</figure>`).join("");
      [...drawn.children].forEach((figure) => figure.append(element("figcaption", {}, figure.firstChild.getAttribute("aria-label").split(":")[0])));
      panel.replaceChildren(drawn, ...found.missing.map((reason) => element("p", {}, `Not drawn: ${reason}`)));
    } else if (name === "latex") {
      showFormulas(found.formulas);
    } else if (name === "counts") {
      panel.replaceChildren(table(found), element("p", {}, sizesText() || "All sizes are numbers."));
    } else {
      panel.replaceChildren(element("pre", {}, found.text ?? "The program has errors."));
    }
  }
  let typeset = null; // Temml, which makes MathML of LaTeX, once somebody looks at formulas
  async function showFormulas(formulas) {
    await (typeset ??= script("temml.min.js"));
    const shown = formulas.map((latex) => {
      const formula = element("div", { class: "formula" });
      temml.render(latex, formula, { displayMode: true });
      return formula;
    });
    const text = formulas.join("\n\n");
    const copy = element("button", { type: "button", onclick: () => copied(text, "LaTeX") }, "Copy");
    panel.replaceChildren(...shown, element("div", { class: "pg-bar" }, element("strong", {}, "LaTeX"), copy), element("pre", {}, text));
  }
  const sizesText = () => Object.entries(sizes).map(([name, value]) => `${name} = ${value}`).join(", ");
  function table({ columns, rows }) {
    return element("table", {},
      element("thead", {}, element("tr", {}, element("td"), ...columns.map((title) => element("th", { scope: "col" }, title)))),
      element("tbody", {}, ...rows.map(([title, ...cells]) => element("tr", {},
        element("th", { scope: "row" }, title), ...cells.map((cell) => element("td", {}, cell))))));
  }

  // -- inputs ---------------------------------------------------------------------------------

  const given = new Map(); // how an input is filled, by name
  let kernel = null;

  function showSizes() {
    const names = Object.keys(sizes);
    const shown = [...controls.querySelectorAll("[data-size]")].map((input) => input.dataset.size);
    if (shown.join() === names.join()) {
      for (const input of controls.querySelectorAll("[data-size]")) slid(input, sizes[input.dataset.size]);
      return;
    }
    controls.querySelectorAll(".pg-size").forEach((row) => row.remove());
    controls.prepend(...names.map((name) => slider(`size ${name}`, sizes[name], 1, 64, 1, (value) => {
      sizes = { ...sizes, [name]: value };
      for (const question of ["kernel", "picture", "counts"]) delete answered[question];
      ask();
    }, { "data-size": name }, "pg-size")));
  }
  function slid(input, value) {
    input.value = value;
    input.nextSibling.textContent = value;
  }
  function slider(label, value, min, max, step, changed, attributes = {}, className = "") {
    const shown = element("output", {}, String(value));
    const input = element("input", {
      type: "range", min, max, step, value, "aria-label": label, ...attributes,
      oninput: () => { shown.textContent = input.value; changed(Number(input.value)); },
    });
    return element("div", { class: `pg-row ${className}` }, element("span", {}, label), input, shown);
  }

  const FILLS = {
    "a wave": (n) => (k) => Math.sin((2 * Math.PI * k) / Math.max(n, 1)),
    "a ramp": (n) => (k) => k / Math.max(n - 1, 1),
    "ones": () => () => 1,
    "random": (n, seed) => { const next = generator(seed); return () => 2 * next() - 1; },
    "an impulse": (n) => (k) => (k === n >> 1 ? 1 : 0),
  };
  // A small generator of numbers that look random, the same in each call (mulberry32).
  function generator(seed) {
    return () => {
      let t = (seed = (seed + 0x6d2b79f5) | 0);
      t = Math.imul(t ^ (t >>> 15), t | 1);
      t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
      return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
    };
  }
  const count = (shape) => shape.reduce((n, extent) => n * extent, 1);

  function first(input, n) {
    if (!input.shape.length) return { value: 1 };
    if (input.cotangent) return { fill: "ones" };
    return { fill: ["a wave", "random", "a ramp"][n % 3] };
  }
  function numbers(input, position) {
    const how = given.get(input.name);
    const n = count(input.shape);
    if (input.below !== null) {
      const next = generator(position + 1);
      const made = how.numbers ?? Array.from({ length: n }, () => Math.floor(next() * input.below));
      const clipped = Array.from({ length: n }, (_, k) => Math.max(0, Math.min(input.below - 1, Math.floor(made[k] ?? 0))));
      return input.increasing ? clipped.sort((a, b) => a - b) : clipped;
    }
    if (how.numbers) return Array.from({ length: n }, (_, k) => how.numbers[k] ?? 0);
    if (!input.shape.length) return [how.value];
    const fill = FILLS[how.fill](n, position + 1);
    return Array.from({ length: n }, (_, k) => Number((fill(k) * (how.scale ?? 1)).toPrecision(4)));
  }

  function showInputs() {
    controls.querySelectorAll(".pg-input").forEach((row) => row.remove());
    kernel.inputs.forEach((input, position) => {
      const form = `${input.shape.length}${input.below === null}`; // another one has other controls
      if (given.get(input.name)?.form !== form) given.set(input.name, { ...first(input, position), form });
      const title = `${input.name}: ${input.type === "i32" ? "index" : input.type}${input.shape.length ? `[${input.shape.join(", ")}]` : ""}`;
      const label = input.cotangent ? `${title}, the cotangent of ${input.cotangent}` : title;
      controls.append(inputRow(input, position, label));
    });
  }
  function inputRow(input, position, label) {
    const how = given.get(input.name);
    if (!input.shape.length && input.below === null) {
      return slider(label, how.value ?? 1, -4, 4, 0.05, (value) => { how.value = value; run(); }, { "data-input": input.name }, "pg-input");
    }
    const text = element("input", {
      type: "text", value: numbers(input, position).join(", "), "aria-label": `Elements of ${label}`, "data-input": input.name,
      onchange: () => { how.numbers = text.value.split(/[\s,;]+/).filter(Boolean).map(Number).map((x) => (Number.isNaN(x) ? 0 : x)); run(); },
    });
    const refill = () => { delete how.numbers; text.value = numbers(input, position).join(", "); run(); };
    const row = element("div", { class: "pg-input" }, element("div", {}, label));
    if (input.below === null) {
      const fill = element("select", { "aria-label": `How ${input.name} is filled`, onchange: () => { how.fill = fill.value; refill(); } },
        ...Object.keys(FILLS).map((name) => element("option", { value: name, selected: name === how.fill }, name)));
      const scale = element("input", {
        type: "range", min: 0, max: 4, step: 0.05, value: how.scale ?? 1, "aria-label": `Scale of ${input.name}`,
        oninput: () => { how.scale = Number(scale.value); refill(); },
      });
      row.append(element("div", { class: "pg-row" }, fill, scale));
    }
    row.append(text);
    return row;
  }

  // -- running --------------------------------------------------------------------------------

  let runner = null;
  let runs = 0;
  let late = null;
  function made(found) {
    if (found.errors) {
      kernel = null;
      controls.querySelectorAll(".pg-input").forEach((row) => row.remove());
      results.replaceChildren();
      const reason = answered.check?.errors?.some((e) => e.severity === "error") ? "" : found.errors[0].rendered;
      return say(runStatus, reason);
    }
    const code = Uint8Array.from(atob(found.code), (c) => c.charCodeAt(0));
    kernel = { ...found, code };
    showInputs();
    run();
  }
  const RUNNER = `
    self.onmessage = async ({ data: { run, kernel, given } }) => {
      try { self.postMessage({ run, ...(await tadcKernels.run(kernel, given)) }); }
      catch (error) { self.postMessage({ run, failed: String(error) }); }
    };`;
  function run() {
    if (!kernel) return;
    const values = Object.fromEntries(kernel.inputs.map((input, position) => [input.name, numbers(input, position)]));
    runs += 1;
    clearTimeout(late);
    late = setTimeout(() => {
      runner?.terminate();
      runner = null;
      say(runStatus, "The run took longer than 10 s, and was stopped: choose smaller sizes.");
    }, PATIENCE);
    if (!runner) {
      runner = new Worker(blobURL(files["kernels.js"], RUNNER));
      runner.onmessage = ({ data }) => {
        if (data.run !== runs) return;
        clearTimeout(late);
        if (data.failed) return say(runStatus, data.failed);
        say(runStatus, `WebAssembly, ${data.ms.toFixed(2)} ms`);
        results.replaceChildren(...kernel.outputs.map((output) => shownResult(output, data.outputs[output.name])));
      };
    }
    runner.postMessage({ run: runs, kernel: { code: kernel.code, inputs: kernel.inputs, outputs: kernel.outputs }, given: values });
  }
  const short = (x) => (Number.isInteger(x) ? String(x) : x.toPrecision(5).replace(/\.?0+(e|$)/, "$1"));

  function shownResult(output, values) {
    const title = output.gradient ? `${output.name}, the gradient by ${output.gradient}` : output.name;
    const shape = output.shape.length ? `[${output.shape.join(", ")}]` : "";
    const figure = element("figure", { "data-output": output.name }, element("figcaption", {}, `${title}${shape}`));
    if (!output.shape.length) figure.append(element("output", { class: "pg-number" }, short(values[0])));
    else if (values.length > MOST_ELEMENTS) figure.append(`${values.length} elements, the first: ${values.slice(0, 8).map(short).join(", ")} …`);
    else {
      figure.append(output.shape.length === 1 ? curve(title, values) : heat(title, values, output.shape));
      figure.append(element("details", {}, element("summary", {}, "numbers"),
        element("pre", { tabindex: "0", "data-values": output.name }, values.map(short).join(", "))));
    }
    return figure;
  }

  // -- plots ----------------------------------------------------------------------------------

  const SVG = "http://www.w3.org/2000/svg";
  function svg(tag, attributes, ...children) {
    const made = document.createElementNS(SVG, tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    made.append(...children);
    return made;
  }
  function ends(values) {
    const finite = values.filter(Number.isFinite);
    return finite.length ? [Math.min(...finite), Math.max(...finite)] : [0, 0];
  }
  function picture(title, width, height, ...parts) {
    return svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `Plot of ${title}` }, ...parts);
  }
  function curve(title, values) {
    const [low, high] = ends(values);
    const [bottom, top] = [Math.min(low, 0), Math.max(high, 0)];
    const span = top - bottom || 1;
    const x = (k) => 50 + (values.length > 1 ? (k / (values.length - 1)) * 300 : 150);
    const y = (value) => 130 - ((value - bottom) / span) * 115;
    const shown = values.map((value, k) => [x(k), y(value), value]).filter((point) => Number.isFinite(point[2]));
    const labels = [...new Set([bottom, top])].map((value) => svg("text", { x: 46, y: y(value) + 4, "text-anchor": "end" }, short(value)));
    const points = shown.length <= 64 ? shown.map(([px, py]) => svg("circle", { cx: px, cy: py, r: 2.5, class: "pg-point" })) : [];
    return picture(title, 360, 140, svg("line", { x1: 50, x2: 350, y1: y(0), y2: y(0), class: "pg-axis" }), ...labels,
      svg("polyline", { points: shown.map(([px, py]) => `${px.toFixed(1)},${py.toFixed(1)}`).join(" "), class: "pg-line" }), ...points);
  }
  // Blue is negative, orange positive: the colours of the pictures of domains.
  function heat(title, values, shape) {
    const columns = shape.at(-1) || 1;
    const rows = values.length / columns;
    const [low, high] = ends(values);
    const most = Math.max(Math.abs(low), Math.abs(high)) || 1;
    const side = Math.min(24, 300 / columns, 240 / rows);
    const cells = values.map((value, k) => svg("rect", {
      x: (k % columns) * side, y: Math.floor(k / columns) * side, width: side, height: side,
      fill: Number.isFinite(value) ? (value < 0 ? "#0072B2" : "#D55E00") : "#808080", "fill-opacity": Number.isFinite(value) ? Math.abs(value) / most : 1,
    }));
    const legend = svg("text", { x: 0, y: rows * side + 16 }, `${short(low)} (blue) to ${short(high)} (orange)`);
    return picture(title, Math.max(columns * side, 200), rows * side + 22, ...cells, legend);
  }

  // -- sharing --------------------------------------------------------------------------------

  async function share() {
    const url = new URL(location.href);
    url.hash = new URLSearchParams({ text: editor.value, ...Object.fromEntries(Object.entries(sizes).map(([name, value]) => [`size.${name}`, value])) });
    history.replaceState(null, "", url);
    link.value = url;
    link.hidden = false;
    link.focus();
    link.select();
    await copied(link.value, "The link, which holds the program,");
  }
  async function copied(text, what) {
    try {
      await navigator.clipboard.writeText(text);
      say(status, `${what} is copied.`);
    } catch {
      say(status, `${what} could not be copied: the browser does not allow it.`);
    }
  }
  function opens() {
    const shared = new URLSearchParams(location.hash.slice(1));
    const text = shared.get("text");
    if (text === null) return false;
    editor.value = text;
    sizes = Object.fromEntries([...shared].filter(([name]) => name.startsWith("size.")).map(([name, value]) => [name.slice(5), Number(value)]));
    return true;
  }
  function say(where, text) { where.textContent = text; }
  window.addEventListener("hashchange", () => { if (opens()) { answered = {}; colour(); ask(); } });

  if (!opens()) editor.value = EXAMPLES["a moving average"];
  colour();
  show("gradient");
  begin();
})();
