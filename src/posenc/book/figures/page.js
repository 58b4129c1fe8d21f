// A figure's controls and state, and its integration into the website and Jupyter.

/** The upper limit of a field in a state; it may depend on another field. */
const top = ({ max, below, parts }, state) => (below ? state[below] / parts - 1 : max);

/** Parse a value, or return undefined if it is invalid for the field. */
function parse(field, given) {
  if (field.options) return Object.hasOwn(field.options, given) ? given : undefined;
  const value = typeof given === "string" && given.trim() === "" ? NaN : Number(given ?? NaN);
  const fits = value >= field.min && value <= field.max;
  return fits && (field.log || (value - field.min) % field.step === 0) ? value : undefined;
}

/** Complete a state: defaults for missing or invalid fields, values clamped to dependent limits. */
function complete(kind, given) {
  const state = {};
  for (const [name, field] of Object.entries(FIELDS[kind])) {
    const value = parse(field, given[name]) ?? field.initial;
    state[name] = field.below ? Math.min(value, top(field, state)) : value;
  }
  return state;
}

/** A sentence as nodes: {name} is the value of that field, {name|words} says it in other words. */
const phrase = (sentence, state) =>
  sentence.split(/\{(\w+)(?:\|(.*?))?\}/).flatMap((part, n, parts) => {
    if (n % 3 === 0) return part;
    if (n % 3 === 2) return [];
    return element("span", { "data-field": part }, parts[n + 1] ?? written(state[part]));
  });

/** The control of one field: its element, and a function that updates it. */
function control(name, field, set) {
  const id = `field-${name}`;
  const label = element("label", { for: id }, field.label);
  if (field.options) {
    const radios = Object.keys(field.options).map((value) =>
      element("input", { type: "radio", name, value }),
    );
    const choices = radios.map((radio) => element("label", {}, radio, radio.value));
    const legend = element("legend", {}, field.label);
    const row = element("fieldset", { "data-field": name }, legend, ...choices);
    row.addEventListener("change", ({ target }) => set({ [name]: target.value }));
    return [row, (state) => radios.forEach((radio) => (radio.checked = radio.value === state[name]))];
  }
  const { min, max, step } = field;
  const range = field.log ? { min: Math.log10(min), max: Math.log10(max), step } : { min, step };
  const input = element("input", { id, type: "range", ...range });
  const value = element("span", { "aria-hidden": "true" });
  const read = () => (field.log ? Number((10 ** input.value).toPrecision(2)) : Number(input.value));
  input.addEventListener("input", () => set({ [name]: read() }));
  let before; // restored when a swipe that starts here scrolls the page
  input.addEventListener("pointerdown", () => (before = input.value));
  input.addEventListener("pointercancel", () => {
    input.value = before;
    set({ [name]: read() });
  });
  return [
    element("div", { class: "field", "data-field": name }, label, input, value),
    (state) => {
      if (!field.log) input.max = top(field, state);
      const shown = written(state[name]);
      if (value.textContent === shown) return;
      input.value = field.log ? Math.log10(state[name]) : state[name];
      value.textContent = shown;
      input.setAttribute("aria-valuetext", shown);
    },
  ];
}

/**
 * Buttons that step fields, once or continuously; slower if the reader prefers reduced motion.
 * With `between`, which draws a fraction of a step, steps are animated and slower.
 */
function player(names, fields, current, set, between) {
  const { min, max, step: size } = fields[names[0]];
  const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
  const pace = calm ? 1000 : between ? 600 : 250;
  const step = (by) => {
    const moved = names.map((name) => current()[name] + by * size);
    const [low, high] = [Math.min(...moved), Math.max(...moved)];
    const around = high > max ? min - low : low < min ? max - high : 0;
    set(Object.fromEntries(names.map((name, n) => [name, moved[n] + around])));
  };
  const label = names.map((name) => fields[name].label).join(" and ");
  const [back, play, forward] = [element("button"), element("button"), element("button")];
  const name = (button, words, icon) => {
    button.type = "button";
    button.ariaLabel = button.title = `${words} ${label}`;
    button.replaceChildren(shape("svg", { viewBox: "0 0 16 16" }, shape("path", { d: icon })));
  };
  name(back, "Back:", "M3 3v10M13 3 6 8l7 5z");
  name(forward, "Forward:", "M13 3v10M3 3l7 5-7 5z");
  const motion = { calm, timer: undefined, buttons: [label, back, play, forward], start, stop };
  let stepped;
  function stop() {
    clearInterval(motion.timer);
    motion.timer = undefined;
    name(play, "Play", "M4 2v12l9-6z");
  }
  function glide(now) {
    if (!motion.timer) return;
    between(Math.min(1, Math.max(0, (now - stepped) / pace)));
    requestAnimationFrame(glide);
  }
  function start() {
    name(play, "Pause", "M4 3v10h2V3zM10 3v10h2V3z");
    stepped = performance.now();
    motion.timer = setInterval(() => {
      if (!play.isConnected) return stop();
      stepped = performance.now();
      step(1);
    }, pace);
    if (between && !calm) requestAnimationFrame(glide);
  }
  back.addEventListener("click", () => step(-1));
  forward.addEventListener("click", () => step(1));
  play.addEventListener("click", () => (motion.timer ? stop() : start()));
  stop();
  return motion;
}

/** A menu that copies a view: as a link, as Markdown, as a frame for another page, as a reference. */
function share(host, kind, id, figure, say) {
  const search = (name) => new URLSearchParams({ figure: name, ...figure.state });
  const link = () => {
    const url = new URL(location.href);
    [url.search, url.hash] = [search(id), id];
    history.replaceState(null, "", url);
    return url.href;
  };
  const frame = () => {
    const root = document.documentElement.dataset.content_root;
    const src = new URL(`${root}embed/${kind}.html?${search("")}`, location.href);
    const height = host.clientHeight + 24;
    return element("iframe", { src, title: document.title, width: "100%", height }).outerHTML;
  };
  const picture = host.querySelector("img");
  const ways = {
    link,
    Markdown: () => `[![${picture?.alt ?? kind}](${picture?.src ?? ""})](${link()})`,
    citation: () => `“${document.title}”. ${link()}`,
    ...(location.protocol !== "file:" && { "embed code": frame }),
  };
  const menu = element("details", {}, element("summary", {}, "Share"));
  for (const [words, write] of Object.entries(ways)) {
    const copy = element("button", { type: "button" }, `Copy ${words}`);
    copy.addEventListener("click", async () => {
      const written = write();
      try {
        await navigator.clipboard.writeText(written);
      } catch {
        return prompt("To copy:", written);
      }
      say((copy.textContent = `Copied ${words}`));
      setTimeout(() => (copy.textContent = `Copy ${words}`), 2000);
    });
    menu.append(copy);
  }
  for (const own of document.querySelectorAll(".menu :is([download], [data-does=print])")) {
    const words = own.firstChild.textContent; // the page's own: its notebook, and a PDF
    const button = element("button", { type: "button" }, words);
    button.addEventListener("click", () => own.click());
    menu.append(button);
  }
  return menu;
}

/** The state that the page's URL gives the figure `id`; on an embed page, `id` is empty. */
function linked(id) {
  const query = new URLSearchParams(location.search);
  return query.get("figure") === id ? Object.fromEntries(query) : {};
}

/** Play a figure while it is in the viewport, until the reader takes over. */
function runWhileSeen(host, { start, stop }) {
  const seen = new IntersectionObserver(([{ isIntersecting }]) => {
    stop();
    if (isIntersecting) start();
  });
  seen.observe(host);
  for (const taken of ["click", "input"])
    host.shadowRoot.addEventListener(taken, () => seen.disconnect());
  host.shadowRoot.addEventListener("input", stop, true); // capture: before it is announced
}

/** Letters in formulas of a section, but not of those within it; and their look when lit. */
const LETTERS = ":scope > :not(section) .katex :is(i, mi, .mathnormal)";
const GLOW = "color-mix(in srgb, var(--pst-color-primary) 25%, transparent)";

/** Draw a figure into the shadow root of `host`; report each state set by the reader to `onchange`. */
function mount(host, kind, given, onchange = () => {}, id = "") {
  const fields = FIELDS[kind];
  const { play, runs, grips = [], compute, build, say } = FIGURES[kind];
  const picture = element("div", { class: "picture" });
  const said = element("p", { class: "say", "aria-hidden": "true" });
  const spoken = element("output", { class: "hidden", "aria-live": "polite" });
  const buttons = element("div", { class: "buttons" });
  const figure = { state: complete(kind, given), update };
  let rested; // the state and values before the current change
  /** Change fields; `passing` if more will follow, as in a drag. */
  const set = (change, passing = false) => {
    for (const [name, value] of Object.entries(change)) {
      const { min, max } = fields[name];
      if (max) change[name] = Math.min(max, Math.max(min, value));
    }
    update({ ...figure.state, ...change }, passing);
    onchange(figure.state);
  };
  const between = (share) => {
    const state = { ...figure.state };
    for (const name of play) state[name] += share;
    draw(state, compute(state), width);
  };
  const motion = play && player(play, fields, () => figure.state, set, runs && between);
  const running = () => runs && motion.timer;
  const controls = Object.entries(fields)
    .filter(([name]) => !grips.includes(name))
    .map(([name, field]) => control(name, field, set));
  const draw = build(picture, set, () => figure.state);
  const live = element("div", { class: "live" });
  let calm;
  let lit;
  let width = 0;

  // What needs no width is drawn at once: later, it would move what stands below.
  function redraw(passing) {
    if (width || draw.length < 3) draw(figure.state, figure.values, width, passing);
    light();
  }

  /** Light up a field's number wherever it stands, and its letter in formulas beside the figure. */
  function light(name = lit) {
    if (name !== lit) {
      const letter = fields[name]?.label.split(" ").at(-1);
      for (const each of host.closest("section")?.querySelectorAll(LETTERS) ?? [])
        each.style.background = each.textContent === letter ? GLOW : "";
    }
    lit = name;
    for (const each of live.querySelectorAll("[data-field]"))
      each.classList.toggle("lit", each.dataset.field === lit);
  }

  function update(given, passing = false) {
    const state = complete(kind, given);
    const values = compute(state);
    Object.assign(figure, { state, values });
    for (const [, refresh] of controls) refresh(state);
    said.replaceChildren(...phrase(say(state, values, rested), state));
    redraw(passing);
    if (!passing) rested = { state, values };
    clearTimeout(calm);
    if (passing || running()) return; // don't announce what is passing
    calm = setTimeout(() => {
      if (spoken.value !== said.textContent) spoken.value = said.textContent;
    }, 500);
  }

  if (play) buttons.append(...motion.buttons);
  if (id) {
    const menu = share(host, kind, id, figure, (words) => (spoken.value = words));
    menu.addEventListener("toggle", () => motion?.stop());
    buttons.append(menu);
  }
  for (const type of ["pointerover", "pointerdown", "focusin"])
    live.addEventListener(type, ({ target, buttons }) => {
      if (type === "pointerover" && buttons) return; // while something is dragged
      light(target.closest("[data-field]")?.dataset.field ?? "");
    });
  const rows = controls.map(([row]) => row);
  const choices = rows.filter((row) => row.matches("fieldset"));
  const sliders = element("div", { class: "fields" }, ...rows.filter((row) => !choices.includes(row)));
  live.append(picture, said, spoken, ...choices, sliders, buttons);
  const style = element("style", {}, `:host { --line: ${LINES[0]}; --query: ${LINES[0]}; --key: ${LINES[1]}; --map: ${DARK_MAP} } ${STYLE}`);
  host.attachShadow({ mode: "open" }).append(style, live, element("slot"));
  update(figure.state);
  clearTimeout(calm);
  spoken.value = said.textContent;
  new ResizeObserver(([{ contentRect }]) => {
    width = contentRect.width;
    redraw();
  }).observe(picture);
  const asked = Object.keys(linked(id)).length; // a link shows what was seen, and stops there
  if (runs && !motion.calm && !asked) runWhileSeen(host, motion);
  return figure;
}

/** On the website: <posenc-figure kind="heatmap" d-model="64">, with a fallback picture inside. */
function define() {
  class PosencFigure extends HTMLElement {
    connectedCallback() {
      const kind = this.getAttribute("kind");
      if (this.figure || !Object.hasOwn(FIGURES, kind)) return;
      const id = this.closest("[id]")?.id ?? "";
      const given = linked(id);
      for (const [name, field] of Object.entries(FIELDS[kind])) {
        if (parse(field, given[name]) === undefined)
          given[name] = this.getAttribute(name.replace("_", "-"));
      }
      this.figure = mount(this, kind, given, undefined, id);
    }
  }
  if (!customElements.get("posenc-figure")) customElements.define("posenc-figure", PosencFigure);
}

/** In Jupyter: anywidget calls this with the model shared with Python. */
function render({ model, el }) {
  const kind = model.get("_kind");
  const names = Object.keys(FIELDS[kind]);
  const read = () => Object.fromEntries(names.map((name) => [name, model.get(name)]));
  const host = element("div", { "data-lm-suppress-shortcuts": "true" }); // keep arrow keys for the sliders
  el.append(host);
  const figure = mount(host, kind, read(), (state) => {
    model.set(state);
    model.save_changes();
  });
  const follow = () => {
    const state = read();
    if (names.some((name) => state[name] !== figure.state[name])) figure.update(state);
  };
  model.on(names.map((name) => `change:${name}`).join(" "), follow);
  return () => model.off(null, follow);
}

export default { render };
