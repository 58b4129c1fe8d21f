"""The package from outside: the uses that pages begin with, what is public, what is missing."""

import importlib
import pkgutil
import re
import sys
import tomllib
from pathlib import Path

import pytest

import posenc

README = Path(__file__).parents[1] / "README.md"
USES = re.findall(
    r"```python\n(.*?)```", README.read_text(encoding="utf-8"), flags=re.DOTALL
)


@pytest.mark.parametrize("use", USES)
def test_the_uses_on_the_first_pages_can_be_pasted(use):
    exec(compile(use, "README.md", "exec"), {})


def test_public_names_are_listed_and_there():
    modules = [each.name for each in pkgutil.iter_modules(posenc.__path__, "posenc.")]
    public = [name for name in modules if "._" not in name and name != "posenc.book"]
    for module in map(importlib.import_module, ["posenc", *public]):
        assert all(hasattr(module, name) for name in module.__all__), module.__name__
    project = tomllib.loads(
        README.with_name("pyproject.toml").read_text(encoding="utf-8")
    )
    assert posenc.__version__ == project["project"]["version"]


def test_a_missing_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.delitem(sys.modules, "posenc.nn", raising=False)
    monkeypatch.delattr(posenc, "nn", raising=False)
    with pytest.raises(
        ImportError, match=r"needs torch: pip install 'posenc\[torch\]'"
    ):
        importlib.import_module("posenc.nn")
