// Python for one page, in a worker: the page stays responsive, and an endless loop can be stopped.

import { loadPyodide } from "./pyodide.mjs";

const here = new URL(".", import.meta.url).href;
const load = self.fetch;
let loaded = 0;
let total = 0; // bytes of the files requested so far
let coming = 0;

/** Wraps every download: counts the bytes received, and unpacks WebAssembly. */
self.fetch = async (address, options) => {
  const packed = String(address).endsWith(".wasm");
  // Kept unpacked, it comes through offline.js, and the browser keeps what it compiled of it.
  const kept = packed && (await find(address));
  if (kept) {
    const response = await load(address);
    return response.ok ? response : kept;
  }
  const response = await load(packed ? `${address}.packed` : address, packed ? {} : options);
  if (!response.ok) throw new Error(`${address}: ${response.status}`);
  total += Number(response.headers.get("Content-Length"));
  coming++;
  const count = new TransformStream({
    transform(chunk, through) {
      loaded += chunk.length;
      postMessage({ loaded, total: Math.max(loaded, total) }); // a server may compress files
      through.enqueue(chunk);
    },
    flush() {
      if (--coming === 0) postMessage({ starting: true });
    },
  });
  const body = response.body.pipeThrough(count);
  if (!packed) return new Response(body);
  const headers = { "Content-Type": "application/wasm" };
  const unpacked = new Response(body.pipeThrough(new DecompressionStream("gzip")), { headers });
  keep(address, unpacked.clone());
  return unpacked;
};

/** What was kept at an address. */
async function find(address) {
  try {
    return await caches.match(address);
  } catch {
    return undefined; // a private window, or a site without https, may have no cache
  }
}

/** Keep a response where offline.js looks. */
async function keep(address, response) {
  try {
    const cache = await caches.open(`python-${here.split("/").at(-2)}`);
    await cache.put(address, response);
  } catch {
    // Without a cache, or room in it, it is made anew.
  }
}

const bytes = async (name) => (await fetch(here + name)).arrayBuffer();

/** Pyodide, as it stood after its first start here if that was kept: a third of the time. */
async function startPyodide(lockFileContents) {
  const options = { indexURL: here, packageBaseUrl: here, lockFileContents };
  const address = `${here}started`;
  const kept = await find(address);
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
  return { python, kernel: python.pyimport("kernel") };
}

const started = start();

async function run({ sources, source, name }) {
  const { python, kernel } = await started;
  if (sources) return { needed: JSON.parse(kernel.needed(JSON.stringify(sources), source)) };
  await python.loadPackagesFromImports(kernel.wanted(source), { messageCallback() {} });
  postMessage({ running: name });
  return { done: JSON.parse(kernel.run(source, name)) };
}

let last = started; // one cell after another
addEventListener("message", ({ data }) => {
  last = last.then(async () => postMessage(await run(data)));
  last.catch((error) => postMessage({ broken: error.message }));
});
