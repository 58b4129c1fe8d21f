// What test_figures.py asks of a figure on a page: `element` is its <posenc-figure>.
//
// It knows of a figure (src/posenc/book/figures):
//   figure.js         `update`, `state`, `values`
//   hands.js          .hand, a line from the middle of a clock to its tip
//   scene.js          .grip, hidden where there is nothing to drag
//   words.js, sentence.js    .card, which is dragged as a grip is, and so are .dot and .hold
//   hands.js          circle.face, on which a clock's grip is
//   map.js            a canvas, with the key of its values as `data-values`

/**
 * What a figure shows in a state, as JSON: values, the hands of clocks (how far up they reach, and
 * to the right), the pixels of maps by the key of their values, colors that CSS doesn't know, and what
 * reaches above or below its picture.
 */
function shown({ figure, shadowRoot: root }, state) {
    figure.update(state);
    const all = (query, read) => [...root.querySelectorAll(query)].map(read);
    const numbers = (value) => [value].flatMap((x) => (x.length === undefined ? x : [...x].flat()));
    const values = Object.entries(figure.values).map(([name, value]) => [name, numbers(value)]);
    const hands = all(".hand", (hand) => {
        const [x1, y1, x2, y2] = ["x1", "y1", "x2", "y2"].map((name) => hand.getAttribute(name));
        return [y1 - y2, x2 - x1];
    });
    const pixels = all("canvas", (map) => {
        const { data } = map.getContext("2d").getImageData(0, 0, map.width, map.height);
        return [map.dataset.values, [...data]];
    });
    const colors = ["fill", "stroke"].flatMap((name) =>
        all(`[${name}]`, (shape) => shape.getAttribute(name)));
    const cut = all("svg :is(rect, circle, text)", (shape) => {
        const [own, around] = [shape, shape.ownerSVGElement].map((box) => box.getBoundingClientRect());
        const isOut = own.height && (own.top < around.top - 1 || own.bottom > around.bottom + 1);
        return isOut && shape.outerHTML;
    });
    return JSON.stringify({
        state: figure.state,
        values: Object.fromEntries(values),
        hands,
        pixels: Object.fromEntries(pixels),
        cut: cut.filter(Boolean),
        unknownColors: colors.filter((color) => !CSS.supports("fill", color)),
    });
}

/** Where an element's middle is, and half its width. */
function middle(element) {
    const { x, y, width, height } = element.getBoundingClientRect();
    return [x + width / 2, y + height / 2, width / 2];
}

/**
 * @typedef {object} Grip
 * @property {number[]} place    where it is
 * @property {number[]} aim      where to drag it: around the center of the clock whose hand it is,
 *                               down if it moves a length, or else to the right
 * @property {number[]} take     where to take it, beside its place
 * @property {number[]} drop     where to drop it, so that it is at its aim
 * @property {number[]} follows  whether it follows across, and whether down: 1 or 0
 */

/** All grips of a figure, to be dragged some pixels. @returns {Grip[]} */
function grips({ shadowRoot: root }, pixels) {
    const faces = [...root.querySelectorAll("circle.face")].map(middle);
    return [...root.querySelectorAll(".card, .dot, .hold, .grip:not([hidden])")].map((grip) => {
        const [x, y, half] = middle(grip);
        const fromCenter = ([cx, cy]) => Math.hypot(x - cx, y - cy);
        const face = grip.matches(".grip") && faces.find((one) => fromCenter(one) < one[2]);
        if (face) {
            const [cx, cy] = face;
            const r = fromCenter(face);
            const angle = Math.atan2(y - cy, x - cx) - pixels / r;
            const aim = [cx + r * Math.cos(angle), cy + r * Math.sin(angle)];
            return { place: [x, y], aim, take: [x, y], drop: aim, follows: [1, 1] };
        }
        const follows = grip.closest(".stretch") ? [0, 1] : [1, 0];
        const aim = [x + pixels * follows[0], y + pixels * follows[1]];
        // The bracket's middle is under its word.
        const off = grip.matches(".hold") ? 12 - half : 3;
        const beside = ([across, down]) => [across + off, down + 3];
        return { place: [x, y], aim, take: beside([x, y]), drop: beside(aim), follows };
    });
}

/** Whether the key's dot stands on the landscape: its middle is in the line. */
function standsOnLand({ shadowRoot: root }) {
    const [x, y] = middle(root.querySelector(".dot"));
    return [...root.querySelectorAll(".curve")].some((ridge) => {
        const point = new DOMPoint(x, y).matrixTransform(ridge.getScreenCTM().inverse());
        return ridge.isPointInStroke(point);
    });
}
