"""Install into an environment with uv, or with pip if uv isn't available.

    python3 tools/install.py .venv --requirement requirements.txt

uv gets pip's index settings. On Linux, PyPI's torch is the GPU build, a 2.5 GB larger download, so
the CPU build comes from PyTorch's index, or from wherever pip's settings point.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

SETTINGS = {  # pip's option: uv's variable
    "index-url": "UV_DEFAULT_INDEX",
    "extra-index-url": "UV_INDEX",
    "find-links": "UV_FIND_LINKS",
    "cert": "SSL_CERT_FILE",
}
CPU_BUILDS = "https://download.pytorch.org/whl/cpu"


def output(*command, **options):
    """Return a command's output, or "" if it fails or times out."""
    try:
        return subprocess.check_output(command, text=True, stderr=subprocess.STDOUT, **options)
    except (OSError, subprocess.SubprocessError):
        return ""


def main(folder, *what):
    if sys.version_info < (3, 11):  # noqa: UP036 - for a clear message
        sys.exit("This needs Python 3.11 or later: make PYTHON=python3.11 …")
    print(f"Setting up {folder}: 1.6 GB for the whole book.", flush=True)
    python = str(Path(folder) / "bin" / "python")
    if not output(python, "-c", "print('it starts')"):
        subprocess.run([sys.executable, "-m", "venv", "--clear", folder], check=True)
    pip = [python, "-m", "pip", "install", "--disable-pip-version-check"]
    output(*pip, "--retries=1", "uv>=0.8")
    if uv := shutil.which("uv", path=f"{folder}/bin") or shutil.which("uv"):
        environment = {"UV_INDEX_STRATEGY": "unsafe-best-match"} | os.environ
        for setting in output(python, "-m", "pip", "config", "list").splitlines():
            name, value = re.fullmatch(r"[\w:]+\.([\w-]+)='(.*)'", setting).groups()
            if name in SETTINGS:
                separator = "," if name == "find-links" else " "
                value = separator.join(value.replace("\\n", " ").split())
                environment.setdefault(SETTINGS[name], value)
        command, cpu = [uv, "pip", "install", "--python", python], "--torch-backend=cpu"
        quick = environment | {"UV_HTTP_RETRIES": "0", "UV_HTTP_TIMEOUT": "10"}
        if output(*command, "--dry-run", "--no-deps", cpu, "torch", env=quick, timeout=15):
            command.append(cpu)
        if subprocess.run([*command, *what], env=environment, check=False).returncode == 0:
            return
    print("uv failed: falling back to pip, which takes a few minutes.", flush=True)
    subprocess.run([*pip, "--retries=1", "--extra-index-url", CPU_BUILDS, *what], check=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
