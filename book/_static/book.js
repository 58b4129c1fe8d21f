/* Stands in for Bootstrap's script, twice as large as all others together (the download menu, and
   highlighting the current section in the contents). Also printing, search excerpts, tooltips, Run
   buttons and progress. */

// A page opened from disk can't fetch others: search results come without excerpts.
if (location.protocol === "file:") DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;

// Print in the light theme, with the boxes open that are closed.
{
  const { dataset } = document.documentElement;
  let theme, closed;
  addEventListener("beforeprint", () => {
    theme = dataset.theme;
    dataset.theme = "light";
    closed = document.querySelectorAll("details:not(.fold, [open])");
    for (const box of closed) box.open = true;
  });
  addEventListener("afterprint", () => {
    dataset.theme = theme;
    for (const box of closed) box.open = false;
  });
}

document.addEventListener("DOMContentLoaded", () => {
  // Search excerpts leave out sidebars and formulas' MathML copies. A term's excerpt is its
  // definition.
  if (typeof Search !== "undefined") {
    const { htmlToText } = Search;
    Search.htmlToText = (html, anchor) => {
      const page = new DOMParser().parseFromString(html, "text/html");
      const rest = ".bd-sidebar-secondary, #jb-print-docs-body, .prev-next-area, .katex-mathml";
      for (const element of page.querySelectorAll(rest)) element.remove();
      const term = anchor && page.querySelector(`dt${anchor}`);
      if (term) return term.nextElementSibling.textContent;
      return htmlToText(page.documentElement.outerHTML, anchor);
    };
  }

  for (const button of document.querySelectorAll('[data-bs-toggle="dropdown"]')) {
    const menu = button.nextElementSibling;
    menu.dataset.bsPopper = "static"; // Bootstrap's style then puts the menu below its button
    menu.classList.add("dropdown-menu-end");
    const show = (open) => {
      menu.classList.toggle("show", open);
      button.setAttribute("aria-expanded", open);
    };
    document.addEventListener("click", ({ target }) => {
      show(button.contains(target) && !menu.classList.contains("show"));
    });
    button.parentElement.addEventListener("keydown", (event) => {
      if (event.key !== "Escape") return;
      show(false);
      button.focus();
    });
  }

  // Tooltips of terms and citations: the first tap shows it, the second follows the link.
  let shown;
  for (const link of document.querySelectorAll("article .internal[title]:not(:has(.py))")) {
    link.ariaDescription = link.title;
    link.removeAttribute("title");
    link.addEventListener("click", (event) => {
      if (event.pointerType !== "touch" || shown === link) return;
      event.preventDefault();
      shown = link;
      link.focus();
    });
    link.addEventListener("blur", () => (shown = undefined));
    link.addEventListener("keydown", ({ key }) => {
      if (key === "Escape") link.ariaDescription = null;
    });
  }

  const links = [...document.querySelectorAll(".bd-toc-nav a[href^='#']")];
  const sections = links.map((link) => document.getElementById(link.hash.slice(1)));
  const seen = new Set();
  const mark = () => {
    const last = sections.findLastIndex((section) => seen.has(section));
    for (const link of links) link.classList.remove("active");
    links[last].scrollIntoView({ block: "nearest" }); // contents may be taller than the viewport
    for (let item = links[last].closest("li"); item; item = item.parentElement.closest("li")) {
      item.querySelector("a").classList.add("active");
    }
  };
  const observer = new IntersectionObserver(
    (changes) => {
      for (const { target, isIntersecting } of changes) {
        if (isIntersecting) seen.add(target);
        else seen.delete(target);
      }
      if (seen.size) mark(); // between two sections, the last one stays marked
    },
    { rootMargin: "-15% 0px -80%" }, // a band near the top, where readers look and links lead
  );
  for (const section of sections) observer.observe(section);

  // Add a Run button to each cell that can run in the page, and an answer box for each exercise,
  // above the cell that checks it. The rest is loaded on first use (book/python).
  if (location.protocol === "file:") return;
  const python = document.querySelector("meta[name=python]");
  const load = () => import(new URL(`${python.content}page.js`, location));
  const make = (words, click, parent) => {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "run";
    button.textContent = words;
    button.addEventListener("click", click);
    parent.append(button);
    return button;
  };
  const runs = (cell, name) => {
    const press = async () => (await load()).press(cell);
    make("Run", press, cell.querySelector(".cell_input")).ariaLabel = `Run ${name}`;
  };
  const ask = (cell, check, given) => {
    const names = given.split(/, */).filter((name) => !name.includes("="));
    const lines = names.map((name) => name + " = ..."); // jsmin can't nest `
    const box = document.createElement("div");
    box.className = "cell answer";
    box.dataset.check = check;
    box.innerHTML = `<p>Your answer</p><div class="cell_input"><textarea rows="${lines.length + 2}"
      aria-label="Your answer to ${check}. Control and Enter run it" autocapitalize="off"
      autocomplete="off" spellcheck="false" wrap="off">${lines.join("\n")}\n
${check}(${names.join(", ")})</textarea></div>`;
    box.addEventListener("focusin", load, { once: true });
    cell.before(box);
    runs(box, `your answer to ${check}`);
  };
  document.querySelectorAll("div.cell").forEach((cell, n) => {
    if (!python || cell.matches(".needs-torch")) return;
    const first = !document.querySelector(".runs") && !cell.matches(".tag_hide-input");
    cell.classList.toggle("runs", first);
    runs(cell, `cell ${n + 1}`);
    const checks = cell.querySelector("pre").textContent.matchAll(/^def (check_\w+)\((.*)\):/gm);
    for (const [, check, given] of checks) ask(cell, check, given);
  });

  // The list of chapters shows how many exercises were answered, from local storage.
  const kept = (name) => JSON.parse(localStorage.getItem(name) ?? "{}");
  const chapter = location.pathname.split("/").pop().replace(/\.html$/, "");
  if (python && chapter in kept("typed")) load(); // restores edits
  const list = document.querySelector(".bd-links");
  const show = () => {
    for (const old of document.querySelectorAll(".right, .forget")) old.remove();
    const right = Object.entries(kept("right"));
    for (const [chapter, { right: found, of }] of right) {
      const links = [...(list?.querySelectorAll("a") ?? [])];
      const link = links.find(({ pathname }) => pathname.endsWith(`/${chapter}.html`));
      const words = `✓ ${found.length} of ${of}`;
      link?.insertAdjacentHTML("beforeend", ` <span class="right">${words}</span>`);
    }
    const forget = () => {
      for (const name of ["right", "typed"]) localStorage.removeItem(name);
      show();
    };
    const some = right.length + Object.keys(kept("typed")).length;
    if (list && some) make("Forget answers and edits", forget, list).className = "forget";
  };
  addEventListener("right", show);
  addEventListener("storage", show);
  show();
});
