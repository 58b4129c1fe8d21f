"""The page that reads a ``config.json``: its script, with some released files to choose from."""

import json
from pathlib import Path
from typing import Any

from rjsmin import jsmin
from sphinx.application import Sphinx

from posenc.config import read_config

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


def add_script(app: Sphinx, page: str, template: str, context: Any, doctree: Any) -> None:
    """Write the script into the head of the page."""
    if page == "book/config":
        data = Path(app.srcdir) / "notebooks" / "data" / "released.json"
        app.add_js_file(None, body=script(data))
