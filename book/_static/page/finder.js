/* The field above a table, from finder.html, and behind it what has the table:

     <p><label>… <input class="finds"></label> <output></output></p>

   Uses tools.js, and for what no row has seek.js. */
/* global all, button, seek */

/** Leave the rows of the table below a field that have all the words typed there. */
function filterRows({ target: field }) {
  const words = field.value.toLowerCase().split(/\s+/);
  const hasAll = (row) => words.every((word) => row.textContent.toLowerCase().includes(word));
  const rows = all("tbody tr", field.closest("p").nextElementSibling);
  for (const row of rows) row.hidden = !hasAll(row);
  const status = field.parentElement.nextElementSibling;
  const shown = rows.filter(hasAll).length;
  status.textContent = `${shown} of ${rows.length}. `;
  if (!shown) status.append(button("Search the book", () => seek(field.value)));
}
for (const field of all("input.finds")) field.addEventListener("input", filterRows);
