/* The field above a table, from finder.html, and behind it what has the table:

     <p><label>… <input class="finds"></label> <output></output></p>

   Uses tools.js, and seek.js, since a row that is left may not be what was meant. */
/* global all, button, seek */

const LITTLE = new Set("a an and are does is it of the this to".split(" "));
const wordsOf = (text) => text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];

/** Leave the rows of the table below a field in which each word typed there, little ones aside, begins one. */
function filterRows({ target: field }) {
  const starts = wordsOf(field.value).filter((word) => !LITTLE.has(word));
  const rows = all("tbody tr", field.closest("p").nextElementSibling);
  for (const row of rows) {
    const words = wordsOf(row.textContent);
    row.hidden = !starts.every((start) => words.some((word) => word.startsWith(start)));
  }
  const shown = rows.filter(({ hidden }) => !hidden).length;
  const status = field.parentElement.nextElementSibling;
  status.textContent = `${shown} of ${rows.length}. `;
  if (field.value) status.append(button("Search the book", () => seek(field.value)));
}
for (const field of all("input.finds")) field.addEventListener("input", filterRows);
