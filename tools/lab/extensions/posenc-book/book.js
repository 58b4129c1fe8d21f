/* What JupyterLab doesn't do for the book by itself. A plugin in the form in which it loads one:
   nothing is compiled. */

{
  const soon = (ms) => new Promise((done) => setTimeout(done, ms));
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

  /* JupyterLab leads to headings of notebooks. Lead anywhere, and stay there while the cells above
     are still being drawn, until the reader moves. */
  async function lead(widget, id) {
    let moved = false;
    for (const kind of ["wheel", "keydown", "pointerdown"]) {
      widget.node.addEventListener(kind, () => (moved = true), { once: true, passive: true });
    }
    await widget.context.ready;
    for (let round = 0, still = 0, at = null; round < 300 && still < 10; round++) {
      await soon(100);
      if (moved || widget.isDisposed) return;
      const place = find(widget.node, id);
      still = place && place.getBoundingClientRect().y === at ? still + 1 : 0;
      place?.scrollIntoView();
      at = place?.getBoundingClientRect().y;
    }
  }

  /* A kernel that starts writes its name and version into the notebook. That is no change of the
     reader's, so there is nothing to save. */
  function watch(model) {
    model.metadataChanged.connect(async (_, { key }) => {
      const edited = model.sharedModel.canUndo();
      await null;
      if (["kernelspec", "language_info"].includes(key) && !edited) model.dirty = false;
    });
  }

  function activate(app) {
    app.docRegistry.addWidgetExtension("Notebook", { createNew: (_, { model }) => watch(model) });
    app.commands.commandExecuted.connect(async (_, { id, args, result }) => {
      if (id !== "rendermime:handle-local-link" || !args.id) return;
      await result;
      for (const widget of app.shell.widgets("main")) {
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
