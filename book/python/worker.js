// Python for one page, in a worker: the page stays responsive, and an endless loop can be stopped.

import { loadPyodide } from "./pyodide.mjs";

const here = new URL(".", import.meta.url).href;
const load = self.fetch;

/** Wraps every download: unpacks WebAssembly. */
self.fetch = async (address, options) => {
  const packed = String(address).endsWith(".wasm");
  const response = await load(packed ? `${address}.packed` : address, packed ? {} : options);
  if (!response.ok) throw new Error(`${address}: ${response.status}`);
  const headers = { "Content-Type": "application/wasm" };
  // Kept unpacked, it comes through offline.js, and the browser keeps what it compiled of it.
  if (!packed || response.headers.get("Content-Type") === headers["Content-Type"]) return response;
  const body = response.body.pipeThrough(new DecompressionStream("gzip"));
  const unpacked = new Response(body, { headers });
  keep(`${address}.packed`, unpacked.clone());
  return unpacked;
};

// Where offline.js looks, too. A private window, or a site without https, may have no cache.
const open = async () => caches.open(`python-${here.split("/").at(-2)}`);
const cache = open().catch(() => undefined);

/** Keep a response; without room for it, it is made anew. */
const keep = async (address, response) => (await cache)?.put(address, response).catch(() => {});

const bytes = async (name) => (await fetch(here + name)).arrayBuffer();

/** Pyodide, as it stood after its first start here if that was kept: a third of the time. */
async function startPyodide(lockFileContents) {
  const options = { indexURL: here, packageBaseUrl: here, lockFileContents };
  const address = `${here}started`;
  const kept = await (await cache)?.match(address);
  const again = async () => loadPyodide({ ...options, _loadSnapshot: await kept.arrayBuffer() });
  if (kept) return again().catch(() => loadPyodide(options));
  const python = await loadPyodide({ ...options, _makeSnapshot: true });
  keep(address, new Response(python.makeMemorySnapshot()));
  return python;
}

/** Start Python. Numpy comes beside it; its parts in C are loaded when they are imported. */
async function start() {
  const lock = await (await fetch(`${here}pyodide-lock.json`)).text();
  const [own, wheel] = [bytes("posenc.zip"), bytes(JSON.parse(lock).packages.numpy.file_name)];
  const python = await startPyodide(lock);
  python.unpackArchive(await wheel, "wheel");
  python.loadedPackages.numpy = "default channel";
  python.unpackArchive(await own, "zip", { extractDir: "/home/pyodide" });
  python.registerJsModule("page", { send: (text) => postMessage(JSON.parse(text)) });
  python.FS.chdir("/home/pyodide/notebooks");
  python.runPython("import sys; sys.path.insert(0, '/home/pyodide')");
  return { python, kernel: python.pyimport("kernel"), slices: python.pyimport("slices") };
}

const started = start();

/** Run a cell, or say which of the cells above it needs. */
async function run({ sources, source, name }) {
  const { python, kernel, slices } = await started;
  if (sources) return slices.needed(python.toPy(sources), source).toJs();
  await python.loadPackagesFromImports(kernel.wanted(source), { messageCallback() {} });
  postMessage({ running: name });
  return JSON.parse(kernel.run(source, name));
}

let last = started; // one cell after another
addEventListener("message", ({ data }) => {
  last = last.then(async () => postMessage({ done: await run(data) }));
  last.catch((error) => postMessage({ broken: error.message }));
});
