// A picture that is drawn anew for each state, with grips on top that stay.

import { assign, middle, shape } from "./drawing.js";
import { draggable } from "./motion.js";

/** Attributes of a word beside numbers. */
export const named = { ...middle, class: "name" };

/** Put a button into the line of a picture's controls. */
export const beforeControls = (picture, button) =>
  picture.parentNode.querySelector(".controls").before(button);

/**
 * Add an SVG as wide as its container. `draw` replaces what it shows, and sets its size; grips on
 * top stay.
 */
export function drawing(picture, label) {
  const svg = shape("svg", { role: "img", "aria-label": label });
  const scene = shape("g");
  svg.append(scene);
  picture.append(svg);
  const draw = (width, height, ...children) => {
    assign(svg, { height, viewBox: `0 0 ${width} ${height}` });
    scene.replaceChildren(...children.flat(2));
  };
  /** A grip, which `take` lets a pointer drag, as in `draggable`; placed by its cx and cy. */
  const grip = (field, take, drop) => {
    const circle = shape("circle", { r: 8, class: "grip", "data-field": field });
    svg.append(circle);
    draggable(circle, svg, take, drop);
    return circle;
  };
  return { svg, draw, grip };
}
