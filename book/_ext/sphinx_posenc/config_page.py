"""The page that reads a ``config.json``: its script, released files to choose from, and types."""

import json
import re
from pathlib import Path
from typing import Any

from rjsmin import jsmin
from sphinx.application import Sphinx

from posenc.book.plots import Table
from posenc.config import read_config
from posenc.config.fields import TYPES
from posenc.config.kinds import ENCODINGS

from .claims import FINDER


def script(released: Path, names: list[str]) -> str:
    """Return the script, with released files and what `read_config` finds in each."""
    record = json.loads(released.read_text(encoding="utf-8"))
    configs = {name: record[name]["config"] for name in names}
    read = {
        name: [config, read_config(config).as_dict()]
        for name, config in configs.items()
    }
    files = json.dumps(read).replace("<", "\\u003c")
    view = Path(__file__).with_name("config_view.js").read_text(encoding="utf-8")
    return jsmin(f"(() => {{\nconst RELEASED = {files};\n{view}\n}})();")


def types() -> str:
    """Return a table of what the code of each type decides, for the page's search field."""
    heads = ["type", "where", "pairs", "base by default", "norm of q and k", "code"]
    entries = {name: entry for name, entry in TYPES.items() if "where" in entry}
    rows = [_row(name, entry) for name, entry in sorted(entries.items())]
    return (
        f"<p>{len(rows)} types.</p>{FINDER.format('type')}"
        f"{Table(heads, rows)._repr_html_()}"
    )


def _row(name: str, entry: dict[str, Any]) -> list[str]:
    """Say what one type does."""
    where = ENCODINGS[entry["where"]]
    if entry.get("axes") == "image":
        where += ", along the axes of an image"
    if "still" in entry:
        where += f"; not {', '.join(entry['still'])}"
    bases = [entry[key] for key in ("base", "local_base") if key in entry]
    norm = entry.get("norm", "")
    if "norm_if" in entry:
        norm += f" if {entry['norm_if']}"
    told = " and ".join(f"{base:,.0f}" for base in bases)
    return [
        name,
        where,
        entry.get("pairing", ""),
        told,
        norm,
        f"{entry['class']}, {entry['read']}",
    ]


def add_script(
    app: Sphinx, page: str, template: str, context: Any, doctree: Any
) -> None:
    """Write the script into the head of the page."""
    if page == "book/config":
        released = Path(app.srcdir) / "notebooks" / "data" / "released.json"
        names = re.findall('data-files="([^"]*)"', context["body"])[0].split()
        app.add_js_file(None, body=script(released, names))
        context["body"] = context["body"].replace(
            '<div id="config-types"></div>', types()
        )
