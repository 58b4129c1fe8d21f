"""The page that reads a ``config.json``: its script, released files to choose from, and types."""

import json
from html import escape
from pathlib import Path
from typing import Any

from rjsmin import jsmin
from sphinx.application import Sphinx

from posenc.config import read_config
from posenc.config.steps import known_models

HERE = Path(__file__).parent
CHOICE = (
    "meta-llama/Meta-Llama-3.1-8B",
    "meta-llama/Llama-4-Scout-17B-16E-Instruct",
    "Qwen/Qwen3-8B",
    "Qwen/Qwen3.5-27B",
    "mistralai/Mistral-7B-Instruct-v0.3",
    "google/gemma-3-1b-it",
    "google/gemma-4-26B-A4B",
    "deepseek-ai/DeepSeek-V3",
    "microsoft/Phi-4-mini-instruct",
    "openai/gpt-oss-20b",
    "allenai/Olmo-3.1-32B-Instruct",
    "mosaicml/mpt-7b",
)


def script(data: Path) -> str:
    """Return the script, with each released file and what `read_config` finds in it."""
    released = json.loads(data.read_text(encoding="utf-8"))
    configs = {name: released[name]["config"] for name in CHOICE}
    read = {name: [config, read_config(config).as_dict()] for name, config in configs.items()}
    files = json.dumps(read).replace("<", "\\u003c")
    view = (HERE / "config_view.js").read_text(encoding="utf-8")
    return jsmin(f"(() => {{\nconst RELEASED = {files};\n{view}\n}})();")


def types() -> str:
    """Return a table of what the code of each type decides, for the page's search field."""
    known = {name: each for name, each in known_models().items() if "file" in each}
    heads = ["type", "layers that turn", "pairs", "base by default", "norm of q and k", "code"]
    rows = []
    for name, each in sorted(known.items()):
        rule, still = each.get("pattern"), each.get("still", {})
        turning = "all"
        if each.get("none") or "rotates" not in each:
            turning = "none"
        elif still or each.get("recurrent"):
            turning = f"not {', '.join([*still, *each.get('recurrent', ())])}"
        elif "switch" in each:
            turning = f"none, or as {each['switch']} says"
        elif "without" in each:
            turning = f"not one of {each['fields'][each['without']]}"
        elif each.get("axes") == "image":
            turning = "all, along the axes of an image"
        if rule:
            last = "" if rule["at"] else ", from the first"
            turning += f"; every {rule['step']}th is {rule['one']}{last}"
        kinds = {table["kind"] for table in each.get("tables", {}).values()}
        turning += f"; the input gets a {' and a '.join(sorted(kinds))} table" if kinds else ""
        bases = {f"{key}: {value:,.0f}" if key else f"{value:,.0f}" for key, value in _bases(each)}
        cells = [name, turning, each.get("pairing", ""), "; ".join(sorted(bases))]
        cells += [each.get("norm", ""), each["file"].removeprefix("models/")]
        cells[2] = "as rope_interleave says" if cells[2] == "field" else cells[2]
        rows.append("".join(f"<td>{escape(cell.replace(',', ' '))}</td>" for cell in cells))
    head = "".join(f"<th scope='col'>{each}</th>" for each in heads)
    body = "".join(f"<tr>{row}</tr>" for row in rows)
    about = known_models()["about"]
    others = {name: why for name, why in about["not watched"].items() if name not in known}
    still = sorted(name for name, why in others.items() if "nothing turns" in why)
    rest = sorted(others.keys() - {*still})
    unseen = (
        f"<p>No pair was seen to turn in a circle in {', '.join(still)}. With the inputs that the"
        f" tool makes, these couldn't be run: {', '.join(rest)}.</p>"
    )
    return (
        "<p><label for='types-search'>Find a type:</label> <input id='types-search' type='search'>"
        f" <span id='types-found' role='status'>{len(rows)} types</span>,"
        f" as in {about['source']}</p>"
        "<div class='pst-scrollable-table-container' tabindex='0'>"
        f"<table class='table' id='types-table'><thead><tr>{head}</tr></thead>"
        f"<tbody>{body}</tbody></table></div>"
        f"<details><summary>Types that aren't in the table</summary>{unseen}</details>"
    )


def _bases(each: dict[str, Any]) -> list[tuple[str, float]]:
    return [(key, value) for key, value in each.get("bases", {}).items() if value]


def add_script(app: Sphinx, page: str, template: str, context: Any, doctree: Any) -> None:
    """Write the script into the head of the page."""
    if page == "book/config":
        data = Path(app.srcdir) / "notebooks" / "data" / "released.json"
        app.add_js_file(None, body=script(data))
        context["body"] = context["body"].replace('<div id="config-types"></div>', types())
