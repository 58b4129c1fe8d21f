// Figures in Jupyter, by anywidget.

import { FIELDS } from "./constants.js";
import { element } from "./drawing.js";
import { mount } from "./page.js";

/**
 * In Jupyter, anywidget calls this with the model shared with Python, and a widget's script has one
 * kind of figure. On a page, book/python/page.js does, with a script of all, so its model has the kind as `_kind`.
 */
function render({ model, el }) {
  const kind = model.get("_kind") ?? Object.keys(FIELDS)[0];
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
