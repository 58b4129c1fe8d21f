// Python in a worker, as cells (page.js) and the reader of configurations (config_view.js) start it.
// `getStored` and `setStored` are tools.js's.
//
// Who starts what, in this order:
//
//   warm     the first use: `keepForOffline`, then the worker, which loads Python at once
//   tell     while a message waits for that, and later for packages
//   hear     after "started": what worker.js sends for the messages, which it takes one by one
//   fail     at any time: the worker is gone, and the next `warm` or `post` starts another one
//
// The service worker (offline.js) outlives the page and keeps files for one version of the site:
// the folder's name, a hash. A page of a newer version replaces it before it starts Python.
/* global getStored, setStored */

const here = new URL(".", import.meta.url).href;
const SECONDS = "python-seconds"; // in local storage: how long the last start took in this browser

const size = Number(document.querySelector("meta[name=python]").dataset.size); // bytes of a first start
const inMegabytes = (bytes) => (bytes / 1e6).toFixed(1);

/** What to say while Python starts, after so many bytes; as many as `size` are all. */
function progress(loaded) {
  const isLoading = loaded > 0 && loaded < size;
  if (isLoading) return `Loading Python, once for all pages: ${inMegabytes(loaded)} of ${inMegabytes(size)} MB`;
  const seconds = getStored(SECONDS);
  return seconds ? `Starting Python, about ${seconds} s` : "Starting Python, once for all cells";
}

/** Keep what the worker loads for offline use, if the browser can. */
async function keepForOffline() {
  const { serviceWorker } = navigator;
  if (!serviceWorker) return; // a site without https
  const version = here.split("/").at(-2);
  const script = new URL(`../../offline.js?version=${version}`, here);
  const { controller } = serviceWorker;
  if (controller?.scriptURL === script.href) return; // it keeps what is loaded
  try {
    const known = await serviceWorker.getRegistration();
    // After a forced reload none controls the page, and none ever will.
    const patience = known && !controller ? 0 : 10_000;
    const controls = new Promise((resolve) => {
      serviceWorker.addEventListener("controllerchange", resolve);
      setTimeout(resolve, patience);
    });
    await serviceWorker.register(script);
    await controls; // until then, an older version may be the active one
    const { active } = await serviceWorker.ready;
    const files = performance.getEntriesByType("resource").map(({ name }) => name);
    active.postMessage([location.href.split("#")[0], ...files]);
  } catch {
    // May be forbidden in a private window; everything else works.
  }
}

export class Python {
  /** `hear` takes the worker's messages, `tell` words while it starts, `fail` why it couldn't. */
  constructor({ hear, tell, fail }) {
    Object.assign(this, { hear, tell, fail });
  }

  /** Start, unless it has started; a promise of the worker, or of undefined after `fail`. */
  warm() {
    this.worker ??= this.start();
    return this.worker;
  }

  async start() {
    const began = performance.now();
    await keepForOffline();
    try {
      const worker = new Worker(`${here}worker.js`, { type: "module" });
      worker.addEventListener("message", ({ data }) => this.receive(data, began));
      worker.addEventListener("error", () => this.giveUp("Is there a network?"));
      return worker;
    } catch (error) {
      this.giveUp(error.message); // the browser forbids workers
      return undefined;
    }
  }

  receive(data, began) {
    if (data.broken) this.giveUp(data.broken);
    else if (data.kept) this.tell(progress(size));
    else if (data.loaded) this.tell(this.isStarted ? "Loading packages" : progress(data.loaded));
    else if (data.started) {
      this.isStarted = true;
      setStored(SECONDS, Math.ceil((performance.now() - began) / 1000));
    } else this.hear(data);
  }

  async post(message) {
    if (!this.isStarted) this.tell(progress(0));
    const worker = await this.warm();
    worker?.postMessage(message);
  }

  /** Stop, and say why; the next message starts it again. */
  giveUp(reason) {
    this.stop();
    this.fail(reason);
  }

  /** End whatever runs; the variables are gone. */
  stop() {
    this.worker?.then((worker) => worker?.terminate());
    this.worker = undefined;
    this.isStarted = false;
  }
}
