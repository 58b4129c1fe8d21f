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


def output(*command, **options):
    """Return a command's output, or "" if it fails or times out."""
    try:
        return subprocess.check_output(
            command, text=True, stderr=subprocess.STDOUT, **options
        )
    except (OSError, subprocess.SubprocessError):
        return ""


def main(folder, *what):
    if sys.version_info < (3, 11):  # noqa: UP036 - for a clear message
        sys.exit("This needs Python 3.11 or later: make PYTHON=python3.11 …")
    print(f"Setting up {folder}: 1.6 GB for the whole book.", flush=True)
    python = f"{folder}/bin/python"
    if not output(python, "-c", "print('it starts')"):
        subprocess.run([sys.executable, "-m", "venv", "--clear", folder], check=True)
    pip = [python, "-m", "pip", "install", "--disable-pip-version-check", "--retries=1"]
    output(*pip, "uv>=0.8")
    if uv := shutil.which("uv", path=f"{folder}/bin") or shutil.which("uv"):
        command = [
            uv,
            "pip",
            "install",
            "--python",
            python,
            "--index-strategy=unsafe-best-match",
        ]
        for setting in output(python, "-m", "pip", "config", "list").splitlines():
            name, values = re.fullmatch(r"[\w:]+\.([\w-]+)='(.*)'", setting).groups()
            if name == "cert":
                os.environ.setdefault("SSL_CERT_FILE", values)
            elif name in ("index-url", "extra-index-url", "find-links"):
                values = values.replace("\\n", " ").split()
                command += [f"--{name}={value}" for value in values]
        quick, cpu = (
            {"UV_HTTP_RETRIES": "0", "UV_HTTP_TIMEOUT": "10"},
            "--torch-backend=cpu",
        )
        trial = [*command, "--dry-run", "--no-deps", cpu, "torch"]
        if output(*trial, env=os.environ | quick, timeout=15):
            command.append(cpu)
        if subprocess.run([*command, *what], check=False).returncode == 0:
            return
    print("uv failed: falling back to pip, which takes a few minutes.", flush=True)
    subprocess.run([*pip, "--extra-index-url", CPU_BUILDS, *what], check=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
