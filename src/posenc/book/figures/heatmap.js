FIGURES.heatmap = {
  play: "d_model",
  compute: ({ d_model, base, seq_len }) => ({ table: encode(seq_len, d_model, base) }),
  build(picture, set) {
    const canvas = element("canvas", { role: "img", "aria-label": "Heatmap of the encoding" });
    const cell = element("div", { class: "cell" });
    const [bottom, right] = [element("span"), element("span")];
    const colors = STEPS.filter((_, n) => n % 51 === 0).map((rgb) => `rgb(${rgb})`);
    const style = `background: linear-gradient(90deg, ${colors})`;
    const scale = element("div", { class: "scale" }, "−1", element("i", { style }), "1");
    picture.classList.add("map");
    picture.append(
      element("div", { class: "down" }, element("span", {}, "0"), "position", bottom),
      element("div", { class: "panel" }, canvas, cell),
      element("div", { class: "across" }, element("span", {}, "0"), "dimension", right),
      scale,
    );
    const pick = (event) => {
      const box = canvas.getBoundingClientRect();
      const part = (at, from, size, count) =>
        Math.max(0, Math.min(count - 1, Math.floor(((at - from) / size) * count)));
      set({
        position: part(event.clientY, box.top, box.height, canvas.height),
        dimension: part(event.clientX, box.left, box.width, canvas.width),
      });
    };
    let down;
    canvas.addEventListener("pointerdown", (event) => (down = event));
    canvas.addEventListener("pointermove", (event) => {
      // Vertical swipes scroll the page; horizontal ones pick a cell.
      if (event.pointerType !== "touch" || Math.abs(event.clientX - down.clientX) > 10) pick(event);
    });
    canvas.addEventListener("click", pick);
    let painted;
    return (state, { table }) => {
      const { d_model, seq_len, position, dimension } = state;
      if (painted !== table) paint(canvas, (painted = table), seq_len, d_model, 1);
      bottom.textContent = seq_len - 1;
      right.textContent = d_model - 1;
      cell.style.cssText = `left: ${(dimension / d_model) * 100}%; top: ${(position / seq_len) * 100}%;
        width: ${100 / d_model}%; height: ${100 / seq_len}%`;
    };
  },
  say({ d_model, base, position, dimension }, { table }) {
    const value = show(table[position * d_model + dimension]);
    const wave = dimension % 2 ? "cos" : "sin";
    const formula = `${wave}(${position} / ${base}^(${dimension - (dimension % 2)}/${d_model}))`;
    return `Position ${position}, dimension ${dimension}: ${formula} = ${value}`;
  },
};
