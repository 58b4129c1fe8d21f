// Service worker for offline use, registered when a reader first runs a cell.
// Python's files are immutable: cache first. Everything else: network first.

const NAME = `python-${new URL(location.href).searchParams.get("version")}`;

addEventListener("install", () => skipWaiting());

async function takeOver() {
  const old = (await caches.keys()).filter((name) => name.startsWith("python-") && name !== NAME);
  await Promise.all(old.map((name) => caches.delete(name)));
  await clients.claim();
}

addEventListener("activate", (event) => event.waitUntil(takeOver()));

async function answer(event) {
  const { request } = event;
  const cache = await caches.open(NAME);
  const kept = await cache.match(request, { ignoreSearch: true, ignoreVary: true });
  if (kept && new URL(request.url).pathname.includes("/python/")) return kept;
  try {
    const fresh = await fetch(request);
    const keeps = fresh.status === 200 && !request.url.endsWith(".packed"); // worker.js keeps it unpacked
    if (keeps) event.waitUntil(cache.put(request, fresh.clone()).catch(() => {}));
    return fresh;
  } catch (error) {
    if (kept) return kept;
    throw error;
  }
}

addEventListener("fetch", (event) => {
  const { method, url } = event.request;
  if (method === "GET" && new URL(url).origin === location.origin) event.respondWith(answer(event));
});

/** Keep what the page loaded before: one by one, so that a file that is gone keeps none away. */
async function keepAll(addresses) {
  const cache = await caches.open(NAME);
  const ours = new Set(addresses.filter((address) => new URL(address).origin === location.origin));
  await Promise.allSettled([...ours].map((address) => cache.add(address)));
}

addEventListener("message", (event) => event.waitUntil(keepAll(event.data)));
