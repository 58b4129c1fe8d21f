// Figures on the website: <posenc-figure kind="heatmap" d-model="64">, with a fallback picture inside.

import { FIELDS } from "./constants.js";
import { parse } from "./controls.js";
import { mount } from "./page.js";
import { linked } from "./share.js";

class PosencFigure extends HTMLElement {
  connectedCallback() {
    const kind = this.getAttribute("kind");
    if (this.figure || !Object.hasOwn(FIELDS, kind)) return;
    this.classList.toggle("staying", this.closest(".stays") !== null);
    const id = this.closest("[id]")?.id ?? "";
    // A link's state, and for what it doesn't say, or wrongly, the page's.
    const given = linked(id);
    for (const [name, field] of Object.entries(FIELDS[kind])) {
      if (parse(field, given[name]) === undefined) given[name] = this.getAttribute(name.replaceAll("_", "-"));
    }
    this.figure = mount(this, kind, given, undefined, id);
  }
}
customElements.define("posenc-figure", PosencFigure);
