// The sentence under a figure, seen and heard.

import { element, write } from "./drawing.js";

/**
 * Two elements, one seen and one for screen readers. `tell(nodes, passing)` shows a sentence, and has
 * it read once all has been at rest; `announce(words)` has other words read.
 */
export function caption() {
  const said = element("p", { class: "say", "aria-hidden": "true" });
  const spoken = element("output", { class: "hidden", "aria-live": "polite" });
  let rest;
  const announce = (words) => write(spoken, words);
  const tell = (nodes, passing) => {
    said.replaceChildren(...nodes);
    clearTimeout(rest);
    if (!passing) rest = setTimeout(() => announce(said.textContent), 500);
  };
  return { nodes: [said, spoken], tell, announce };
}
