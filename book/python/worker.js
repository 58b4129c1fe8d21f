// Python for one page, in a worker: the page stays responsive, and an endless loop can be stopped.
//
// Messages, each an object told from the others by its first key:
//
//   from the page   source, name       run a cell
//                   sources, source    which of these cells above does one need?
//   at the start    loaded             bytes so far; python.js takes these four
//                   kept               nothing is left to download
//                   started            Python is there
//                   broken             why it isn't, or why the worker failed later
//   for a cell      running            its packages are there, and it begins
//    (kernel.py)    stream, name       what it prints, to "stdout" or "stderr"
//    (kernel.py)    text               a value that it shows
//    (kernel.py)    html               a value that it shows as a table, for example
//    (kernel.py)    svg, figure        a picture, and of a widget { kind, state }, else null
//    (kernel.py)    read               of a configuration, for config_view.js
//                   done               its answer: { error } or {}, or the indices of cells needed

import { loadPyodide } from "./pyodide.mjs";

const here = new URL(".", import.meta.url).href;
const WASM = "application/wasm";

// ---------------------------------------------------------------- downloads

// The cache where offline.js looks, too. A private window, or a site without https, may have none.
const openCache = async () => caches.open(`python-${here.split("/").at(-2)}`);
const cache = openCache().catch(() => undefined);

/** Keep a response; without room for it, it is made anew. */
const keep = async (address, response) => (await cache)?.put(address, response).catch(() => {});

let loaded = 0;
let isKept = false; // all of Python is in this browser already

function count(bytes) {
  if (isKept) return;
  loaded += bytes;
  postMessage({ loaded });
}

/** A response that counts its bytes as they come. */
function counted(response) {
  const counter = new TransformStream({
    transform(chunk, controller) {
      count(chunk.byteLength);
      controller.enqueue(chunk);
    },
  });
  return new Response(response.body.pipeThrough(counter), { headers: response.headers });
}

/** WebAssembly, which the site has packed. */
async function fetchWasm(address) {
  const response = await fetchOk(`${address}.packed`);
  if (response.headers.get("Content-Type") === WASM) {
    isKept = true; // unpacked, so it comes from the cache, and so does all else
    postMessage({ kept: true });
    return response;
  }
  const body = counted(response).body.pipeThrough(new DecompressionStream("gzip"));
  const unpacked = new Response(body, { headers: { "Content-Type": WASM } });
  // Kept so, it comes through offline.js, and the browser keeps what it compiled of it.
  keep(`${address}.packed`, unpacked.clone());
  return unpacked;
}

const fetchUncounted = self.fetch;

async function fetchOk(address, options) {
  const response = await fetchUncounted(address, options);
  if (!response.ok) throw new Error(`${address}: ${response.status}`);
  return response;
}

// Pyodide downloads with this function, too.
self.fetch = async (address, options) =>
  String(address).endsWith(".wasm") ? fetchWasm(address) : counted(await fetchOk(address, options));

const fetchBytes = async (name) => (await fetch(here + name)).arrayBuffer();

// ---------------------------------------------------------------- the start

/** Pyodide, as it stood after its first start here if that was kept: a third of the time.

    `_loadSnapshot`, `_makeSnapshot` and `makeMemorySnapshot` aren't in Pyodide's documentation. They
    are of version 314.0.3, which tools/pyodide pins; with another one, see that a second start works. */
async function startPyodide(lockFileContents) {
  const options = { indexURL: here, packageBaseUrl: here, lockFileContents };
  const address = `${here}started`;
  const snapshot = await (await cache)?.match(address);
  if (snapshot) {
    try {
      return await loadPyodide({ ...options, _loadSnapshot: await snapshot.arrayBuffer() });
    } catch {
      await (await cache).delete(address); // of another browser's version, perhaps
    }
  }
  const python = await loadPyodide({ ...options, _makeSnapshot: true });
  keep(address, new Response(python.makeMemorySnapshot()));
  return python;
}

/** Start Python. Numpy comes beside it; its parts in C are loaded when they are imported. */
async function start() {
  const lock = await (await fetch(`${here}pyodide-lock.json`)).text();
  const numpyFile = JSON.parse(lock).packages.numpy.file_name;
  const [book, numpy] = [fetchBytes("posenc.zip"), fetchBytes(numpyFile)];
  const python = await startPyodide(lock);
  python.unpackArchive(await numpy, "wheel");
  python.loadedPackages.numpy = "default channel"; // so that it isn't loaded again
  python.unpackArchive(await book, "zip", { extractDir: "/home/pyodide" });
  python.registerJsModule("page", { send: (json) => postMessage(JSON.parse(json)) });
  python.FS.chdir("/home/pyodide/notebooks");
  python.runPython("import sys; sys.path.insert(0, '/home/pyodide')");
  const modules = { python, kernel: python.pyimport("kernel"), slices: python.pyimport("slices") };
  postMessage({ started: true });
  return modules;
}

const starting = start();
starting.catch((error) => postMessage({ broken: error.message }));

// ---------------------------------------------------------------- cells

/** Run a cell, or say which of the cells above it needs. */
async function answer({ sources, source, name }) {
  const { python, kernel, slices } = await starting;
  if (sources) return slices.needed(python.toPy(sources), source).toJs();
  await python.loadPackagesFromImports(kernel.wanted(source), { messageCallback() {} });
  postMessage({ running: true });
  return JSON.parse(kernel.run(source, name));
}

let last = starting; // one cell after another
addEventListener("message", ({ data }) => {
  last = last.then(async () => postMessage({ done: await answer(data) }));
  last.catch((error) => postMessage({ broken: error.message }));
});
