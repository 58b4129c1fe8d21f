// Python for one page, in a worker: the page stays responsive, and an endless loop can be stopped.

import { loadPyodide } from "./pyodide.mjs";

const here = new URL(".", import.meta.url).href;
const load = self.fetch;
const read = async (name) => load(here + name);
const files = read("files.json").then((response) => response.json()); // sizes in bytes
let loaded = 0;
let total = 0;
let coming = 0; // files

const expect = async (names) => {
  const sizes = await files;
  total += names.reduce((sum, name) => sum + sizes[name], 0);
};

/** Every file passes here: what has come is counted, and the processor's code is unpacked. */
self.fetch = async (address, options) => {
  const packed = String(address).endsWith(".wasm");
  const response = await load(packed ? `${address}.packed` : address, packed ? {} : options);
  if (!response.ok) throw new Error(`${address}: ${response.status}`);
  coming++;
  const count = new TransformStream({
    transform(chunk, through) {
      loaded += chunk.length;
      postMessage({ loaded: Math.min(loaded, total), total });
      through.enqueue(chunk);
    },
    flush() {
      if (--coming === 0) postMessage({ starting: true });
    },
  });
  const body = response.body.pipeThrough(count);
  return packed
    ? new Response(body.pipeThrough(new DecompressionStream("gzip")), {
        headers: { "Content-Type": "application/wasm" },
      })
    : new Response(body);
};

async function start() {
  await expect(["pyodide.asm.wasm.packed", "python_stdlib.zip", "posenc.zip"]);
  const lock = await (await read("pyodide-lock.json")).json();
  const python = await loadPyodide({
    indexURL: here,
    packageBaseUrl: here,
    lockFileContents: lock,
  });
  python.unpackArchive(await (await fetch(`${here}posenc.zip`)).arrayBuffer(), "zip", {
    extractDir: "/home/pyodide",
  });
  python.registerJsModule("page", { send: (text) => postMessage(JSON.parse(text)) });
  python.FS.chdir("/home/pyodide/notebooks");
  python.runPython("import sys; sys.path.insert(0, '/home/pyodide')");
  return { python, lock, kernel: python.pyimport("kernel") };
}

const started = start();

const BESIDE = {
  posenc: ["numpy"],
  "posenc.plots": ["matplotlib"],
  "posenc.widgets": ["matplotlib", "traitlets"],
};

/** The packages that hold modules, and what they need. */
function needs(modules, packages) {
  const imports = (name) => Object.keys(packages).filter((p) => packages[p].imports.includes(name));
  const found = modules.flatMap((module) => [
    ...imports(module.split(".")[0]),
    ...Object.keys(BESIDE).flatMap((name) => (`${module}.`.startsWith(`${name}.`) ? BESIDE[name] : [])),
  ]);
  for (const name of found) found.push(...packages[name].depends.filter((n) => !found.includes(n)));
  return [...new Set(found)];
}

async function run({ source, name }) {
  const { python, lock, kernel } = await started;
  const { packages } = lock;
  const missing = needs(JSON.parse(kernel.wanted(source)), packages).filter((name) => !(name in python.loadedPackages));
  if (missing.length) {
    await expect(missing.map((name) => packages[name].file_name));
    await python.loadPackage(missing, { messageCallback() {} });
  }
  postMessage({ running: name });
  return JSON.parse(kernel.run(source, name));
}

let last = started; // one cell after another
addEventListener("message", ({ data }) => {
  last = last.then(async () => {
    if ("state" in data) (await started).kernel.move(data.number, JSON.stringify(data.state));
    else postMessage({ done: await run(data) });
  });
  last.catch((error) => postMessage({ broken: error.message }));
});
