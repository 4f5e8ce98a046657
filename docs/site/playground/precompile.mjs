// Reads a zip of modules of Python from stdin, and writes it with compiled ones to stdout: `node precompile.mjs PYODIDE`.
import { pathToFileURL } from "node:url";

const folder = process.argv[2] + "/";
const { loadPyodide } = await import(pathToFileURL(folder + "pyodide.mjs"));
const chunks = [];
for await (const chunk of process.stdin) chunks.push(chunk);
const python = await loadPyodide({ indexURL: folder, stdout: () => {} });
python.FS.writeFile("/sources.zip", Buffer.concat(chunks));
python.runPython(`
import importlib.util, marshal, zipfile
head = importlib.util.MAGIC_NUMBER + bytes([1, 0, 0, 0]) + bytes(8)  # a hash that nobody compares
with zipfile.ZipFile("/sources.zip") as sources, zipfile.ZipFile("/compiled.zip", "w") as made:
    for info in sources.infolist():
        code = compile(sources.read(info), "/" + info.filename, "exec", optimize=2, dont_inherit=True)
        made.writestr(zipfile.ZipInfo(info.filename + "c"), head + marshal.dumps(code))
`);
process.stdout.write(python.FS.readFile("/compiled.zip"));
