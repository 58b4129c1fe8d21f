// A figure on a page: its picture, its sentence, its controls, and its state.

import { caption } from "./caption.js";
import { FIELDS, STYLE } from "./constants.js";
import { complete, controls, phrase } from "./controls.js";
import { clamp, element } from "./drawing.js";
import { FIGURES } from "./figure.js";
import { lights } from "./lights.js";
import { linked, share } from "./share.js";

/**
 * Draw a figure of a kind into the shadow root of `host`, from a `given` state; report each state at
 * rest to `onchange`. With an `id`, it can be shared. Return the figure: its `state`, its `values`,
 * and `update(state, passing)`.
 */
export function mount(host, kind, given, onchange = () => {}, id = "") {
  const fields = FIELDS[kind];
  const { compute, build, say } = FIGURES[kind];
  const picture = element("div", { class: "picture" });
  const words = caption();
  const live = element("div", { class: `live ${kind}` });
  const figure = { state: complete(kind, given), update };
  let width = 0;
  let rested; // the state and values before the current change

  /** Change fields; `passing` if more will follow, as in a drag. */
  function set(change, passing = false) {
    const state = { ...figure.state };
    for (const [name, value] of Object.entries(change)) {
      const { min, max } = fields[name];
      state[name] = max === undefined ? value : clamp(min, value, max);
    }
    update(state, passing);
    if (!passing) onchange(figure.state);
  }

  function update(next, passing = false) {
    const state = complete(kind, next, passing);
    const values = compute(state);
    Object.assign(figure, { state, values });
    panel.refresh(state);
    words.tell(phrase(say(state, values, rested), state), passing);
    if (width) draw(state, values, width, passing, rested);
    if (!passing) rested = { state, values };
  }

  /** Draw for a new width; a figure that is hidden, as in print, has none. */
  function fit(room) {
    if (!room || room === width) return;
    width = room;
    draw(figure.state, figure.values, width);
  }

  // Order: `panel` and `draw` exist before the first `update`, which uses both; the picture is in
  // the host before `build`, which may ask for its root. It's drawn at once, before what stands
  // below is laid out, so that nothing moves.
  const panel = controls(kind, set);
  const style = element("style", {}, STYLE);
  const menu = id ? share(host, kind, id, figure, words.announce) : [];
  const buttons = element("div", { class: "buttons" }, panel.more, ...menu);
  live.append(picture, ...words.nodes, panel.rows, buttons);
  host.attachShadow({ mode: "open" }).append(style, live, element("slot"));
  const draw = build(picture, set, () => figure.state, "figure" in linked(id));
  lights(host, live, fields);
  update(figure.state);
  fit(picture.getBoundingClientRect().width);
  new ResizeObserver(([{ contentRect }]) => fit(contentRect.width)).observe(picture);
  return figure;
}
