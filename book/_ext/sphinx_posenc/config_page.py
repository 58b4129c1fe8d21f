"""The page that reads a ``config.json``: its script, released files to choose from, and types."""

import json
import re
from pathlib import Path
from typing import Any

from rjsmin import jsmin
from sphinx.application import Sphinx

from posenc.book.plots import Table
from posenc.config import read_config
from posenc.config.fields import TYPES, Entry
from posenc.config.kinds import ENCODINGS

from .claims import FINDER


def script(released: Path, names: list[str]) -> str:
    """Return the script, with released files and what `read_config` finds in each."""
    record = json.loads(released.read_text(encoding="utf-8"))
    read = {}
    for name in names:
        config = record[name]["config"]
        read[name] = [config, read_config(config).as_dict()]
    files = json.dumps(read).replace("<", "\\u003c")
    view = Path(__file__).with_name("config_view.js").read_text(encoding="utf-8")
    return jsmin(f"(() => {{\nconst RELEASED = {files};\n{view}\n}})();")


def types() -> str:
    """Return a table of what the code of each type decides, for the page's search field."""
    heads = ["type", "where", "pairs", "base by default", "norm of q and k", "code"]
    table = Table(heads, [_row(name, entry) for name, entry in sorted(TYPES.items())])
    count = f"<p>{len(TYPES)} types.</p>"
    return f"{count}{FINDER.format('type')}{table._repr_html_()}"


def _row(name: str, entry: Entry) -> list[str]:
    """Say what one type does."""
    where = ENCODINGS[entry.where]
    if entry.axes == "image":
        where += ", along the axes of an image"
    if entry.still:
        where += f"; not {', '.join(entry.still)}"
    bases = map(entry.defaults.get, ("rope_theta", "rope_local_base_freq"))
    base = " and ".join(f"{number:,.0f}" for number in bases if number)
    norm = entry.norm or ""
    if entry.norm_if:
        norm += f" if {entry.norm_if}"
    code = f"{entry.code}, {entry.read}"
    return [name, where, entry.pairing or "", base, norm, code]


def fill(app: Sphinx, context: dict[str, Any]) -> None:
    """Write the script into the page's head, and the table into its body."""
    body = context["body"]
    names = re.search('data-files="([^"]*)"', body)[1].split()
    released = Path(app.srcdir) / "notebooks" / "data" / "released.json"
    app.add_js_file(None, body=script(released, names))
    context["body"] = body.replace('<div id="config-types"></div>', types())
