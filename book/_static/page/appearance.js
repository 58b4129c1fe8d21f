/* Light and dark, and the bars beside a narrow page. Uses tools.js. */
/* global all, begin, dataset, setStored */

const dark = matchMedia("(prefers-color-scheme: dark)");
const paint = () => {
  const { mode } = dataset;
  dataset.theme = mode === "light" || mode === "dark" ? mode : dark.matches ? "dark" : "light";
  setStored("theme", dataset.theme);
};
dark.addEventListener("change", paint);
for (const button of all("button.theme")) {
  button.addEventListener("click", () => {
    const other = dataset.theme === "dark" ? "light" : "dark";
    dataset.mode = (other === "dark") === dark.matches ? "auto" : other;
    setStored("mode", dataset.mode);
    paint();
  });
}
begin(paint);

// Printed in the light theme; book.css opens the boxes.
addEventListener("beforeprint", () => (dataset.theme = "light"));
addEventListener("afterprint", paint);

/** A button opens a bar over the page, which is shown while `box` is checked. */
function connectBar(side) {
  const button = document.querySelector(`.${side}-toggle`);
  const box = document.getElementById(`pst-${side}-sidebar-checkbox`);
  const bar = document.querySelector(`.bd-sidebar-${side}`);
  if (!button || !bar) return;
  button.addEventListener("click", () => {
    box.checked = !box.checked;
    if (box.checked) setTimeout(() => bar.querySelector("a, button").focus(), 100);
  });
  bar.addEventListener("click", ({ target }) => {
    if (target.closest("a")) box.checked = false; // what it leads to is beneath
  });
  addEventListener("keydown", ({ key }) => {
    if (key !== "Escape" || !box.checked) return;
    box.checked = false;
    button.focus();
  });
}
for (const side of ["primary", "secondary"]) begin(() => connectBar(side));

// The list of chapters shows the current one; after the page is laid out, that costs nothing.
addEventListener("load", () =>
  requestAnimationFrame(() => {
    const current = document.querySelector(".bd-sidebar-primary .current.active");
    const bar = current?.closest(".bd-sidebar-primary");
    if (bar && current.offsetTop > bar.clientHeight) bar.scrollTop = current.offsetTop - 200;
  }),
);
