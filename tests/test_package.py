"""The package from outside: the README's uses, what is public, what an install lacks."""

import importlib
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import posenc

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
FENCES = r"```python\n(.*?)```"
USES = re.findall(FENCES, README.read_text(encoding="utf-8"), flags=re.DOTALL)


@pytest.mark.parametrize("use", USES)
def test_the_readme_s_uses_can_be_pasted(use):
    exec(compile(use, "README.md", "exec"), {})


@pytest.mark.parametrize("options", [["-W", "error"], ["-OO"]])
def test_the_mathematics_needs_numpy_alone(options):
    code = "import sys, posenc; print({'torch', 'matplotlib'} & sys.modules.keys())"
    command = [sys.executable, *options, "-c", code]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    assert run.stdout == "set()\n"


def test_a_missing_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.delitem(sys.modules, "posenc.nn", raising=False)
    monkeypatch.delattr(posenc, "nn", raising=False)
    with pytest.raises(ImportError, match=r"pip install 'posenc\[torch\]'"):
        importlib.import_module("posenc.nn")


def test_pip_and_uv_install_the_same_versions():
    pins = (ROOT / "requirements.txt").read_text(encoding="utf-8")
    listed = re.findall(r"^([\w.-]+)==([^\s;]+)", pins, re.MULTILINE)
    lock = (ROOT / "uv.lock").read_text(encoding="utf-8").replace("+cpu", "")
    packages = tomllib.loads(lock)["package"]
    locked = {(package["name"], package.get("version")) for package in packages}
    assert {*listed} <= locked, "requirements.txt isn't what uv.lock says: `make lock`"
