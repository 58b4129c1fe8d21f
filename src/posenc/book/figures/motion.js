// What moves: eased changes, and grips that follow a pointer or the arrow keys.

export const isCalm = () => matchMedia("(prefers-reduced-motion: reduce)").matches;
const eased = (share) => share * share * (3 - 2 * share);

/** Call `frame` with shares that rise from 0 to 1, eased; once with 1 for readers who want calm. */
export function glide(milliseconds, frame, done = () => {}) {
  const start = performance.now();
  let request;
  const step = () => {
    const share = isCalm() ? 1 : Math.min(1, (performance.now() - start) / milliseconds);
    frame(eased(share));
    if (share < 1) request = requestAnimationFrame(step);
    else done();
  };
  step();
  return () => cancelAnimationFrame(request);
}

/** A share of the way from one to the other: of numbers, and of those in lists and objects. */
export function between(from, to, share) {
  if (typeof to === "number") return from + share * (to - from);
  if (Array.isArray(to)) return to.map((part, n) => between(from[n], part, share));
  return Object.fromEntries(Object.entries(to).map(([name, part]) => [name, between(from[name], part, share)]));
}

/** A painter that eases what it shows toward something new, or shows it at once. */
export function easing(paint) {
  let shown;
  let stop = () => {};
  return (next, atOnce) => {
    stop();
    const from = shown;
    const show = (now) => paint((shown = now));
    if (atOnce || !from) show(next);
    else stop = glide(300, (share) => show(between(from, next, share)));
  };
}

/**
 * Let a pointer drag an element. `take` gets the point where it is taken, and returns what follows
 * the pointer once it has left that point by more than a click does; `drop` is then called at the
 * end, to draw once more, at rest. Points are in the units of the `svg`.
 */
export function draggable(element, svg, take, drop) {
  let inverse; // from the screen to the svg, read once, since reading it costs a layout
  const pointOf = ({ clientX, clientY }) => {
    const { x, y } = new DOMPoint(clientX, clientY).matrixTransform(inverse);
    return [x, y];
  };
  let taken; // the point, while a pointer holds the element
  let follow; // once it has moved
  element.addEventListener("pointerdown", (event) => {
    if (event.button) return;
    element.setPointerCapture(event.pointerId);
    inverse = svg.getScreenCTM().inverse();
    taken = pointOf(event);
  });
  element.addEventListener("pointermove", (event) => {
    if (!taken) return;
    const point = pointOf(event);
    if (Math.hypot(point[0] - taken[0], point[1] - taken[1]) > 3) follow ??= take(...taken);
    follow?.(...point);
  });
  element.addEventListener("lostpointercapture", () => {
    if (follow) drop();
    taken = follow = undefined;
  });
}

const KEY_STEPS = {
  ArrowLeft: -1,
  ArrowDown: -1,
  ArrowRight: 1,
  ArrowUp: 1,
  PageDown: -4,
  PageUp: 4,
  Home: -Infinity,
  End: Infinity,
};

/** Let the arrow keys move an element by whole steps. */
export function steppable(element, step) {
  element.addEventListener("keydown", (event) => {
    const by = KEY_STEPS[event.key];
    if (by === undefined) return;
    event.preventDefault();
    step(by);
  });
}
