"""How `make lab` starts JupyterLab: at the first page, in the book's style, with no questions."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parent))
from pages import Pages

c = get_config()  # noqa: F821 (JupyterLab's loader has it)
c.LabApp.default_url = "/lab/tree/index.md"
c.LabApp.custom_css = True
c.ServerApp.tornado_settings = {
    "static_custom_path": [str(Path(__file__).parent)]
}  # custom.css
c.ServerApp.contents_manager_class = Pages
