"""One script of the modules in ``figures``, for pages that can't load modules."""

import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import matplotlib as mpl

from posenc.book import plots

FOLDER = Path(__file__).with_name("figures")
# The only form of import that modules may have: a browser refuses one that is left in a script.
IMPORT = re.compile(r'^import \{ .* \} from "\./(\w+)\.js";\n', re.MULTILINE)
# What Jupyter imports of a script stays: `export default`.
EXPORT = re.compile(r"^export (?!default)", re.MULTILINE)


def bundle(names: Iterable[str], constants: Mapping[str, Any]) -> str:
    """Return one script of the named modules, each after those that it imports.

    Their names are joined in one scope, so those at the top of modules are unique, and no modules
    import each other in a circle. From ``constants.js``, which isn't there, they import
    `constants`, and what Python knows of colors.
    """
    modules = {"constants": ""}  # sources in order, without imports and exports

    def add(name: str) -> None:
        source = (FOLDER / f"{name}.js").read_text("utf-8")
        for module in IMPORT.findall(source):
            if module not in modules:
                add(module)
        modules[name] = EXPORT.sub("", IMPORT.sub("", source))

    for name in names:
        add(name)
    code = "\n".join(modules.values())
    known = {
        "LINES": plots.COLORS,
        "PAIRS": plots.PAIRS,
        "MAP": _shades(),
        # That of the page, a module that comes late, goes first: those of figures refine it.
        "STYLE": _style(reversed(modules)),
        **constants,
    }
    # Pages that need no film or color map don't load one.
    used = [name for name in known if re.search(rf"\b{name}\b", code)]
    lines = [f"const {name} = {json.dumps(known[name])};\n" for name in used]
    return "".join(lines) + code


def _shades() -> list[int]:
    """Return eleven colors of the heatmaps' map, as 0xRRGGBB."""
    colors = mpl.colormaps[plots.DIVERGING].resampled(11)(range(11))
    return [int(mpl.colors.to_hex(color)[1:], 16) for color in colors]


def _style(names: Iterable[str]) -> str:
    """Return the style sheets that modules have, and the colors, in one line."""
    files = (FOLDER / f"{name}.css" for name in names)
    style = "".join(file.read_text("utf-8") for file in files if file.exists())
    style = style.replace("filter: DARK_MAP", f"filter: {plots.DARK_MAP}")
    # --agree is of hands that agree, --unseen of what training never showed.
    style = f""":host {{
        --query: {plots.COLORS[0]};
        --key: {plots.COLORS[1]};
        --agree: light-dark({plots.PAIRS[4]}, #45c9b8);
        --unseen: #d0342c;
    }}
    {style}"""
    # Without comments, in one line; then without what CSS doesn't need around signs
    style = re.sub(r"(/\*.*?\*/|\s)+", " ", style, flags=re.DOTALL)
    return re.sub(r"(?<=[{};:,>~]) | (?={)|;? (?=})", "", style)
