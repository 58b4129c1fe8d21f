// A live figure as a standalone SVG: what is seen of its picture, with the styles that it has there,
// but in one font. stills.py runs it as the body of a function.
//
// What a picture is made of: boxes with words, each in one line, canvases, drawings, and at most one
// bar of colors, an <i> with a gradient. Another part raises, and so does a style in `LOST`. The mark in
// a map, a box with a shadow, isn't drawn: nobody can move it.
const BOXES = ["div", "span", "b"];
const SHAPES = ["svg", "g", "path", "polygon", "polyline", "line", "rect", "circle", "text"];

// Of these, a part gets those that differ from its parent's.
const INHERITED = [
  "fill", "stroke", "stroke-width", "stroke-dasharray", "stroke-linecap", "stroke-linejoin",
  "fill-opacity", "stroke-opacity", "font-size", "font-weight", "text-anchor", "paint-order",
];

// These aren't copied, so they must be plain; of boxes, neither are the others.
const LOST = ["filter", "clip-path", "mask-image", "mix-blend-mode", "rotate", "scale"];
const LOST_OF_BOXES = [...LOST, "opacity", "transform"];
const PLAIN = ["none", "normal", "1", "invert(0) hue-rotate(0deg)"]; // the last is a map's in light
const svgElement = (name, attributes, ...children) => {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
};
const rounded = (x) => Math.round(10 * x) / 10;
const refuse = (node, style = "") => {
  throw new Error(`stills.js doesn't draw <${node.localName ?? "text on several lines"}> ${style}`);
};
const check = (node, names) => {
  const style = getComputedStyle(node);
  for (const name of names) if (!PLAIN.includes(style.getPropertyValue(name))) refuse(node, `with ${name}`);
};
/** Whether it is text or a part that shows: no comment. */
const isSeen = (node) =>
  node.nodeType === Node.TEXT_NODE || node.checkVisibility?.({ opacityProperty: true, visibilityProperty: true });

/** A shape of the picture, without classes and labels. */
function copyOf(node) {
  if (node.nodeType === Node.TEXT_NODE) return node.cloneNode();
  if (!SHAPES.includes(node.localName)) refuse(node);
  check(node, LOST);
  const style = getComputedStyle(node);
  const around = getComputedStyle(node.parentElement);
  const copy = svgElement(node.localName, {});
  for (const { name, value } of node.attributes)
    if (!/^(class|style|role|tabindex|aria-.*|display)$/.test(name)) copy.setAttribute(name, value);
  for (const name of INHERITED) {
    const value = style.getPropertyValue(name);
    if (value !== around.getPropertyValue(name)) copy.setAttribute(name, value);
  }
  if (style.opacity !== "1") copy.setAttribute("opacity", style.opacity);
  if (node.localName === "circle") copy.setAttribute("r", parseFloat(style.r));
  if (/%|3d/.test(style.translate + style.transform)) refuse(node, "with % or in 3D");
  // The property `translate` moves it first, and then `transform`, of a style or an attribute: the
  // computed style has either.
  const [x, y] = style.translate.split(" ").map(parseFloat);
  const moved = Number.isNaN(x) ? [] : [`translate(${x},${y || 0})`];
  if (style.transform !== "none") moved.push(style.transform);
  if (moved.length) copy.setAttribute("transform", moved.join(" "));
  copy.append(...[...node.childNodes].filter(isSeen).map(copyOf));
  return copy;
}

/** A bar with the colors of a map, low to high. */
function barOf(node, box) {
  const colors = getComputedStyle(node).backgroundImage.match(/rgb\([^)]*\)/g) ?? refuse(node);
  const stops = colors.map((color, n) => svgElement("stop", { offset: n / (colors.length - 1 || 1), "stop-color": color }));
  return [svgElement("linearGradient", { id: "bar" }, ...stops), svgElement("rect", { ...box, fill: "url(#bar)" })];
}

/** The picture of a figure. */
function still(figure) {
  const picture = figure.shadowRoot.querySelector(".picture");
  const frame = picture.getBoundingClientRect();
  const boxOf = (node) => {
    const box = node.getBoundingClientRect();
    const place = { x: box.x - frame.x, y: box.y - frame.y, width: box.width, height: box.height };
    return Object.fromEntries(Object.entries(place).map(([name, value]) => [name, rounded(value)]));
  };
  const { color } = getComputedStyle(picture);
  const parts = [];
  const walk = (node) => {
    if (node.nodeType === Node.TEXT_NODE) {
      if (!node.data.trim()) return;
      const range = document.createRange();
      range.selectNode(node);
      if (range.getClientRects().length > 1) refuse(node);
      const { x, y, width, height } = boxOf(range);
      const style = getComputedStyle(node.parentElement);
      const size = parseFloat(style.fontSize);
      // The middle of its box, about which an upright label is turned, to read down
      const [across, down] = [rounded(x + width / 2), rounded(y + height / 2)];
      const turn = style.writingMode === "horizontal-tb" ? 0 : 90;
      const place = { transform: `translate(${across},${down}) rotate(${turn})`, y: rounded(0.35 * size) };
      const label = svgElement("text", { ...place, "text-anchor": "middle", "font-size": size }, node.data.trim());
      if (style.fontWeight !== "400") label.setAttribute("font-weight", style.fontWeight);
      if (style.color !== color) label.setAttribute("fill", style.color);
      parts.push(label);
    } else if (isSeen(node)) {
      check(node, LOST_OF_BOXES);
      if (node.localName === "canvas")
        parts.push(svgElement("image", { ...boxOf(node), href: node.toDataURL(), preserveAspectRatio: "none", style: "image-rendering: pixelated" }));
      else if (node.localName === "svg") {
        const copy = copyOf(node);
        for (const [name, value] of Object.entries(boxOf(node))) copy.setAttribute(name, value);
        parts.push(copy);
      } else if (node.localName === "i" && !parts.some(({ id }) => id === "bar"))
        parts.push(...barOf(node, boxOf(node)));
      else if (BOXES.includes(node.localName)) node.childNodes.forEach(walk);
      else refuse(node);
    }
  };
  picture.childNodes.forEach(walk);
  const { width, height } = boxOf(picture);
  const all = svgElement("svg", { class: "still", width, height, viewBox: `0 0 ${width} ${height}`, fill: color, "font-family": "sans-serif" }, ...parts);
  return new XMLSerializer().serializeToString(all);
}
