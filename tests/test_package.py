"""The package from outside: the README's uses, what an install lacks.

That the mathematics needs numpy alone is held by `tools/wheel`.
"""

import importlib
import re
import sys
import tomllib

import pytest
from reading import text_of

import posenc

USES = re.findall(r"```python\n(.*?)```", text_of("README.md"), flags=re.DOTALL)


@pytest.mark.parametrize("use", USES)
def test_the_readme_s_uses_can_be_pasted(use):
    exec(compile(use, "README.md", "exec"), {})


def test_a_missing_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.delitem(sys.modules, "posenc.nn", raising=False)
    monkeypatch.delattr(posenc, "nn", raising=False)
    with pytest.raises(ImportError, match=r"pip install 'posenc\[torch\]'"):
        importlib.import_module("posenc.nn")


def test_pip_and_uv_install_the_same_versions():
    listed = re.findall(r"^([\w.-]+)==([\w.]+)", text_of("requirements.txt"), re.M)
    packages = tomllib.loads(text_of("uv.lock"))["package"]
    versions = {(package["name"], package.get("version")) for package in packages}
    assert {*listed} <= versions, (
        "requirements.txt isn't what uv.lock says: `make lock`"
    )
