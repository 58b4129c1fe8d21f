// The sentence under a figure, seen and heard.

import { element, write } from "./drawing.js";

/**
 * Two elements, one seen and one for screen readers. `tell(nodes, passing)` shows a sentence, and has
 * it read once all has been at rest; `announce(words)` has other words read. What is `passing` is
 * shown ten times a second: to lay out a sentence takes a fifth of a frame's time.
 */
export function caption() {
  const said = element("p", { class: "say", "aria-hidden": "true" });
  const spoken = element("output", { class: "hidden", "aria-live": "polite" });
  let rest, soon; // timers
  let latest;
  const announce = (words) => write(spoken, words);
  const show = () => {
    soon = clearTimeout(soon);
    said.replaceChildren(...latest);
  };
  const tell = (nodes, passing) => {
    latest = nodes;
    clearTimeout(rest);
    if (passing) soon ??= setTimeout(show, 100);
    else {
      show();
      rest = setTimeout(() => announce(said.textContent), 500);
    }
  };
  return { nodes: [said, spoken], tell, announce };
}
