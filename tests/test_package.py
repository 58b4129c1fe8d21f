"""The package from outside: the README's uses, and its pinned set.

`tools/wheel` holds that the mathematics needs numpy alone, and what an install without torch says.
"""

import re
import tomllib

import pytest
from reading import text_of

USES = re.findall(r"```python\n(.*?)```", text_of("README.md"), flags=re.DOTALL)


@pytest.mark.parametrize("use", USES)
def test_the_readme_s_uses_can_be_pasted(use):
    exec(compile(use, "README.md", "exec"), {})


def test_pip_and_uv_install_the_same_versions():
    listed = re.findall(r"^([\w.-]+)==([\w.]+)", text_of("requirements.txt"), re.M)
    packages = tomllib.loads(text_of("uv.lock"))["package"]
    versions = {(package["name"], package.get("version")) for package in packages}
    assert {*listed} <= versions, "requirements.txt isn't uv.lock's: `make lock`"
