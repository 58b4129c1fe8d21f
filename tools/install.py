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

CPU_BUILDS = "https://download.pytorch.org/whl/cpu"
SETTING = re.compile(r"^[\w:-]+\.([\w-]+)='(.*)'$", re.MULTILINE)  # global.cert='a.pem'
INDEXES = ("index-url", "extra-index-url", "find-links")


def output(*command, **options):
    """Return a command's output, or None if it fails or times out."""
    try:
        return subprocess.check_output(
            command, text=True, stderr=subprocess.STDOUT, **options
        )
    except (OSError, subprocess.SubprocessError):
        return None


def index_options(python):
    """Return pip's index settings as options of uv; set a certificate that it names."""
    options = []
    listed = output(python, "-m", "pip", "config", "list") or ""
    for name, value in SETTING.findall(listed):
        if name == "cert":
            os.environ.setdefault("SSL_CERT_FILE", value)
        elif name in INDEXES:
            addresses = value.replace("\\n", " ").split()
            options += [f"--{name}={address}" for address in addresses]
    return options


def install_with_uv(uv, python, what):
    """Return whether uv installs it; of torch, the CPU build if its index answers."""
    # `--no-sources`: torch comes from where this finds it, not from the index in pyproject.toml.
    command = [uv, "pip", "install", "--quiet", "--no-sources", "--python", python]
    command += ["--index-strategy=unsafe-best-match", *index_options(python)]
    quick = os.environ | {"UV_HTTP_RETRIES": "0", "UV_HTTP_TIMEOUT": "10"}
    trial = ["--dry-run", "--no-deps", "--torch-backend=cpu", "torch"]
    if output(*command, *trial, env=quick, timeout=15) is not None:
        command.append("--torch-backend=cpu")
    return subprocess.run([*command, *what], check=False).returncode == 0


def main(folder, *what):
    if sys.version_info < (3, 11):  # noqa: UP036 - for a clear message
        sys.exit("This needs Python 3.11 or later: make PYTHON=python3.11 …")
    print(f"Setting up {folder}: 1.7 GB for the whole book.", flush=True)
    python = f"{folder}/bin/python"
    if output(python, "-c", "") is None:
        subprocess.run([sys.executable, "-m", "venv", "--clear", folder], check=True)
    pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    output(*pip, "--retries=1", "uv>=0.8")
    uv = shutil.which("uv", path=f"{folder}/bin") or shutil.which("uv")
    if not uv or not install_with_uv(uv, python, what):
        print("uv failed: falling back to pip, which takes a few minutes.", flush=True)
        subprocess.run([*pip, "--extra-index-url", CPU_BUILDS, *what], check=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
