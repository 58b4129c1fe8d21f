FIGURES.kernel = {
  /** Products by offset, and the offsets that look nearer than 1, nearest first. */
  compute({ d_model, base, seq_len }) {
    const frequencies = omegas(d_model, base);
    const products = Array.from({ length: seq_len }, (_, offset) =>
      frequencies.reduce((sum, frequency) => sum + Math.cos(frequency * offset), 0),
    );
    const nearer = [...products.keys()].filter(
      (offset) => offset > 1 && products[offset] > products[1],
    );
    return { products, nearer: nearer.sort((a, b) => products[b] - products[a]) };
  },
  build(picture, set) {
    const { height, draw } = drawing(picture, "Product of two encodings, by their offset", 250);
    return ({ d_model, seq_len, offset }, { products, nearer }, width) => {
      const { x, y, frame } = axes(width, height, 24, seq_len - 1, d_model / 2, "offset φ");
      const apart = (n) => n === nearer[0] || Math.abs(x(n) - x(nearer[0])) > 24;
      const place = [x(offset), y(products[offset])];
      const pick = (at) => set({ offset: Math.round((at - x(0)) / (x(1) - x(0))) });
      const drawn = [
        frame,
        level(x(0), x(seq_len - 1), y(products[1]), { class: "thin", "stroke-dasharray": "4 4" }),
        path(products.map((product, n) => [x(n), y(product)]), { stroke: LINES[0] }),
        nearer.map((n) => shape("circle", { cx: x(n), cy: y(products[n]), r: 5, fill: LINES[1] })),
        nearer.slice(0, 2).filter(apart).map((n) => text(x(n), y(products[n]) - 9, n, middle)),
      ];
      draw(width, drawn, [[...place, "offset", pick]]);
    };
  },
  say({ d_model, offset }, { products, nearer }) {
    const more = nearer.length > 6 ? ` and ${nearer.length - 6} more` : "";
    return (
      `PE(k)·PE(k + {offset}) = ${show(products[offset])}, of at most ${d_model / 2}. ` +
      (nearer.length
        ? `Nearer than the next position: ${nearer.slice(0, 6).join(", ")}${more}.`
        : "No offset looks nearer than the next position, 1.")
    );
  },
};
