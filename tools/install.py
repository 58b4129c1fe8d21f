"""Set up what the book runs in, with uv, or with pip where uv can't be had.

    python3 tools/install.py                  .venv, where requirements.txt is newer or it is broken
    python3 tools/install.py --this-python    … or where it is of another Python than this one
    python3 tools/install.py --group bench    .venv/bench, with one dependency group
    python3 tools/install.py --lock           requirements.txt, compiled from pyproject.toml

uv looks where pip was told to look: its settings are passed on. On Linux, PyPI's torch is the GPU
build; the CPU build comes from an index of its own, which uv knows.
"""

import argparse
import ast
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from alone import hold

VENV = Path(".venv")
PYTHON = VENV / "bin" / "python"
INSTALLED = VENV / "installed"
PINNED = Path("requirements.txt")
SECONDS = 10
# uv's word for each of pip's settings, and what stands between several values.
SETTINGS = {
    "index-url": ("UV_DEFAULT_INDEX", " "),
    "extra-index-url": ("UV_INDEX", " "),
    "find-links": ("UV_FIND_LINKS", ","),
    "no-index": ("UV_NO_INDEX", " "),
    "constraint": ("UV_CONSTRAINT", " "),
    "trusted-host": ("UV_INSECURE_HOST", " "),
    "cert": ("SSL_CERT_FILE", " "),
    "proxy": ("ALL_PROXY", " "),
}
GPU_BUILD = """\
This is its GPU build: with what it needs, 2.5 GB to download and 5.4 GB on the disk, for a book
that runs on a processor. To avoid it, stop now (Ctrl+C) and name an index of CPU builds, which
https://pytorch.org/get-started/locally/ has (Pip, CPU): PIP_EXTRA_INDEX_URL=… make book"""
# What torch's GPU build draws in by itself. Pinned, it would come with the CPU build, too.
GPU_PACKAGES = [
    "cuda-bindings",
    "cuda-pathfinder",
    "cuda-toolkit",
    "nvidia-cublas",
    "nvidia-cuda-cupti",
    "nvidia-cuda-nvrtc",
    "nvidia-cuda-runtime",
    "nvidia-cudnn-cu13",
    "nvidia-cufft",
    "nvidia-cufile",
    "nvidia-curand",
    "nvidia-cusolver",
    "nvidia-cusparse",
    "nvidia-cusparselt-cu13",
    "nvidia-nccl-cu13",
    "nvidia-nvjitlink",
    "nvidia-nvshmem-cu13",
    "nvidia-nvtx",
    "triton",
]


def say(text):
    """Print at once, before what other programs print."""
    print(text, flush=True)


def run(*command, **options):
    """Run a command; whether it went well."""
    return subprocess.run(command, check=False, **options).returncode == 0


def told(*command, **options):
    """What a command prints, or nothing if it fails or doesn't end in time."""
    together = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    try:
        return subprocess.run(command, check=True, **together, **options).stdout
    except (OSError, subprocess.SubprocessError):
        return ""


def is_fit(this_python):
    """Whether .venv starts, is an environment, and is of this Python if that counts."""
    version = "import pip, platform, sys; print('Python', platform.python_version())"
    version += " if sys.prefix != sys.base_prefix else 0"  # else what it leads to would be changed
    found = told(PYTHON, "-c", version) if PYTHON.exists() else ""
    ours = sys.version.split()[0]
    return found.strip() == f"Python {ours}" if this_python else found.startswith("Python")


def pip_settings():
    """What pip's files and the environment tell pip."""
    lines = [
        re.match(r"(global|install|:env:)\.([a-z-]+)=(.+)", line)
        for line in told(PYTHON, "-m", "pip", "config", "list").splitlines()
    ]
    order = ("global", "install", ":env:")  # the last one counts
    found = sorted(filter(None, lines), key=lambda line: order.index(line[1]))
    return {line[2]: " ".join(ast.literal_eval(line[3]).split()) for line in found}


def uv_settings():
    """The environment, with pip's settings in uv's words where uv has none of its own."""
    given = {"UV_INDEX_STRATEGY": "unsafe-best-match"}
    for name, value in pip_settings().items():
        if name in SETTINGS:
            variable, between = SETTINGS[name]
            given[variable] = value.replace(" ", between)
    return {**given, **os.environ}


def find_uv():
    """The uv that is there, or the one that pip gets, or none."""
    for path in (VENV / "bin" / "uv", shutil.which("uv")):
        version = re.match(r"uv (\d+)\.(\d+)", told(path, "--version") if path else "")
        if version and (int(version[1]), int(version[2])) >= (0, 8):
            return path
    quiet = ("--quiet", "--quiet", "--disable-pip-version-check", "--retries", "1")
    if run(PYTHON, "-m", "pip", "install", *quiet, "uv>=0.8"):
        return VENV / "bin" / "uv"
    say("uv can't be had: pip installs, which takes some minutes.")
    return None


def torch_build(install, settings):
    """Arguments that get the CPU build of torch; says what comes where that isn't in reach."""
    pin = re.search(r"^torch==\S+", PINNED.read_text(encoding="utf-8"), re.MULTILINE)
    if not pin or not sys.platform.startswith("linux"):
        return []  # elsewhere there is no other build

    def plan(*more):
        command = (*install, "--dry-run", "--no-deps", *more, pin[0])
        once = {**settings, "UV_HTTP_RETRIES": "0", "UV_HTTP_TIMEOUT": str(SECONDS)}
        return told(*command, env=once, timeout=SECONDS)

    if plan("--torch-backend=cpu"):
        return ["--torch-backend=cpu"]
    offered = re.search(r"\+ (torch==\S+)", plan())
    say("The index of torch's CPU builds can't be reached. The settings of pip and uv offer "
        + (f"{offered[1]}." if offered else f"the rest of {pin[0]}."))  # fmt: skip
    if offered and "+cpu" not in offered[1]:
        say(GPU_BUILD)
    return []


def install(python, *what):
    """Install into an environment, by uv or else by pip; exit if neither can."""
    uv = find_uv()
    if uv:
        settings = uv_settings()
        command = (uv, "pip", "install", "--python", python)
        if run(*command, *torch_build(command, settings), *what, env=settings):
            return
        say("uv could not install this: pip tries.")
    elif sys.platform.startswith("linux"):
        say(f"Unless pip's settings name a CPU build of torch:\n{GPU_BUILD}")
    pip = (python, "-m", "pip", "install", "--disable-pip-version-check")
    ready = "--group" not in what or run(*pip, "--quiet", "--upgrade", "pip>=25.1")
    if not (ready and run(*pip, *what)):
        sys.exit(1)


def set_up(this_python):
    """Make .venv what requirements.txt says, unless it is."""
    fit = is_fit(this_python)
    newest = INSTALLED.exists() and INSTALLED.stat().st_mtime >= PINNED.stat().st_mtime
    if fit and newest:
        return
    hold()
    say("Setting up .venv, about 1.6 GB.")
    if not fit:
        if VENV.is_symlink():
            VENV.unlink()  # what it leads to is another book's
        subprocess.run([sys.executable, "-m", "venv", "--clear", VENV], check=True)
    install(PYTHON, "--requirement", PINNED)
    own = ("--no-deps", "--no-build-isolation", "--editable", ".")
    if not run(PYTHON, "-m", "pip", "install", "--quiet", *own):
        sys.exit(1)
    INSTALLED.touch()


def set_up_beside(group):
    """Make an environment of one dependency group, with the versions that are pinned."""
    hold()
    folder = VENV / group
    subprocess.run([PYTHON, "-m", "venv", "--clear", folder], check=True)
    install(folder / "bin" / "python", "--constraint", PINNED, "--group", group)
    (folder / "installed").touch()


def lock():
    """Compile requirements.txt: of pip's settings, only how to reach an index counts."""
    uv = find_uv() or sys.exit(1)
    local = ("UV_INDEX", "UV_FIND_LINKS", "UV_CONSTRAINT")
    settings = {k: v for k, v in uv_settings().items() if k not in local}
    groups = [f"--group={name}" for name in ("book", "test", "lint")]
    left_out = [f"--no-emit-package={name}" for name in GPU_PACKAGES]
    command = [uv, "pip", "compile", "pyproject.toml", "--all-extras", *groups, *left_out]
    command += ["--universal", "--python-version=3.11", "--fork-strategy=fewest"]
    command += ["--prerelease=disallow", "--annotation-style=line", "--quiet"]
    command += ["--custom-compile-command=make lock", f"--output-file={PINNED}"]
    sys.exit(not run(*command, env=settings))


def main():
    """Do what was asked for."""
    if sys.version_info < (3, 11):  # noqa: UP036 - it is what this says
        sys.exit("Python 3.11 or later is needed: make PYTHON=python3.11 …")
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--this-python", action="store_true")
    parser.add_argument("--group")
    parser.add_argument("--lock", action="store_true")
    asked = parser.parse_args()
    if asked.lock:
        lock()
    elif asked.group:
        set_up_beside(asked.group)
    else:
        set_up(asked.this_python)


if __name__ == "__main__":
    main()
