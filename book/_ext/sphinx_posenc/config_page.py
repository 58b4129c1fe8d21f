"""The page that reads a ``config.json``: its script, released files to choose from, and types."""

import json
import re
from pathlib import Path
from typing import Any

from rjsmin import jsmin
from sphinx.application import Sphinx

from posenc.book.plots import Table
from posenc.config import read_config
from posenc.config.fields import ABOUT
from posenc.config.steps import CODE

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
    usual: dict[str, Any] = {
        "fields": {},
        "kinds": {},
        "layers": [],
        "tables": {},
        "norm": "",
    }
    heads = [
        "type",
        "layers that turn",
        "pairs",
        "base by default",
        "norm of q and k",
        "code",
    ]
    rows = []
    for name, each in sorted(
        {name: usual | each for name, each in CODE.items()}.items()
    ):
        bases = {
            kind: own.get("base") for kind, own in {"": each, **each["kinds"]}.items()
        }
        told = [
            f"{n}: {base:,.0f}" if n else f"{base:,.0f}"
            for n, base in bases.items()
            if base
        ]
        pairs = "as rope_interleave says" if "rope_interleave" in each["fields"] else ""
        why = ABOUT["not watched"].get(name, "nothing turns")
        cells = [
            name,
            _turning(each, why),
            each.get("pairing", pairs),
            "; ".join(sorted(told)),
        ]
        norm = each["norm"] + (f" if {each['normed']}" if "normed" in each else "")
        cells += [norm, each["file"].removeprefix("models/")]
        rows.append([cell.replace(",", " ") for cell in cells])
    others = {
        name: why
        for name, why in sorted(ABOUT["not watched"].items())
        if name not in CODE
    }
    still = [name for name, why in others.items() if "nothing turns" in why]
    unseen = (
        f"<p>No pair was seen to turn in a circle in {', '.join(still)}. With the inputs that the"
        f" tool makes, these couldn't be run: {', '.join(n for n in others if n not in still)}.</p>"
    )
    return (
        f"<p>{len(rows)} types, as in {ABOUT['source']}</p>{FINDER.format('type')}"
        f"{Table(heads, rows)._repr_html_()}"
        f"<details><summary>Types that aren't in the table</summary>{unseen}</details>"
    )


def _turning(each: dict[str, Any], why: str) -> str:
    """Say which layers of a type turn, and which tables its input gets."""
    apart = [
        n for n, own in each["kinds"].items() if {"still", "recurrent"} & own.keys()
    ]
    turning = (
        "all, along the axes of an image" if each.get("axes") == "image" else "all"
    )
    if not each.get("rotates"):
        turning = "none" if "nothing turns" in why else "not known"
    elif apart:
        turning = f"not {', '.join(apart)}"
    elif each["rotates"] is not True:
        turning = f"none, or as {each['rotates']} says"
    elif every := each["fields"].get("no_rope_layer_interval"):
        turning = f"not one of {every}"
    for rule in (rule for rule in each["layers"] if "step" in rule):
        turning += f"; every {rule['step']}th is {rule['one']}"
        turning += ", from the first" * (rule["at"] == 0)
    tables = sorted({table["kind"] for table in each["tables"].values()})
    return turning + f"; the input gets a {' and a '.join(tables)} table" * bool(tables)


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
