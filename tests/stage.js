// A stage for the live figures: their script runs here, and what a reader meets is read off.
// Width, time, address, clipboard and Jupyter's model are the test's; the elements are the browser's.

let elements = 0;
let last = {};

/** The script as a function of its world. */
function compiled(source, names) {
  const body = source.replace("export default", "define(); return");
  if (last.source !== source) last = { source, run: new Function(...names, body) };
  return last.run;
}

/** Run the script for one figure, on a page or in Jupyter. */
function stage(source, { kind, given, id = "", search = "", width = 600, calm, deaf, jupyter }) {
  const [timers, listeners, copied, defined] = [new Map(), [], [], {}];
  let [now, count, drawn] = [0, 0, 0];
  const counted = () => {
    if (++drawn > 1e5) throw new Error("the drawing has no end");
    return true;
  };
  const start = (every) => (act, ms) => timers.set(++count, { act, ms, every, at: now + ms }) && count;
  const location = { href: `https://book.example/page.html${search}`, search };
  const world = {
    location,
    history: { replaceState: (data, title, url) => (location.href = String(url)) },
    navigator: {
      clipboard: { writeText: async (text) => (deaf ? Promise.reject() : copied.push(text)) },
    },
    matchMedia: (query) => ({ matches: query === `(prefers-reduced-motion: ${calm && "reduce"})` }),
    ResizeObserver: class {
      constructor(act) {
        this.observe = ({ className }) =>
          className.startsWith("picture") && act([{ contentRect: { width } }]);
      }
    },
    document: {
      createElement: (name) => counted() && document.createElement(name),
      createElementNS: (space, name) => counted() && document.createElementNS(space, name),
    },
    customElements: {
      get: (name) => defined[name],
      define: (name, made) => {
        if (defined[name]) throw new Error(`${name} is defined`);
        customElements.define((defined[name] = `${name}-${++elements}`), made);
      },
    },
    setTimeout: start(false),
    setInterval: start(true),
    clearTimeout: (timer) => timers.delete(timer),
    clearInterval: (timer) => timers.delete(timer),
  };
  const run = () => compiled(source, Object.keys(world))(...Object.values(world));
  const { render } = run();
  const page = document.createElement("div");
  page.style.width = `${width}px`;
  document.body.replaceChildren(page);
  const model = {
    values: { _kind: kind, ...given },
    get: (name) => model.values[name],
    set: (values) => (model.unsaved = values),
    save_changes: () => Object.assign(model.values, model.unsaved),
    on: (names, act) => listeners.push(...names.split(" ").map((name) => [name, act])),
    off: (name, act) => {
      const kept = listeners.filter(([, other]) => name !== null || other !== act);
      listeners.splice(0, Infinity, ...kept);
    },
  };
  let host;
  if (jupyter) {
    model.close = render({ model, el: page });
    host = page.firstChild;
  } else {
    run(); // a page may hold the script twice
    host = document.createElement(defined["posenc-figure"]);
    host.setAttribute("kind", kind);
    for (const [name, value] of Object.entries(given ?? {}))
      host.setAttribute(name.replace("_", "-"), value);
    if (id) page.id = id;
    page.append(host);
  }
  const root = host.shadowRoot;
  const heard = new MutationObserver(() => {});
  if (root) heard.observe(root.querySelector("output"), { childList: true });
  const wait = (ms) => {
    for (const end = now + ms; ; ) {
      const [next] = [...timers].sort(([, a], [, b]) => a.at - b.at);
      if (!(next?.[1].at <= end)) return (now = end);
      now = next[1].at;
      if (next[1].every) next[1].at += next[1].ms;
      else timers.delete(next[0]);
      next[1].act();
    }
  };
  return {
    host, root, model, listeners, timers, copied, location, wait,
    update: (state) => host.figure.update(state),
    heard: () => heard.takeRecords().length,
    buttons: () => Array.from(root.querySelectorAll("button"), (button) => button.textContent),
    change: (values) => {
      Object.assign(model.values, values);
      const events = Object.keys(values).map((name) => `change:${name}`);
      for (const [event, act] of listeners) if (events.includes(event)) act();
    },
    field: (name, value) => {
      const control = root.getElementById(`field-${name}`);
      control.value = value;
      control.dispatchEvent(new Event(control.localName === "select" ? "change" : "input"));
    },
    click: async (place) => {
      root.querySelectorAll("button")[place].click();
      for (let turn = 0; turn < 5; turn++) await turn; // the clipboard answers
    },
    point: (type, right, down) => {
      const box = root.querySelector("canvas").getBoundingClientRect();
      const at = { clientX: box.x + right * box.width, clientY: box.y + down * box.height };
      root.querySelector("canvas").dispatchEvent(new PointerEvent(type, at));
    },
  };
}

const binary = (bytes) => {
  let all = "";
  for (let n = 0; n < bytes.length; n += 8192)
    all += String.fromCharCode(...bytes.subarray(n, n + 8192));
  return btoa(all);
};

/** Where texts are, by all that is known of them: it takes long to ask. */
const boxes = new Map();

/** What one element shows and tells. */
function seen(node) {
  const texts = [...node.childNodes].filter((child) => child.nodeType === 3);
  const found = { tag: node.localName, words: texts.map((child) => child.data).join("|") };
  for (const { name, value } of node.attributes) found[name] = value;
  if ("value" in node) found.value = node.value;
  if (node.getBBox && found.tag === "text") {
    const known = boxes.get(node.outerHTML) ?? node.getBBox();
    if (node.isConnected) boxes.set(node.outerHTML, known);
    const { x, y, width, height } = known;
    found.box = [x, y, x + width, y + height];
  }
  if (found.tag === "canvas") {
    const { data } = node.getContext("2d").getImageData(0, 0, node.width, node.height);
    found.pixels = binary(new Uint8Array(data.buffer));
  }
  return found;
}

/** All that a figure shows and tells, as text; and what the last act told. */
function view({ host, root, model }, told = null) {
  const { _kind, ...kept } = model.values;
  const { state, values } = host.figure ?? { state: kept };
  const all = root ? [...root.querySelectorAll("*")].map(seen) : [];
  return JSON.stringify({ state, values, all, told }, (_, value) =>
    value instanceof Float64Array ? binary(new Uint8Array(value.buffer)) : value,
  );
}

/** What a reader does, as a function of the stage. */
const reader = (act) => new Function("on", `return (async () => { ${act} })()`);

/** The views of a case, one after each of its acts; of those that are known, the first that differs. */
async function play(source, { acts, ...setting }, known = [], from = 0) {
  const [views, errors] = [[], []];
  window.onerror = (message) => errors.push(message);
  const on = stage(source, setting);
  for (const [n, act] of acts.entries()) {
    const told = typeof act === "string" ? await reader(act)(on) : on.update(act);
    if (errors.length) throw new Error(errors[0]);
    if (n < from) continue;
    const now = view(on, told);
    if (now !== known[n]) views.push([n, now]);
    if (views.length && known.length) break;
  }
  return views;
}
