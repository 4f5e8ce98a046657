// The compiler in a worker of its own: Python for browsers, and tadc's answers to questions about a text.
// Of several edits the last counts: what an earlier one still asks for is dropped.

// Pyodide takes a worker with this for one that loads scripts by it, as no worker of a page opened as a file can.
self.importScripts = () => { throw new Error("nothing is loaded"); };

async function start(files) {
  // Nothing is fetched: the page has handed over what Python would look for.
  self.fetch = async (url) => {
    const name = String(url.url ?? url).split("/").pop();
    const type = name.endsWith(".wasm") ? "application/wasm" : "application/octet-stream";
    return files[name] ? new Response(files[name], { headers: { "Content-Type": type } }) : new Response(null, { status: 404 });
  };
  const python = await loadPyodide({
    indexURL: "https://nowhere.invalid/",
    lockFileContents: JSON.parse(files["pyodide-lock.json"]),
    createPyodideModule: _createPyodideModule,
    fullStdLib: false,
  });
  python.unpackArchive(files["tadc.zip"], "zip");
  return python.runPython(`
import gc
from tadc.frontend import limits
limits.MAX_DEPTH = 200  # of definitions: the stack of a browser ends at about 500
from tadc.playground.answers import ANSWERS
ANSWERS("warm", "x: f64[N]; w: f64[K]; y[i: N - K + 1] = sum{k} (x[i + k] * w[k])")
gc.collect()
gc.freeze()
ANSWERS
`);
}

let answer;
let asked = [];
let running = false;
let last = 0; // the edit that is answered

async function work() {
  running = true;
  while (asked.length) {
    const { id, question, text, sizes } = asked.shift();
    const begun = performance.now();
    let found;
    try {
      found = answer(question, text, JSON.stringify(sizes));
      if (typeof found !== "string") throw new RangeError("Python has ended");
    } catch (error) {
      if (error instanceof RangeError) return self.postMessage({ id, lost: true }); // the stack of the browser is full
      // A bug: it is shown, and others are answered.
      const last = String(error.message ?? error).trim().split("\n").pop();
      found = JSON.stringify({ errors: [{ severity: "error", code: null, secondary: [], rendered: `no answer: ${last}` }] });
    }
    self.postMessage({ id, question, found, ms: performance.now() - begun });
    await new Promise((resolve) => setTimeout(resolve));
  }
  running = false;
}

self.onmessage = async ({ data }) => {
  if (data.files) {
    try {
      answer = await start(data.files);
      self.postMessage({ ready: true });
    } catch (error) {
      self.postMessage({ failed: String(error) });
    }
    return;
  }
  if (data.id !== last) asked = [];
  last = data.id;
  asked.push(...data.questions.map((question) => ({ ...data, question })));
  if (!running) work();
};
