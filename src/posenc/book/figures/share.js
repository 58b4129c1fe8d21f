// A figure's view, to take along: as a link, a picture in Markdown, a reference, or a frame for another
// page.

import { element } from "./drawing.js";

/** The state that the page's URL gives the figure `id`; on an embed page, `id` is empty. */
export function linked(id) {
  const query = new URLSearchParams(location.search);
  return query.get("figure") === id ? Object.fromEntries(query) : {};
}

/** What can be copied of a figure, by name. */
function copies(host, kind, id, figure) {
  const search = (name) => new URLSearchParams({ figure: name, ...figure.state });
  const link = () => {
    const url = new URL(location.href);
    [url.search, url.hash] = [search(id), id];
    history.replaceState(null, "", url);
    return url.href;
  };
  const frame = () => {
    const root = document.documentElement.dataset.content_root;
    const src = new URL(`${root}embed/${kind}.html?${search("")}`, location.href);
    const height = host.clientHeight + 24;
    return element("iframe", { src, title: document.title, width: "100%", height }).outerHTML;
  };
  const markdown = () => {
    const { alt, src } = host.querySelector("img");
    return `[![${alt.replace(/[[\]]/g, "\\$&")}](${src})](${link()})`;
  };
  const citation = () => `“${document.title}.” ${link()}`;
  const isOnline = location.protocol !== "file:";
  return { link, citation, ...(isOnline && { Markdown: markdown, "embed code": frame }) };
}

/** A button that copies what `write` gives, and says so. */
function copyButton(words, write, say) {
  const copy = element("button", { type: "button" }, `Copy ${words}`);
  copy.addEventListener("click", async () => {
    const content = write();
    try {
      await navigator.clipboard.writeText(content);
    } catch {
      return prompt("To copy:", content);
    }
    say((copy.textContent = `Copied ${words}`));
    setTimeout(() => (copy.textContent = `Copy ${words}`), 2000);
  });
  return copy;
}

/** A button, and the menu that it opens; the browser closes it at Escape or a press beside it. */
export function share(host, kind, id, figure, say) {
  const open = element("button", { type: "button", class: "share", popovertarget: "copies" }, "Share");
  const menu = element("div", { id: "copies", popover: "", role: "group", "aria-label": "Share" });
  for (const [words, write] of Object.entries(copies(host, kind, id, figure)))
    menu.append(copyButton(words, write, say));
  menu.addEventListener("beforetoggle", ({ newState }) => {
    if (newState === "closed" && menu.matches(":focus-within")) open.focus(); // in a shadow tree, no browser does
  });
  return [open, menu];
}
