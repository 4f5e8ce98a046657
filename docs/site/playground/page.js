// The page of the playground: an editor, answers of the compiler beside it, and programs that run below.
// It works from `file://` and asks no network for anything: files come as scripts, work is done by two workers.
(() => {
  const root = document.getElementById("tadc-playground");
  if (!root) return;
  const here = document.currentScript.src.replace(/[^/]*$/, "");
  const Worker = globalThis.NativeWorker ?? globalThis.Worker; // iframe-worker.js puts another in its place
  const MOST_ELEMENTS = 4096;
  const PATIENCE = 10000; // milliseconds for an answer, and for a run
  const PAUSE = 250; // milliseconds without an edit before a kernel is made of it, which would hold up answers to the next
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
    id: "pg-examples", "aria-label": "Example", onchange: () => { choose(known[examples.selectedIndex]); },
  });

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
  // What took how many milliseconds: until Python was ready, until first results, edits until what is wrong and until
  // the view are shown, calls of kernels; and how far the results of both kernels are apart.
  const measured = (globalThis.tadcPlayground = { ready: null, results: null, checks: [], edits: [], calls: {}, apart: null });

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
      await script("examples.js");
      await Promise.all(loaded);
      listExamples();
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
    pending -= 1;
    clearTimeout(waiting);
    if (pending) waiting = setTimeout(stuck, PATIENCE);
    const found = JSON.parse(data.found);
    answered[data.question] = found;
    if (data.question === "check") {
      measured.checks.push(performance.now() - asked);
      checked(found);
    }
    if (data.question === view) {
      showAnswer(view, found);
      measured.edits.push(performance.now() - asked);
      say(status, `answered in ${Math.round(performance.now() - asked)} ms`);
    }
    if (data.question === "kernel") made(found);
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
    pending = 0;
    const questions = ["check", view].filter((q, n, all) => all.indexOf(q) === n && !answered[q]);
    clearTimeout(paused);
    const pause = answered.check ? 0 : PAUSE;
    send(questions);
    if (!answered.kernel) paused = setTimeout(send, pause, ["kernel"]);
  }
  let paused = null;
  let pending = 0; // questions that are not answered
  function send(questions) {
    pending += questions.length;
    clearTimeout(waiting);
    if (!pending) return;
    waiting = setTimeout(stuck, PATIENCE);
    compiler.postMessage({ id, questions, text: editor.value, sizes });
  }

  // -- the editor -----------------------------------------------------------------------------

  let words = [];
  let marks = [];
  function edited() {
    history.replaceState(null, "", "#" + new URLSearchParams({ text: editor.value }));
    begun();
  }
  function choose({ text, sizes: chosen }) {
    editor.value = text;
    sizes = { ...chosen };
    given.clear();
    edited();
  }

  // -- examples -------------------------------------------------------------------------------

  let known = []; // the examples, in the order of the list
  let example = null; // the one whose text stands in the editor: the compiler has made a kernel of it

  function listExamples() {
    known = JSON.parse(files["examples.json"]);
    const group = (label, isTask) => element("optgroup", { label },
      ...known.filter((one) => one.isTask === isTask).map((one) => element("option", {}, one.title)));
    examples.replaceChildren(group("small programs", false), group("from the gallery", true));
    if (!editor.value) editor.value = known[0].text;
    begun();
  }
  // What is to be done for a text that is new: answers and kernels of another are of no use.
  async function begun() {
    answered = {};
    words = [];
    marks = [];
    colour();
    ask();
    forget();
    example = known.find((one) => one.text === editor.value) ?? null;
    examples.selectedIndex = known.indexOf(example);
    if (!example?.file) return;
    const { file, sizes: chosen } = example;
    if (!files[`${file}.wasm`]) await script(`examples/${file}.js`).then(() => Promise.all(loaded));
    if (example?.file !== file) return;
    if (!Object.keys(sizes).length) sizes = { ...chosen };
    showSizes();
    startStored();
  }
  // The stored kernel at the sizes chosen: forms of sizes become numbers.
  function startStored() {
    const about = JSON.parse(files[`${example.file}.json`]);
    const atom = (of) => (typeof of === "string" ? sizes[of] : Math.floor(number(of[0]) / of[1]));
    const number = (form) => form.slice(1).reduce((sum, [of, factor]) => sum + factor * atom(of), form[0]);
    const tensor = (one) => ({ ...one, shape: one.shape.map(number) });
    const inputs = about.inputs.map((one) => ({ ...tensor(one), below: one.below && number(one.below) }));
    const chosen = Object.fromEntries(about.sizes.map((name) => [name, sizes[name]]));
    const stored = { code: files[`${example.file}.wasm`], sizes: chosen, inputs, outputs: about.outputs.map(tensor) };
    kernels = { stored, ...kernels };
    showInputs();
    run(true);
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
    panel.classList.add("pg-old");
    await (typeset ??= script("temml.min.js"));
    if (view !== "latex") return;
    panel.classList.remove("pg-old");
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
      forget();
      if (example?.file) startStored();
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

  // Values of an array by the number of the element, and of an index array that is below a limit.
  const FILLS = {
    "a wave": (shape) => (k) => Math.sin((2 * Math.PI * k) / Math.max(count(shape), 1)),
    "a ramp": (shape) => (k) => k / Math.max(count(shape) - 1, 1),
    "ones": () => () => 1,
    "random": (shape, seed) => { const next = generator(seed); return () => 2 * next() - 1; },
    "an impulse": (shape) => (k) => (k === count(shape) >> 1 ? 1 : 0),
    "a blob": (shape) => (k) => Math.exp(-20 * fromCentre(shape, k)),
    "a disc": (shape) => (k) => (fromCentre(shape, k) < 0.07 ? 1 : 0),
  };
  const INDEX_FILLS = {
    "random": (shape, seed, below) => { const next = generator(seed); return () => Math.floor(next() * below); },
    "in turn": (shape, seed, below) => (k) => k % below,
    "the next": (shape, seed, below) => (k) => (k + 1) % below,
  };
  // The square of the distance of an element from the centre of an array whose sides are 1.
  function fromCentre(shape, k) {
    let sum = 0;
    for (const extent of [...shape].reverse()) {
      sum += ((k % extent) / Math.max(extent - 1, 1) - 0.5) ** 2;
      k = Math.floor(k / extent);
    }
    return sum;
  }
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
    if (example?.inputs[input.name]) return { ...example.inputs[input.name] };
    if (input.below !== null) return { fill: "random" };
    if (!input.shape.length) return { value: 1 };
    if (input.cotangent) return { fill: "ones" };
    return { fill: ["a wave", "random", "a ramp"][n % 3] };
  }
  function numbers(input, position) {
    const how = given.get(input.name);
    const n = count(input.shape);
    if (input.below !== null) {
      const fill = INDEX_FILLS[how.fill](input.shape, position + 1, input.below);
      const made = how.numbers ?? Array.from({ length: n }, (_, k) => fill(k));
      const clipped = Array.from({ length: n }, (_, k) => Math.max(0, Math.min(input.below - 1, Math.floor(made[k] ?? 0))));
      return input.increasing ? clipped.sort((a, b) => a - b) : clipped;
    }
    if (how.numbers) return Array.from({ length: n }, (_, k) => how.numbers[k] ?? 0);
    if (!input.shape.length) return [how.value];
    if (!how.fill) return Array(n).fill(how.value); // a scalar that has become an array
    const fill = FILLS[how.fill](input.shape, position + 1);
    return Array.from({ length: n }, (_, k) => Number((fill(k) * (how.scale ?? 1)).toPrecision(4)));
  }

  function showInputs() {
    controls.querySelectorAll(".pg-input").forEach((row) => row.remove());
    (kernels.stored ?? kernels.browser).inputs.forEach((input, position) => {
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
      const most = 4 * Math.abs(first(input, position).value || 1);
      return slider(label, how.value ?? 1, -most, most, most / 80, (value) => { how.value = value; run(); }, { "data-input": input.name }, "pg-input");
    }
    const text = element("input", {
      type: "text", value: numbers(input, position).join(", "), "aria-label": `Elements of ${label}`, "data-input": input.name,
      onchange: () => { how.numbers = text.value.split(/[\s,;]+/).filter(Boolean).map(Number).map((x) => (Number.isNaN(x) ? 0 : x)); run(); },
    });
    const most = 4 * (first(input, position).scale || 1);
    const refill = () => { delete how.numbers; text.value = numbers(input, position).join(", "); run(); };
    const row = element("div", { class: "pg-input" }, element("div", {}, label));
    const fills = input.below === null ? FILLS : INDEX_FILLS;
    const fill = element("select", { "aria-label": `How ${input.name} is filled`, onchange: () => { how.fill = fill.value; refill(); } },
      ...Object.keys(fills).map((name) => element("option", { value: name, selected: name === how.fill }, name)));
    const scale = element("input", {
      type: "range", min: 0, max: most, step: most / 80, value: how.scale ?? 1, "aria-label": `Scale of ${input.name}`,
      oninput: () => { how.scale = Number(scale.value); refill(); },
    });
    row.append(element("div", { class: "pg-row" }, fill, ...(input.below === null ? [scale] : [])));
    row.append(text);
    return row;
  }

  // -- running --------------------------------------------------------------------------------

  // Kernels of the text by who made them: { stored: the compiler, browser: this page }. Both run, and the results of the
  // stored one are shown.
  let kernels = {};
  const MAKERS = { stored: "stored kernel, made by the compiler", browser: "kernel made in the browser" };
  let runner = null;
  let runs = 0;
  let late = null;
  // Kernels of another text or of other sizes, and what they are about to answer.
  function forget() {
    kernels = {};
    runs += 1;
    clearTimeout(late);
    Object.assign(measured, { calls: {}, apart: null });
    results.classList.add("pg-old");
  }
  function made(found) {
    if (found.errors) {
      if (kernels.stored) return; // whose run says what is wrong
      forget();
      controls.querySelectorAll(".pg-input").forEach((row) => row.remove());
      results.replaceChildren();
      const reason = answered.check?.errors?.some((e) => e.severity === "error") ? "" : found.errors[0].rendered;
      return say(runStatus, reason);
    }
    kernels.browser = { ...found, code: Uint8Array.from(atob(found.code), (c) => c.charCodeAt(0)) };
    if (!kernels.stored) showInputs();
    run(true);
  }
  const RUNNER = `
    let runs = {}; // what runs a kernel, or why it does not, by who made it
    self.onmessage = async ({ data: { run, kernels, given } }) => {
      if (kernels) runs = Object.fromEntries(Object.entries(kernels).map(([maker, kernel]) => [maker, tadcKernels.start(kernel)]));
      const made = {};
      for (const [maker, started] of Object.entries(runs)) {
        try { made[maker] = (await started)(given); }
        catch (error) { made[maker] = { failed: String(error.message ?? error) }; }
      }
      self.postMessage({ run, made });
    };`;
  function run(isNew = false) {
    const one = kernels.stored ?? kernels.browser;
    if (!one) return;
    runs += 1;
    clearTimeout(late);
    late = setTimeout(() => {
      runner.terminate();
      runner = null;
      say(runStatus, "The run took longer than 10 s, and was stopped: choose smaller sizes.");
    }, PATIENCE);
    const isFirst = !runner;
    if (isFirst) {
      runner = new Worker(blobURL(`${files["kernels.js"]}\n`, RUNNER));
      runner.onmessage = ({ data }) => { if (data.run === runs) ran(data.made); };
    }
    const values = Object.fromEntries(one.inputs.map((input, position) => [input.name, numbers(input, position)]));
    runner.postMessage({ run: runs, kernels: isNew || isFirst ? kernels : null, given: values });
  }
  function ran(made) {
    clearTimeout(late);
    results.classList.remove("pg-old");
    const right = Object.entries(made).filter(([, one]) => !one.failed);
    measured.calls = Object.fromEntries(right.map(([maker, { ms }]) => [maker, ms]));
    measured.results ??= performance.now() - opened;
    measured.apart = right.length === 2 ? apart(made.stored.outputs, made.browser.outputs) : null;
    const said = Object.entries(made).map(([maker, { ms, failed }]) => failed ?? `${MAKERS[maker]}: ${duration(ms)} a call`);
    if (measured.apart !== null) said.push(`results differ by ${measured.apart ? measured.apart.toExponential(0) : "nothing"}`);
    say(runStatus, said.join("; "));
    if (!right.length) return results.replaceChildren();
    const { outputs } = kernels[right[0][0]];
    results.replaceChildren(...outputs.map((output) => shownResult(output, right[0][1].outputs[output.name])));
  }
  const duration = (ms) => (ms < 0.1 ? `${Number((1000 * ms).toPrecision(2))} µs` : `${Number(ms.toPrecision(2))} ms`);
  // The most that elements differ by, of what the largest of all is.
  function apart(some, others) {
    const flat = (outputs) => Object.keys(some).flatMap((name) => outputs[name]);
    const [a, b] = [flat(some), flat(others)];
    const most = (values) => values.reduce((found, x) => Math.max(found, Number.isFinite(x) ? Math.abs(x) : 0), 0);
    return most(a.map((x, k) => (Object.is(x, b[k]) ? 0 : x - b[k]))) / (most(a) || 1);
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
  window.addEventListener("hashchange", () => { if (opens()) begun(); });

  opens();
  colour();
  show("gradient");
  begin();
})();
