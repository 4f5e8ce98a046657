// Runs kernels in node: reads [{ code, inputs, outputs, sizes, given }] from stdin, writes the outputs of each as JSON.
import "../../docs/site/playground/kernels.js";

const chunks = [];
for await (const chunk of process.stdin) chunks.push(chunk);
const numbers = (key, value) => (typeof value === "number" && !Number.isFinite(value) ? String(value) : value);
const made = [];
for (const kernel of JSON.parse(Buffer.concat(chunks).toString())) {
  kernel.code = Buffer.from(kernel.code, "base64");
  const given = Object.fromEntries(Object.entries(kernel.given).map(([name, array]) => [name, array.map(Number)]));
  made.push((await globalThis.tadcKernels.start(kernel))(given).outputs);
}
console.log(JSON.stringify(made, numbers));
