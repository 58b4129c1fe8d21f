// Lines through points, of figures with axes or curves.

import { points, shape } from "./drawing.js";

export const path = (places, attributes) => shape("polyline", { points: points(places), ...attributes });
export const level = (from, to, y, attributes) => path([[from, y], [to, y]], attributes);
