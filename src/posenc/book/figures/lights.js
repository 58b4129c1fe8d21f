// Numbers and letters of a field, which light up together.

/** Letters in formulas of a section, but not of those within it. */
const LETTERS = ":scope > :not(section) .katex :is(i, mi, .mathnormal)";

/**
 * While the pointer is on a field's number or its control has the focus, light up its numbers in
 * `live`, the figure, and its letter in the formulas of the section of `host`.
 */
export function lights(host, live, fields) {
  let lit = "";
  const light = (name) => {
    if (name === lit) return;
    lit = name;
    // A label ends with its letter as formulas have it: “width d”.
    const letter = fields[name]?.label.split(" ").at(-1);
    for (const sign of host.closest("section")?.querySelectorAll(LETTERS) ?? [])
      sign.classList.toggle("lit", sign.textContent === letter);
    for (const part of live.querySelectorAll("[data-field]"))
      part.classList.toggle("lit", part.dataset.field === name);
  };
  for (const type of ["pointerover", "pointerleave"])
    live.addEventListener(type, ({ target, buttons }) => {
      if (!buttons) light(target.closest("[data-field]")?.dataset.field ?? ""); // not while dragging
    });
  live.addEventListener("focusin", ({ target }) => light(target.id.replace("field-", "")));
  live.addEventListener("focusout", () => light(""));
}
