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
  let due = 0; // when the sentence may change again: in a drag, at most ten times a second
  const announce = (words) => write(spoken, words);
  const tell = (nodes, passing) => {
    const show = () => {
      due = performance.now() + 100;
      said.replaceChildren(...nodes);
    };
    clearTimeout(rest);
    if (!passing || performance.now() > due) show();
    rest = passing ? setTimeout(show, 100) : setTimeout(() => announce(said.textContent), 500);
  };
  return { nodes: [said, spoken], tell, announce };
}
