// Python in a worker, as cells (page.js) and the reader of configurations (config_view.js) start it.
// `getStored` and `setStored` are tools.js's.
/* global getStored, setStored */

const here = new URL(".", import.meta.url).href;
const SECONDS = "python-seconds"; // in local storage: how long the last start took in this browser

const size = Number(document.querySelector("meta[name=python]").dataset.size); // bytes of a first start
const inMegabytes = (bytes) => (bytes / 1e6).toFixed(1);

/** What to say while Python starts, after so many bytes. */
function progress(loaded) {
  const isLoading = loaded > 0 && loaded < size;
  if (isLoading) return `Loading Python, once for all pages: ${inMegabytes(loaded)} of ${inMegabytes(size)} MB`;
  const seconds = getStored(SECONDS);
  return seconds ? `Starting Python, about ${seconds} s` : "Starting Python, once for all cells";
}

/** Keep what the worker loads for offline use, if the browser can. */
async function keepForOffline() {
  const { serviceWorker } = navigator;
  if (!serviceWorker || serviceWorker.controller) return;
  try {
    const known = await serviceWorker.getRegistration();
    // After a forced reload it doesn't control the page, and never will.
    const patience = known ? 0 : 10_000;
    const controls = new Promise((resolve) => {
      serviceWorker.addEventListener("controllerchange", resolve);
      setTimeout(resolve, patience);
    });
    const version = here.split("/").at(-2);
    await serviceWorker.register(new URL(`../../offline.js?version=${version}`, here));
    const { active } = await serviceWorker.ready;
    await controls;
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

  /** Start, unless it has started; a promise of the worker. */
  warm() {
    this.worker ??= this.start();
    return this.worker;
  }

  async start() {
    const began = performance.now();
    await keepForOffline();
    const worker = new Worker(`${here}worker.js`, { type: "module" });
    worker.addEventListener("message", ({ data }) => this.receive(data, began));
    worker.addEventListener("error", () => this.giveUp("Is there a network?"));
    return worker;
  }

  receive(data, began) {
    if (data.broken) this.giveUp(data.broken);
    else if (data.kept) this.tell(progress(size));
    else if (data.loaded) this.tell(progress(data.loaded));
    else if (data.started) {
      this.isStarted = true;
      setStored(SECONDS, Math.ceil((performance.now() - began) / 1000));
    } else this.hear(data);
  }

  async post(message) {
    if (!this.isStarted) this.tell(progress(0));
    const worker = await this.warm();
    worker.postMessage(message);
  }

  /** Stop, and say why; the next message starts it again. */
  giveUp(reason) {
    this.stop();
    this.fail(reason);
  }

  /** End whatever runs; the variables are gone. */
  stop() {
    this.worker?.then((worker) => worker.terminate());
    this.worker = undefined;
    this.isStarted = false;
  }
}
