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

/** Say that a page isn't kept, and list those that are. */
async function missing(cache) {
  const item = async ({ url }) => {
    const title = /<title>(.*?)<\/title>/s.exec(await (await cache.match(url)).text())?.[1];
    return `<li><a href="${url}">${title}</a></li>`;
  };
  const pages = (await cache.keys()).filter(({ url }) => /(\/|\.html)$/.test(new URL(url).pathname));
  const list = (await Promise.all(pages.map(item))).join("");
  const style = "color-scheme: light dark; font: 1rem/1.6 sans-serif; margin: 2rem auto; max-width: 40rem; padding: 0 1rem";
  const text = `<!doctype html><html lang="en" style="${style}"><meta charset="utf-8">
<meta name="viewport" content="width=device-width"><title>Not kept</title><h1>This page isn’t kept</h1>
<p>There is no connection. Your browser keeps the pages that you opened since a cell first ran:</p><ul>${list}</ul>`;
  return new Response(text, { status: 503, headers: { "Content-Type": "text/html" } });
}

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
    if (request.mode === "navigate") return missing(cache);
    throw error;
  }
}

addEventListener("fetch", (event) => {
  const { method, url } = event.request;
  if (method === "GET" && new URL(url).origin === location.origin) event.respondWith(answer(event));
});

// Cache the files that the page loaded before.
addEventListener("message", (event) => {
  const keep = async () => (await caches.open(NAME)).addAll(event.data);
  event.waitUntil(keep().catch(() => {}));
});
