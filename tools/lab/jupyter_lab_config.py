"""How `make lab` starts JupyterLab: at the first page, in the book's style, with no questions."""

from pathlib import Path

c = get_config()  # noqa: F821 (JupyterLab's loader has it)
c.LabApp.default_url = "/lab/tree/index.md"
c.LabApp.news_url = None
c.LabApp.check_for_updates_class = "jupyterlab.NeverCheckForUpdate"
c.LabApp.custom_css = True
c.ServerApp.tornado_settings = {"static_custom_path": [str(Path(__file__).parent)]}  # custom.css
