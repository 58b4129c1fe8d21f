/* Links to places of other pages: JupyterLab leads to headings of notebooks only. A plugin in the
   form in which it loads one: nothing is compiled. */

{
  const letters = (text) => text.toLowerCase().replace(/[^\p{L}\p{N}]/gu, "");

  /* The place that a link names: a figure, a table, an equation or a reference, a claim in its box,
     or a heading, whose id JupyterLab makes of other characters than the site. */
  function find(page, id) {
    const all = (query) => [...page.querySelectorAll(query)];
    return (
      page.querySelector(`#${CSS.escape(id)}`) ??
      all(".documents code").find((code) => `claim-${code.textContent}` === id)?.closest("p") ??
      all(".heading-text").find((heading) => letters(heading.textContent) === letters(id))
    );
  }

  /* Lead there, and stay while the cells above are still being drawn, until the reader moves. */
  async function lead({ node, context }, id) {
    let moved = false;
    for (const kind of ["wheel", "keydown", "pointerdown"]) {
      node.addEventListener(kind, () => (moved = true), { once: true, passive: true });
    }
    await context.ready;
    for (let round = 0; round < 100 && !moved; round++) {
      find(node, id)?.scrollIntoView();
      await new Promise((done) => setTimeout(done, 100));
    }
  }

  function activate({ commands, shell }) {
    commands.commandExecuted.connect(async (_, { id, args, result }) => {
      if (id !== "rendermime:handle-local-link" || !args.id) return;
      await result;
      for (const widget of shell.widgets("main")) {
        if (widget.context?.path === args.path) lead(widget, decodeURIComponent(args.id.slice(1)));
      }
    });
  }

  const plugin = { id: "posenc-book:plugin", autoStart: true, activate };
  window._JUPYTERLAB = window._JUPYTERLAB ?? {};
  window._JUPYTERLAB["posenc-book"] = {
    init: () => {},
    get: async () => () => ({ __esModule: true, default: plugin }),
  };
}
