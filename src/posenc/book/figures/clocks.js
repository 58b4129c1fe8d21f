// The clocks of an encoding, which run from position to position.

import { shade } from "./colors.js";
import { FIELDS, PAIRS } from "./constants.js";
import { assign, element, middle, shape, show, text, written } from "./drawing.js";
import { omega } from "./encoding.js";
import { FIGURES } from "./figure.js";
import { face, hand, pairColor, tip, turnable } from "./hands.js";
import { isCalm } from "./motion.js";
import { beforeControls, drawing, named } from "./scene.js";
import { encode, paper } from "./table.js";

const RUN = { perSecond: 1.6, last: FIELDS.clocks.position.max };

/**
 * A button that plays and pauses: the clocks run while `request` is set.
 * - Until the reader takes over, they also run while in view, unless a link has set the figure.
 * - A press or a key anywhere in the figure takes over: they stop, and coming into view starts
 *   nothing from then on. On the button, it is the click that follows which plays or pauses.
 * - A button that has left the page runs no further.
 */
function player(picture, set, current, isLinked) {
  const button = element("button", { type: "button" });
  const icon = shape("path");
  let request;
  const label = (name, d) => {
    button.ariaLabel = button.title = name;
    icon.setAttribute("d", d);
  };
  const pause = () => {
    if (request === undefined) return;
    cancelAnimationFrame(request);
    request = undefined;
    label("Play", "M4 2v12l9-6z");
    set({});
  };
  const play = () => {
    label("Pause", "M4 3v10h2V3zM10 3v10h2V3z");
    let before = performance.now();
    const step = (now) => {
      // Readers who want calm get whole steps, one per second.
      const wait = isCalm() ? 1000 : 0;
      const passed = now - before;
      if (passed > wait) {
        const by = isCalm() ? 1 : Math.min(0.1, (passed / 1000) * RUN.perSecond);
        set({ position: (current().position + by) % RUN.last }, true);
        before = now;
      }
      request = button.isConnected ? requestAnimationFrame(step) : undefined;
    };
    request = requestAnimationFrame(step);
  };
  label("Play", "M4 2v12l9-6z");
  button.append(shape("svg", { viewBox: "0 0 16 16" }, icon));
  button.addEventListener("click", () => (request === undefined ? play() : pause()));
  const seen = new IntersectionObserver(([{ isIntersecting }]) => {
    pause();
    if (isIntersecting && !isCalm()) play();
  });
  const { host } = picture.getRootNode();
  if (!isLinked) seen.observe(host);
  for (const taken of ["pointerdown", "keydown"])
    host.addEventListener(taken, (event) => {
      seen.disconnect();
      if (!event.composedPath().includes(button)) pause();
    });
  return button;
}

/**
 * A clock as it is drawn: its center, and its numbers, sine (up) and cosine (right).
 * @typedef {{ pair: number, cx: number, cy: number, radius: number, up: number, right: number }} Clock
 */

/** One clock's dial and hand, and below it the numbers of its sine and its cosine. */
function dialAndNumbers({ pair, cx, cy, radius, up, right }) {
  const foot = cy + radius + 6;
  const numbers = [up, right].map((value, n) => [
    shape("rect", {
      x: cx + (n - 1) * radius,
      y: foot,
      width: radius,
      height: 10,
      fill: shade(value),
      class: "mapped",
    }),
    text(cx + (n - 0.5) * radius, foot + 26, show(value, 2), middle),
  ]);
  return [
    text(cx, cy - radius - 13, `clock ${pair}`, named),
    face(cx, cy, radius),
    hand(cx, cy, radius, [right, up], { class: "hand", stroke: pairColor(pair) }),
    ...numbers.flat(),
  ];
}

/** The binary digits of a position, lowest first, under the clocks. */
function digitRow(position, step, y) {
  return Array.from({ length: 8 }, (_, bit) => {
    const digit = (Math.floor(position) >> bit) & 1;
    const x = (bit + 0.5) * step;
    return [
      shape("rect", { x: x - 13, y, width: 26, height: 26, class: digit ? "full" : "thin faint" }),
      text(x, y + 18, digit, { ...middle, class: digit ? "on" : "" }),
      text(x, y + 43, 2 ** bit, middle),
    ];
  });
}

FIGURES.clocks = {
  compute: ({ d_model, base, position }) => ({ row: encode(1, d_model, base, paper, position) }),
  build(picture, set, current, isLinked) {
    const { draw, grip } = drawing(picture, "One clock for each pair, and its two numbers");
    let clocks = []; // as drawn last: a `Clock` for each pair
    const frequency = (pair) => omega(pair, current().d_model, current().base);
    const grips = PAIRS.map((_, pair) => {
      const take = () => {
        const { position } = current();
        return (angle) => set({ position: position + angle / frequency(pair) }, true);
      };
      const center = () => [clocks[pair].cx, clocks[pair].cy];
      return grip("position", turnable(center, take), () => set({}));
    });
    let button;
    return ({ d_model, position, digits }, { row }, width) => {
      // Clocks that aren't drawn, as in print, have no button, and don't run.
      if (!button) beforeControls(picture, (button = player(picture, set, current, isLinked)));
      const columns = width < 560 ? 4 : 8;
      const step = width / columns;
      const radius = Math.round(Math.min(54, step * 0.44));
      const down = 2 * radius + (columns < PAIRS.length ? 89 : 69);
      clocks = Array.from({ length: d_model / 2 }, (_, pair) => ({
        pair,
        cx: ((pair % columns) + 0.5) * step,
        cy: Math.floor(pair / columns) * down + radius + 29,
        radius,
        up: row[2 * pair],
        right: row[2 * pair + 1],
      }));
      grips.forEach((one, pair) => hold(one, clocks[pair], frequency(pair)));
      const bottom = (PAIRS.length / columns) * down; // fewer clocks move nothing below
      const height = bottom + (digits === "on" ? 60 : 0);
      const below = digits === "on" ? digitRow(position, width / 8, bottom + 6) : [];
      draw(width, height, clocks.map(dialAndNumbers), below);
    };
  },
  say({ d_model, base }) {
    const turns = [0, d_model / 2 - 1].map((pair) => (2 * Math.PI) / omega(pair, d_model, base));
    return (
      "Position {position}. Below each clock are its sine (how high the tip is) and its cosine (how far right). " +
      `Clock 0 turns once in ${show(turns[0], 2)} positions, the last one in ${written(Math.round(turns[1]))}.`
    );
  },
};

/** Put a grip at the tip of a clock's hand, if there is one, and if it can turn all the way round. */
function hold(grip, clock, frequency) {
  const isHeld = clock && frequency * RUN.last >= 2 * Math.PI;
  grip.toggleAttribute("hidden", !isHeld);
  if (!isHeld) return;
  const { radius, up, right } = clock;
  const [cx, cy] = tip(clock.cx, clock.cy, radius, [right, up]);
  assign(grip, { cx, cy });
}
